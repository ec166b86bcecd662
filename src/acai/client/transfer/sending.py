"""Sending objects: packs of small files, and large files whole or in parts."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import Any

from acai.client.transfer.calls import TransferCalls
from acai.client.transfer.hashing import FileChanged, Read, chunks_of, hash_large
from acai.client.transfer.packs import joined, segments
from acai.client.transfer.progress import Meter
from acai.client.transfer.store import (
    SharedStore,
    Stale,
    StoreCalls,
    WrongBytes,
    checks_content,
    storage_error,
)
from acai.client.transfer.workers import Workers
from acai.model.errors import Unavailable, UploadIncomplete, UploadNotFound
from acai.model.files import ObjectSlot, SentPart, SignedCall
from acai.model.ids import Sha256

_TRIES = 4


class Sender:
    """Sends objects of one session. Thread-safe; blocks until the server has taken each."""

    def __init__(
        self,
        calls: TransferCalls,
        store: StoreCalls,
        shared: SharedStore | None,
        *,
        upload: str,
        resumed: bool,
        parts: Workers,
        meter: Meter,
        stop: threading.Event,
    ) -> None:
        self._calls = calls
        self._store = store
        self._shared = shared
        self._upload = upload
        self._resumed = resumed
        self._parts = parts
        self._meter = meter
        self._stop = stop
        self._lock = threading.Lock()
        self.sent_bytes = 0  # that reached the store

    def _sent(self, size: int) -> None:
        with self._lock:
            self.sent_bytes += size

    def pack(self, blobs: list[Read]) -> None:
        """Send small files as one object, and empty the list as soon as it is joined."""
        spans, start = [], 0
        for blob in blobs:
            spans.append({"sha256": blob.sha256, "size": blob.size, "start": start})
            start += blob.size
        pieces = list(joined(blob.data or b"" for blob in blobs))
        blobs.clear()
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        new = {"size": start, "sha256": digest.hexdigest(), "blobs": spans}
        self._deliver(new, _InMemory(pieces))

    def file(self, read: Read) -> None:
        """Send a large file. Raises FileChanged if it is not what was announced any more."""
        span = {"sha256": read.sha256, "size": read.size, "start": 0}
        new = {"size": read.size, "sha256": read.sha256, "blobs": [span]}
        if self._shared is not None:
            self._copy(self._shared, new, read)
            return
        try:
            descriptor = os.open(read.found.local, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            raise FileChanged from None
        try:
            self._deliver(new, _OnDisk(read, descriptor, self._stop))
        finally:
            os.close(descriptor)

    def _copy(self, shared: SharedStore, new: dict[str, Any], read: Read) -> None:
        slot = self._calls.add_object(self._upload, new, in_place=True)
        try:
            shared.place_file(slot.key, read.found.local, read.sha256, self._stop)
        except (WrongBytes, FileNotFoundError):
            raise FileChanged from None
        except OSError as error:
            raise storage_error(error) from error
        self._meter.add(bytes=read.size)
        self._sent(read.size)
        self._calls.complete(self._upload, slot.id)

    def _deliver(self, new: dict[str, Any], content: _InMemory | _OnDisk) -> None:
        """Have an object stored, whatever it takes: fresh URLs, or a fresh object."""
        for attempt in range(_TRIES):
            slot = self._calls.add_object(self._upload, new, in_place=self._shared is not None)
            try:
                parts: list[SentPart] = []
                if self._shared is not None:
                    self._place(self._shared, slot, content)
                elif slot.put is not None:
                    self._whole(slot.put, new, content)
                elif isinstance(content, _OnDisk):
                    parts = self._in_parts(slot, content)
                else:
                    raise Unavailable("the server wants a pack in parts; upgrade it")
                self._calls.complete(self._upload, slot.id, parts)
                return
            except (Stale, UploadIncomplete, UploadNotFound, WrongBytes) as error:
                if isinstance(error, WrongBytes):
                    content.check()
                if attempt == _TRIES - 1:
                    raise _cannot(error) from error

    def _place(self, shared: SharedStore, slot: ObjectSlot, content: _InMemory | _OnDisk) -> None:
        try:
            shared.place(slot.key, content.chunks())
        except OSError as error:
            raise storage_error(error) from error
        self._meter.add(bytes=content.size)
        self._sent(content.size)

    def _whole(self, call: SignedCall, new: dict[str, Any], content: _InMemory | _OnDisk) -> None:
        """One PUT. Where the store does not check the content, we do."""
        if new["size"] == 0:
            self._calls.patience.run(lambda: self._store.put(call, b""))
            return
        if checks_content(call):
            self._calls.patience.run(lambda: self._put(call, content.chunks()))
            return
        digest = hashlib.sha256()

        def put() -> None:
            nonlocal digest
            digest = hashlib.sha256()
            self._put(call, _hashed(content.chunks(), digest))

        self._calls.patience.run(put)
        if digest.hexdigest() != new["sha256"]:
            raise WrongBytes

    def _put(self, call: SignedCall, chunks: Iterator[bytes]) -> str:
        """Send and count; what has to be sent again is not counted twice."""
        sent = 0

        def counted() -> Iterator[bytes]:
            nonlocal sent
            for chunk in chunks:
                yield chunk
                sent += len(chunk)
                self._meter.add(bytes=len(chunk))

        try:
            tag = self._store.put(call, counted())
        except BaseException:
            self._meter.add(bytes=-sent)
            raise
        self._sent(sent)
        return tag

    def _in_parts(self, slot: ObjectSlot, content: _OnDisk) -> list[SentPart]:
        assert slot.part_size is not None
        bounds = segments(content.size, slot.part_size)
        there: dict[int, SentPart] = {}
        if self._resumed:
            there = {part.number: part for part in self._calls.sent_parts(self._upload, slot.id)}
        done: list[SentPart] = []
        waiting: list[Future[SentPart]] = []
        digests = content.part_digests(slot.part_size, len(bounds))
        for number, ((start, end), sha256) in enumerate(zip(bounds, digests, strict=True), 1):
            part = _Slice(number=number, start=start, end=end, sha256=sha256)
            arrived = there.get(number)
            if arrived is not None and content.is_in(part, arrived):
                done.append(replace(arrived, sha256=sha256))
                self._meter.add(bytes=part.size)
            else:
                waiting.append(self._parts.submit(self._part, slot, content, part))
        try:
            done += [future.result() for future in waiting]
        finally:
            for future in waiting:
                future.cancel()
            wait(waiting)  # they read from a descriptor that is about to be closed
        return sorted(done, key=lambda part: part.number)

    def _part(self, slot: ObjectSlot, content: _OnDisk, part: _Slice) -> SentPart:
        for _ in range(_TRIES):
            call = self._calls.sign_part(
                self._upload, slot.id, number=part.number, size=part.size, sha256=part.sha256
            )

            def put(call: SignedCall = call) -> str:
                return self._put(call, content.chunks(part.start, part.end))

            try:
                etag = self._calls.patience.run(put)
            except Stale:
                continue
            except WrongBytes:
                content.check_slice(part)
                continue
            return SentPart(number=part.number, size=part.size, etag=etag, sha256=part.sha256)
        raise Stale("several times")


@dataclass(frozen=True, kw_only=True)
class _Slice:
    number: int
    start: int
    end: int
    sha256: Sha256

    @property
    def size(self) -> int:
        return self.end - self.start


class _InMemory:
    """A pack. What was hashed is what is sent."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces
        self.size = sum(map(len, pieces))

    def chunks(self) -> Iterator[bytes]:
        return iter(self._pieces)

    def check(self) -> None:
        """Memory does not change under us: wrong bytes were damaged on the way."""


