"""The loop beside the HTTP application: duties that recur, each alone in its thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

log = logging.getLogger("acai.loop")


@dataclass(frozen=True, kw_only=True)
class Duty:
    """Something to do every `interval` seconds. It may be cut off at any moment by a crash, so
    it must be safe to begin again; what it raises is logged, and it is tried again in time."""

    name: str
    interval: float
    act: Callable[[], None]


class Loop:
    def __init__(self, duties: Sequence[Duty]) -> None:
        self._duties = duties
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._repeat(duty), name=duty.name) for duty in self._duties
        ]

    async def stop(self) -> None:
        """Let what is being done end, and begin nothing more."""
        self._stopping.set()
        await asyncio.gather(*self._tasks)

    async def _repeat(self, duty: Duty) -> None:
        while not self._stopping.is_set():
            try:
                await asyncio.to_thread(duty.act)
            except Exception:
                log.exception("a duty failed and will be tried again", extra={"duty": duty.name})
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), duty.interval)
