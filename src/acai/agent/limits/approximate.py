"""Limits where there are no control groups: watched from outside, and so approximate.

A thread looks at the tree ten times a second. A tree that is ahead of its CPU share is stopped
until the clock has caught up, and one that holds more memory than it may is killed. A limit on
each process's data catches what grows faster than anybody looks. Programs are niced, so that
the server stays responsive.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from acai.agent.limits.base import MARK, Output, Usage, check_name, send
from acai.agent.limits.processes import (
    Process,
    descendants,
    marked,
    offspring,
    on_proc,
    process,
    processes,
)

SENTENCE = (
    "limits are approximate here: there is no control group to use, so the program is stopped "
    "and continued to hold its CPU share, and killed when it is seen over its memory"
)
_PERIOD = 0.1
_SCAN_EVERY = 0.5  # the whole process table; in between only the known members
_SCAN_SHARE = 20  # and not more of our own time than one part in so many
_CREDIT = 0.05  # CPU seconds that a tree may save up: what one look may be wrong by
_NICENESS = 5
_LEAST_DATA_SLACK = 128 * 1024**2
_PR_SET_CHILD_SUBREAPER = 36


class ApproximateConfinement:
    """See Confinement. Members are the processes that carry the mark of this name, those in a
    session it began, and everything below them."""

    approximate: str | None = SENTENCE

    def __init__(self, name: str, *, cpu: float, memory: int) -> None:
        self.name = check_name(name)
        self._cpu = cpu
        self._memory = memory
        self._roots: set[int] = set()
        self._members: dict[int, Process] = {}
        self._scan_at = 0.0
        self._before = _waited_cpu()
        self._usage = Usage(cpu_seconds=0.0, memory_resident=0, peak_memory=0, oom_kills=0)
        self._look = threading.RLock()
        self._ending = threading.Event()
        self._watcher: threading.Thread | None = None
        _adopt_orphans()

    def spawn(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdout: Output = None,
        stderr: Output = None,
    ) -> subprocess.Popen[bytes]:
        data = (self._memory + max(self._memory // 4, _LEAST_DATA_SLACK)) // 1024
        limits = f"ulimit -d {data} 2>/dev/null; ulimit -c 0"
        child = subprocess.Popen(
            ["/bin/sh", "-c", f'{limits}; exec nice -n {_NICENESS} "$@"', "sh", *argv],
            cwd=cwd,
            env={**env, MARK: self.name},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        with self._look:
            self._roots.add(child.pid)
            self._scan_at = 0.0
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, name="limits", daemon=True)
            self._watcher.start()
        return child

    def usage(self) -> Usage:
        with self._look:
            self._refresh()
            return self._usage

    def signal_all(self, number: signal.Signals) -> None:
        self._ending.set()  # what is stopped could not hear it
        with self._look:
            self._refresh(whole=True)
            pids = set(self._members)
            send(pids, number)
            send(pids, signal.SIGCONT)

    def kill_all(self, timeout: float = 5.0) -> bool:
        self._ending.set()
        with self._look:
            ended = kill_trees(self.name, self._roots, timeout)
            self._refresh(whole=True)
        return ended

    def empty(self) -> bool:
        with self._look:
            self._refresh(whole=True)
            return not self._members

    def close(self) -> bool:
        ended = self.kill_all()
        if self._watcher is not None:
            self._watcher.join(timeout=2.0)
        return ended

    def _watch(self) -> None:
        throttled = self._cpu < _cores()
        credit, looked, counted = _CREDIT, time.monotonic(), 0.0
        while not self._ending.wait(_PERIOD / 2):
            with self._look:
                self._refresh()
                if self._usage.memory_resident > self._memory:
                    self._punish()
                    return
                used = self._usage.cpu_seconds
            now = time.monotonic()
            credit = min(credit + self._cpu * (now - looked), _CREDIT) - (used - counted)
            looked, counted = now, used
            if throttled and credit < 0:
                self._pause(min(-credit / self._cpu, 1.0))

    def _pause(self, seconds: float) -> None:
        with self._look:
            stopped = set(self._members)
            send(stopped, signal.SIGSTOP)
        self._ending.wait(seconds)
        send(stopped, signal.SIGCONT)

    def _punish(self) -> None:
        kill_trees(self.name, self._roots, timeout=5.0)
        self._usage = Usage(
            cpu_seconds=self._usage.cpu_seconds,
            memory_resident=0,
            peak_memory=self._usage.peak_memory,
            oom_kills=self._usage.oom_kills + 1,
        )

    def _refresh(self, *, whole: bool = False) -> None:
        began = time.monotonic()
        if whole or began > self._scan_at:
            table = tree(self.name, self._roots)
            _reap(table)
            ended = time.monotonic()
            self._scan_at = ended + max(_SCAN_EVERY, _SCAN_SHARE * (ended - began))
        elif on_proc():
            fresh = (process(pid) for pid in offspring(self._members))
            table = {one.pid: one for one in fresh if one}
        else:
            return
        self._members = {pid: one for pid, one in table.items() if not one.dead}
        used = sum(one.cpu_seconds for one in table.values()) + _waited_cpu() - self._before
        resident = sum(one.resident for one in self._members.values())
        self._usage = Usage(
            cpu_seconds=max(self._usage.cpu_seconds, used),
            memory_resident=resident,
            peak_memory=max(self._usage.peak_memory, resident),
            oom_kills=self._usage.oom_kills,
        )


def tree(name: str, roots: set[int]) -> dict[int, Process]:
    """The members of a confinement, dead ones that nobody waited for included."""
    table = processes()
    seeds = marked(name) | {
        one.pid for one in table.values() if one.session in roots or one.group in roots
    }
    return {pid: table[pid] for pid in descendants(seeds | roots, table) - {os.getpid()}}


def kill_trees(name: str, roots: set[int], timeout: float) -> bool:
    """Stop the members until no new ones appear, then kill them; True when none is left."""
    deadline = time.monotonic() + timeout
    while True:
        known: set[int] = set()
        living = _living(name, roots)
        while not living <= known and time.monotonic() < deadline:
            send(living - known, signal.SIGSTOP)
            known |= living
            living = _living(name, roots)
        send(living, signal.SIGKILL)
        if not living:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)


def _living(name: str, roots: set[int]) -> set[int]:
    found = tree(name, roots)
    _reap(found)
    return {pid for pid, one in found.items() if not one.dead}


def _reap(table: dict[int, Process]) -> None:
    """Wait for dead orphans that came to us. A session's first process is left to the Popen
    that started it."""
    own = os.getpid()
    for one in table.values():
        if one.dead and one.parent == own and one.session not in (one.pid, None):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(one.pid, os.WNOHANG)


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _waited_cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _adopt_orphans() -> None:
    """Orphans of the tree come to this process instead of init, so that they stay below it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
