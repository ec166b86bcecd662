"""How much of this machine there is to give away."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from acai.agent.limits.hierarchies import Hierarchy, hierarchies

MIB = 1024**2
_MOST_ROOM = 1024 * MIB  # for the server and the agents, of a tenth of what there is


def cores() -> float:
    """What this process may use: its cores, or less if a group around it has a quota."""
    if sys.platform == "linux":
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return min([float(count), *cpu_quotas(hierarchies())])


def memory() -> int:
    """Bytes for jobs: the machine's, or less if a group around us has a limit; less some room."""
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    there = min([there, *memory_limits(hierarchies())])
    return there - min(_MOST_ROOM, there // 10)


def cpu_quotas(found: Sequence[Hierarchy]) -> Iterator[float]:
    for group in _groups(found, "cpu"):
        quota, period = _word(group / "cpu.cfs_quota_us"), _word(group / "cpu.cfs_period_us")
        if quota is None:
            both = _line(group / "cpu.max").split()
            quota, period = both if len(both) == 2 else (None, None)
        if quota and period and quota not in ("max", "-1"):
            yield int(quota) / int(period)


def memory_limits(found: Sequence[Hierarchy]) -> Iterator[int]:
    for group in _groups(found, "memory"):
        limit = _word(group / "memory.limit_in_bytes") or _word(group / "memory.max")
        if limit and limit != "max":
            yield int(limit)


def _groups(found: Sequence[Hierarchy], controller: str) -> Iterator[Path]:
    """The groups around this process, the own one first."""
    for hierarchy in found:
        if controller in hierarchy.controllers:
            for group in (hierarchy.own, *hierarchy.own.parents):
                if group.is_relative_to(hierarchy.point):
                    yield group


def _line(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _word(file: Path) -> str | None:
    return _line(file) or None
