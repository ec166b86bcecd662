"""Statements about templates, their runs, and what runs have cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Row, func, insert, select, type_coerce, update
from sqlalchemy.exc import IntegrityError

from acai.model.errors import AlreadyExists
from acai.model.ids import ProjectId, UserId
from acai.model.metadata import EntityKind
from acai.stores.records.creators import creator, with_creator
from acai.stores.records.database import Transaction
from acai.stores.records.metadata import KINDS, TAGS
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables import users
from acai.stores.records.tables_jobs import job_points, jobs, templates
from acai.stores.records.tables_meta import meta_columns, meta_tags

_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True, kw_only=True)
class TemplateRow:
    id: int
    project: ProjectId
    user: UserId
    creator: str
    name: str
    command: str
    request: str
    plan: str
    status: str
    reason: str | None
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A job of a template, with what a trial needs."""

    id: int
    public_id: str
    template_id: int
    status: str
    reason: str | None
    priority: int
    runtime: float | None
    cpu: float
    memory: int
    gpu: float
    cost: float | None
    peak_memory: int | None
    request: str
    prediction: str | None
    submitted_at: datetime
    started_at: datetime | None


def add(
    tx: Transaction,
    *,
    user: UserId,
    name: str,
    command: str,
    request: str,
    plan: str,
    status: str,
    now: datetime,
) -> TemplateRow:
    try:
        tx.execute(
            insert(templates).values(
                project_id=this_project(),
                user_id=user,
                name=name,
                command=command,
                request=request,
                plan=plan,
                status=status,
                created_at=now,
            )
        )
    except IntegrityError:
        raise AlreadyExists(
            f"there is a template {name} already; see `acai template show {name}`,"
            " or choose another name"
        ) from None
    made = find(tx, name)
    assert made is not None
    return made


def find(tx: Transaction, name: str) -> TemplateRow | None:
    row = tx.execute(_rows().where(mine(templates), templates.c.name == name)).first()
    return None if row is None else _row(row)


def page(tx: Transaction, *, after: str, limit: int) -> list[TemplateRow]:
    rows = tx.execute(
        _rows()
        .where(mine(templates), templates.c.name > after)
        .order_by(templates.c.name)
        .limit(limit)
    )
    return [_row(row) for row in rows]


def everything(tx: Transaction) -> list[TemplateRow]:
    """All templates of the project, oldest first."""
    rows = tx.execute(_rows().where(mine(templates)).order_by(templates.c.id))
    return [_row(row) for row in rows]


def names(tx: Transaction, ids: Sequence[int]) -> dict[int, str]:
    rows = tx.execute(
        select(templates.c.id, templates.c.name).where(
            mine(templates), tx.one_of(templates.c.id, list(ids))
        )
    )
    return {row.id: row.name for row in rows}


def end(
    tx: Transaction, template: int, *, status: str, reason: str | None, now: datetime | None
) -> None:
    tx.execute(
        update(templates)
        .where(mine(templates), templates.c.id == template)
        .values(status=status, reason=reason, ended_at=now)
    )


def restart(
    tx: Transaction, template: int, *, command: str, request: str, plan: str, status: str
) -> None:
    tx.execute(
        update(templates)
        .where(mine(templates), templates.c.id == template)
        .values(
            command=command, request=request, plan=plan, status=status, reason=None, ended_at=None
        )
    )


def profiling(tx: Transaction) -> list[TemplateRow]:
    """The templates of all projects that are being profiled. Platform-wide."""
    rows = tx.execute(
        select(templates, users.c.name.label("creator"))
        .select_from(templates.outerjoin(users, users.c.id == templates.c.user_id))
        .where(templates.c.status == "profiling")
        .order_by(templates.c.id)
    )
    return [_row(row) for row in rows]


def runs(tx: Transaction, ids: Sequence[int]) -> list[RunRow]:
    """The jobs of these templates, in the order they were submitted."""
    if not ids:
        return []
    own = [jobs.c[name] for name in RunRow.__dataclass_fields__]
    rows = tx.execute(
        select(*own)
        .where(mine(jobs), jobs.c.template_id.is_not(None), jobs.c.template_id.in_(list(ids)))
        .order_by(jobs.c.id)
    )
    return [RunRow(**row._mapping) for row in rows]


