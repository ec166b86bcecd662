"""Statements across projects: what the scheduler and the monitor read and claim.

They run in platform-wide transactions: one machine serves all projects. Each row that they hand
out carries its project, and what is done for a job is done within it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import bindparam, func, insert, select, update

from acai.model.ids import ProjectId, UserId
from acai.model.jobs import ENDED, JobState
from acai.stores.records.database import Transaction
from acai.stores.records.tables import projects, tokens, users
from acai.stores.records.tables_jobs import (
    is_active,
    is_queued,
    is_unsettled,
    job_limits,
    job_queues,
    job_transitions,
    jobs,
)

_SCHEDULER_LOCK = 7_650_000_003
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class QueueRow:
    project: ProjectId
    user: UserId
    rank: int
    served: int
    active: int
    limit: int | None  # None: the platform's own
    least_cpu: float
    least_memory: int
    oldest: datetime


@dataclass(frozen=True, kw_only=True)
class QueuedRow:
    id: int
    public_id: str
    rank: int
    cpu: float
    memory: int
    gpu: float
    queued_at: datetime


@dataclass(frozen=True, kw_only=True)
class ActiveRow:
    id: int
    public_id: str
    project: ProjectId
    status: JobState
    attempt: int
    retries: int
    kill_requested_at: datetime | None
    queued_at: datetime | None
    seen_at: datetime | None
    started_at: datetime | None

    @property
    def handle(self) -> str:
        return handle_of(self.public_id, self.attempt)


def handle_of(job: str, attempt: int) -> str:
    return f"{job}.{attempt}"


def hold_scheduler(tx: Transaction) -> bool:
    """Whether this server may schedule now; another one does if not."""
    if tx.dialect != "postgresql":
        return True
    return bool(tx.execute(select(func.pg_try_advisory_xact_lock(_SCHEDULER_LOCK))).scalar_one())


_IN_USE = select(
    func.coalesce(func.sum(jobs.c.cpu), 0.0).label("cpu"),
    func.coalesce(func.sum(jobs.c.memory), 0).label("memory"),
    func.coalesce(func.sum(jobs.c.gpu), 0.0).label("gpu"),
).where(is_active)


def in_use(tx: Transaction) -> tuple[float, int, float]:
    """CPU, memory and GPU of all active jobs."""
    row = tx.execute(_IN_USE).one()
    return float(row.cpu), int(row.memory), float(row.gpu)


_WAITING = (
    select(
        jobs.c.project_id,
        jobs.c.user_id,
        func.min(jobs.c.priority).label("rank"),
        func.min(jobs.c.cpu).label("least_cpu"),
        func.min(jobs.c.memory).label("least_memory"),
        func.min(jobs.c.queued_at).label("oldest"),
    )
    .where(is_queued)
    .group_by(jobs.c.project_id, jobs.c.user_id)
)
_ACTIVE = (
    select(jobs.c.project_id, jobs.c.user_id, func.count().label("active"))
    .where(is_active)
    .group_by(jobs.c.project_id, jobs.c.user_id)
)


def queues(tx: Transaction) -> list[QueueRow]:
    """Every queue that has a job waiting, with what its turn depends on."""
    waiting = tx.execute(_WAITING).all()
    if not waiting:
        return []
    active = {(row.project_id, row.user_id): row.active for row in tx.execute(_ACTIVE)}
    served = {(row.project_id, row.user_id): row.served for row in tx.execute(select(job_queues))}
    limits = {(row.project_id, row.user_id): row.jobs for row in tx.execute(select(job_limits))}
    return [
        QueueRow(
            project=ProjectId(row.project_id),
            user=UserId(row.user_id),
            rank=row.rank,
            served=served.get((row.project_id, row.user_id), 0),
            active=active.get((row.project_id, row.user_id), 0),
            limit=limits.get((row.project_id, row.user_id), limits.get((row.project_id, 0))),
            least_cpu=row.least_cpu or 0.0,
            least_memory=row.least_memory or 0,
            oldest=row.oldest or _LONG_AGO,
        )
        for row in waiting
    ]


_HEADS = (
    select(
        jobs.c.id,
        jobs.c.public_id,
        jobs.c.priority,
        jobs.c.cpu,
        jobs.c.memory,
        jobs.c.gpu,
        jobs.c.queued_at,
        jobs.c.submitted_at,
    )
    .where(
        is_queued, jobs.c.project_id == bindparam("project"), jobs.c.user_id == bindparam("user")
    )
    .order_by(jobs.c.priority, jobs.c.id)
    .limit(bindparam("most"))
)


def heads(tx: Transaction, project: int, user: int, most: int) -> list[QueuedRow]:
    """The first jobs of one queue."""
    rows = tx.execute(_HEADS, {"project": project, "user": user, "most": most})
    return [
        QueuedRow(
            id=row.id,
            public_id=row.public_id,
            rank=row.priority,
            cpu=row.cpu or 0.0,
            memory=row.memory or 0,
            gpu=row.gpu or 0.0,
            queued_at=row.queued_at or row.submitted_at,
        )
        for row in rows
    ]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A job whose turn has come, with the token that its agent will have."""

    job: int
    token_lookup: str
    token_hash: str


