"""A lake file opened for reading: any range of it, without fetching the rest."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from acai.client.transfer.calls import Readable, TransferCalls
from acai.client.transfer.fetching import Fetcher
from acai.client.transfer.packs import MIB
from acai.client.transfer.store import SharedStore, StoreCalls
from acai.model.errors import CorruptData
from acai.model.sets import ResolvedFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_STEP = 8 * MIB


class Content:
    """The bytes of one file version."""

    def __init__(self, calls: TransferCalls, file: ResolvedFile) -> None:
        self._calls = calls
        self.file = file
        self._place: tuple[Fetcher, Readable, int] | None = None

    def _found(self) -> tuple[Fetcher, Readable, int]:
        if self._place is None:
            limits = self._calls.limits()
            shared = SharedStore.find(limits.shared_directory, write=False)
            store = StoreCalls(self._calls.session, self._calls.patience.stop)
            readable = self._calls.locate([self.file.hash])[0]
            fetcher = Fetcher(self._calls, store, shared)
            self._place = (fetcher, readable, readable.pieces[0].start)
        return self._place

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` to before `end`, cut at the file's end. Not verified."""
        end = min(end, self.file.size)
        if start >= end:
            return b""
        fetcher, readable, offset = self._found()
        return bytes(fetcher.read(readable, offset + start, offset + end))

    def whole(self) -> bytes:
        """All of it, verified."""
        data = self.read(0, self.file.size)
        self._check(hashlib.sha256(data).hexdigest())
        return data

    def stream(self) -> Iterator[bytes]:
        """All of it in pieces; the last one comes only if the whole is right."""
        digest = hashlib.sha256()
        held = b""
        for start in range(0, self.file.size, _STEP):
            if held:
                yield held
            held = self.read(start, start + _STEP)
            digest.update(held)
        self._check(digest.hexdigest())
        yield held

    def _check(self, sha256: str) -> None:
        if sha256 != self.file.hash:
            raise CorruptData(
                f"{self.file.path}: what the store holds is not what was uploaded"
                f" (SHA-256 {self.file.hash}); ask the platform's operator",
                path=self.file.path,
                hash=self.file.hash,
            )


class RawLakeFile(io.RawIOBase):
    """Seekable and read-only. `open` of the client wraps it in a buffer."""

    def __init__(self, content: Content) -> None:
        super().__init__()
        self._content = content
        self._position = 0
        self.name = content.file.path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._content.file.size}
        if whence not in base or base[whence] + offset < 0:
            raise ValueError(f"cannot seek to {offset} from {whence}")
        self._position = base[whence] + offset
        return self._position

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self._content.read(self._position, self._position + len(view))
        view[: len(data)] = data
        self._position += len(data)
        return len(data)
