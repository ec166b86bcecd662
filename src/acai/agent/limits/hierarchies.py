"""Where control groups are mounted, and where in them this process is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    version: int
    point: Path  # the topmost group that can be seen from here
    own: Path  # this process's group
    controllers: frozenset[str]


def hierarchies() -> tuple[Hierarchy, ...]:
    """Those of this process; none on a system that has no control groups."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(errors="replace")
        groups = Path("/proc/self/cgroup").read_text(errors="replace")
    except OSError:
        return ()
    return tuple(parse(mounts, groups))


def parse(mounts: str, groups: str) -> Iterator[Hierarchy]:
    """From the texts of `mountinfo` and `cgroup` in /proc. What an enclosing container hides
    (a group above the mount's root) is taken to be the mount's root."""
    own = dict(_own_groups(groups))
    for line in mounts.splitlines():
        left, separator, right = line.partition(" - ")
        if not separator:
            continue
        root, point = (_unescaped(word) for word in left.split(" ")[3:5])
        kind, _, options = right.split(" ", 2)
        if kind == "cgroup2":
            yield _hierarchy(2, root, point, own.get("", "/"), _offered(Path(point)))
        elif kind == "cgroup":
            present = frozenset(options.split(",")) & own.keys()
            if present:
                yield _hierarchy(1, root, point, own[min(present)], present)


def _own_groups(groups: str) -> Iterator[tuple[str, str]]:
    for line in groups.splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            yield name, path


def _hierarchy(
    version: int, root: str, point: str, path: str, controllers: frozenset[str]
) -> Hierarchy:
    inside = root in ("/", path) or path.startswith(f"{root}/")
    relative = path[len(root.rstrip("/")) :].lstrip("/") if inside else ""
    own = Path(point) / relative
    if ".." in own.parts:
        own = Path(point)
    return Hierarchy(version=version, point=Path(point), own=own, controllers=controllers)


def _offered(group: Path) -> frozenset[str]:
    try:
        return frozenset((group / "cgroup.controllers").read_text().split())
    except OSError:
        return frozenset()


def _unescaped(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), word)