@dataclass(frozen=True, kw_only=True)
class Claimed:
    id: int
    public_id: str
    project: ProjectId
    project_name: str
    user: UserId
    attempt: int
    cpu: float
    memory: int
    gpu: float
    request: str


def claim(tx: Transaction, claims: Sequence[Claim], now: datetime) -> list[Claimed]:
    """Move these jobs from queued to launching, each in a new attempt with a token.

    One that is no longer queued is left alone. Returns those that moved, in order.
    """
    wanted = [one.job for one in claims]
    tx.execute(
        update(jobs)
        .where(jobs.c.id.in_(wanted), jobs.c.status == JobState.QUEUED.value)
        .values(
            status=JobState.LAUNCHING.value,
            attempt=jobs.c.attempt + 1,
            seen_at=now,
            log_size=0,
            tag_count=0,
        )
    )
    rows = tx.execute(
        select(jobs, projects.c.name.label("project_name"))
        .select_from(jobs.join(projects, projects.c.id == jobs.c.project_id))
        .where(
            jobs.c.id.in_(wanted),
            jobs.c.status == JobState.LAUNCHING.value,
            jobs.c.seen_at == now,
        )
    ).all()
    moved = {row.id: row for row in rows}
    order = [one for one in claims if one.job in moved]
    if not order:
        return []
    _add_transitions(tx, [moved[one.job] for one in order], now)
    tx.execute(
        insert(tokens),
        [
            {
                "lookup": one.token_lookup,
                "hash": one.token_hash,
                "user_id": moved[one.job].user_id,
                "job_id": one.job,
                "attempt": moved[one.job].attempt,
                "created_at": now,
            }
            for one in order
        ],
    )
    _note_turns(tx, [(moved[one.job].project_id, moved[one.job].user_id) for one in order])
    return [_claimed(moved[one.job]) for one in order]


def _claimed(row: Any) -> Claimed:
    return Claimed(
        id=row.id,
        public_id=row.public_id,
        project=ProjectId(row.project_id),
        project_name=row.project_name,
        user=UserId(row.user_id),
        attempt=row.attempt,
        cpu=row.cpu,
        memory=row.memory,
        gpu=row.gpu or 0.0,
        request=row.request,
    )


def _add_transitions(tx: Transaction, rows: Sequence[Any], now: datetime) -> None:
    known = tx.execute(
        select(job_transitions.c.job_id, func.count().label("n"))
        .where(job_transitions.c.job_id.in_([row.id for row in rows]))
        .group_by(job_transitions.c.job_id)
    )
    last = {row.job_id: row.n for row in known}
    tx.execute(
        insert(job_transitions),
        [
            {
                "project_id": row.project_id,
                "job_id": row.id,
                "n": last.get(row.id, 0) + 1,
                "status": row.status,
                "at": now,
                "attempt": row.attempt,
                "reason": None,
            }
            for row in rows
        ],
    )


def _note_turns(tx: Transaction, served: Sequence[tuple[int, int]]) -> None:
    turn = tx.execute(select(func.max(job_queues.c.served))).scalar() or 0
    last = {key: turn + 1 + i for i, key in enumerate(served)}
    tx.merge(
        job_queues,
        (
            {"project_id": project, "user_id": user, "served": number}
            for (project, user), number in last.items()
        ),
        replace=True,
    )


