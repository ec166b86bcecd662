"""Places in a job's log, from which it is read piece by piece.

A place holds no connection and no open object between two pieces, and never more than one piece
and a little of what is packed: any number of slow readers cost the server next to nothing.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from acai.model.errors import CorruptData, JobNotFound, ObjectNotFound
from acai.model.ids import ProjectId
from acai.model.jobs import JobState
from acai.stores.objects.base import ObjectStore
from acai.stores.records import job_logs as records
from acai.stores.records.database import Database
from acai.stores.records.job_logs import LogHead, Stretch

ROW = 64 * 1024  # most bytes of a stretch in a row
_ROWS = 4  # read at once
_PIECE = ROW * _ROWS
_RANGE = 128 * 1024  # packed bytes of an object fetched at once


class LogReader:
    """A place in the log of one attempt."""

    def __init__(
        self,
        database: Database,
        objects: ObjectStore,
        project: ProjectId,
        job: int,
        attempt: int,
        start: int = 0,
    ) -> None:
        self._database = database
        self._objects = objects
        self._project = project
        self._job = job
        self.attempt = attempt
        self.offset = start
        self._unpacking: _Unpacking | None = None

    def read(self) -> bytes:
        """The next bytes, at most 256 KiB; empty if there are none so far."""
        piece = self._from_object()
        if not piece:
            stretches = self._stretches()
            if stretches and stretches[0].object_key is not None:
                skip = self.offset - stretches[0].start
                self._unpacking = _Unpacking(self._objects, stretches[0], skip)
                piece = self._from_object()
            elif stretches:
                piece = self._from_rows(stretches)
        self.offset += len(piece)
        return piece

    def _stretches(self) -> list[Stretch]:
        with self._database.read(self._project) as tx:
            return records.at(tx, self._job, self.attempt, self.offset, limit=_ROWS)

    def _from_object(self) -> bytes:
        piece = self._unpacking.read() if self._unpacking is not None else b""
        if not piece:
            self._unpacking = None
        return piece

    def _from_rows(self, stretches: list[Stretch]) -> bytes:
        taken: list[bytes] = []
        for stretch in stretches:
            if stretch.packed is None:
                break
            taken.append(stretch.data())
        return b"".join(taken)[self.offset - stretches[0].start :]


class _Unpacking:
    """The bytes of an object's stretch, after the first `skip`."""

    def __init__(self, objects: ObjectStore, stretch: Stretch, skip: int) -> None:
        assert stretch.object_key is not None
        self._objects = objects
        self._key = stretch.object_key
        self._unzip = zlib.decompressobj(wbits=31)
        self._packed = b""
        self._fetched = 0
        self._skip = skip
        self._left = stretch.size - skip

    def read(self) -> bytes:
        """The next bytes; empty at the end. Raises CorruptData if they are not what was kept."""
        while not self._unzip.eof:
            piece = self._unpack()
            if self._skip:
                skipped = min(self._skip, len(piece))
                self._skip -= skipped
                piece = piece[skipped:]
            if piece:
                self._left -= len(piece)
                return piece
        if self._left:
            raise self._corrupt()
        return b""

    def _unpack(self) -> bytes:
        fetched = b""
        try:
            if not self._packed:
                stream = self._objects.get(self._key, offset=self._fetched, length=_RANGE)
                fetched = self._packed = b"".join(stream)
                self._fetched += len(fetched)
            piece = self._unzip.decompress(self._packed, _PIECE)
        except (ObjectNotFound, zlib.error) as error:
            raise self._corrupt() from error
        self._packed = self._unzip.unconsumed_tail
        if not piece and not self._packed and not fetched and not self._unzip.eof:
            raise self._corrupt()
        return piece

    def _corrupt(self) -> CorruptData:
        return CorruptData(
            f"a part of the log is missing or damaged in the store: {self._key}", key=self._key
        )


@dataclass(frozen=True, kw_only=True)
class Printed:
    """Bytes of a log, in their order."""

    attempt: int
    start: int
    data: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.data)


@dataclass(frozen=True, kw_only=True)
class Retried:
    """The log of the attempt before is complete; what follows is that of this attempt."""

    attempt: int


@dataclass(frozen=True, kw_only=True)
class Complete:
    """Everything was handed out, and no more will come."""

    status: JobState  # of the job


class LogFollower:
    """Hands out a log in order and completely while it grows, attempt after attempt.

    With `only`, the log of the reader's attempt and no other.
    """

    def __init__(
        self,
        database: Database,
        objects: ObjectStore,
        project: ProjectId,
        reader: LogReader,
        head: LogHead,
        *,
        only: bool,
    ) -> None:
        self._database = database
        self._objects = objects
        self._project = project
        self._reader = reader
        self._only = only
        self.job = head.id

    def look(self) -> Printed | Retried | Complete | None:
        """What comes next; None if there is nothing so far."""
        head = self._head()
        reader = self._reader
        complete = not head.takes(reader.attempt)
        if not complete and reader.offset == head.size:
            return None
        start = reader.offset
        if data := reader.read():
            return Printed(attempt=reader.attempt, start=start, data=data)
        if not complete:
            return None
        if head.attempt > reader.attempt and not self._only:
            return self._go_on(head)
        # A lost attempt may be followed by another, unless this one is all that is wanted.
        over = head.status.ended or (self._only and reader.attempt > 0)
        return Complete(status=head.status) if over else None

    def _go_on(self, head: LogHead) -> Retried | Printed | Complete | None:
        before = self._reader.attempt
        self._reader = LogReader(self._database, self._objects, self._project, head.id, before + 1)
        return Retried(attempt=before + 1) if before > 0 else self.look()

    def _head(self) -> LogHead:
        with self._database.read(self._project) as tx:
            head = records.get(tx, self.job)
        if head is None:
            raise JobNotFound("the job is gone")
        return head
