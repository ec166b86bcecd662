"""Counting what has been done, from many threads, and telling it now and then."""

from __future__ import annotations

import threading
import time

from acai.client.transfer.values import OnProgress, Progress

_INTERVAL = 0.1


class Meter:
    """Thread-safe counters. The listener is called at most ten times a second, and at the end."""

    def __init__(self, listener: OnProgress | None) -> None:
        self._listener = listener
        self._lock = threading.Lock()
        self._files = 0
        self._bytes = 0
        self._totals: tuple[int, int] | None = None
        self._next = 0.0

    @property
    def listened(self) -> bool:
        return self._listener is not None

    def add(self, *, files: int = 0, bytes: int = 0) -> None:
        with self._lock:
            self._files += files
            self._bytes += bytes
        self._tell()

    def expect(self, *, files: int, bytes: int) -> None:
        """Everything has been counted: this is all there is to do."""
        with self._lock:
            self._totals = (files, bytes)
        self._tell()

    def finish(self) -> None:
        self._tell(always=True)

    def _tell(self, *, always: bool = False) -> None:
        if self._listener is None:
            return
        with self._lock:
            now = time.monotonic()
            if not always and now < self._next:
                return
            self._next = now + _INTERVAL
            totals = self._totals or (None, None)
            seen = Progress(
                files=self._files,
                bytes=self._bytes,
                total_files=totals[0],
                total_bytes=totals[1],
            )
        self._listener(seen)