def active(tx: Transaction) -> list[ActiveRow]:
    rows = tx.execute(
        select(
            jobs.c.id,
            jobs.c.public_id,
            jobs.c.project_id,
            jobs.c.status,
            jobs.c.attempt,
            jobs.c.retries,
            jobs.c.kill_requested_at,
            jobs.c.queued_at,
            jobs.c.seen_at,
            jobs.c.started_at,
        )
        .where(is_active)
        .order_by(jobs.c.id)
    )
    return [
        ActiveRow(
            id=row.id,
            public_id=row.public_id,
            project=ProjectId(row.project_id),
            status=JobState(row.status),
            attempt=row.attempt,
            retries=row.retries,
            kill_requested_at=row.kill_requested_at,
            queued_at=row.queued_at,
            seen_at=row.seen_at,
            started_at=row.started_at,
        )
        for row in rows
    ]


def predicted_ends(
    tx: Transaction, project: ProjectId, users: Collection[UserId]
) -> dict[UserId, list[tuple[datetime | None, str | None]]]:
    """When each active job of these users began to run, and what was predicted of it."""
    rows = tx.execute(
        select(jobs.c.user_id, jobs.c.started_at, jobs.c.prediction).where(
            is_active, jobs.c.project_id == project, jobs.c.user_id.in_(users)
        )
    )
    found: dict[UserId, list[tuple[datetime | None, str | None]]] = {user: [] for user in users}
    for row in rows:
        found[row.user_id].append((row.started_at, row.prediction))
    return found


@dataclass(frozen=True, kw_only=True)
class OverRow:
    id: int
    public_id: str
    project: ProjectId
    status: JobState
    attempt: int


def unsettled(tx: Transaction, *, limit: int) -> list[OverRow]:
    """Jobs that have ended, with something left to tidy."""
    rows = tx.execute(
        select(jobs.c.id, jobs.c.public_id, jobs.c.project_id, jobs.c.status, jobs.c.attempt)
        .where(
            is_unsettled,
            jobs.c.status.in_([state.value for state in ENDED]),
        )
        .order_by(jobs.c.id)
        .limit(limit)
    )
    return [
        OverRow(
            id=row.id,
            public_id=row.public_id,
            project=ProjectId(row.project_id),
            status=JobState(row.status),
            attempt=row.attempt,
        )
        for row in rows
    ]


def settle(tx: Transaction, ids: Sequence[int]) -> None:
    tx.execute(update(jobs).where(jobs.c.id.in_(list(ids))).values(settled=True))


def revoke_tokens(tx: Transaction, job_id: int, attempt: int, now: datetime) -> None:
    """End the tokens of a job's attempts, up to this one."""
    tx.execute(
        update(tokens)
        .where(
            tokens.c.job_id == job_id, tokens.c.attempt <= attempt, tokens.c.revoked_at.is_(None)
        )
        .values(revoked_at=now)
    )


def limits(tx: Transaction, project: ProjectId) -> list[tuple[str | None, int]]:
    """The limits of a project: for all of its users (None), and for single ones."""
    rows = tx.execute(
        select(users.c.name, job_limits.c.jobs)
        .select_from(job_limits.outerjoin(users, users.c.id == job_limits.c.user_id))
        .where(job_limits.c.project_id == project)
        .order_by(users.c.name)
    )
    return [(row.name, row.jobs) for row in rows]


def limits_of(
    tx: Transaction, project: ProjectId, users: Collection[UserId]
) -> dict[UserId, int | None]:
    """The limit of each of these users, or of all in the project; None if neither is set."""
    rows = tx.execute(
        select(job_limits.c.user_id, job_limits.c.jobs).where(
            job_limits.c.project_id == project, job_limits.c.user_id.in_([0, *users])
        )
    )
    found = {row.user_id: row.jobs for row in rows}
    return {user: found.get(user, found.get(0)) for user in users}


def set_limit(tx: Transaction, project: ProjectId, user: UserId | None, most: int | None) -> None:
    """Give a user, or all users of a project, a limit of their own; None takes it away."""
    which = (job_limits.c.project_id == project, job_limits.c.user_id == (user or 0))
    tx.execute(job_limits.delete().where(*which))
    if most is not None:
        tx.execute(insert(job_limits).values(project_id=project, user_id=user or 0, jobs=most))
