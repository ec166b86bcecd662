"""A large file on its way down: segments in parallel, hashed in order, kept if interrupted.

The unfinished file lies beside its target. Behind its content it carries one byte for each
segment, set once that segment is written; they are cut off at the end. What an earlier,
interrupted run left is trusted only as far as the checksum of the whole agrees with it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from acai.client.transfer.hashing import chunks_of
from acai.client.transfer.packs import MIB, segments
from acai.client.transfer.patience import Patience
from acai.client.transfer.progress import Meter
from acai.model.errors import Unavailable

SEGMENT = 32 * MIB
Source = Callable[[int, int], Iterator[bytes]]  # the bytes from here to before there


class SegmentedFile:
    """Thread-safe: several threads call `claim` and `fetch` until nothing is left."""

    def __init__(self, part: Path, size: int, *, patience: Patience, meter: Meter) -> None:
        self.part = part
        self._size = size
        self._bounds = segments(size, SEGMENT)
        self._patience = patience
        self._meter = meter
        self._lock = threading.Lock()
        self._descriptor = _open(part)
        self._done = self._begun_before()
        self.resumed = bool(self._done)
        self._meter.add(bytes=sum(self._length(index) for index in self._done))
        self._open = [i for i in reversed(range(len(self._bounds))) if i not in self._done]
        self.active = 0
        self._digest = hashlib.sha256()
        self._hashed = 0  # segments, from the first on
        self._hashing = False
        self._ended = False

    def _length(self, index: int) -> int:
        start, end = self._bounds[index]
        return end - start

    def _begun_before(self) -> set[int]:
        count = len(self._bounds)
        if os.fstat(self._descriptor).st_size == self._size + count:
            marks = os.pread(self._descriptor, count, self._size)
            return {index for index, mark in enumerate(marks) if mark}
        os.ftruncate(self._descriptor, 0)
        os.ftruncate(self._descriptor, self._size + count)
        return set()

    @property
    def remaining(self) -> int:
        return len(self._open)

    def claim(self) -> int | None:
        """A segment for the caller to fetch; None if all are fetched or being fetched."""
        with self._lock:
            if not self._open:
                return None
            self.active += 1
            return self._open.pop()

    def fetch(self, index: int, source: Source) -> int:
        """Fetch a claimed segment and return its length.

        A connection that breaks is taken up where it broke.
        """
        position, end = self._bounds[index]
        in_order = self._begin_hashing(index)

        def go_on() -> None:
            nonlocal position
            for chunk in source(position, end):
                os.pwrite(self._descriptor, chunk, position)
                if in_order:
                    self._digest.update(chunk)
                position += len(chunk)
                self._meter.add(bytes=len(chunk))
            if position < end:
                raise Unavailable("the connection to the object store broke")

        self._patience.run(go_on)
        os.pwrite(self._descriptor, b"\1", self._size + index)
        with self._lock:
            self.active -= 1
            self._done.add(index)
            if in_order:
                self._hashed += 1
                self._hashing = False
        return self._length(index)

    def _begin_hashing(self, index: int) -> bool:
        """Whether this segment is the next to be hashed, and so can be while it arrives."""
        with self._lock:
            if self._hashing or self._hashed != index:
                return False
            self._hashing = True
            return True

    def catch_up(self) -> bool:
        """Hash what has arrived out of order; True for the one caller that ends the file."""
        while True:
            with self._lock:
                if self._hashing or self._hashed not in self._done:
                    over = self._hashed == len(self._bounds) and not self._ended
                    self._ended = self._ended or over
                    return over
                self._hashing = True
                start, end = self._bounds[self._hashed]
            for chunk in chunks_of(self._descriptor, start, end - start, self._patience.stop):
                self._digest.update(chunk)
            with self._lock:
                self._hashed += 1
                self._hashing = False

    def finish(self) -> str:
        """Cut the marks off and close; returns the checksum of the content."""
        os.ftruncate(self._descriptor, self._size)
        self.close()
        return self._digest.hexdigest()

    def close(self) -> None:
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1


def _open(part: Path) -> int:
    """Open for this process alone. Raises BlockingIOError if another one is at it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(part, flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
