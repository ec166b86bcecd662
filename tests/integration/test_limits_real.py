"""Limits on real programs: by control groups where this system has them, and approximately."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acai.agent.limits.approximate import ApproximateConfinement
from acai.agent.limits.base import Confinement
from acai.agent.limits.cgroup_v2 import GroupV2
from acai.agent.limits.choose import cgroup_rights, confine, end_remains
from acai.agent.limits.groups import GroupConfinement
from acai.agent.limits.hierarchies import hierarchies
from acai.agent.limits.processes import processes
from acai.model.ids import random_word

MIB = 1024**2
Confine = Callable[..., Confinement]

grouped = pytest.mark.skipif(
    not cgroup_rights().writable, reason="no control groups can be made here"
)


@pytest.fixture(params=[pytest.param("groups", marks=grouped), "approximate"])
def confinement(request: pytest.FixtureRequest) -> Iterator[Confine]:
    """Makes confinements of each kind, and closes them."""
    made: list[Confinement] = []

    def make(cpu: float = 1.0, memory: int = 256 * MIB) -> Confinement:
        name = f"test-{random_word(8)}.1"
        if request.param == "groups":
            one = confine(name, cpu=cpu, memory=memory)
            assert one.approximate is None
        else:
            one = ApproximateConfinement(name, cpu=cpu, memory=memory)
            assert one.approximate
        made.append(one)
        return one

    yield make
    for one in made:
        assert one.close()


def spawn(inside: Confinement, *argv: str, cwd: Path) -> subprocess.Popen[bytes]:
    return inside.spawn(
        argv,
        cwd=cwd,
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def python(inside: Confinement, script: str, cwd: Path) -> subprocess.Popen[bytes]:
    return spawn(inside, sys.executable, "-c", textwrap.dedent(script), cwd=cwd)


def appears(path: Path, within: float = 60.0) -> str:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return text.strip()
        time.sleep(0.01)
    raise AssertionError(f"{path.name} did not appear")


def alive(pid: int) -> bool:
    found = processes().get(pid)
    return found is not None and not found.dead


SPIN = """
import time
end = time.process_time() + {seconds}
while time.process_time() < end:
    pass
"""


def test_a_program_runs_where_and_as_it_is_told(confinement: Confine, tmp_path: Path) -> None:
    inside = confinement()
    child = inside.spawn(
        ["/bin/sh", "-c", 'echo "$GREETING $1" >said; exit 7', "sh", "a b"],
        cwd=tmp_path,
        env={"GREETING": "good day", "PATH": os.environ["PATH"]},
    )
    assert child.wait(timeout=60) == 7
    assert (tmp_path / "said").read_text() == "good day a b\n"
    assert inside.empty()
    assert inside.usage().oom_kills == 0


def test_half_a_core_takes_twice_as_long(confinement: Confine, tmp_path: Path) -> None:
    """Whether the share is held is read from CPU per wall time, which noise only lowers."""
    inside = confinement(cpu=0.5)
    began = time.monotonic()
    child = python(inside, SPIN.format(seconds=0.8), tmp_path)
    while child.poll() is None:
        inside.usage()
        time.sleep(0.1)
    wall = time.monotonic() - began
    assert child.returncode == 0
    assert wall > 1.4
    assert 0.75 < inside.usage().cpu_seconds < wall * 0.5 + 0.25


def test_two_threads_share_one_core(confinement: Confine, tmp_path: Path) -> None:
    inside = confinement(cpu=1.0)
    began = time.monotonic()
    both = [python(inside, SPIN.format(seconds=0.7), tmp_path) for _ in range(2)]
    while any(child.poll() is None for child in both):
        time.sleep(0.1)
    assert time.monotonic() - began > 1.2


def test_too_much_memory_is_noticed_though_a_shell_hid_it(
    confinement: Confine, tmp_path: Path
) -> None:
    inside = confinement(memory=64 * MIB)
    # In small steps, as programs do that fill a data structure.
    hungry = "import time; x = []\nwhile True: x.append(bytearray(2**20)); time.sleep(0.005)"
    child = spawn(inside, "/bin/sh", "-c", f'{sys.executable} -c "{hungry}" || true', cwd=tmp_path)
    deadline = time.monotonic() + 20
    while child.poll() is None and time.monotonic() < deadline:
        inside.usage()
        time.sleep(0.05)
    assert child.poll() is not None
    used = inside.usage()
    assert used.oom_kills >= 1
    assert 55 * MIB < used.peak_memory < 100 * MIB


def test_a_tree_that_waits_for_a_victim_is_ended(confinement: Confine, tmp_path: Path) -> None:
    inside = confinement(memory=64 * MIB)
    script = """
        import os, time
        if os.fork() == 0:
            x = []
            while True:
                x.append(bytearray(2**20))
                time.sleep(0.005)
        time.sleep(600)  # for an answer that never comes
    """
    child = python(inside, script, tmp_path)
    deadline = time.monotonic() + 30
    while child.poll() is None and time.monotonic() < deadline:
        inside.usage()
        time.sleep(0.05)
    assert child.poll() == -signal.SIGKILL
    assert inside.usage().oom_kills >= 1
    assert inside.empty()


@grouped
def test_files_in_memory_count(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir():
        pytest.skip("no tmpfs at /dev/shm")
    target = shared / f"acai-test-{random_word(8)}"
    inside = confine(f"test-{random_word(8)}.1", cpu=1.0, memory=48 * MIB)
    try:
        spawn(inside, "head", "-c", str(96 * MIB), "/dev/zero", cwd=tmp_path).wait(timeout=60)
        assert inside.usage().oom_kills == 0  # to /dev/null: nothing is held
        child = spawn(
            inside, "/bin/sh", "-c", f"head -c {96 * MIB} /dev/zero >{target}; true", cwd=tmp_path
        )
        child.wait(timeout=60)
        assert inside.usage().oom_kills >= 1
    finally:
        target.unlink(missing_ok=True)
        assert inside.close()


@grouped
def test_page_cache_is_not_memory_used(tmp_path: Path) -> None:
    inside = confine(f"test-{random_word(8)}.1", cpu=1.0, memory=48 * MIB)
    try:
        child = spawn(
            inside, "/bin/sh", "-c", f"head -c {128 * MIB} /dev/zero >big; cat big", cwd=tmp_path
        )
        child.wait(timeout=60)
        used = inside.usage()
        assert (used.oom_kills, child.returncode) == (0, 0)
        assert used.peak_memory < 24 * MIB
    finally:
        assert inside.close()


def test_the_peak_of_a_short_program_is_known(tmp_path: Path) -> None:
    """In a process of its own, as an agent is: the kernel counts the largest child that a
    process ever had, and the tests' own may have had larger ones."""
    script = f"""
    import pathlib, sys
    from acai.agent.limits.choose import confine
    inside = confine("test-{random_word(8)}.1", cpu=1.0, memory=512 * 2**20)
    program = [sys.executable, "-c", "x = bytearray(100 * 2**20)"]
    child = inside.spawn(program, cwd=pathlib.Path("."), env={{}})
    assert child.wait(timeout=60) == 0
    print(inside.usage().peak_memory)
    assert inside.close()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert 95 * MIB < int(done.stdout) < 160 * MIB


def test_killing_reaches_children_that_left_the_session(
    confinement: Confine, tmp_path: Path
) -> None:
    inside = confinement()
    script = """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                open("orphan", "w").write(f"{os.getpid()}\\n")
                time.sleep(600)
            os._exit(0)
        open("first", "w").write(f"{os.getpid()}\\n")
        time.sleep(600)
    """
    child = python(inside, script, tmp_path)
    pids = [int(appears(tmp_path / name)) for name in ("first", "orphan")]
    assert all(alive(pid) for pid in pids)
    assert not inside.empty()
    assert inside.kill_all()
    assert inside.empty()
    assert not any(alive(pid) for pid in pids)
    assert child.wait(timeout=60) == -signal.SIGKILL


def test_a_fork_bomb_is_ended(confinement: Confine, tmp_path: Path) -> None:
    """Every process forks into a new session, and goes on doing so, up to a bound."""
    inside = confinement()
    script = """
        import os, time
        for depth in range(6):
            if os.fork() == 0:
                os.setsid()
        open(f"alive-{os.getpid()}", "w").write("\\n")
        while True:
            if os.fork() == 0:
                time.sleep(0.05)
                os._exit(0)
            os.wait()
    """
    child = python(inside, script, tmp_path)
    deadline = time.monotonic() + 20
    while len(list(tmp_path.glob("alive-*"))) < 40 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert inside.kill_all(timeout=20)
    child.wait(timeout=60)
    pids = {int(path.name.removeprefix("alive-")) for path in tmp_path.glob("alive-*")}
    assert len(pids) >= 40
    assert not any(alive(pid) for pid in pids)
    assert inside.empty()


def test_a_signal_reaches_all_and_can_be_heard(confinement: Confine, tmp_path: Path) -> None:
    inside = confinement(cpu=0.3)
    script = """
        import os, signal, sys, time
        def heard(*_):
            open(f"heard-{os.getpid()}", "w").write("\\n")
            sys.exit(0)
        signal.signal(signal.SIGTERM, heard)
        if os.fork() == 0:
            os.setsid()
        open(f"ready-{os.getpid()}", "w").write("\\n")
        while True:
            pass
    """
    child = python(inside, script, tmp_path)
    deadline = time.monotonic() + 20
    while len(list(tmp_path.glob("ready-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    inside.signal_all(signal.SIGTERM)
    assert child.wait(timeout=60) == 0
    deadline = time.monotonic() + 10
    while not inside.empty() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(list(tmp_path.glob("heard-*"))) == 2


def test_remains_are_found_by_name(confinement: Confine, tmp_path: Path) -> None:
    """As a launcher does when the agent that owned the confinement is dead."""
    inside = confinement()
    child = spawn(inside, "/bin/sh", "-c", "echo >ready; sleep 600", cwd=tmp_path)
    appears(tmp_path / "ready")
    assert end_remains(inside.name)
    assert child.wait(timeout=60) == -signal.SIGKILL
    assert end_remains(inside.name)
    assert inside.usage().oom_kills == 0


def test_remains_that_hide_are_found_by_their_mark(tmp_path: Path) -> None:
    """A program of root's can leave its control group; the variable stays with it."""
    inside = ApproximateConfinement(f"test-{random_word(8)}.1", cpu=1.0, memory=64 * MIB)
    child = spawn(inside, "setsid", "sleep", "600", cwd=tmp_path)
    time.sleep(0.05)
    other = subprocess.Popen(["sleep", "600"])
    try:
        assert end_remains(inside.name)
        child.wait(timeout=60)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
        inside.close()


