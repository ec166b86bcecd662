"""The loop beside the HTTP application: duties that recur, each alone in its thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

log = logging.getLogger("acai.loop")


class Bell:
    """Calls a duty before its time; may be rung from any thread, also when nobody listens yet."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = False

    def ring(self) -> None:
        self._due = True
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._event.set)

    async def wait(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._due:  # it may have been rung before there was a loop
            self._event.set()
        await self._event.wait()

    def clear(self) -> None:
        """What is rung from now on calls again."""
        self._due = False
        self._event.clear()


@dataclass(frozen=True, kw_only=True)
class Duty:
    """Something to do every `interval` seconds, or when its bell rings. It may be cut off at any
    moment by a crash, so it must be safe to begin again; what it raises is logged, and it is
    tried again in time."""

    name: str
    interval: float
    act: Callable[[], None]
    bell: Bell | None = None


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
            if duty.bell is not None:
                duty.bell.clear()
            try:
                await asyncio.to_thread(duty.act)
            except Exception:
                log.exception("a duty failed and will be tried again", extra={"duty": duty.name})
            await self._pause(duty)

    async def _pause(self, duty: Duty) -> None:
        waits: list[asyncio.Task[Any]] = [asyncio.create_task(self._stopping.wait())]
        if duty.bell is not None:
            waits.append(asyncio.create_task(duty.bell.wait()))
        _, pending = await asyncio.wait(
            waits, timeout=duty.interval, return_when=asyncio.FIRST_COMPLETED
        )
        for task in pending:
            task.cancel()
