"""Which control groups this process may use to limit jobs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class CgroupRights:
    version: int | None  # 1, 2, or None where there are none
    writable: bool
    reason: str


def cgroup_rights(root: Path = Path("/sys/fs/cgroup")) -> CgroupRights:
    """What limits can be enforced here, and why not where they cannot."""
    if (root / "cgroup.controllers").is_file():
        own = _own_group(root)
        offered = (own / "cgroup.controllers").read_text().split() if own.is_dir() else []
        missing = sorted({"cpu", "memory"} - set(offered))
        if missing:
            return CgroupRights(
                version=2,
                writable=False,
                reason=f"cgroup v2 is not delegated: no {' and '.join(missing)} controller",
            )
        writable = os.access(own, os.W_OK)
        return CgroupRights(version=2, writable=writable, reason=_said(2, writable))
    if (root / "memory" / "memory.limit_in_bytes").exists() or (root / "memory").is_dir():
        writable = all(os.access(root / name, os.W_OK) for name in ("cpu", "memory"))
        return CgroupRights(version=1, writable=writable, reason=_said(1, writable))
    return CgroupRights(version=None, writable=False, reason="this system has no cgroups")


def _own_group(root: Path) -> Path:
    try:
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, _, path = line.split(":", 2)
            if number == "0":
                return root / path.lstrip("/")
    except OSError:
        pass
    return root


def _said(version: int, writable: bool) -> str:
    if writable:
        return f"cgroup v{version}: CPU and memory limits are enforced"
    return f"cgroup v{version} is not writable by this user: limits will be approximate"