def reports(
    tx: Transaction, ids: Sequence[int], keys: Sequence[str]
) -> dict[int, dict[str, list[tuple[float, float]]]]:
    """What these jobs printed as numbers of these names: by job and name, the value and when in
    seconds. Of long series the last, and ever fewer from the first on."""
    if not ids or not keys:
        return {}
    lengths = [
        select(func.max(job_points.c.n))
        .where(mine(job_points), job_points.c.job_id == jobs.c.id, job_points.c.key == key)
        .scalar_subquery()
        for key in keys
    ]
    those = tx.execute(select(*lengths).where(mine(jobs), tx.one_of(jobs.c.id, ids)))
    ends = {length for row in those for length in row if length is not None}
    places = ends | {1 << power for power in range(max(ends, default=0).bit_length())}
    rows = tx.execute(
        select(job_points.c.job_id, job_points.c.key, job_points.c.value, job_points.c.at)
        .where(
            mine(job_points),
            tx.one_of(job_points.c.job_id, ids),
            job_points.c.key.in_(keys),
            tx.one_of(job_points.c.n, sorted(places)),
        )
        .order_by(job_points.c.job_id, job_points.c.key, job_points.c.n)
    )
    found: dict[int, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        printed = found.setdefault(row.job_id, {}).setdefault(row.key, [])
        printed.append((row.value, row.at.timestamp()))
    return found


def spending(
    tx: Transaction, by: str, *, since: datetime | None, until: datetime | None
) -> list[tuple[Any, int, float, float, float]]:
    """Sums over jobs that have a cost: key, jobs, cost, CPU-hours asked for, seconds run."""
    sums = (
        func.count(jobs.c.id),
        func.coalesce(func.sum(jobs.c.cost), 0.0),
        func.coalesce(func.sum(jobs.c.cpu * jobs.c.runtime), 0.0) / 3600.0,
        func.coalesce(func.sum(jobs.c.runtime), 0.0),
    )
    conditions = [mine(jobs), jobs.c.cost.is_not(None)]
    if since is not None:
        conditions.append(jobs.c.submitted_at >= since)
    if until is not None:
        conditions.append(jobs.c.submitted_at < until)
    if by == "user":
        source = with_creator(jobs, jobs)
        key: Any = creator
        statement = select(key, *sums).select_from(source)
    elif by == "template":
        key = templates.c.name
        statement = select(key, *sums).select_from(
            jobs.outerjoin(
                templates,
                (templates.c.id == jobs.c.template_id)
                & (templates.c.project_id == jobs.c.project_id),
            )
        )
    elif by == "tag":
        column = tx.execute(
            select(meta_columns.c.id).where(
                mine(meta_columns),
                meta_columns.c.kind == KINDS[EntityKind.JOB],
                meta_columns.c.name == TAGS[0],
                meta_columns.c.type == TAGS[1],
            )
        ).scalar()
        if column is None:
            return []
        key = meta_tags.c.value
        statement = select(key, *sums).select_from(
            jobs.join(
                meta_tags,
                (meta_tags.c.entity_id == jobs.c.id) & (meta_tags.c.column_id == column),
            )
        )
    else:
        key = type_coerce(jobs.c.submitted_at, BigInteger) // _DAY
        statement = select(key, *sums).select_from(jobs)
    rows = tx.execute(statement.where(*conditions).group_by(key).order_by(key))
    return [tuple(row) for row in rows]


def _rows() -> Any:
    return select(templates, creator).select_from(with_creator(templates, templates))


def _row(row: Row[Any]) -> TemplateRow:
    return TemplateRow(
        id=row.id,
        project=ProjectId(row.project_id),
        user=UserId(row.user_id),
        creator=row.creator or "admin",
        name=row.name,
        command=row.command,
        request=row.request,
        plan=row.plan,
        status=row.status,
        reason=row.reason,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )
