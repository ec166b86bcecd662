"""Every launcher passes the same suite; then what only the local one has."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acai.launchers.base import Sighting
from acai.launchers.local import LocalLauncher
from acai.launchers.nursery import kept_environment
from acai.testing.launchers import (
    LauncherContract,
    OpenLauncher,
    alive,
    appears,
    finish,
    make_task,
    seen,
    until_gone,
    where,
)

Opening = Callable[..., LocalLauncher]


def opened(home: Path, *, agent: str = "run", grace: float = 10.0) -> LocalLauncher:
    return LocalLauncher(
        home / "agents",
        cache_dir=home / "cache",
        grace=grace,
        entry=f"acai.testing.agents:{agent}",
    )


class TestLocal(LauncherContract):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        return tmp_path

    @pytest.fixture
    def open_launcher(self, tmp_path: Path) -> OpenLauncher:
        return lambda: opened(tmp_path)


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[LocalLauncher]:
    launcher = opened(tmp_path)
    yield launcher
    finish(launcher)


def test_a_dead_nursery_is_replaced(launcher: LocalLauncher, tmp_path: Path) -> None:
    first = make_task(tmp_path, "sleep 600")
    launcher.submit([first])
    appears(where(first) / "pid")
    before = launcher._nursery.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    second = make_task(tmp_path, "sleep 600")
    assert launcher.submit([second]) == {}
    appears(where(second) / "pid")
    assert launcher._nursery.pid != before
    assert seen(launcher, first) is Sighting.ALIVE


@pytest.fixture
def impatience(monkeypatch: pytest.MonkeyPatch) -> float:
    """Seconds after which an agent that does not listen is ended by force."""
    monkeypatch.setattr("acai.launchers.local._AFTER_GRACE", 0.5)
    return 1.0


def test_an_agent_that_ignores_the_request_is_ended_by_force(
    tmp_path: Path, impatience: float
) -> None:
    launcher = opened(tmp_path, agent="deaf", grace=0.5)
    try:
        task = make_task(tmp_path, "trap '' TERM; while :; do sleep 1; done")
        launcher.submit([task])
        pids = [int(word) for word in appears(where(task) / "pid").split()]
        asked = time.monotonic()
        launcher.kill([task.handle])
        while any(alive(pid) for pid in pids) and time.monotonic() < asked + 20:
            time.sleep(0.05)  # nobody asks the launcher: it keeps its own time
        assert not any(alive(pid) for pid in pids)
        assert time.monotonic() > asked + impatience
        reason = until_gone(launcher, task.handle).reason
        assert reason is not None
        assert reason.startswith("the agent was killed")
    finally:
        finish(launcher)


@pytest.mark.usefixtures("impatience")
def test_the_request_to_end_survives_a_restart(tmp_path: Path) -> None:
    launcher = opened(tmp_path, agent="deaf", grace=0.5)
    task = make_task(tmp_path, "trap '' TERM; while :; do sleep 1; done")
    launcher.submit([task])
    appears(where(task) / "pid")
    launcher.kill([task.handle])
    launcher.close()
    again = opened(tmp_path)
    try:
        until_gone(again, task.handle)
    finally:
        finish(again)


def test_a_broken_agent_says_why(tmp_path: Path) -> None:
    launcher = opened(tmp_path, agent="broken")
    try:
        task = make_task(tmp_path, "true")
        assert launcher.submit([task]) == {}
        reason = until_gone(launcher, task.handle).reason
        assert reason is not None
        assert f"RuntimeError: nothing works in {task.handle}" in reason
    finally:
        finish(launcher)


def test_an_agent_that_cannot_be_loaded_fails_the_launch(tmp_path: Path) -> None:
    launcher = opened(tmp_path, agent="absent")
    try:
        task = make_task(tmp_path, "true")
        failed = launcher.submit([task])
        assert "the agent cannot be loaded" in str(failed[task.handle])
        assert seen(launcher, task) is Sighting.UNKNOWN
    finally:
        finish(launcher)


def test_images_and_bad_handles_are_refused(launcher: LocalLauncher, tmp_path: Path) -> None:
    from dataclasses import replace

    image = replace(make_task(tmp_path, "true"), image="python:3")
    outside = replace(make_task(tmp_path, "true"), handle="../outside")
    failed = launcher.submit([image, outside])
    assert "images" in str(failed[image.handle])
    assert "handle" in str(failed["../outside"])
    assert not (tmp_path / "outside").exists()
    assert launcher.describe(["../outside", "."])["../outside"].sighting is Sighting.UNKNOWN
    assert launcher.handles() == []


def test_the_token_is_neither_on_disk_nor_in_arguments(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    task = make_task(tmp_path, "tr '\\0' ' ' </proc/$PPID/cmdline >line; echo >>line; sleep 600")
    launcher.submit([task])
    appears(where(task) / "line")
    assert task.token not in (where(task) / "line").read_text()
    files = [path for path in (tmp_path / "agents").rglob("*") if path.is_file()]
    assert files
    assert not any(task.token in path.read_text(errors="replace") for path in files)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "agents").glob("job-*")]
    assert modes == [0o700]
    assert task.token not in repr(task)


def test_the_servers_secrets_do_not_reach_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    monkeypatch.setenv("ACAI_DATABASE", "postgresql://user:hush@host/db")
    launcher = opened(tmp_path)
    try:
        task = make_task(tmp_path, "env >seen; echo >>seen")
        launcher.submit([task])
        until_gone(launcher, task.handle)
        variables = (where(task) / "seen").read_text()
        assert "PATH=" in variables
        assert "hush" not in variables
    finally:
        finish(launcher)
    kept = kept_environment({"https_proxy": "p", "LC_ALL": "C", "ACAI_TOKEN": "t", "PATH": "x"})
    assert kept == {"https_proxy": "p", "LC_ALL": "C", "PATH": "x"}


def test_what_a_crash_left_half_made_is_cleaned_up(tmp_path: Path) -> None:
    root = tmp_path / "agents"
    for name in (".new-abc", ".old-abc"):
        (root / name / "run").mkdir(parents=True)
        (root / name / "lock").touch()
    (root / ".old-abc" / "run").chmod(0o500)
    launcher = opened(tmp_path)
    try:
        deadline = time.monotonic() + 10
        while list(root.glob(".*-abc")) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not list(root.glob(".*-abc"))
        assert launcher.handles() == []
    finally:
        launcher.close()


def test_after_a_reboot_everything_is_gone(launcher: LocalLauncher, tmp_path: Path) -> None:
    directory = tmp_path / "agents" / "job-before.1"
    directory.mkdir()
    (directory / "lock").touch()
    own = os.getpid()
    (directory / "agent").write_text(f'{{"pid": {own}, "started": 1, "boot": "another"}}')
    launcher.kill(["job-before.1"])
    found = launcher.describe(["job-before.1"])["job-before.1"]
    assert (found.sighting, found.reason) == (Sighting.GONE, "the machine was restarted")


def test_a_pid_that_was_given_to_another_is_left_alone(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    import fcntl

    from acai.launchers.attempts import boot_id

    directory = tmp_path / "agents" / "job-reused.1"
    directory.mkdir()
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        text = f'{{"pid": {os.getpid()}, "started": 1, "boot": "{boot_id()}"}}'
        (directory / "agent").write_text(text)
        with (directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            launcher.kill(["job-reused.1"])
            time.sleep(0.3)
        assert heard == []
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_nursery_goes_with_its_launcher(tmp_path: Path) -> None:
    launcher = opened(tmp_path)
    launcher._nursery.warm()
    pid = launcher._nursery.pid
    assert pid is not None
    assert alive(pid)
    launcher.close()
    assert not alive(pid)


def test_capacity_can_be_given(tmp_path: Path) -> None:
    given = LocalLauncher(
        tmp_path / "agents",
        cache_dir=tmp_path / "cache",
        cpu=3.0,
        memory=10**9,
        gpu=1.0,
        entry="acai.testing.agents:run",
    )
    try:
        capacity = given.capacity()
        assert (capacity.cpu, capacity.memory, capacity.gpu) == (3.0, 10**9, 1.0)
    finally:
        given.close()
