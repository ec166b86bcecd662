"""What control groups of both versions have in common."""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from acai.agent.limits.base import MARK, Output, Usage, check_name, send

PARENT = "acai"  # the group that holds all of ours
PERIOD = 100_000  # microseconds over which a CPU quota is counted
_LEAST_QUOTA = 1_000  # what the kernel takes
_STRIKE_AGAIN = 0.25
_SMALL = 8 * 1024**2


@dataclass(frozen=True, kw_only=True)
class Readings:
    cpu_seconds: float
    resident: int
    charged_peak: int  # with page cache: an upper bound
    oom_kills: int


class Group(Protocol):
    """The control groups of one name. Methods raise OSError."""

    name: str

    def exists(self) -> bool: ...

    def create(self, *, cpu: float, memory: int) -> None: ...

    def doors(self) -> Sequence[Path]:
        """A process enters by writing 0 into each."""
        ...

    def members(self) -> set[int]: ...

    def strike(self) -> None:
        """SIGKILL to every member at one moment, so that none forks its way out."""
        ...

    def readings(self) -> Readings: ...

    def remove(self) -> None:
        """Of a group without members; no error if it is not there."""
        ...


class GroupConfinement:
    """A Confinement in a control group: exact."""

    approximate: str | None = None

    def __init__(self, group: Group, *, cpu: float, memory: int) -> None:
        self.name = group.name
        self._group = group
        self._memory = memory
        self._peak = 0
        self._largest_before = _largest_child()
        self._last = Usage(cpu_seconds=0.0, memory_resident=0, peak_memory=0, oom_kills=0)
        if group.exists() and not end_group(group):  # its counters are those of an earlier use
            raise OSError(f"processes of an earlier {self.name} do not end")
        try:
            group.create(cpu=cpu, memory=memory)
        except OSError:
            with contextlib.suppress(OSError):
                group.remove()
            raise

    def spawn(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdout: Output = None,
        stderr: Output = None,
    ) -> subprocess.Popen[bytes]:
        # A shell enters the group and becomes the program: nothing of the program runs outside,
        # and no Python runs between fork and exec, which is not safe beside threads.
        entering = " && ".join(f"echo 0 >{shlex.quote(str(door))}" for door in self._group.doors())
        return subprocess.Popen(
            ["/bin/sh", "-c", f'{{ {entering}; }} || exit 125; exec "$@"', "sh", *argv],
            cwd=cwd,
            env={**env, MARK: self.name},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )

    def usage(self) -> Usage:
        try:
            now = self._group.readings()
        except OSError:
            return self._last
        # Page cache fills a group up to its limit without harm, so the charged peak counts only
        # once it hurt.
        self._peak = max(self._peak, now.resident, self._between_samples(now))
        if now.oom_kills:
            self._peak = max(self._peak, min(now.charged_peak, self._memory))
            # Version 1 kills one process, and those that wait for it would wait for ever.
            self.signal_all(signal.SIGKILL)
        self._last = Usage(
            cpu_seconds=now.cpu_seconds,
            memory_resident=now.resident,
            peak_memory=self._peak,
            oom_kills=now.oom_kills,
        )
        return self._last

    def _between_samples(self, now: Readings) -> int:
        """What a short program may have held unseen: the peak of the largest child that was
        waited for. The kernel counts there what a child shared with us before its exec, and
        earlier children; where that is all, the program was a small one."""
        largest = _largest_child()
        known = largest > max(_own_peak(), self._largest_before)
        return min(largest if known else _SMALL, now.charged_peak)

    def signal_all(self, number: signal.Signals) -> None:
        with contextlib.suppress(FileNotFoundError):
            send(self._group.members(), number)

    def kill_all(self, timeout: float = 5.0) -> bool:
        return strike_group(self._group, timeout)

    def empty(self) -> bool:
        return not _members(self._group)

    def close(self) -> bool:
        self.usage()
        return end_group(self._group)


def _own_peak() -> int:
    """Of this process since its exec: what the kernel counts for it otherwise may be its
    parent's, which it shared before."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _largest_child() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def strike_group(group: Group, timeout: float) -> bool:
    """Kill the members until there are none; False if some remain at the end."""
    deadline = time.monotonic() + timeout
    while _members(group):
        with contextlib.suppress(FileNotFoundError):
            group.strike()
        again = min(time.monotonic() + _STRIKE_AGAIN, deadline)
        pause = 0.0005
        while _members(group) and time.monotonic() < again:
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        if time.monotonic() >= deadline:
            return not _members(group)
    return True


def end_group(group: Group, timeout: float = 5.0) -> bool:
    """Kill the members and remove the group; True when it is no more. A process that is about
    to enter is either killed inside or finds no door."""
    deadline = time.monotonic() + timeout
    while True:
        strike_group(group, deadline - time.monotonic())
        try:
            group.remove()
            return True
        except OSError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)


def _members(group: Group) -> set[int]:
    try:
        return group.members()
    except FileNotFoundError:
        return set()


def quota(cpu: float) -> int:
    return max(_LEAST_QUOTA, round(cpu * PERIOD))


def below(parent: Path, name: str) -> Path:
    return parent / PARENT / check_name(name)


def listed(group: Path) -> set[int]:
    """The processes of a group and of the groups that they made below it."""
    found: set[int] = set()
    for directory, _, _ in os.walk(group):
        with contextlib.suppress(FileNotFoundError, OSError):
            words = Path(directory, "cgroup.procs").read_text().split()
            found.update(int(word) for word in words)
    return found


def remove_tree(group: Path) -> None:
    for directory, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(FileNotFoundError):
            Path(directory).rmdir()


def numbers(file: Path) -> dict[str, int]:
    """The lines `key value` of a control file."""
    pairs = (line.split() for line in file.read_text().splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}