def test_a_tree_is_ended_where_there_is_no_proc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acai.agent.limits.processes.on_proc", lambda: False)
    monkeypatch.setattr("acai.agent.limits.approximate.on_proc", lambda: False)
    inside = ApproximateConfinement(f"test-{random_word(8)}.1", cpu=1.0, memory=64 * MIB)
    script = "sleep 600 & (sleep 600 & echo $! >orphan); echo >ready; sleep 600"
    child = spawn(inside, "/bin/sh", "-c", script, cwd=tmp_path)
    appears(tmp_path / "ready")
    orphan = int(appears(tmp_path / "orphan"))
    assert inside.usage().memory_resident > 0
    assert inside.kill_all()
    assert child.wait(timeout=60) == -signal.SIGKILL
    assert not alive(orphan)
    assert inside.close()


def test_closing_leaves_no_group(confinement: Confine, tmp_path: Path) -> None:
    inside = confinement()
    spawn(inside, "sleep", "600", cwd=tmp_path)
    assert inside.close()
    assert inside.close()
    assert not [
        path for root in (Path("/sys/fs/cgroup"),) for path in root.glob(f"**/acai/{inside.name}")
    ]
    assert inside.usage().cpu_seconds >= 0


delegated = pytest.mark.skipif(
    cgroup_rights().version != 2 or not cgroup_rights().writable, reason="no cgroup v2 here"
)


@pytest.fixture
def place() -> Iterator[Path]:
    """A group as it is delegated to a service: below the top, with a process in it."""
    (top,) = (one.point for one in hierarchies() if one.version == 2)
    made = top / f"test-{random_word(8)}"
    made.mkdir()
    yield made
    for directory, _, _ in os.walk(made, topdown=False):
        os.rmdir(directory)


@delegated
def test_processes_of_a_delegated_group_step_aside(place: Path, tmp_path: Path) -> None:
    resident = subprocess.Popen(["sleep", "600"])
    try:
        (place / "cgroup.procs").write_text(str(resident.pid))
        inside = GroupConfinement(GroupV2("job.1", place), cpu=1.0, memory=64 * MIB)
        child = spawn(inside, "cat", "/proc/self/cgroup", cwd=tmp_path)
        assert child.wait(timeout=60) == 0
        assert inside.close()
        aside = (place / "acai.beside" / "cgroup.procs").read_text().split()
        assert aside == [str(resident.pid)]
    finally:
        resident.kill()
        resident.wait()


@delegated
def test_killing_without_cgroup_kill(place: Path, tmp_path: Path) -> None:
    """As kernels before 5.14 need it."""
    group = GroupV2("job.1", place)
    inside = GroupConfinement(group, cpu=1.0, memory=64 * MIB)
    script = "setsid sleep 600 & setsid sleep 600 & echo >ready; sleep 600"
    child = spawn(inside, "/bin/sh", "-c", script, cwd=tmp_path)
    appears(tmp_path / "ready")
    group._strike_frozen()
    assert child.wait(timeout=60) == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while not inside.empty() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert inside.empty()
    assert inside.close()
