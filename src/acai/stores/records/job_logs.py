"""Statements about what jobs print: stretches of bytes, by attempt, without gaps."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, case, delete, func, insert, null, select, update

from acai.model.jobs import JobState
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables_jobs import job_logs, jobs


@dataclass(frozen=True, kw_only=True)
class LogHead:
    """What a job's row says of its log."""

    id: int
    public_id: str
    status: JobState
    attempt: int  # the latest
    size: int  # of the latest attempt's log

    def takes(self, attempt: int) -> bool:
        """Whether this attempt may still print; if not, its log is complete."""
        return self.status.active and attempt == self.attempt


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Bytes from `start` on: `packed` in the row, or in an object, or not looked at."""

    start: int
    size: int
    lines: int
    packed: bytes | None = None
    object_key: str | None = None

    @property
    def end(self) -> int:
        return self.start + self.size

    def data(self) -> bytes:
        assert self.packed is not None, "not in the row"
        return zlib.decompress(self.packed)


def find(tx: Transaction, job: str) -> LogHead | None:
    row = tx.execute(_heads().where(jobs.c.public_id == job)).first()
    return None if row is None else _head(row)


def get(tx: Transaction, job: int, *, lock: bool = False) -> LogHead | None:
    """Locked, nobody else can write to the job's log before the transaction ends."""
    statement = _heads().where(jobs.c.id == job)
    row = tx.execute(statement.with_for_update() if lock else statement).first()
    return None if row is None else _head(row)


def last(tx: Transaction, job: int, attempt: int, *, with_data_below: int) -> Stretch | None:
    """The last stretch, with its data if it is one of fewer bytes than that."""
    data = case((job_logs.c.size < with_data_below, job_logs.c.data), else_=null()).label("data")
    row = tx.execute(
        select(job_logs.c.start, job_logs.c.size, job_logs.c.lines, data)
        .where(*_of(job, attempt))
        .order_by(job_logs.c.start.desc())
        .limit(1)
    ).first()
    if row is None:
        return None
    return Stretch(start=row.start, size=row.size, lines=row.lines, packed=_bytes(row.data))


def at(tx: Transaction, job: int, attempt: int, offset: int, *, limit: int) -> list[Stretch]:
    """The stretch that holds the byte at `offset`, and those after it."""
    first = (
        select(func.max(job_logs.c.start))
        .where(*_of(job, attempt), job_logs.c.start <= offset)
        .scalar_subquery()
    )
    rows = tx.execute(
        select(job_logs)
        .where(*_of(job, attempt), job_logs.c.start >= first)
        .order_by(job_logs.c.start)
        .limit(limit)
    )
    found = [
        Stretch(
            start=row.start,
            size=row.size,
            lines=row.lines,
            packed=_bytes(row.data),
            object_key=row.object_key,
        )
        for row in rows
    ]
    return [stretch for stretch in found if stretch.end > offset]


def backwards(tx: Transaction, job: int, attempt: int, *, before: int, limit: int) -> list[Stretch]:
    """Stretches that begin before an offset, the last one first, without their data."""
    rows = tx.execute(
        _without_data()
        .where(*_of(job, attempt), job_logs.c.start < before)
        .order_by(job_logs.c.start.desc())
        .limit(limit)
    )
    return [_stretch(row) for row in rows]


def in_rows(tx: Transaction, job: int, attempt: int) -> list[Stretch]:
    """The stretches that are not in an object yet, in order, without their data."""
    rows = tx.execute(
        _without_data()
        .where(*_of(job, attempt), job_logs.c.data.is_not(None))
        .order_by(job_logs.c.start)
    )
    return [_stretch(row) for row in rows]


def attempts(tx: Transaction, job: int) -> list[int]:
    """The attempts that have printed something."""
    of_job = (mine(job_logs), job_logs.c.job_id == job)
    return list(tx.execute(select(job_logs.c.attempt).where(*of_job).distinct()).scalars())


def object_keys(tx: Transaction, job: int) -> set[str]:
    rows = tx.execute(
        select(job_logs.c.object_key).where(
            mine(job_logs), job_logs.c.job_id == job, job_logs.c.object_key.is_not(None)
        )
    )
    return set(rows.scalars())


def put(tx: Transaction, job: int, attempt: int, stretches: Iterable[Stretch]) -> None:
    """Add stretches; one that begins where another does takes its place."""
    tx.merge(
        job_logs,
        (
            {
                "job_id": job,
                "attempt": attempt,
                "start": one.start,
                "size": one.size,
                "lines": one.lines,
                "data": one.packed,
            }
            for one in stretches
        ),
        replace=True,
    )


def grow(tx: Transaction, job: int, size: int, now: datetime) -> None:
    """Tell the job how long its log is, and that its agent was heard."""
    tx.execute(update(jobs).where(mine(jobs), jobs.c.id == job).values(log_size=size, seen_at=now))


def roll(
    tx: Transaction, job: int, attempt: int, stretches: Sequence[Stretch], object_key: str
) -> bool:
    """Let one stretch in an object replace these; False if they are not the present ones."""
    start, end = stretches[0].start, stretches[-1].end
    within = (
        *_of(job, attempt),
        job_logs.c.data.is_not(None),
        job_logs.c.start >= start,
        job_logs.c.start < end,
    )
    held = tx.execute(select(func.sum(job_logs.c.size)).where(*within)).scalar_one()
    if held != end - start:
        return False
    tx.execute(delete(job_logs).where(*within))
    tx.execute(
        insert(job_logs).values(
            project_id=this_project(),
            job_id=job,
            attempt=attempt,
            start=start,
            size=end - start,
            lines=sum(one.lines for one in stretches),
            object_key=object_key,
        )
    )
    return True


def _of(job: int, attempt: int) -> tuple[Any, ...]:
    return mine(job_logs), job_logs.c.job_id == job, job_logs.c.attempt == attempt


def _without_data() -> Any:
    return select(job_logs.c.start, job_logs.c.size, job_logs.c.lines)


def _stretch(row: Row[Any]) -> Stretch:
    return Stretch(start=row.start, size=row.size, lines=row.lines)


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _heads() -> Any:
    return select(
        jobs.c.id, jobs.c.public_id, jobs.c.status, jobs.c.attempt, jobs.c.log_size
    ).where(mine(jobs))


def _head(row: Row[Any]) -> LogHead:
    return LogHead(
        id=row.id,
        public_id=row.public_id,
        status=JobState(row.status),
        attempt=row.attempt,
        size=row.log_size,
    )
