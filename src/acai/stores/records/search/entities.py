"""What each kind of entity is in the database: its rows, and its built-in keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    String,
    and_,
    cast,
    func,
    select,
    type_coerce,
)

from acai.model.metadata import EntityKind
from acai.stores.records.scope import mine
from acai.stores.records.tables import users
from acai.stores.records.tables_jobs import job_inputs, jobs
from acai.stores.records.tables_lake import file_versions, files, set_versions, sets

Expression = ColumnElement[Any]


@dataclass(frozen=True, kw_only=True)
class View:
    """The rows of one kind in a statement: where they come from, and what can be said of them."""

    kind: EntityKind
    source: FromClause  # to select from
    id: Expression
    conditions: tuple[ColumnElement[bool], ...]  # of the project, and not hidden
    keys: Mapping[str, Callable[[], Expression]]
    row: FromClause  # the table with the entity's own row, for relations
    age: Expression  # newest first is by this, descending


def view(kind: EntityKind, dialect: str) -> View:
    """A fresh view, whose tables are its own: several may stand in one statement."""
    if kind is EntityKind.FILE:
        return _files(dialect)
    return _sets(dialect) if kind is EntityKind.SET else _jobs()


@cache
def searched(kind: EntityKind, dialect: str) -> View:
    """The view of what a query selects: one in a statement, so that it is made only once."""
    return view(kind, dialect)


def _files(dialect: str) -> View:
    version, file = file_versions.alias(), files.alias()
    return View(
        kind=EntityKind.FILE,
        source=version.join(
            file, and_(file.c.id == version.c.file_id, file.c.project_id == version.c.project_id)
        ),
        id=version.c.id,
        conditions=(mine(version), file.c.hidden.is_(False)),
        row=version,
        age=version.c.id,
        keys={
            "id": lambda: "file:" + _escaped(file.c.path) + ":" + cast(version.c.version, String),
            "name": lambda: file.c.path,
            "version": lambda: version.c.version,
            "create_time": lambda: type_coerce(version.c.created_at, BigInteger),
            "creator": lambda: _creator(version),
            "size": lambda: version.c.size,
            "hash": lambda: _hex(version.c.sha256, dialect),
            "content_type": lambda: version.c.content_type,
        },
    )


def _sets(dialect: str) -> View:
    version = set_versions.alias()

    def name() -> Expression:
        named = sets.alias()
        return (
            select(named.c.name)
            .where(mine(named), named.c.id == version.c.set_id)
            .scalar_subquery()
        )

    return View(
        kind=EntityKind.SET,
        source=version,
        id=version.c.id,
        conditions=(mine(version), version.c.removed_at.is_(None)),
        row=version,
        age=version.c.id,
        keys={
            "id": lambda: "set:" + name() + ":" + cast(version.c.version, String),
            "name": name,
            "version": lambda: version.c.version,
            "create_time": lambda: type_coerce(version.c.created_at, BigInteger),
            "creator": lambda: _creator(version),
            "size": lambda: version.c.size,
            "hash": lambda: _hex(version.c.content, dialect),
            "file_count": lambda: version.c.file_count,
        },
    )


def _jobs() -> View:
    job = jobs.alias()
    plain = (
        "name status command runtime queue_time cost cpu memory gpu peak_memory cpu_seconds"
        " exit_code"
    )
    times = {
        "create_time": "submitted_at",
        "submit_time": "submitted_at",
        "start_time": "started_at",
        "end_time": "ended_at",
    }
    keys: dict[str, Callable[[], Expression]] = {
        "id": lambda: "job:" + job.c.public_id,
        "creator": lambda: _creator(job),
    }
    for name in plain.split():
        keys[name] = lambda name=name: job.c[name]  # type: ignore[misc]
    for name, column in times.items():
        keys[name] = lambda column=column: type_coerce(job.c[column], BigInteger)  # type: ignore[misc]
    return View(
        kind=EntityKind.JOB,
        source=job,
        id=job.c.id,
        conditions=(mine(job),),
        row=job,
        age=job.c.id,
        keys=keys,
    )


@dataclass(frozen=True, kw_only=True)
class Related:
    """The entities that a relation leads to, and what ties them to their owner."""

    view: View
    source: FromClause
    conditions: tuple[ColumnElement[bool], ...]


def related(owner: View, relation: str, dialect: str) -> Related:
    if relation == "job":
        job = view(EntityKind.JOB, dialect)
        return Related(view=job, source=job.source, conditions=(job.id == owner.row.c.job_id,))
    made = view(EntityKind.SET, dialect)
    if relation == "output":
        return Related(view=made, source=made.source, conditions=(made.row.c.job_id == owner.id,))
    link = job_inputs.alias()
    return Related(
        view=made,
        source=made.source.join(link, link.c.set_version_id == made.id),
        conditions=(mine(link), link.c.job_id == owner.id),
    )


def _creator(row: FromClause) -> Expression:
    who = users.alias()
    name = select(who.c.name).where(mine(who), who.c.id == row.c.user_id).scalar_subquery()
    return func.coalesce(name, "admin")


def _hex(column: Expression, dialect: str) -> Expression:
    raw = type_coerce(column, String)
    return func.lower(func.hex(raw)) if dialect == "sqlite" else func.encode(raw, "hex")


def _escaped(path: Expression) -> Expression:
    return func.replace(func.replace(path, "%", "%25"), "@", "%40")
