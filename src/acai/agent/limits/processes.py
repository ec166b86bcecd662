"""The processes of this machine: who they are, whose they are, and what they use.

Read from /proc where there is one; elsewhere `ps` knows nearly as much.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from acai.agent.limits.base import MARK

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGESIZE")


@dataclass(frozen=True, kw_only=True)
class Process:
    pid: int
    parent: int
    group: int
    session: int | None
    dead: bool  # but not yet waited for
    cpu_seconds: float  # with those of the children it has waited for
    resident: int
    started: int | None  # ticks since boot: with the pid, unique until the next boot


def on_proc() -> bool:
    return (_PROC / "self" / "stat").exists()


def processes() -> dict[int, Process]:
    """Every process that can be seen, by pid."""
    if not on_proc():
        return _from_ps()
    return {pid: found for pid in _pids() if (found := process(pid))}


def _pids() -> list[int]:
    return [int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit()]


def process(pid: int) -> Process | None:
    """One process from /proc, or None if it is no more."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold anything; what follows the last one is numbers.
    fields = text[text.rindex(")") + 2 :].split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        dead=fields[0] in "ZX",
        cpu_seconds=sum(int(ticks) for ticks in fields[11:15]) / _TICKS,
        resident=int(fields[21]) * _PAGE,
        started=int(fields[19]),
    )


def offspring(pids: Iterable[int]) -> set[int]:
    """These and what their first threads have started, from /proc; others take a look at the
    whole table. Much cheaper than that."""
    found: set[int] = set()
    waiting = list(pids)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            try:
                text = (_PROC / str(pid) / "task" / str(pid) / "children").read_text()
            except OSError:  # it has ended, or the kernel does not keep this
                continue
            waiting += [int(word) for word in text.split()]
    return found


def descendants(roots: Iterable[int], table: dict[int, Process]) -> set[int]:
    """The roots that exist, and everything below them."""
    children: dict[int, list[int]] = {}
    for one in table.values():
        children.setdefault(one.parent, []).append(one.pid)
    found: set[int] = set()
    waiting = [root for root in roots if root in table]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return found


def marked(name: str) -> set[int]:
    """Living processes that were started in the confinement of this name. Those whose variables
    we may not read are not found; nor is any where there is no /proc."""
    if not on_proc():
        return set()
    wanted = f"{MARK}={name}".encode()
    found = set()
    for pid in _pids():
        try:
            variables = (_PROC / str(pid) / "environ").read_bytes()
        except OSError:
            continue
        if wanted in variables.split(b"\0"):
            found.add(pid)
    return found


def _from_ps() -> dict[int, Process]:
    columns = "pid=,ppid=,pgid=,stat=,time=,rss="
    answer = subprocess.run(
        ["ps", "-A", "-o", columns], capture_output=True, text=True, check=False, timeout=10
    )
    found = {}
    for line in answer.stdout.splitlines():
        words = line.split()
        if len(words) != 6:
            continue
        pid = int(words[0])
        found[pid] = Process(
            pid=pid,
            parent=int(words[1]),
            group=int(words[2]),
            session=None,
            dead=words[3].startswith("Z"),
            cpu_seconds=clock_seconds(words[4]),
            resident=int(words[5]) * 1024,
            started=None,
        )
    return found


def clock_seconds(text: str) -> float:
    """Of [[days-]hours:]minutes:seconds[.fraction]."""
    days, _, clock = text.rpartition("-")
    seconds = 0.0
    for part in clock.split(":"):
        seconds = seconds * 60 + float(part)
    return seconds + 86_400 * int(days or 0)
