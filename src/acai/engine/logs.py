"""The log server: takes what jobs print, keeps it, and hands it out.

What arrives is kept in small rows of the database. When enough of them have come together they
are rolled into one compressed object of the store, and after the attempt is over the rest is.
An object is stored before the row that names it takes the place of the rolled rows; what a crash
in between leaves in the store lies below the job's own prefix and goes when its log is archived.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from acai.engine.hints import Hints, log_topic
from acai.engine.log_reading import ROW, LogFollower, LogReader
from acai.model.assignments import LogAnswer
from acai.model.errors import AcaiError, InvalidInput, JobNotFound
from acai.model.ids import ProjectId
from acai.stores.objects.base import MIB, ObjectStore
from acai.stores.records import job_logs as records
from acai.stores.records.database import Database
from acai.stores.records.job_logs import LogHead, Stretch

log = logging.getLogger("acai.joblogs")
MOST = MIB  # bytes of one append
_OPEN = 16 * 1024  # a last row of less is extended, so that many short prints make few rows
_ROLL = 8 * MIB  # bytes in rows that become an object
_PAGE = 256


class Logs:
    """Thread-safe, and on PostgreSQL safe among several servers."""

    def __init__(
        self,
        database: Database,
        objects: ObjectStore,
        hints: Hints,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._objects = objects
        self._hints = hints
        self._clock = clock

    def append(
        self, project: ProjectId, job: int, *, attempt: int, start: int, data: bytes
    ) -> LogAnswer:
        """Take what of `data`, which begins at `start`, lies beyond the bytes that are stored.

        It can be repeated, and leaves no gap: what begins beyond the stored size is not taken.
        The answer says from where to send on; `stop` if the attempt may print no more.
        """
        if len(data) > MOST or start < 0:
            raise InvalidInput(f"a log grows by 0 to {MOST} bytes at once; send less")
        # A large append is packed before the database is held up; it nearly always fits.
        packed = _stretches(start, data) if len(data) >= _OPEN else None
        with self._database.write(project) as tx:
            head = records.get(tx, job, lock=True)
            last = records.last(tx, job, attempt, with_data_below=_OPEN)
            size = last.end if last is not None else 0
            if head is None or not head.takes(attempt):
                return LogAnswer(size=size, stop=True)
            fresh = data[size - start :] if start <= size else b""
            if not fresh:
                return LogAnswer(size=size)
            if packed is None or start != size:
                packed = _extended(last, size, fresh)
            grown = size + len(fresh)
            records.put(tx, job, attempt, packed)
            records.grow(tx, job, grown, self._clock())
        self._hints.publish(log_topic(job))
        if size // MIB != grown // MIB:
            self._roll_full(project, head, attempt)
        return LogAnswer(size=grown)

    def archive(self, project: ProjectId, job: int) -> int:
        """Move the logs of attempts that are over into the store; returns how many objects.

        Call it when an attempt or the job has ended. It can be repeated.
        """
        with self._database.read(project) as tx:
            head = records.get(tx, job)
            attempts = records.attempts(tx, job) if head is not None else []
        if head is None or not attempts:
            return 0
        made = 0
        for attempt in attempts:
            if not head.takes(attempt):
                while stretches := self._rollable(project, job, attempt, over=True):
                    made += self._roll(project, head, attempt, stretches)
        if head.status.ended:
            self._sweep(project, head)
        return made

    def head(self, project: ProjectId, job: str) -> LogHead:
        with self._database.read(project) as tx:
            head = records.find(tx, job)
        if head is None:
            raise JobNotFound(f"there is no job {job!r}", job=job)
        return head

    def read(
        self,
        project: ProjectId,
        job: str,
        *,
        attempt: int | None = None,
        start: int = 0,
        end: int | None = None,
    ) -> Iterator[bytes]:
        """The bytes from `start` to `end`, or to what there is now, of an attempt or the latest.

        Raises at the call if there is no such job or attempt.
        """
        head = self.head(project, job)
        reader = self.reader(project, head, attempt=attempt, start=start)
        stop = self.size(project, head, reader.attempt)
        return _until(reader, stop if end is None else min(end, stop))

    def reader(
        self, project: ProjectId, head: LogHead, *, attempt: int | None = None, start: int = 0
    ) -> LogReader:
        """A place in the log of an attempt, or of the latest one."""
        if attempt is not None and not 1 <= attempt <= head.attempt:
            raise InvalidInput(
                f"{head.public_id} has no attempt {attempt}; its latest is {head.attempt}",
                attempt=attempt,
            )
        wanted = head.attempt if attempt is None else attempt
        return LogReader(self._database, self._objects, project, head.id, wanted, start)

    def follow(
        self,
        project: ProjectId,
        head: LogHead,
        *,
        attempt: int | None = None,
        start: int = 0,
        only: bool = False,
    ) -> LogFollower:
        """Follow from a place on, through later attempts too unless it is `only` this one."""
        reader = self.reader(project, head, attempt=attempt, start=start)
        return LogFollower(self._database, self._objects, project, reader, head, only=only)

    def size(self, project: ProjectId, head: LogHead, attempt: int) -> int:
        with self._database.read(project) as tx:
            last = records.last(tx, head.id, attempt, with_data_below=0)
        return last.end if last is not None else 0

    def tail(self, project: ProjectId, head: LogHead, attempt: int, lines: int) -> int:
        """Where the last `lines` lines begin; a last line without an end counts as one."""
        size = self.size(project, head, attempt)
        if size == 0:
            return 0
        final = self.reader(project, head, attempt=attempt, start=size - 1).read()
        ends = lines + final.endswith(b"\n")  # the place is after that many line ends from behind
        if ends == 0:
            return size
        for stretch in self._backwards(project, head, attempt, size):
            if stretch.lines >= ends:
                reader = self.reader(project, head, attempt=attempt, start=stretch.start)
                return _after_line(reader, stretch.lines - ends + 1)
            ends -= stretch.lines
        return 0

    def _backwards(
        self, project: ProjectId, head: LogHead, attempt: int, size: int
    ) -> Iterator[Stretch]:
        before = size
        while before > 0:
            with self._database.read(project) as tx:
                page = records.backwards(tx, head.id, attempt, before=before, limit=_PAGE)
            yield from page
            before = page[-1].start if page else 0

    def _roll_full(self, project: ProjectId, head: LogHead, attempt: int) -> None:
        try:
            while stretches := self._rollable(project, head.id, attempt, over=False):
                self._roll(project, head, attempt, stretches)
        except AcaiError as error:
            # The rows stay where they are, and the next megabyte tries again.
            log.warning(
                "a log was not moved to the store",
                extra={"job": head.public_id, "reason": error.message},
            )

    def _rollable(self, project: ProjectId, job: int, attempt: int, *, over: bool) -> list[Stretch]:
        with self._database.read(project) as tx:
            return _first_object(records.in_rows(tx, job, attempt), over=over)

    def _roll(
        self, project: ProjectId, head: LogHead, attempt: int, stretches: Sequence[Stretch]
    ) -> bool:
        start, end = stretches[0].start, stretches[-1].end
        # Two servers that roll the same rows write the same bytes under the same key.
        key = f"{_prefix(project, head)}{attempt}/{start}-{end}.gz"
        reader = self.reader(project, head, attempt=attempt, start=start)
        self._objects.put(key, _gzipped(_until(reader, end)))
        with self._database.write(project) as tx:
            records.get(tx, head.id, lock=True)
            return records.roll(tx, head.id, attempt, stretches, key)

    def _sweep(self, project: ProjectId, head: LogHead) -> None:
        """Drop objects that no row names, of an ended job whose rows are all rolled.

        Whoever may still be rolling the same rows finds them gone, so nothing unnamed will be.
        """
        listed = [each.key for each in self._objects.list(_prefix(project, head))]
        with self._database.read(project) as tx:
            named = records.object_keys(tx, head.id)
        self._objects.delete([key for key in listed if key not in named])


def _prefix(project: ProjectId, head: LogHead) -> str:
    return f"{project}/logs/{head.public_id}/"


def _extended(last: Stretch | None, size: int, fresh: bytes) -> list[Stretch]:
    """Stretches of fresh bytes after `size`; a short last one takes them in."""
    if last is None or last.packed is None:
        return _stretches(size, fresh)
    return _stretches(last.start, last.data() + fresh)


def _stretches(start: int, data: bytes) -> list[Stretch]:
    return [
        Stretch(
            start=start + at,
            size=len(piece := data[at : at + ROW]),
            lines=piece.count(b"\n"),
            packed=zlib.compress(piece, 1),  # for a short while only: quick beats small
        )
        for at in range(0, len(data), ROW)
    ]


def _first_object(in_rows: Sequence[Stretch], *, over: bool) -> list[Stretch]:
    """The stretches that the next object takes: enough of them, or all if no more will come.

    While more may come the last one stays, because it may still be extended.
    """
    taken: list[Stretch] = []
    size = 0
    for stretch in in_rows if over else in_rows[:-1]:
        taken.append(stretch)
        size += stretch.size
        if size >= _ROLL:
            return taken
    return taken if over else []


def _until(reader: LogReader, end: int) -> Iterator[bytes]:
    while reader.offset < end and (piece := reader.read()):
        yield piece[: len(piece) - max(0, reader.offset - end)]


def _gzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    gzip = zlib.compressobj(4, wbits=31)  # level 6 takes two to three times as long for 1 % less
    for piece in pieces:
        if packed := gzip.compress(piece):
            yield packed
    yield gzip.flush()


def _after_line(reader: LogReader, nth: int) -> int:
    """The offset after the n-th line end from the reader's place on."""
    start = reader.offset
    while piece := reader.read():
        count = piece.count(b"\n")
        if count >= nth:
            at = -1
            for _ in range(nth):
                at = piece.index(b"\n", at + 1)
            return start + at + 1
        nth -= count
        start = reader.offset
    return start
