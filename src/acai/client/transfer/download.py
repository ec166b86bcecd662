"""Downloading: look what is here, fetch the rest in few requests, verify, rename into place."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, suppress
from itertools import count, islice
from pathlib import Path
from typing import IO

from acai.atomic import copy_atomically
from acai.client.transfer.calls import Readable, TransferCalls
from acai.client.transfer.fetching import Fetcher
from acai.client.transfer.packs import MIB, Piece, Run, plan_runs
from acai.client.transfer.progress import Meter
from acai.client.transfer.segmented import SegmentedFile
from acai.client.transfer.store import SharedStore, StoreCalls
from acai.client.transfer.targets import Here, Target, Wanted
from acai.client.transfer.values import Downloaded
from acai.client.transfer.workers import Workers
from acai.model.errors import AlreadyExists, Conflict, CorruptData
from acai.model.files import TransferLimits
from acai.model.ids import Sha256, random_word

_RUN, _GAP = 8 * MIB, MIB // 4
_LARGE = 8 * MIB  # from here on, a file of its own is fetched in segments
_WORKERS = 4
_PENDING = 4 * _WORKERS
_AHEAD = 100  # pages of the listing that may wait
_NAMES_TOLD, _NAMES_KEPT = 5, 1000
_END_WITHIN = 2.0  # seconds that threads get to notice that the transfer was given up
_EMPTY = Sha256(hashlib.sha256().hexdigest())


class Downloading:
    """One download, from the listing to the last rename. Use it once."""

    def __init__(
        self,
        calls: TransferCalls,
        limits: TransferLimits,
        pages: Iterator[Sequence[Wanted]],
        target: Target,
        *,
        force: bool,
        meter: Meter,
    ) -> None:
        self._calls = calls
        self._limits = limits
        self._pages = pages
        self._target = target
        self._force = force
        self._meter = meter
        self._stop = calls.patience.stop
        shared = SharedStore.find(limits.shared_directory, write=False)
        self._fetcher = Fetcher(calls, StoreCalls(calls.session, self._stop), shared)
        self._token = random_word(10)
        self._numbers = count()
        self._pending: set[Future[None]] = set()
        self._large: list[_LargeFile] = []
        self._lock = threading.Lock()
        self._file_count = self._size = self._received = self._unchanged = 0

    def run(self) -> Downloaded:
        try:
            with ExitStack() as stack:
                self._workers = stack.enter_context(Workers("fetch", _WORKERS))
                spool = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
                for batch in _regrouped(self._to_fetch(spool), self._limits.batch):
                    self._start_batch(batch)
                while self._pending:
                    self._reap()
        except BaseException:
            self._stop.set()
            # A descriptor is closed only when no thread can write through it any more.
            if not wait(self._pending, _END_WITHIN).not_done:
                for large in self._large:
                    large.file.close()
            raise
        self._meter.finish()
        return Downloaded(
            target=self._target.shown,
            file_count=self._file_count,
            size=self._size,
            received_bytes=self._received,
            unchanged_files=self._unchanged,
        )

    def _to_fetch(self, spool: IO[str]) -> Iterator[Wanted]:
        """The files that are not here yet. Nothing is yielded before all were looked at."""
        listed = _ahead(self._pages, self._stop)
        if self._target.fresh():
            for page in listed:
                self._count(page)
                yield from page
            self._meter.expect(files=self._file_count, bytes=self._size)
            return
        others: list[str] = []
        count_others = 0
        for page in listed:
            self._count(page)
            for wanted, here in zip(page, self._look(page), strict=True):
                if here is Here.SAME:
                    self._unchanged += 1
                    self._meter.add(files=1, bytes=wanted.size)
                    continue
                if here is Here.OTHER:
                    count_others += 1
                    if len(others) < _NAMES_KEPT:
                        others.append(self._target.local(wanted))
                spool.write(json.dumps(wanted) + "\n")
        if others and not self._force:
            raise _in_the_way(others, count_others)
        self._meter.expect(files=self._file_count, bytes=self._size)
        spool.seek(0)
        for line in spool:
            yield Wanted(*json.loads(line))

    def _count(self, page: Sequence[Wanted]) -> None:
        self._file_count += len(page)
        self._size += sum(wanted.size for wanted in page)

    def _look(self, page: Sequence[Wanted]) -> list[Here]:
        step = max(1, len(page) // (4 * _WORKERS))
        futures = [
            self._workers.submit(self._look_at, page[start : start + step])
            for start in range(0, len(page), step)
        ]
        return [here for future in futures for here in future.result()]

    def _look_at(self, some: Sequence[Wanted]) -> list[Here]:
        return [self._target.look(wanted, self._stop) for wanted in some]

    def _start_batch(self, batch: Sequence[Wanted]) -> None:
        users: dict[str, list[Wanted]] = {}
        for wanted in batch:
            users.setdefault(wanted.sha256, []).append(wanted)
        empty = users.pop(_EMPTY, None)
        if empty:
            self._submit(self._deliver, empty, b"")
        if not users:
            return
        for readable in self._calls.locate([Sha256(sha256) for sha256 in users]):
            whole = readable.pieces[0]
            if len(readable.pieces) == 1 and whole.size >= _LARGE:
                self._start_large(readable, whole, users[whole.sha256])
                continue
            for run in plan_runs(readable.pieces, most_bytes=_RUN, most_gap=_GAP):
                wanted_by = {piece.sha256: users[piece.sha256] for piece in run.pieces}
                self._submit(self._fetch_run, readable, run, wanted_by)

    def _submit(self, act: Callable[..., None], *args: object) -> None:
        while len(self._pending) >= _PENDING:
            self._reap()
        self._pending.add(self._workers.submit(act, *args))

    def _reap(self) -> None:
        done, self._pending = wait(self._pending, None, FIRST_COMPLETED)
        for future in done:
            future.result()

    def _fetch_run(self, readable: Readable, run: Run, users: dict[str, list[Wanted]]) -> None:
        data = memoryview(self._fetcher.read(readable, run.start, run.end))
        for piece in run.pieces:
            content = data[piece.start - run.start : piece.end - run.start]
            if hashlib.sha256(content).hexdigest() != piece.sha256:
                content = self._once_more(readable, piece, users[piece.sha256][0])
            self._deliver(users[piece.sha256], content)
        self._add_received(len(data))

    def _add_received(self, size: int) -> None:
        with self._lock:
            self._received += size

    def _once_more(self, readable: Readable, piece: Piece, wanted: Wanted) -> memoryview:
        content = memoryview(self._fetcher.read(readable, piece.start, piece.end))
        if hashlib.sha256(content).hexdigest() != piece.sha256:
            raise _damaged(wanted)
        return content

    def _deliver(self, targets: Sequence[Wanted], content: bytes | memoryview) -> None:
        """Write verified content to each of its targets, under another name first."""
        for wanted in targets:
            local = self._target.prepare(wanted)
            part = self._part_name(local)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(part, flags, 0o666)
            try:
                try:
                    rest = memoryview(content)
                    while rest:
                        rest = rest[os.write(descriptor, rest) :]
                finally:
                    os.close(descriptor)
                _rename(part, local)
            except BaseException:
                with suppress(OSError):
                    Path(part).unlink()
                raise
        self._meter.add(files=len(targets), bytes=len(content) * len(targets))

    def _part_name(self, local: str) -> str:
        return f"{local[: local.rindex('/')]}/.acai-{self._token}{next(self._numbers)}.part"

    def _start_large(self, readable: Readable, piece: Piece, targets: list[Wanted]) -> None:
        if self._fetcher.local:
            self._submit(self._copy_large, readable, piece, targets)
            return
        large = self._open_large(readable, piece, targets)
        for _ in range(max(1, min(large.file.remaining, _WORKERS))):
            self._submit(self._assist, large)

    def _copy_large(self, readable: Readable, piece: Piece, targets: list[Wanted]) -> None:
        part = Path(self._part_name(self._target.prepare(targets[0])))
        try:
            copied = self._fetcher.copy(readable, piece.start, piece.size, str(part))
            if copied is not None:
                if copied != piece.sha256:
                    raise _damaged(targets[0])
                self._meter.add(bytes=piece.size)
                self._add_received(piece.size)
                self._end_large(part, targets, piece.size)
                return
        finally:
            part.unlink(missing_ok=True)
        self._assist(self._open_large(readable, piece, targets))

    def _open_large(self, readable: Readable, piece: Piece, targets: list[Wanted]) -> _LargeFile:
        local = self._target.prepare(targets[0])
        named = Path(f"{local[: local.rindex('/')]}/.acai-{piece.sha256[:24]}.part")
        patience, meter = self._calls.patience, self._meter
        try:
            file = SegmentedFile(named, piece.size, patience=patience, meter=meter)
        except BlockingIOError:  # another download of the same content into this directory
            named = Path(self._part_name(local))
            file = SegmentedFile(named, piece.size, patience=patience, meter=meter)
        large = _LargeFile(readable, piece, targets, file)
        with self._lock:
            self._large.append(large)
        return large

    def _assist(self, first: _LargeFile) -> None:
        """Fetch segments of whichever large file is least attended, until none is left."""
        while True:
            with self._lock:
                waiting = [each for each in self._large if each.file.remaining]
                chosen = min(waiting, key=lambda each: each.file.active, default=None)
                index = chosen.file.claim() if chosen else None
            if chosen is None or index is None:
                break
            self._help(chosen, index)
        if first.file.catch_up():
            self._verify_large(first)

    def _help(self, large: _LargeFile, index: int) -> None:
        readable, offset = large.readable, large.piece.start

        def source(start: int, end: int) -> Iterator[bytes]:
            return self._fetcher.stream(readable, offset + start, offset + end)

        self._add_received(large.file.fetch(index, source))
        if large.file.catch_up():
            self._verify_large(large)

    def _verify_large(self, large: _LargeFile) -> None:
        sha256 = large.file.finish()
        with self._lock:
            self._large.remove(large)
        part = large.file.part
        if sha256 != large.piece.sha256:
            part.unlink()
            if not large.file.resumed:
                raise _damaged(large.targets[0])
            # The rest of an earlier run was at fault; begin anew.
            self._meter.add(bytes=-large.piece.size)
            self._assist(self._open_large(large.readable, large.piece, large.targets))
            return
        self._end_large(part, large.targets, large.piece.size)

    def _end_large(self, part: Path, targets: Sequence[Wanted], size: int) -> None:
        first = Path(self._target.prepare(targets[0]))
        _rename(str(part), str(first))
        for wanted in targets[1:]:
            copy_atomically(first, Path(self._target.prepare(wanted)), mode=0o666, durable=False)
            self._meter.add(bytes=size)
        self._meter.add(files=len(targets))


class _LargeFile:
    def __init__(
        self, readable: Readable, piece: Piece, targets: list[Wanted], file: SegmentedFile
    ) -> None:
        self.readable = readable
        self.piece = piece
        self.targets = targets
        self.file = file


def _ahead(pages: Iterator[Sequence[Wanted]], stop: threading.Event) -> Iterator[Sequence[Wanted]]:
    """The pages, fetched by a thread of their own while earlier ones are worked on."""
    waiting: queue.Queue[Sequence[Wanted] | BaseException | None] = queue.Queue(_AHEAD)

    def put(item: Sequence[Wanted] | BaseException | None) -> None:
        while not stop.is_set():
            with suppress(queue.Full):
                waiting.put(item, timeout=0.5)
                return

    def produce() -> None:
        try:
            for page in pages:
                put(page)
                if stop.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    threading.Thread(target=produce, name="acai-list", daemon=True).start()
    while (item := waiting.get()) is not None:
        if isinstance(item, BaseException):
            raise item
        yield item


def _regrouped(items: Iterable[Wanted], size: int) -> Iterator[list[Wanted]]:
    stream = iter(items)
    while group := list(islice(stream, size)):
        yield group


def _rename(part: str, local: str) -> None:
    try:
        os.replace(part, local)  # noqa: PTH105  once for every file
    except IsADirectoryError:
        raise Conflict(f"{local} is a directory here, but a file in the lake") from None


def _in_the_way(others: Sequence[str], total: int) -> AlreadyExists:
    named = ", ".join(others[:_NAMES_TOLD])
    more = f" and {total - _NAMES_TOLD} more" if total > _NAMES_TOLD else ""
    return AlreadyExists(
        f"{named}{more} would be overwritten with other content; add --force to do so",
        paths=list(others),
        count=total,
    )


def _damaged(wanted: Wanted) -> CorruptData:
    return CorruptData(
        f"{wanted.path}: what the store holds is not what was uploaded (SHA-256 {wanted.sha256});"
        " nothing was written for it; ask the platform's operator",
        path=wanted.path,
        hash=wanted.sha256,
    )
