"""Statements about jobs of one project: the registry that search and provenance read too."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Row, bindparam, func, insert, select, update

from acai.model.ids import UserId, public_id
from acai.model.jobs import JobState, Point, Transition
from acai.stores.records.creators import creator, with_creator
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables_jobs import (
    is_active,
    is_queued,
    job_inputs,
    job_output_meta,
    job_points,
    job_transitions,
    job_usage,
    jobs,
)


@dataclass(frozen=True, kw_only=True)
class JobRow:
    id: int
    public_id: str
    user_id: UserId
    name: str | None
    status: str
    creator: str
    command: str
    submitted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    runtime: float | None
    queue_time: float | None
    cost: float | None
    cpu: float | None
    memory: int | None
    gpu: float | None
    peak_memory: int | None
    cpu_seconds: float | None
    exit_code: int | None
    request: str
    priority: int
    attempt: int
    retries: int
    reason: str | None
    notes: str
    code_set_id: int | None
    output_set_id: int | None
    cached_from_id: int | None
    cache_key: bytes | None
    environment_digest: str | None
    platform_version: str | None
    kill_requested_at: datetime | None
    queued_at: datetime | None
    seen_at: datetime | None
    log_size: int
    tag_count: int
    settled: bool
    template_id: int | None
    prediction: str | None

    @property
    def state(self) -> JobState:
        return JobState(self.status)


_OWN = tuple(name for name in JobRow.__dataclass_fields__ if name != "creator")


def add(
    tx: Transaction,
    *,
    user: UserId,
    name: str | None,
    command: str,
    status: str,
    now: datetime,
    inputs: Sequence[int] = (),
    **more: Any,
) -> JobRow:
    """Register a job with the set versions that it reads; `more` are further columns."""
    values = {
        "public_id": public_id("job"),
        "user_id": user,
        "name": name,
        "status": status,
        "command": command,
        "submitted_at": now,
        **more,
    }
    job_id: int = tx.execute(_insertion(tuple(values)), values).scalar_one()
    tx.insert(job_inputs, ({"job_id": job_id, "set_version_id": one} for one in inputs))
    return get(tx, job_id)


@cache  # a statement that is made anew costs more than it takes to run
def _insertion(names: tuple[str, ...]) -> Any:
    given = {name: bindparam(name, type_=jobs.c[name].type) for name in names}
    return insert(jobs).values(project_id=this_project(), **given).returning(jobs.c.id)


def find(tx: Transaction, job: str, *, lock: bool = False) -> JobRow | None:
    row = tx.execute(_one("public_id", lock), {"wanted": job}).first()
    return None if row is None else _row(row)


def get(tx: Transaction, job_id: int, *, lock: bool = False) -> JobRow:
    return _row(tx.execute(_one("id", lock), {"wanted": job_id}).one())


@cache
def _one(column: str, lock: bool) -> Any:
    found = _rows().where(mine(jobs), jobs.c[column] == bindparam("wanted"))
    return found.with_for_update(of=jobs) if lock else found


def by_ids(tx: Transaction, ids: Sequence[int]) -> dict[int, JobRow]:
    rows = tx.execute(_rows().where(mine(jobs), tx.one_of(jobs.c.id, ids)))
    return {row.id: _row(row) for row in rows}


def page(
    tx: Transaction,
    *,
    before: int,
    limit: int,
    statuses: Sequence[str] = (),
    user: UserId | None = None,
) -> list[JobRow]:
    """Jobs, newest first, from below a row id."""
    statement = _rows().where(mine(jobs), jobs.c.id < before)
    if statuses:
        statement = statement.where(jobs.c.status.in_(list(statuses)))
    if user is not None:
        statement = statement.where(jobs.c.user_id == user)
    rows = tx.execute(statement.order_by(jobs.c.id.desc()).limit(limit))
    return [_row(row) for row in rows]


def mark_seen(tx: Transaction, job_id: int, now: datetime) -> None:
    change(tx, job_id, seen_at=now)


def change(tx: Transaction, job_id: int, **values: Any) -> None:
    named = {f"new_{name}": value for name, value in values.items()}
    tx.execute(_change(tuple(values)), {"of": job_id, **named})


@cache
def _change(names: tuple[str, ...]) -> Any:
    given = {name: bindparam(f"new_{name}", type_=jobs.c[name].type) for name in names}
    return update(jobs).where(mine(jobs), jobs.c.id == bindparam("of")).values(**given)


def add_transition(
    tx: Transaction,
    job_id: int,
    status: JobState,
    now: datetime,
    *,
    attempt: int,
    reason: str | None = None,
) -> None:
    tx.execute(
        _TRANSITION,
        {
            "of": job_id,
            "to": status.value,
            "moment": now,
            "try": attempt,
            "why": reason,
        },
    )


_earlier = job_transitions.alias("earlier")
_TRANSITION = insert(job_transitions).values(
    project_id=this_project(),
    job_id=bindparam("of", type_=job_transitions.c.job_id.type),
    n=select(func.count() + 1)
    .select_from(_earlier)
    .where(
        mine(_earlier), _earlier.c.job_id == bindparam("of", type_=job_transitions.c.job_id.type)
    )
    .scalar_subquery(),
    status=bindparam("to", type_=job_transitions.c.status.type),
    at=bindparam("moment", type_=job_transitions.c.at.type),
    attempt=bindparam("try", type_=job_transitions.c.attempt.type),
    reason=bindparam("why", type_=job_transitions.c.reason.type),
)


def transitions(tx: Transaction, job_id: int) -> tuple[Transition, ...]:
    rows = tx.execute(
        select(job_transitions)
        .where(mine(job_transitions), job_transitions.c.job_id == job_id)
        .order_by(job_transitions.c.n)
    )
    return tuple(
        Transition(status=JobState(row.status), time=row.at, attempt=row.attempt, reason=row.reason)
        for row in rows
    )


def inputs_of(tx: Transaction, ids: Sequence[int]) -> dict[int, list[int]]:
    """The set versions that each job reads, by row id."""
    found: dict[int, list[int]] = {one: [] for one in ids}
    rows = tx.execute(
        select(job_inputs.c.job_id, job_inputs.c.set_version_id).where(
            mine(job_inputs), tx.one_of(job_inputs.c.job_id, list(ids))
        )
    )
    for row in rows:
        found[row.job_id].append(row.set_version_id)
    return found


def public_ids(tx: Transaction, ids: Sequence[int]) -> dict[int, str]:
    rows = tx.execute(
        select(jobs.c.id, jobs.c.public_id).where(mine(jobs), tx.one_of(jobs.c.id, list(ids)))
    )
    return {row.id: row.public_id for row in rows}


def finished_with_key(tx: Transaction, key: bytes, *, limit: int) -> list[JobRow]:
    """Finished jobs of this cache key that made an output, newest first."""
    rows = tx.execute(
        _rows()
        .where(
            mine(jobs),
            jobs.c.cache_key.is_not(None),
            jobs.c.cache_key == key,
            jobs.c.status == JobState.FINISHED.value,
            jobs.c.output_set_id.is_not(None),
        )
        .order_by(jobs.c.id.desc())
        .limit(limit)
    )
    return [_row(row) for row in rows]


def queues_of(tx: Transaction, users: Collection[UserId]) -> dict[UserId, list[int]]:
    """The queued jobs of each of these users, in the order in which they will start."""
    rows = tx.execute(
        select(jobs.c.user_id, jobs.c.id)
        .where(mine(jobs), is_queued, jobs.c.user_id.in_(users))
        .order_by(jobs.c.priority, jobs.c.id)
    )
    found: dict[UserId, list[int]] = {user: [] for user in users}
    for row in rows:
        found[row.user_id].append(row.id)
    return found


def active_of(tx: Transaction, user: UserId) -> int:
    return int(
        tx.execute(
            select(func.count())
            .select_from(jobs)
            .where(mine(jobs), is_active, jobs.c.user_id == user)
        ).scalar_one()
    )


def counts(tx: Transaction) -> tuple[int, int]:
    """How many of the project's jobs are queued, and how many active."""
    return (
        int(
            tx.execute(
                select(func.count()).select_from(jobs).where(mine(jobs), is_queued)
            ).scalar_one()
        ),
        int(
            tx.execute(
                select(func.count()).select_from(jobs).where(mine(jobs), is_active)
            ).scalar_one()
        ),
    )


