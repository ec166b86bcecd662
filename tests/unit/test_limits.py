"""How limits find their place: what the kernel's files say, and what is written to them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from acai.agent.limits import cgroup_v1, cgroup_v2
from acai.agent.limits.base import check_name, thread_env
from acai.agent.limits.cgroup_v2 import GroupV2
from acai.agent.limits.groups import quota
from acai.agent.limits.hierarchies import Hierarchy, parse
from acai.agent.limits.processes import (
    Process,
    _from_ps,
    clock_seconds,
    descendants,
    marked,
    offspring,
    on_proc,
    processes,
)
from acai.launchers.machine import cpu_quotas, memory_limits

V1_MOUNTS = """\
30 25 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 25 0:28 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer
33 25 0:29 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
34 25 0:30 / /proc rw - proc proc rw
"""
V1_GROUPS = """\
4:memory:/user.slice/me
3:cpu,cpuacct:/
2:freezer:/
1:name=systemd:/user.slice
0::/
"""


def test_version_1_is_found_with_joint_controllers() -> None:
    found = list(parse(V1_MOUNTS, V1_GROUPS))
    places = cgroup_v1.parents(found)
    both = Path("/sys/fs/cgroup/cpu,cpuacct")
    top = {
        "freezer": Path("/sys/fs/cgroup/freezer"),
        "cpu": both,
        "cpuacct": both,
        "memory": Path("/sys/fs/cgroup/memory"),
    }
    assert places == [top, {**top, "memory": Path("/sys/fs/cgroup/memory/user.slice/me")}]


def test_version_1_without_a_freezer_is_not_enough() -> None:
    mounts = "\n".join(line for line in V1_MOUNTS.splitlines() if "freezer" not in line)
    assert cgroup_v1.parents(list(parse(mounts, V1_GROUPS))) == []


@pytest.mark.parametrize(
    ("root", "path", "own"),
    [
        ("/", "/", "/mnt/c g"),
        ("/", "/a/b", "/mnt/c g/a/b"),
        ("/docker/x", "/docker/x", "/mnt/c g"),
        ("/docker/x", "/docker/x/y", "/mnt/c g/y"),
        ("/docker/x", "/docker/xyz", "/mnt/c g"),
        ("/", "/../outside", "/mnt/c g"),
    ],
)
def test_the_own_group_below_a_mount(root: str, path: str, own: str) -> None:
    line = f"29 25 0:26 {root} /mnt/c\\040g rw - cgroup2 cgroup2 rw\n"
    (found,) = parse(line, f"0::{path}\n")
    assert (found.version, found.point, found.own) == (2, Path("/mnt/c g"), Path(own))


def make_group(path: Path, **files: str) -> None:
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)


def test_version_2_looks_from_the_top_for_what_is_delegated(tmp_path: Path) -> None:
    make_group(tmp_path, cgroup__controllers="cpu io memory")
    make_group(tmp_path / "user", cgroup__controllers="memory")
    make_group(tmp_path / "user" / "me", cgroup__controllers="cpu memory")
    seen = Hierarchy(
        version=2,
        point=tmp_path,
        own=tmp_path / "user" / "me",
        controllers=frozenset({"cpu", "memory"}),
    )
    assert cgroup_v2.parents([seen]) == [tmp_path, tmp_path / "user" / "me"]


def test_version_2_with_hugetlb_alone_is_not_used(tmp_path: Path) -> None:
    seen = Hierarchy(version=2, point=tmp_path, own=tmp_path, controllers=frozenset({"hugetlb"}))
    assert cgroup_v2.parents([seen]) == []


def test_version_2_reads_and_writes_these_files(tmp_path: Path) -> None:
    """The protocol alone, on plain files; tests/slow runs it on a kernel."""
    group = tmp_path / "acai" / "job-x.1"
    for path in (tmp_path, tmp_path / "acai"):
        make_group(path, cgroup__subtree_control="cpu memory")
    make_group(group, memory__swap__max="max", memory__oom__group="0")
    made = GroupV2("job-x.1", tmp_path)
    made.create(cpu=1.5, memory=10**9)
    assert (group / "cpu.max").read_text() == "150000 100000"
    assert (group / "memory.max").read_text() == "1000000000"
    assert (group / "memory.swap.max").read_text() == "0"
    assert (group / "memory.oom.group").read_text() == "1"
    make_group(
        group,
        cpu__stat="usage_usec 2500000\nuser_usec 1\n",
        memory__stat="anon 4096\nfile 81920\nshmem 8192\n",
        memory__peak="999\n",
        memory__events="low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 1\n",
        cgroup__procs="12\n34\n",
    )
    make_group(group / "nested", cgroup__procs="56\n")
    now = made.readings()
    assert (now.cpu_seconds, now.resident) == (2.5, 12288)
    assert (now.charged_peak, now.oom_kills) == (999, 1)
    assert made.members() == {12, 34, 56}
    (group / "memory.peak").unlink()
    assert made.readings().charged_peak == 10**9


def test_quotas_have_a_least() -> None:
    assert [quota(cpu) for cpu in (0.0001, 0.5, 2)] == [1000, 50_000, 200_000]


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a..b", "x" * 200])
def test_names_stay_in_their_directory(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name"):
        check_name(name)


def test_thread_pools_are_told_the_truth() -> None:
    assert thread_env(0.5)["OMP_NUM_THREADS"] == "1"
    assert thread_env(1.5)["OPENBLAS_NUM_THREADS"] == "2"
    assert thread_env(4)["MKL_NUM_THREADS"] == "4"
    assert thread_env(2)["OMP_WAIT_POLICY"] == "PASSIVE"


def test_capacity_heeds_the_groups_around(tmp_path: Path) -> None:
    own = tmp_path / "a" / "b"
    make_group(tmp_path, cpu__max="max 100000", memory__max="max")
    make_group(tmp_path / "a", cpu__max="150000 100000", memory__max="2000")
    make_group(own, cpu__max="200000 100000", memory__max="3000")
    two = Hierarchy(version=2, point=tmp_path, own=own, controllers=frozenset({"cpu", "memory"}))
    assert sorted(cpu_quotas([two])) == [1.5, 2.0]
    assert sorted(memory_limits([two])) == [2000, 3000]
    old = tmp_path / "v1"
    make_group(
        old, cpu__cfs_quota_us="50000", cpu__cfs_period_us="100000", memory__limit_in_bytes="9"
    )
    one = Hierarchy(version=1, point=old, own=old, controllers=frozenset({"cpu", "memory"}))
    assert (list(cpu_quotas([one])), list(memory_limits([one]))) == ([0.5], [9])
    (old / "cpu.cfs_quota_us").write_text("-1")
    assert list(cpu_quotas([one])) == []


def one(pid: int, parent: int) -> Process:
    return Process(
        pid=pid,
        parent=parent,
        group=pid,
        session=pid,
        dead=False,
        cpu_seconds=0.0,
        resident=0,
        started=1,
    )


def test_descendants() -> None:
    table = {pid: one(pid, parent) for pid, parent in ((2, 1), (3, 2), (4, 3), (5, 1), (6, 6))}
    assert descendants({2, 99}, table) == {2, 3, 4}
    assert descendants({6}, table) == {6}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:00:01", 1.0), ("1-02:03:04", 93784.0), ("3:04.25", 184.25), ("12:00", 720.0)],
)
def test_the_clock_of_ps(text: str, seconds: float) -> None:
    assert clock_seconds(text) == seconds


def test_both_process_tables_know_this_process() -> None:
    from_ps = _from_ps()[os.getpid()]
    assert from_ps.parent == os.getppid()
    assert from_ps.resident > 10**6
    if on_proc():
        own = processes()[os.getpid()]
        assert (own.parent, own.group, own.dead) == (os.getppid(), os.getpgrp(), False)
        assert abs(own.resident - from_ps.resident) < 50 * 2**20


def test_new_children_are_seen_without_the_table() -> None:
    if not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists():
        pytest.skip("this kernel does not list children")
    child = subprocess.Popen(["sleep", "600"])
    try:
        assert {os.getpid(), child.pid} <= offspring({os.getpid()})
    finally:
        child.kill()
        child.wait()


def test_nobody_carries_an_unknown_mark() -> None:
    assert marked("job-that-never-was.1") == set()
