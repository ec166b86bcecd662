"""Waiting out a server that is away for a while, such as one that is being restarted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from acai.client.transfer.values import OnNote
from acai.client.transfer.workers import Stopped
from acai.model.errors import SchemaTooNew, StorageFull, Unavailable

T = TypeVar("T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0


class Patience:
    """Repeats what may be repeated for up to `seconds` of silence. Thread-safe.

    `stop` ends every wait; `note` is told once for each time that the other side goes away.
    """

    def __init__(
        self, seconds: float, *, note: OnNote | None, stop: threading.Event | None = None
    ) -> None:
        self._seconds = seconds
        self._note = note
        self.stop = stop or threading.Event()
        self._away = threading.Lock()

    def run(self, act: Callable[[], T]) -> T:
        """The result of `act`, tried again while it raises Unavailable."""
        began: float | None = None
        pause = _FIRST_PAUSE
        told = False
        try:
            while True:
                if self.stop.is_set():
                    raise Stopped
                try:
                    return act()
                except (StorageFull, SchemaTooNew):
                    raise
                except Unavailable as error:
                    now = time.monotonic()
                    began = began if began is not None else now
                    if now - began >= self._seconds:
                        raise
                    told = told or self._tell(error)
                self.stop.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
        finally:
            if told:
                self._away.release()

    def _tell(self, error: Unavailable) -> bool:
        """Say it once, however many threads notice."""
        if not self._away.acquire(blocking=False):
            return False
        if self._note is not None:
            self._note(f"{error.message}; trying again for {self._seconds:.0f} s")
        return True
