"""Statements about the states that a project's jobs went through, in the order of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, literal, select, tuple_

from acai.model.jobs import JobState
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine
from acai.stores.records.tables_jobs import job_transitions, jobs


@dataclass(frozen=True, kw_only=True)
class JobChange:
    """A job entered a state. `job` and `n` tell one change from another."""

    job: int
    n: int
    id: str
    name: str | None
    status: JobState
    attempt: int
    time: datetime
    reason: str | None


Place = tuple[datetime, int, int]  # of a change: its time, job and n


def after(tx: Transaction, place: Place, *, limit: int) -> list[JobChange]:
    """The project's changes after a place, the earliest first."""
    columns = (job_transitions.c.at, job_transitions.c.job_id, job_transitions.c.n)
    bound = tuple_(*(literal(part, c.type) for part, c in zip(place, columns, strict=True)))
    rows = tx.execute(
        select(job_transitions, jobs.c.public_id, jobs.c.name)
        .join(
            jobs,
            and_(
                jobs.c.id == job_transitions.c.job_id,
                jobs.c.project_id == job_transitions.c.project_id,
            ),
        )
        .where(
            mine(job_transitions),
            job_transitions.c.at >= place[0],
            tuple_(*columns) > bound,
        )
        .order_by(*columns)
        .limit(limit)
    )
    return [
        JobChange(
            job=row.job_id,
            n=row.n,
            id=row.public_id,
            name=row.name,
            status=JobState(row.status),
            attempt=row.attempt,
            time=row.at,
            reason=row.reason,
        )
        for row in rows
    ]
