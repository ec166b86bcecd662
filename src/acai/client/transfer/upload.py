"""Uploading: scan, hash, ask what is missing, send only that, commit.

One thread (the caller's) steers; a few read and hash, a few send. What is held in memory is
counted, and nothing new is read while it is too much, so that neither the size nor the
number of files matters.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from acai.client.transfer.calls import TransferCalls
from acai.client.transfer.content_types import content_type
from acai.client.transfer.hashing import (
    KEEPS_CHANGING,
    FileChanged,
    Read,
    Unreadable,
    hash_large,
    read_small,
    unreadable,
)
from acai.client.transfer.packs import MIB, Packer
from acai.client.transfer.progress import Meter
from acai.client.transfer.scan import Found, Scan, count
from acai.client.transfer.sending import Sender
from acai.client.transfer.sources import Source
from acai.client.transfer.store import SharedStore, StoreCalls
from acai.client.transfer.values import LeftOut, OnNote, Uploaded
from acai.client.transfer.workers import Workers
from acai.model.errors import InvalidInput
from acai.model.files import TransferLimits, Upload
from acai.model.ids import Sha256

_HELD = 64 * MIB  # most bytes of small files in memory at once
# Smaller than the store allows, and smaller still at first: sending begins soon, and several
# are under way while the next are read.
_FIRST_PACK, _PACK = 4 * MIB, 16 * MIB
_PACK_BLOBS = 20_000
_CHUNK_FILES, _CHUNK_BYTES = 128, 4 * MIB  # what one reading task takes
_READERS, _SENDERS, _LARGE = 3, 4, 4
_NAMES_TOLD = 10


class Uploading:
    """One upload session, from the first file to the commit. Use it once."""

    def __init__(
        self,
        calls: TransferCalls,
        limits: TransferLimits,
        sources: Sequence[Source],
        *,
        resume_key: str | None,
        skip_unreadable: bool,
        meter: Meter,
        note: OnNote | None,
        commit: bool = True,
    ) -> None:
        self._calls = calls
        self._limits = limits
        self._sources = sources
        self._resume_key = resume_key
        self._skip_unreadable = skip_unreadable
        self._meter = meter
        self._note = note
        self._commit = commit  # else the session is left pending, for somebody else to commit
        self._stop = calls.patience.stop
        self._shared = SharedStore.find(limits.shared_directory, write=True)
        self._opening: Future[Upload] | None = None
        self._session: Upload | None = None
        self._left_out: list[LeftOut] = []
        self._problems: list[LeftOut] = []
        self._scan = Scan(sources, skip=self._skip, fail=self._fail)
        self._reads: deque[Future[list[Read | Unreadable]]] = deque()
        self._batch: list[Read] = []
        self._batch_bytes = 0
        # Into a directory, sending is the least of it; fewer and larger calls are better.
        first = _FIRST_PACK if self._shared is None else _PACK // 2
        self._packer: Packer[Read] = Packer(
            most_bytes=min(first, limits.pack_size), most_blobs=_PACK_BLOBS
        )
        self._packs = 0
        self._sends: dict[Future[None], Sequence[Read]] = {}
        self._under_way: set[Sha256] = set()
        self._held = 0
        self._file_count = self._size = self._new_files = self._new_bytes = 0

    def run(self) -> Uploaded:
        try:
            with ExitStack() as stack:
                self._readers = stack.enter_context(Workers("read", _READERS))
                self._senders = stack.enter_context(Workers("send", _SENDERS))
                self._parts = stack.enter_context(Workers("part", _SENDERS))
                self._large = stack.enter_context(Workers("file", _LARGE))
                if self._meter.listened:
                    threading.Thread(target=self._count, daemon=True).start()
                self._transfer()
        except BaseException:
            self._stop.set()
            raise
        assert self._session is not None
        held = replace(self._session, file_count=self._file_count, size=self._size)
        done = self._calls.commit(held.id, held.file_count) if self._commit else held
        self._meter.finish()
        return Uploaded(
            id=done.id,
            file_count=done.file_count,
            size=done.size,
            sent_bytes=self._sender.sent_bytes,
            deduplicated_files=self._file_count - self._new_files,
            deduplicated_bytes=self._size - self._new_bytes,
            resumed=self._session.resumed,
            left_out=tuple(self._left_out),
        )

    def _transfer(self) -> None:
        for files in self._chunks():
            if self._problems:
                self._probe(files)  # it cannot succeed; only find out what else is wrong
                continue
            if self._opening is None:
                self._opening = self._senders.submit(self._calls.open, self._resume_key)
            self._start_reading(files)
            while self._reads and self._reads[0].done():
                self._take(self._reads.popleft().result())
            self._reap(block=False)
        while self._reads:
            self._take(self._reads.popleft().result())
        if self._problems:
            raise _unusable(self._problems)
        if self._file_count + len(self._batch) == 0:
            raise InvalidInput(
                "there is no file to upload in " + ", ".join(each.local for each in self._sources)
            )
        self._announce()
        self._send_pack(self._packer.flush())
        while self._sends:
            self._reap(block=True)
        self._note_oddities()

    def _probe(self, files: Sequence[Found]) -> None:
        for found in files:
            reason = unreadable(found)
            if reason is not None:
                self._fail(found.local, reason)

    def _chunks(self) -> Iterator[list[Found]]:
        """Small files in groups, each large one by itself."""
        group: list[Found] = []
        size = 0
        for found in self._scan.files():
            if found.size >= self._limits.pack_below:
                yield [found]
                continue
            group.append(found)
            size += found.size
            if len(group) >= _CHUNK_FILES or size >= _CHUNK_BYTES:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _start_reading(self, files: list[Found]) -> None:
        if files[0].size >= self._limits.pack_below:
            while len(self._reads) > _READERS:
                self._take(self._reads.popleft().result())
            # Parts are hashed along with the whole, so that both are of the same content.
            part = self._limits.part_size
            parts = part if self._shared is None and files[0].size > 2 * part else None
            self._reads.append(self._readers.submit(self._hash, files[0], parts))
            return
        size = sum(found.size for found in files)
        self._make_room(size)
        self._held += size
        self._reads.append(
            self._readers.submit(read_small, files, self._limits.pack_below, self._stop)
        )

    def _hash(self, found: Found, part_size: int | None) -> list[Read | Unreadable]:
        return [hash_large(found, part_size, self._stop)]

    def _make_room(self, size: int) -> None:
        """Push what is held onward until there is room, or nothing is held any more."""
        while self._held and self._held + size > _HELD:
            if self._reads and (self._reads[0].done() or len(self._sends) < _SENDERS):
                self._take(self._reads.popleft().result())
            elif self._sends:
                self._reap(block=True)
            elif self._batch:
                self._announce()
            else:
                self._send_pack(self._packer.flush())

    def _take(self, results: Sequence[Read | Unreadable]) -> None:
        urgent = False
        for read in results:
            if isinstance(read, Unreadable):
                self._release(read.found)
                self._fail(read.found.local, read.reason)
                continue
            if read.data is None:
                self._release(read.found)  # it grew: hashed, but not held
                urgent = True
            else:
                self._held += read.size - read.found.size
                self._batch_bytes += read.size
            self._batch.append(read)
        if (
            urgent
            or len(self._batch) >= self._limits.batch
            or self._batch_bytes >= self._packer.most_bytes
        ):
            self._announce()

    def _release(self, found: Found) -> None:
        if found.size < self._limits.pack_below:
            self._held -= found.size

    def _announce(self) -> None:
        """Tell the server of the files read so far, and set about sending what it lacks."""
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if not batch or self._problems:
            self._held -= sum(read.size for read in batch if read.data is not None)
            return
        if self._session is None:
            assert self._opening is not None
            self._session = self._opening.result()
            self._sender = self._new_sender(self._session)
        missing: set[Sha256] = set()
        for start in range(0, len(batch), self._limits.batch):
            some = batch[start : start + self._limits.batch]
            missing |= self._calls.announce(self._session.id, [_new_file(one) for one in some])
        for read in batch:
            self._file_count += 1
            self._size += read.size
            if read.sha256 in missing and read.sha256 not in self._under_way:
                self._under_way.add(read.sha256)
                if read.data is None:
                    self._start(self._large.submit(self._send_file, read), [read])
                else:
                    self._send_pack(self._packer.add(read))
                continue
            if read.data is not None:
                self._held -= read.size
            self._meter.add(files=1, bytes=read.size)
        if self._packer.size >= self._packer.most_bytes * 3 // 4:
            self._send_pack(self._packer.flush())

    def _new_sender(self, session: Upload) -> Sender:
        return Sender(
            self._calls,
            StoreCalls(self._calls.session, self._stop),
            self._shared,
            upload=session.id,
            resumed=session.resumed,
            parts=self._parts,
            meter=self._meter,
            stop=self._stop,
        )

    def _send_pack(self, blobs: list[Read] | None) -> None:
        if blobs:
            # The pack takes the content over; what is kept here only says what it was.
            accounts = [read._replace(data=b"") for read in blobs]
            self._start(self._senders.submit(self._sender.pack, blobs), accounts)
            self._packs += 1
            if self._packs >= 2 * _SENDERS:
                self._packer.most_bytes = min(_PACK, self._limits.pack_size)

    def _start(self, future: Future[None], reads: Sequence[Read]) -> None:
        self._sends[future] = reads
        while len(self._sends) > 2 * _SENDERS:
            self._reap(block=True)

    def _reap(self, *, block: bool) -> None:
        """Account for what has been sent; a failure of a sender is raised here."""
        if not self._sends:
            return
        done, _ = wait(self._sends, None if block else 0, FIRST_COMPLETED)
        for future in done:
            reads = self._sends.pop(future)
            future.result()
            for read in reads:
                self._under_way.discard(read.sha256)
                self._new_files += 1
                self._new_bytes += read.size
                if read.data is not None:
                    self._held -= read.size
            self._meter.add(files=len(reads))

    def _send_file(self, read: Read) -> None:
        """Send a large file; if it changes meanwhile, hash and announce it again."""
        assert self._session is not None
        for _ in range(3):
            try:
                self._sender.file(read)
                return
            except FileChanged:
                again = hash_large(read.found, None, self._stop)
                if isinstance(again, Unreadable):
                    raise _unusable([LeftOut(path=read.found.local, reason=again.reason)]) from None
                read = again
            if not self._calls.announce(self._session.id, [_new_file(read)]):
                return
        raise _unusable([LeftOut(path=read.found.local, reason=KEEPS_CHANGING)])

    def _count(self) -> None:
        found = count(self._sources, self._stop.is_set)
        if found is not None:
            self._meter.expect(files=found[0], bytes=found[1])

    def _skip(self, path: str, reason: str) -> None:
        self._left_out.append(LeftOut(path=_shown(path), reason=reason))

    def _fail(self, path: str, reason: str) -> None:
        kept = self._left_out if self._skip_unreadable else self._problems
        kept.append(LeftOut(path=_shown(path), reason=reason))

    def _note_oddities(self) -> None:
        if self._note is None:
            return
        for one in self._left_out[:_NAMES_TOLD]:
            self._note(f"left out {one.path}: {one.reason}")
        if len(self._left_out) > _NAMES_TOLD:
            self._note(f"left out {len(self._left_out) - _NAMES_TOLD} more")
        if self._scan.empty_directories:
            self._note(
                f"{self._scan.empty_directories} empty directories are not kept:"
                " the lake has files only"
            )


def _new_file(read: Read) -> Mapping[str, Any]:
    remote = read.found.remote
    return {
        "path": remote,
        "size": read.size,
        "sha256": read.sha256,
        "content_type": content_type(remote),
    }


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _unusable(problems: Sequence[LeftOut]) -> InvalidInput:
    first = "; ".join(f"{one.path}: {one.reason}" for one in problems[:_NAMES_TOLD])
    more = f"; and {len(problems) - _NAMES_TOLD} more" if len(problems) > _NAMES_TOLD else ""
    noun = "file" if len(problems) == 1 else "files"
    return InvalidInput(
        f"nothing is uploaded, because of {len(problems)} {noun}: {first}{more};"
        " mend this, or leave them out with --skip-unreadable",
        files=[{"path": one.path, "reason": one.reason} for one in problems],
    )
