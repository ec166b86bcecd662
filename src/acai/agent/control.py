"""Why the work is to end before it is done, and waking whoever waits meanwhile."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from enum import StrEnum


class Cause(StrEnum):
    KILLED = "killed"  # the server asked for it
    TERMINATED = "terminated"  # the agent itself was told to go
    DISMISSED = "dismissed"  # the attempt no longer counts


class Control:
    """Thread-safe. The first cause stays, except that a dismissal replaces any other."""

    def __init__(self) -> None:
        self.cause: Cause | None = None
        self.interrupt = threading.Event()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._stops: set[threading.Event] = set()

    def fileno(self) -> int:
        """Readable once the work is to end, for a loop that waits on descriptors."""
        return self._reader

    def end(self, cause: Cause) -> None:
        if self.cause is None or cause is Cause.DISMISSED:
            self.cause = cause
        self.interrupt.set()
        for stop in tuple(self._stops):
            stop.set()
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b"\0")

    @contextlib.contextmanager
    def transfer(self) -> Iterator[threading.Event]:
        """An event of a transfer's own, which is set when the work is to end."""
        stop = threading.Event()
        self._stops.add(stop)
        try:
            if self.interrupt.is_set():
                stop.set()
            yield stop
        finally:
            self._stops.discard(stop)

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)
