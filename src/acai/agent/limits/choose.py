"""Which way of confining a program works here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from acai.agent.limits import cgroup_v1, cgroup_v2
from acai.agent.limits.approximate import ApproximateConfinement, kill_trees
from acai.agent.limits.base import Confinement, check_name
from acai.agent.limits.cgroup_v1 import GroupV1
from acai.agent.limits.cgroup_v2 import GroupV2
from acai.agent.limits.groups import Group, GroupConfinement, end_group
from acai.agent.limits.hierarchies import hierarchies


@dataclass(frozen=True, kw_only=True)
class CgroupRights:
    version: int | None  # 1, 2, or None where there are none
    writable: bool
    reason: str


def confine(name: str, *, cpu: float, memory: int) -> Confinement:
    """A new confinement for one program: exact where control groups can be made, and
    approximate elsewhere. What an earlier one of this name left running is ended first."""
    group = _usable_group(check_name(name))
    if group is not None:
        with contextlib.suppress(OSError):
            return GroupConfinement(group, cpu=cpu, memory=memory)
    return ApproximateConfinement(name, cpu=cpu, memory=memory)


def end_remains(name: str, *, thorough: bool = True, timeout: float = 2.0) -> bool:
    """End what still runs in a confinement whose owner is no more; True when nothing does.

    Its control groups are looked for where `confine` makes them. If `thorough`, also each
    process that carries its mark, wherever it has gone.
    """
    check_name(name)
    ended = True
    for group in _groups(name):
        if group.exists():
            ended = end_group(group, timeout) and ended
    if thorough:
        ended = kill_trees(name, set(), timeout) and ended
    return ended


@cache
def cgroup_rights() -> CgroupRights:
    """What limits can be enforced here, and why not where they cannot."""
    place = _place()
    if place is not None:
        version = 2 if isinstance(place, Path) else 1
        reason = f"cgroup v{version}: CPU and memory limits are enforced"
        return CgroupRights(version=version, writable=True, reason=reason)
    found = hierarchies()
    offered = 1 if cgroup_v1.parents(found) else 2 if cgroup_v2.parents(found) else None
    if offered is not None:
        reason = f"cgroup v{offered} is not writable by this user: limits will be approximate"
        return CgroupRights(version=offered, writable=False, reason=reason)
    if any(one.version == 2 for one in found):
        reason = "cgroup v2 is not delegated: no cpu and memory controller"
        return CgroupRights(version=2, writable=False, reason=reason)
    return CgroupRights(version=None, writable=False, reason="this system has no cgroups")


@cache
def _place() -> Path | Mapping[str, Path] | None:
    """Where groups are made: one directory of version 2, or one for each controller of 1."""
    found = hierarchies()
    for parent in cgroup_v2.parents(found):
        if cgroup_v2.usable(parent):
            return parent
    for parents in cgroup_v1.parents(found):
        if cgroup_v1.writable(parents):
            return parents
    return None


def _usable_group(name: str) -> Group | None:
    place = _place()
    if place is None:
        return None
    return GroupV2(name, place) if isinstance(place, Path) else GroupV1(name, place)


def _groups(name: str) -> Iterator[Group]:
    found = hierarchies()
    for place in cgroup_v2.parents(found):
        yield GroupV2(name, place)
    for places in cgroup_v1.parents(found):
        yield GroupV1(name, places)