class _OnDisk:
    """A large file, open. Raises FileChanged when it is not what was announced any more."""

    def __init__(self, read: Read, descriptor: int, stop: threading.Event) -> None:
        self._read = read
        self._descriptor = descriptor
        self._stop = stop
        self.size = read.size

    def chunks(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        last = self.size if end is None else end
        return chunks_of(self._descriptor, start, last - start, self._stop)

    def check(self) -> None:
        if self._digest("sha256", 0, self.size) != self._read.sha256:
            raise FileChanged

    def check_slice(self, part: _Slice) -> None:
        if self._digest("sha256", part.start, part.end) != part.sha256:
            raise FileChanged

    def part_digests(self, part_size: int, count: int) -> Sequence[Sha256]:
        if len(self._read.parts) == count:
            return self._read.parts
        again = hash_large(self._read.found, part_size, self._stop)
        if not isinstance(again, Read) or again.sha256 != self._read.sha256:
            raise FileChanged
        return again.parts

    def is_in(self, part: _Slice, arrived: SentPart) -> bool:
        """Whether the part that arrived is this one; stores that list no SHA-256 show an MD5."""
        if arrived.size != part.size:
            return False
        if arrived.sha256 is not None:
            return arrived.sha256 == part.sha256
        return arrived.etag.strip('"') == self._digest("md5", part.start, part.end)

    def _digest(self, kind: str, start: int, end: int) -> str:
        digest = hashlib.new(kind, usedforsecurity=False)
        for chunk in self.chunks(start, end):
            digest.update(chunk)
        return digest.hexdigest()


def _hashed(chunks: Iterator[bytes], digest: Any) -> Iterator[bytes]:
    for chunk in chunks:
        digest.update(chunk)
        yield chunk


def _cannot(error: Exception) -> Exception:
    if isinstance(error, Stale):
        return Unavailable(
            f"the object store keeps refusing signed requests ({error});"
            " compare the clocks of this machine, the server and the store"
        )
    if isinstance(error, WrongBytes):
        return Unavailable("bytes were damaged on the way to the object store several times")
    return error
