"""Server-sent events: a stream that looks into the database when hinted, or after a while.

The reader sets the pace: nothing is looked up before what was found has been sent. A stream may
end without its last event: the server or its database goes away, or an hour has passed, after
which the caller has to show the token again. Its reader comes back with `Last-Event-ID` and
misses nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from acai.api import errors
from acai.engine.hints import Hints
from acai.model.errors import AcaiError, Unavailable

log = logging.getLogger("acai.streams")
_POLL = 0.5  # seconds after which we look without a hint
_GATHER = 0.02  # seconds in which hints in quick succession become one look
_KEEP_ALIVE = 15.0  # seconds of silence that proxies and readers put up with
_LONGEST = 3600.0


@dataclass(frozen=True, kw_only=True)
class Found:
    """What one look has found: events to send, and whether there is more, or no more ever."""

    events: bytes = b""
    more: bool = False
    last: bool = False


def event(name: str, data: Any, *, id: str | None = None) -> bytes:
    """One event; `data` becomes a line of JSON."""
    identified = f"id: {id}\n" if id is not None else ""
    return f"{identified}event: {name}\ndata: {json.dumps(data)}\n\n".encode()


class EventStream(StreamingResponse):
    """Sends what `look` finds, which runs in a thread and may block for a moment; and with an
    event `changed` the words that were kept for it since. The first bytes say that it watches.

    An error that trying again does not mend, too late to become the answer's status, is sent as
    an event `problem`.
    """

    media_type = "text/event-stream"

    def __init__(
        self, request: Request, hints: Hints, topics: tuple[str, ...], look: Callable[[], Found]
    ) -> None:
        super().__init__(
            _live(request, hints, topics, look),
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )


async def _live(
    request: Request, hints: Hints, topics: tuple[str, ...], look: Callable[[], Found]
) -> AsyncIterator[bytes]:
    begun = spoke = time.monotonic()
    with hints.watch(*topics) as watch:
        yield b"retry: 1000\n\n"  # a browser waits this long before it comes back
        while not hints.closed and time.monotonic() - begun < _LONGEST:
            try:
                found = await run_in_threadpool(look)
            except Unavailable as error:
                log.warning("a stream was broken off", extra={"reason": error.message})
                return
            except AcaiError as error:
                yield event("problem", errors.body(error)["error"])
                return
            if found.events:
                yield found.events
                spoke = time.monotonic()
            words = watch.taken()
            if words:
                yield event("changed", {"again": sorted(words)})
                spoke = time.monotonic()
            if found.last:
                return
            if found.more:
                continue
            if time.monotonic() - spoke >= _KEEP_ALIVE:
                yield b": still here\n\n"
                spoke = time.monotonic()
            if await watch.wait(_POLL):
                await asyncio.sleep(_GATHER)
            if await request.is_disconnected():
                return
