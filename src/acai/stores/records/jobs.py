"""Statements about jobs: the registry that search and provenance read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, insert, select

from acai.model.ids import UserId, public_id
from acai.stores.records.creators import creator, with_creator
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables_meta import job_inputs, jobs


@dataclass(frozen=True, kw_only=True)
class JobRow:
    id: int
    public_id: str
    name: str | None
    status: str
    creator: str
    command: str
    submitted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


def add(
    tx: Transaction,
    *,
    user: UserId,
    name: str | None,
    command: str,
    status: str,
    now: datetime,
    inputs: Sequence[int] = (),
) -> JobRow:
    """Register a job with the set versions that it reads."""
    new = public_id("job")
    job_id: int = tx.execute(
        insert(jobs)
        .values(
            project_id=this_project(),
            public_id=new,
            user_id=user,
            name=name,
            status=status,
            command=command,
            submitted_at=now,
        )
        .returning(jobs.c.id)
    ).scalar_one()
    tx.insert(job_inputs, ({"job_id": job_id, "set_version_id": one} for one in inputs))
    return by_ids(tx, [job_id])[job_id]


def find(tx: Transaction, job: str) -> JobRow | None:
    row = tx.execute(_rows().where(mine(jobs), jobs.c.public_id == job)).first()
    return None if row is None else _row(row)


def by_ids(tx: Transaction, ids: Sequence[int]) -> dict[int, JobRow]:
    rows = tx.execute(_rows().where(mine(jobs), tx.one_of(jobs.c.id, ids)))
    return {row.id: _row(row) for row in rows}


def _rows() -> Any:
    return select(jobs, creator).select_from(with_creator(jobs, jobs))


def _row(row: Row[Any]) -> JobRow:
    return JobRow(
        id=row.id,
        public_id=row.public_id,
        name=row.name,
        status=row.status,
        creator=row.creator,
        command=row.command,
        submitted_at=row.submitted_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )
