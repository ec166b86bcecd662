"""Slow down whoever guesses tokens, without locking out the colleagues behind the same address."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

_WINDOW = 60.0
_REMEMBERED = 10_000


class FailureLimiter:
    """Counts failed sign-ins per address over the last minute. Thread-safe.

    An address over the limit is refused before its token is looked at, unless that very token
    has signed in before: a guesser learns nothing, a good user is not disturbed.
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._good: OrderedDict[str, None] = OrderedDict()

    def wait(self, address: str, token_hash: str) -> float:
        """Seconds that this address must wait with this token; 0 when it may try."""
        with self._lock:
            if token_hash in self._good:
                return 0.0
            times = self._failures.get(address)
            if times is None:
                return 0.0
            self._forget(times)
            if len(times) < self._limit:
                return 0.0
            return max(0.0, times[0] + _WINDOW - self._clock())

    def failed(self, address: str, token_hash: str) -> None:
        with self._lock:
            self._good.pop(token_hash, None)
            times = self._failures.setdefault(address, deque(maxlen=self._limit))
            times.append(self._clock())
            self._failures.move_to_end(address)
            if len(self._failures) > _REMEMBERED:
                self._failures.popitem(last=False)

    def succeeded(self, token_hash: str) -> None:
        with self._lock:
            self._good[token_hash] = None
            self._good.move_to_end(token_hash)
            if len(self._good) > _REMEMBERED:
                self._good.popitem(last=False)

    def _forget(self, times: deque[float]) -> None:
        horizon = self._clock() - _WINDOW
        while times and times[0] <= horizon:
            times.popleft()
