"""Fetching bytes of objects: over HTTP, or out of the store's own directory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from acai.client.transfer.calls import Readable, TransferCalls
from acai.client.transfer.store import SharedStore, Stale, StoreCalls
from acai.client.transfer.workers import Stopped
from acai.model.errors import CorruptData, Unavailable
from acai.model.files import SignedCall
from acai.model.ids import Sha256

_TRIES = 4
_COPY_STEP = 64 * 1024 * 1024


class Fetcher:
    """Thread-safe. A store that is away is waited for; a URL that expired is asked for anew."""

    def __init__(self, calls: TransferCalls, store: StoreCalls, shared: SharedStore | None) -> None:
        self._calls = calls
        self._store = store
        self._shared = shared
        self._fresh: dict[str, SignedCall] = {}  # by object key, where the first one expired

    @property
    def local(self) -> bool:
        """Whether the store's directory is at hand."""
        return self._shared is not None

    def read(self, readable: Readable, start: int, end: int) -> bytes | bytearray:
        """The bytes from `start` to before `end`, all of them."""
        if self._shared is not None:
            data = self._read_shared(self._shared, readable.key, start, end)
            if data is not None:
                return data
        buffer = bytearray()

        def go_on() -> None:
            for chunk in self.stream(readable, start + len(buffer), end):
                buffer.extend(chunk)
            if len(buffer) < end - start:
                raise Unavailable("the connection to the object store broke")

        self._calls.patience.run(go_on)
        return buffer

    def stream(self, readable: Readable, start: int, end: int) -> Iterator[bytes]:
        """The same as a stream, which may end early with Unavailable; go on from there."""
        for _ in range(_TRIES):
            call = self._fresh.get(readable.key, readable.get)
            try:
                return self._store.get(call, start, end)
            except Stale as error:
                reason = str(error)
            self._fresh[readable.key] = self._sign_again(readable)
        raise CorruptData(
            f"the object store does not give object {readable.key} ({reason});"
            " compare the clocks, and ask the platform's operator"
        )

    def _sign_again(self, readable: Readable) -> SignedCall:
        found = self._calls.locate([Sha256(readable.pieces[0].sha256)])
        return found[0].get

    @staticmethod
    def _read_shared(shared: SharedStore, key: str, start: int, end: int) -> bytes | None:
        try:
            descriptor = os.open(shared.path(key), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            data = os.pread(descriptor, end - start, start)
        finally:
            os.close(descriptor)
        return data if len(data) == end - start else None

    def copy(self, readable: Readable, start: int, size: int, target: str) -> Sha256 | None:
        """Copy out of the store's directory, sharing extents where the file system can.

        Returns the checksum of the copy; None if there is no such directory here.
        """
        if self._shared is None:
            return None
        try:
            source = os.open(self._shared.path(readable.key), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(target, flags, 0o666)
            try:
                return self._copy(source, descriptor, start, size)
            finally:
                os.close(descriptor)
        finally:
            os.close(source)

    def _copy(self, source: int, target: int, start: int, size: int) -> Sha256:
        digest = hashlib.sha256()
        position = 0
        while position < size:
            if self._calls.patience.stop.is_set():
                raise Stopped
            step = min(_COPY_STEP, size - position)
            moved = _move(source, target, start + position, position, step)
            if moved == 0:
                break  # the object is too short; its checksum will tell
            done = position + moved
            while position < done:
                chunk = os.pread(target, min(1024 * 1024, done - position), position)
                digest.update(chunk)
                position += len(chunk)
        return Sha256(digest.hexdigest())


def _move(source: int, target: int, start: int, position: int, step: int) -> int:
    try:
        return os.copy_file_range(source, target, step, start, position)
    except OSError:
        return os.pwrite(target, os.pread(source, min(step, 1024 * 1024), start), position)
