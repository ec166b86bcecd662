"""The contract suite for launchers. A new launcher passes it with two fixtures:

    class TestMyLauncher(LauncherContract):
        @pytest.fixture
        def place(self, tmp_path):
            return tmp_path         # a directory that the agents see under the same path

        @pytest.fixture
        def open_launcher(self, place):
            def open_it():          # again and again: the same launcher after a restart
                return MyLauncher(..., agent="acai.testing.agents:run")
            return open_it

Agents are those of `acai.testing.agents`, which run a script beside which they leave notes.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acai.agent.limits.processes import processes
from acai.launchers.base import Launcher, Seen, Sighting, Task
from acai.model.ids import random_word

OpenLauncher = Callable[[], Launcher]
WITHIN = 30.0  # seconds that anything may take on a busy machine


class LauncherContract:
    """What every Launcher does."""

    @pytest.fixture
    def launcher(self, open_launcher: OpenLauncher) -> Iterator[Launcher]:
        opened = open_launcher()
        opened.prepare()
        yield opened
        finish(opened)

    def test_an_agent_runs_its_program_and_is_gone(self, launcher: Launcher, place: Path) -> None:
        task = make_task(place, "echo done >result")
        assert launcher.submit([task]) == {}
        assert until_gone(launcher, task.handle).reason
        assert (where(task) / "result").read_text() == "done\n"
        assert (where(task) / "settings").read_text().split() == [task.job, "1", task.token]

    def test_a_running_agent_is_alive(self, launcher: Launcher, place: Path) -> None:
        task = make_task(place, "sleep 600")
        assert launcher.submit([task]) == {}
        assert seen(launcher, task) in (Sighting.STARTING, Sighting.ALIVE)
        appears(where(task) / "pid")
        assert seen(launcher, task) is Sighting.ALIVE

    def test_submitting_again_starts_nothing(self, launcher: Launcher, place: Path) -> None:
        task = make_task(place, "echo x >>starts; sleep 600")
        assert launcher.submit([task, task]) == {}
        assert launcher.submit([task]) == {}
        appears(where(task) / "starts")
        assert launcher.submit([task]) == {}
        launcher.kill([task.handle])
        until_gone(launcher, task.handle)
        assert launcher.submit([task]) == {}
        time.sleep(0.3)
        assert seen(launcher, task) is Sighting.GONE
        assert (where(task) / "starts").read_text() == "x\n"

    def test_submitting_from_many_threads_starts_one(self, launcher: Launcher, place: Path) -> None:
        task = make_task(place, "echo x >>starts")
        threads = [threading.Thread(target=launcher.submit, args=([task],)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until_gone(launcher, task.handle)
        assert (where(task) / "starts").read_text() == "x\n"

    def test_many_are_started_and_described_together(self, launcher: Launcher, place: Path) -> None:
        tasks = [make_task(place, "sleep 600") for _ in range(5)]
        assert launcher.submit(tasks) == {}
        for task in tasks:
            appears(where(task) / "pid")
        described = launcher.describe([task.handle for task in tasks])
        assert {one.sighting for one in described.values()} == {Sighting.ALIVE}
        assert set(launcher.handles()) >= {task.handle for task in tasks}

    def test_what_was_never_submitted_is_unknown(self, launcher: Launcher) -> None:
        unknown = f"job-{random_word(10)}.1"
        assert launcher.describe([unknown]) == {unknown: Seen(sighting=Sighting.UNKNOWN)}
        launcher.kill([unknown])
        launcher.forget([unknown])
        assert unknown not in launcher.handles()
        assert launcher.describe([]) == {}
        assert launcher.submit([]) == {}

    def test_killing_lets_the_program_end_politely(self, launcher: Launcher, place: Path) -> None:
        script = "trap 'echo heard >heard; exit 3' TERM; echo >ready; while :; do sleep 0.05; done"
        task = make_task(place, script)
        launcher.submit([task])
        appears(where(task) / "ready")
        launcher.kill([task.handle])
        launcher.kill([task.handle])
        until_gone(launcher, task.handle)
        assert (where(task) / "heard").exists()
        assert (where(task) / "ended").read_text() == "3\n"

    def test_killing_ends_the_whole_tree(self, launcher: Launcher, place: Path) -> None:
        script = """
            trap '' TERM
            setsid sh -c 'trap "" TERM; echo $$ >left; while :; do sleep 1; done' &
            (sh -c 'echo $$ >child; exec sleep 600' &)
            echo $$ >self
            while :; do sleep 1; done
        """
        task = make_task(place, script)
        launcher.submit([task])
        pids = [int(appears(where(task) / name)) for name in ("left", "child", "self")]
        launcher.kill([task.handle])
        until_gone(launcher, task.handle)
        assert not any(alive(pid) for pid in pids)

    def test_killing_what_is_gone_is_no_error(self, launcher: Launcher, place: Path) -> None:
        task = make_task(place, "true")
        launcher.submit([task])
        until_gone(launcher, task.handle)
        launcher.kill([task.handle])
        assert seen(launcher, task) is Sighting.GONE

    def test_a_kill_right_after_submitting_counts(self, launcher: Launcher, place: Path) -> None:
        task = make_task(place, "sleep 600")
        launcher.submit([task])
        launcher.kill([task.handle])
        until_gone(launcher, task.handle)

    def test_gone_means_that_nothing_runs(self, launcher: Launcher, place: Path) -> None:
        """The agent is killed alone, and its program would run on."""
        script = "setsid sh -c 'echo $$ >left; exec sleep 600' & echo $$ >self; sleep 600"
        task = make_task(place, script)
        launcher.submit([task])
        pids = [int(appears(where(task) / name)) for name in ("left", "self")]
        agent = int(appears(where(task) / "pid").split()[0])
        os.kill(agent, signal.SIGKILL)
        last = until_gone(launcher, task.handle)
        assert not any(alive(pid) for pid in pids)
        assert last.reason
        assert launcher.describe([task.handle])[task.handle] == last

    def test_agents_outlive_the_launcher(self, open_launcher: OpenLauncher, place: Path) -> None:
        task = make_task(place, "until [ -e go ]; do sleep 0.05; done; echo done >result")
        first = open_launcher()
        first.submit([task])
        appears(where(task) / "pid")
        first.close()
        second = open_launcher()
        try:
            assert task.handle in second.handles()
            assert seen(second, task) is Sighting.ALIVE
            second.submit([task])
            (where(task) / "go").touch()
            until_gone(second, task.handle)
            assert (where(task) / "result").read_text() == "done\n"
        finally:
            finish(second)

    def test_a_new_launcher_can_kill_what_an_old_one_started(
        self, open_launcher: OpenLauncher, place: Path
    ) -> None:
        task = make_task(place, "sleep 600")
        first = open_launcher()
        first.submit([task])
        pids = [int(word) for word in appears(where(task) / "pid").split()]
        first.close()
        second = open_launcher()
        try:
            second.kill([task.handle])
            until_gone(second, task.handle)
            assert not any(alive(pid) for pid in pids)
        finally:
            finish(second)

    def test_forgetting(self, launcher: Launcher, place: Path) -> None:
        over, running = make_task(place, "true"), make_task(place, "sleep 600")
        launcher.submit([over, running])
        until_gone(launcher, over.handle)
        appears(where(running) / "pid")
        launcher.forget([over.handle, running.handle])
        assert seen(launcher, over) is Sighting.UNKNOWN
        assert seen(launcher, running) is Sighting.ALIVE
        assert over.handle not in launcher.handles()
        launcher.forget([over.handle])

    def test_it_knows_what_it_has(self, launcher: Launcher) -> None:
        launcher.prepare()
        capacity = launcher.capacity()
        assert capacity.cpu > 0
        assert capacity.memory > 0
        sentence = launcher.check()
        assert sentence is None or len(sentence.split()) > 3


def make_task(place: Path, script: str, *, server: str | None = None) -> Task:
    """An attempt of a new job that runs a shell script in a directory of its own."""
    job = f"job-{random_word(10)}"
    directory = place / job
    directory.mkdir(parents=True)
    (directory / "script").write_text(script)
    return Task(
        handle=f"{job}.1",
        job=job,
        attempt=1,
        project="default",
        cpu=0.1,
        memory=64 * 1024**2,
        gpu=0.0,
        image=None,
        token=f"secret-{random_word(20)}",
        server=server or f"script:{directory / 'script'}",
    )


def where(task: Task) -> Path:
    return Path(task.server.removeprefix("script:")).parent


def seen(launcher: Launcher, task: Task) -> Sighting:
    return launcher.describe([task.handle])[task.handle].sighting


def until_gone(launcher: Launcher, handle: str) -> Seen:
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        found = launcher.describe([handle])[handle]
        if found.sighting is Sighting.GONE:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{handle} is still there")


def appears(path: Path) -> str:
    """The content of a file once a whole line is in it."""
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return text.strip()
        time.sleep(0.01)
    raise AssertionError(f"{path} did not appear")


def alive(pid: int) -> bool:
    found = processes().get(pid)
    return found is not None and not found.dead


def finish(launcher: Launcher) -> None:
    """End and forget everything, then let go."""
    handles = launcher.handles()
    launcher.kill(handles)
    for handle in handles:
        until_gone(launcher, handle)
    launcher.forget(handles)
    launcher.close()