def add_points(
    tx: Transaction, job_id: int, values: Mapping[str, Sequence[tuple[float, datetime]]]
) -> None:
    """Append values of numeric tags to their series, in the order given."""
    if not values:
        return
    known = tx.execute(
        select(job_points.c.key, func.max(job_points.c.n).label("last"))
        .where(
            mine(job_points),
            job_points.c.job_id == job_id,
            job_points.c.key.in_(sorted(values)),
        )
        .group_by(job_points.c.key)
    )
    last = {row.key: row.last for row in known}
    tx.insert(
        job_points,
        (
            {"job_id": job_id, "key": key, "n": last.get(key, 0) + 1 + i, "value": value, "at": at}
            for key, several in values.items()
            for i, (value, at) in enumerate(several)
        ),
    )


def series_keys(tx: Transaction, job_id: int) -> list[str]:
    rows = tx.execute(
        select(job_points.c.key)
        .where(mine(job_points), job_points.c.job_id == job_id)
        .distinct()
        .order_by(job_points.c.key)
    )
    return [row.key for row in rows]


def points(tx: Transaction, job_id: int, key: str, *, after: int, limit: int) -> list[Point]:
    rows = tx.execute(
        select(job_points.c.n, job_points.c.value, job_points.c.at)
        .where(
            mine(job_points),
            job_points.c.job_id == job_id,
            job_points.c.key == key,
            job_points.c.n > after,
        )
        .order_by(job_points.c.n)
        .limit(limit)
    )
    return [Point(n=row.n, value=row.value, time=row.at) for row in rows]


