"""A program and all its children, held within a share of the machine.

Whatever launched the agent, it runs the user's program in a `Confinement`: a control group
where the system lets us make one, and otherwise an approximation that says so.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

# Every confined process carries this variable, so that one that left its group, its session
# and its parents can still be found.
MARK = "ACAI_CONFINED_AS"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_POOLS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "JULIA_NUM_THREADS",
    "GOMAXPROCS",
    "TF_NUM_INTRAOP_THREADS",
)

Output = int | IO[bytes] | None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the tree has used since it began. It never shrinks, `memory_resident` apart."""

    cpu_seconds: float
    memory_resident: int  # bytes that could not be dropped: no page cache, but tmpfs
    peak_memory: int  # of the same, as far as it was seen; the limit itself after an OOM kill
    oom_kills: int  # processes killed for want of memory, also when their parents hid it


class Confinement(Protocol):
    """Used by one thread at a time, except that any thread may signal or kill."""

    name: str
    approximate: str | None  # a sentence about what is not exact here, or None

    def spawn(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdout: Output = None,
        stderr: Output = None,
    ) -> subprocess.Popen[bytes]:
        """Start a program inside, in a session of its own, reading nothing. Raises OSError."""
        ...

    def usage(self) -> Usage:
        """Call it every second or so: peaks between two calls may be missed, and a tree of
        which a process was killed for want of memory is ended whole by then."""
        ...

    def signal_all(self, number: signal.Signals) -> None: ...

    def kill_all(self, timeout: float = 5.0) -> bool:
        """End every process inside, whatever sessions they made; False if some will not die."""
        ...

    def empty(self) -> bool: ...

    def close(self) -> bool:
        """Kill what is left and remove the traces. False if something will not die. Repeatable;
        `usage` still answers afterwards."""
        ...


def is_name(name: str) -> bool:
    """Can it name a confinement, and so a directory?"""
    return _NAME.fullmatch(name) is not None and ".." not in name


def check_name(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"{name!r} cannot name a confinement")
    return name


def thread_env(cpu: float) -> dict[str, str]:
    """Tell thread pools the truth: one that is larger than the quota spins it away."""
    return {**dict.fromkeys(_POOLS, str(max(1, math.ceil(cpu)))), "OMP_WAIT_POLICY": "PASSIVE"}


def send(pids: set[int], number: signal.Signals) -> None:
    """Signal each; those that are gone, or are not ours, are left out."""
    for pid in pids - {os.getpid(), 0, 1}:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue
