"""Version 1: one hierarchy for each controller, and a group of the same name in each."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from acai.agent.limits.base import send
from acai.agent.limits.groups import (
    PERIOD,
    Readings,
    below,
    listed,
    numbers,
    quota,
    remove_tree,
)
from acai.agent.limits.hierarchies import Hierarchy

# In the order of entering: whoever is in any of them is in the freezer, and can be ended there.
CONTROLLERS = ("freezer", "cpu", "cpuacct", "memory")
_FREEZE_WITHIN = 0.1


def parents(found: Sequence[Hierarchy]) -> list[Mapping[str, Path]]:
    """Where groups may be made, best first: at the top, which a restarted server finds again
    wherever it is started; else below the own group."""
    seen: dict[str, Hierarchy] = {}
    for hierarchy in found:
        if hierarchy.version == 1:
            seen.update(dict.fromkeys(hierarchy.controllers, hierarchy))
    if not all(name in seen for name in CONTROLLERS):
        return []
    top = {name: seen[name].point for name in CONTROLLERS}
    own = {name: seen[name].own for name in CONTROLLERS}
    return [top] if top == own else [top, own]


def writable(parent: Mapping[str, Path]) -> bool:
    return all(os.access(path, os.W_OK) for path in parent.values())


class GroupV1:
    def __init__(self, name: str, parent: Mapping[str, Path]) -> None:
        self.name = name
        self._paths = {controller: below(path, name) for controller, path in parent.items()}

    def exists(self) -> bool:
        return any(path.is_dir() for path in self._paths.values())

    def create(self, *, cpu: float, memory: int) -> None:
        for path in set(self._paths.values()):
            path.mkdir(parents=True, exist_ok=True)
        cpus, holds = self._paths["cpu"], self._paths["memory"]
        (cpus / "cpu.cfs_period_us").write_text(str(PERIOD))
        try:
            (cpus / "cpu.cfs_quota_us").write_text(str(quota(cpu)))
        except OSError as error:
            if error.errno != errno.EINVAL:  # a group above has less, and that holds then
                raise
        (holds / "memory.limit_in_bytes").write_text(str(memory))
        swap = holds / "memory.memsw.limit_in_bytes"
        if swap.exists():
            swap.write_text(str(memory))

    def doors(self) -> Sequence[Path]:
        # A single thread that moves itself takes no lock; a whole process by `cgroup.procs`
        # waits for an RCU grace period, some 15 ms.
        return [path / "tasks" for path in dict.fromkeys(self._paths.values())]

    def members(self) -> set[int]:
        return listed(self._paths["freezer"])

    def strike(self) -> None:
        state = self._paths["freezer"] / "freezer.state"
        with contextlib.suppress(OSError):
            state.write_text("FROZEN")
            deadline = time.monotonic() + _FREEZE_WITHIN
            while state.read_text().strip() != "FROZEN" and time.monotonic() < deadline:
                time.sleep(0.0005)
        try:
            send(self.members(), signal.SIGKILL)
        finally:
            with contextlib.suppress(OSError):
                state.write_text("THAWED")

    def readings(self) -> Readings:
        holds = self._paths["memory"]
        stat = numbers(holds / "memory.stat")
        return Readings(
            cpu_seconds=int((self._paths["cpuacct"] / "cpuacct.usage").read_text()) / 1e9,
            resident=stat.get("total_rss", 0) + stat.get("total_shmem", 0),
            charged_peak=int((holds / "memory.max_usage_in_bytes").read_text()),
            oom_kills=numbers(holds / "memory.oom_control").get("oom_kill", 0),
        )

    def remove(self) -> None:
        for path in reversed(dict.fromkeys(self._paths.values())):
            remove_tree(path)