def add_usage(tx: Transaction, job_id: int, samples: Iterable[tuple[datetime, float, int]]) -> None:
    tx.merge(
        job_usage,
        (
            {"job_id": job_id, "at": at, "cpu_seconds": cpu_seconds, "memory": memory}
            for at, cpu_seconds, memory in {one[0]: one for one in samples}.values()
        ),
        replace=True,
    )


def usage(
    tx: Transaction, job_id: int, *, after: datetime | None, limit: int
) -> list[tuple[datetime, float, int]]:
    statement = select(job_usage.c.at, job_usage.c.cpu_seconds, job_usage.c.memory).where(
        mine(job_usage), job_usage.c.job_id == job_id
    )
    if after is not None:
        statement = statement.where(job_usage.c.at > after)
    rows = tx.execute(statement.order_by(job_usage.c.at).limit(limit))
    return [(row.at, row.cpu_seconds, row.memory) for row in rows]


def set_output_meta(tx: Transaction, job_id: int, values: Mapping[str, float | str]) -> None:
    tx.merge(
        job_output_meta,
        (
            {
                "job_id": job_id,
                "key": key,
                "number": None if isinstance(value, str) else value,
                "text": value if isinstance(value, str) else None,
            }
            for key, value in values.items()
        ),
        replace=True,
    )


def output_meta(tx: Transaction, job_id: int) -> dict[str, float | str]:
    rows = tx.execute(
        select(job_output_meta).where(mine(job_output_meta), job_output_meta.c.job_id == job_id)
    )
    return {row.key: row.text if row.number is None else row.number for row in rows}


def clear_attempt(tx: Transaction, job_id: int) -> None:
    """Forget what an attempt printed about its output: the next one begins anew."""
    tx.execute(
        job_output_meta.delete().where(mine(job_output_meta), job_output_meta.c.job_id == job_id)
    )


def _rows() -> Any:
    own = [jobs.c[name] for name in _OWN]
    return select(*own, creator).select_from(with_creator(jobs, jobs))


def _row(row: Row[Any]) -> JobRow:
    values = dict(row._mapping)
    if values["cache_key"] is not None:
        values["cache_key"] = bytes(values["cache_key"])
    return JobRow(**values)
