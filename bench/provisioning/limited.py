"""Run one command under enforced CPU and memory limits (cgroup v1), and measure it."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CGROUPS = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
SHARES = 262_144  # the most there is: what else runs meanwhile must not lengthen the measured run

ENTER = 'echo 0 >"$1/cgroup.procs"; echo 0 >"$2/cgroup.procs"; shift 2; exec "$@"'
TAG = re.compile(rb"^\[ACAI_TAG_NUM\] JOB (\w+):([-+.\w]+)\s*$")


@dataclass(frozen=True, kw_only=True)
class Measured:
    seconds: float  # wall clock, from before the fork until the exit was seen
    cpu_seconds: float
    peak_mb: float  # resident memory of the process at its highest
    exit_code: int
    out_of_memory: bool
    foreign: float  # CPUs that everything else kept busy meanwhile
    reported: str  # as JSON: each number that the program printed as a tag, and when


@contextmanager
def busy_neighbours() -> Iterator[None]:
    """Whatever the measured runs leave of the CPUs is kept busy meanwhile, at the least priority.

    Two threads of one core share it, so that a run is faster beside an idle one than beside a busy
    one. Beside neighbours that come and go as they please, that makes run times incomparable.
    """
    group = CGROUPS / "cpu" / f"acai-bench-neighbours-{os.getpid()}"
    group.mkdir()
    (group / "cpu.shares").write_text("2")
    spin = (
        f"echo 0 >{group}/cgroup.procs; while kill -0 {os.getpid()} 2>/dev/null; "
        "do i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; done"
    )
    spinning = [subprocess.Popen(["sh", "-c", spin]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()
        group.rmdir()


def limits_enforceable() -> bool:
    return all(os.access(CGROUPS / name, os.W_OK) for name in ("cpu", "memory"))


def run_limited(
    command: list[str], *, cpu: float, memory_mb: int, environment: dict[str, str], log: Path
) -> Measured:
    """The thread pools get ceil(cpu) threads: larger pools than the quota spin and starve. Each
    thread keeps to a CPU of its own: among busy neighbours they may else share one for long."""
    name = f"acai-bench-{os.getpid()}-{time.monotonic_ns()}"
    groups = {kind: CGROUPS / kind / name for kind in ("cpu", "memory")}
    threads = str(math.ceil(cpu))
    pools = {f"{library}_NUM_THREADS": threads for library in ("OMP", "MKL", "OPENBLAS")}
    bound = {"OMP_PROC_BIND": "spread", "OMP_PLACES": "threads"} if cpu > 1 else {}
    with ExitStack() as stack:
        for group in groups.values():
            group.mkdir()
            stack.callback(group.rmdir)
        (groups["cpu"] / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (groups["cpu"] / "cpu.cfs_quota_us").write_text(str(int(cpu * PERIOD_US)))
        (groups["cpu"] / "cpu.shares").write_text(str(SHARES))
        (groups["memory"] / "memory.limit_in_bytes").write_text(str(memory_mb * 2**20))

        output = stack.enter_context(log.open("ab"))
        start, busy = time.perf_counter(), _busy_seconds()
        process = subprocess.Popen(
            ["sh", "-c", ENTER, "sh", *map(str, groups.values()), *command],
            env={**os.environ, **environment, **pools, "OMP_WAIT_POLICY": "PASSIVE", **bound},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdout is not None
        reported: dict[str, list[tuple[float, float]]] = {}
        reading = threading.Thread(target=_read, args=(process.stdout, output, start, reported))
        reading.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds, busy = time.perf_counter() - start, _busy_seconds() - busy
        reading.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        events = (groups["memory"] / "memory.oom_control").read_text().split()
        killed = int(events[events.index("oom_kill") + 1]) > 0
    own = usage.ru_utime + usage.ru_stime
    return Measured(
        seconds=seconds,
        cpu_seconds=own,
        peak_mb=usage.ru_maxrss / 1024,
        exit_code=process.returncode,
        out_of_memory=killed,
        foreign=max(0.0, busy - own) / seconds,
        reported=json.dumps(reported),
    )


def _read(
    printed: IO[bytes],
    log: IO[bytes],
    start: float,
    reported: dict[str, list[tuple[float, float]]],
) -> None:
    for line in printed:
        if found := TAG.match(line):
            seconds = time.perf_counter() - start
            reported.setdefault(found[1].decode(), []).append((float(found[2]), seconds))
        log.write(line)


def _busy_seconds() -> float:
    """CPU time spent by everything since the machine started, stolen time included."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, hard, soft, stolen = map(int, fields[:8])
    return (user + nice + system + hard + soft + stolen) / os.sysconf("SC_CLK_TCK")
