"""Servers, nurseries and agents killed at any moment: no attempt runs twice, nothing is left."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from acai.agent.limits.processes import marked
from acai.launchers.attempts import Attempt
from acai.launchers.base import Sighting, Task
from acai.launchers.local import LocalLauncher
from acai.testing.launchers import alive, appears, finish, make_task, until_gone, where

# A server as far as a launcher can tell: it submits one task after the other and says so.
SERVER = """
import json, sys
from pathlib import Path
from acai.launchers.base import Task
from acai.launchers.local import LocalLauncher

home = Path(sys.argv[1])
launcher = LocalLauncher(
    home / "agents", cache_dir=home / "cache", entry="acai.testing.agents:run"
)
for line in sys.stdin:
    task = Task(**json.loads(line))
    failed = launcher.submit([task])
    print(task.handle, "failed" if failed else "started", flush=True)
sys.stdin.read()
"""
SCRIPT = """
echo x >>starts
setsid sleep 600 &
echo $! >left
sleep 0.1
echo y >>ends
"""
TASKS = 12


def serve_until_killed(home: Path, tasks: list[Task], after: int, more: float) -> set[str]:
    """Run a server, kill it a moment after its n-th word; returns what it said it had started."""
    lines = "".join(json.dumps(asdict(task)) + "\n" for task in tasks)
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with server:
        server.stdin.write(lines)
        server.stdin.flush()
        said = [server.stdout.readline() for _ in range(after)]
        time.sleep(more)
        os.kill(server.pid, signal.SIGKILL)
        said += server.stdout.readlines()
    words = [line.split() for line in said if line.endswith("\n")]
    assert all(word == "started" for _, word in words)
    return {handle for handle, _ in words}


@pytest.mark.parametrize("seed", range(5))
def test_random_kills(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    tasks = [make_task(tmp_path, SCRIPT) for _ in range(TASKS)]
    promised = serve_until_killed(tmp_path, tasks, chance.randrange(TASKS), chance.random() * 0.02)
    launcher = LocalLauncher(
        tmp_path / "agents", cache_dir=tmp_path / "cache", entry="acai.testing.agents:run"
    )
    try:
        known = set(launcher.handles())
        assert promised <= known
        shot = kill_some_agents(tmp_path, chance, sorted(known))
        if chance.random() < 0.5 and launcher._nursery.pid:
            os.kill(launcher._nursery.pid, signal.SIGKILL)
        assert launcher.submit(tasks) == {}
        for task in tasks:
            until_gone(launcher, task.handle)
            check(task, certain=task.handle in promised or task.handle not in known, shot=shot)
    finally:
        finish(launcher)


def kill_some_agents(home: Path, chance: random.Random, handles: list[str]) -> set[str]:
    shot = set()
    for handle in handles:
        record = Attempt(home / "agents", handle).agent()
        if record is not None and chance.random() < 0.3 and record.send(signal.SIGKILL):
            shot.add(handle)
    return shot


def check(task: Task, *, certain: bool, shot: set[str]) -> None:
    starts = where(task) / "starts"
    count = len(starts.read_text().split()) if starts.exists() else 0
    assert count <= 1
    if certain and task.handle not in shot:
        assert count == 1
        assert (where(task) / "ends").read_text() == "y\n"
    left = where(task) / "left"
    if left.exists() and left.read_text().strip():
        assert not alive(int(left.read_text()))
    assert marked(task.handle) == set()
    assert not list(Path("/sys/fs/cgroup").glob(f"*/acai/{task.handle}"))


def test_a_server_that_is_killed_leaves_its_agents_alone(tmp_path: Path) -> None:
    task = make_task(tmp_path, "until [ -e go ]; do sleep 0.05; done; echo done >result")
    assert serve_until_killed(tmp_path, [task], 1, 0.0) == {task.handle}
    pids = [int(word) for word in appears(where(task) / "pid").split()]
    time.sleep(0.3)  # the nursery notices and goes
    assert all(alive(pid) for pid in pids)
    launcher = LocalLauncher(
        tmp_path / "agents", cache_dir=tmp_path / "cache", entry="acai.testing.agents:run"
    )
    try:
        assert launcher.describe([task.handle])[task.handle].sighting is Sighting.ALIVE
        (where(task) / "go").touch()
        assert until_gone(launcher, task.handle).reason == "the agent ended"
        assert (where(task) / "result").read_text() == "done\n"
    finally:
        finish(launcher)


def test_the_program_of_a_killed_agent_is_ended_without_control_groups(tmp_path: Path) -> None:
    launcher = LocalLauncher(
        tmp_path / "agents", cache_dir=tmp_path / "cache", entry="acai.testing.agents:loosely"
    )
    try:
        script = "setsid sh -c 'echo $$ >left; exec sleep 600' & echo $$ >self; sleep 600"
        task = make_task(tmp_path, script)
        launcher.submit([task])
        pids = [int(appears(where(task) / name)) for name in ("left", "self")]
        os.kill(int(appears(where(task) / "pid").split()[0]), signal.SIGKILL)
        until_gone(launcher, task.handle)
        assert not any(alive(pid) for pid in pids)
    finally:
        finish(launcher)
