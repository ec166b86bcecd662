"""Version 2: one hierarchy, whose controllers are handed down from group to group."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from acai.agent.limits.base import send
from acai.agent.limits.groups import (
    PARENT,
    PERIOD,
    Readings,
    below,
    listed,
    numbers,
    quota,
    remove_tree,
)
from acai.agent.limits.hierarchies import Hierarchy

CONTROLLERS = ("cpu", "memory")
_ASIDE = f"{PARENT}.beside"
_FREEZE_WITHIN = 0.1


def parents(found: Sequence[Hierarchy]) -> list[Path]:
    """Where groups may be made, best first: at the top; else in the topmost of the groups
    around us that was delegated to us, which other processes of ours share."""
    places: list[Path] = []
    for hierarchy in found:
        if hierarchy.version == 2 and hierarchy.controllers.issuperset(CONTROLLERS):
            around = [hierarchy.own, *hierarchy.own.parents]
            inside = [path for path in around if path.is_relative_to(hierarchy.point)]
            places += [path for path in reversed(inside) if _has_controllers(path)]
    return places


def usable(parent: Path) -> bool:
    """Can a group be made here, and may a process of ours enter it? Only a trial tells: one
    may own a group and still not be allowed to move processes to it."""
    if not (os.access(parent, os.W_OK) and os.access(parent / "cgroup.procs", os.W_OK)):
        return False
    trial = GroupV2(f"trial-{os.getpid()}", parent)
    door = trial.doors()[0]
    try:
        trial.create(cpu=1.0, memory=64 * 1024**2)
        subprocess.run(
            ["/bin/sh", "-c", 'echo 0 >"$1"', "sh", str(door)],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return True
    except (OSError, subprocess.CalledProcessError):
        return False
    finally:
        with contextlib.suppress(OSError):
            trial.remove()


class GroupV2:
    def __init__(self, name: str, parent: Path) -> None:
        self.name = name
        self._parent = parent
        self._path = below(parent, name)

    def exists(self) -> bool:
        return self._path.is_dir()

    def create(self, *, cpu: float, memory: int) -> None:
        _hand_down(self._parent)
        self._path.parent.mkdir(exist_ok=True)
        _hand_down(self._path.parent)
        self._path.mkdir(exist_ok=True)
        (self._path / "cpu.max").write_text(f"{quota(cpu)} {PERIOD}")
        (self._path / "memory.max").write_text(str(memory))
        for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
            if (self._path / name).exists():
                (self._path / name).write_text(value)

    def doors(self) -> Sequence[Path]:
        return [self._path / "cgroup.procs"]

    def members(self) -> set[int]:
        return listed(self._path)

    def strike(self) -> None:
        try:
            _tell(self._path / "cgroup.kill", "1")
        except OSError:  # before Linux 5.14
            self._strike_frozen()

    def _strike_frozen(self) -> None:
        with contextlib.suppress(OSError):
            _tell(self._path / "cgroup.freeze", "1")
            deadline = time.monotonic() + _FREEZE_WITHIN
            while time.monotonic() < deadline:
                if numbers(self._path / "cgroup.events").get("frozen"):
                    break
                time.sleep(0.0005)
        try:
            send(self.members(), signal.SIGKILL)
        finally:
            with contextlib.suppress(OSError):
                _tell(self._path / "cgroup.freeze", "0")

    def readings(self) -> Readings:
        stat = numbers(self._path / "memory.stat")
        return Readings(
            cpu_seconds=numbers(self._path / "cpu.stat")["usage_usec"] / 1e6,
            resident=stat.get("anon", 0) + stat.get("shmem", 0),
            charged_peak=self._charged_peak(),
            oom_kills=numbers(self._path / "memory.events").get("oom_kill", 0),
        )

    def _charged_peak(self) -> int:
        try:
            return int((self._path / "memory.peak").read_text())
        except OSError:  # before Linux 5.19: no bound but the limit
            limit = (self._path / "memory.max").read_text().strip()
            return int(limit) if limit != "max" else 0

    def remove(self) -> None:
        remove_tree(self._path)


def _tell(file: Path, word: str) -> None:
    """Into a control file that exists; never makes one."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, word.encode())
    finally:
        os.close(descriptor)


def _has_controllers(group: Path) -> bool:
    try:
        offered = (group / "cgroup.controllers").read_text().split()
    except OSError:
        return False
    return set(CONTROLLERS) <= set(offered)


def _hand_down(group: Path) -> None:
    """Let groups below have the controllers. A group that does so may hold no processes (the
    real top apart), so those of a delegated one or of a container step aside first."""
    handed = group / "cgroup.subtree_control"
    missing = sorted(set(CONTROLLERS) - set(handed.read_text().split()))
    if not missing:
        return
    words = " ".join(f"+{name}" for name in missing)
    try:
        _tell(handed, words)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        _step_aside(group)
        _tell(handed, words)


def _step_aside(group: Path) -> None:
    aside = group / _ASIDE
    aside.mkdir(exist_ok=True)
    for word in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            _tell(aside / "cgroup.procs", word)
