"""Statements about the graph of set versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cache
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Integer,
    Select,
    bindparam,
    func,
    literal,
    literal_column,
    select,
    type_coerce,
    union_all,
)

from acai.model.provenance import Action
from acai.model.sets import SetVersion
from acai.stores.records import sets as set_records
from acai.stores.records.among import among, given
from acai.stores.records.creators import GLOBAL_ADMIN
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine
from acai.stores.records.sets import SetRow, plain_rows
from acai.stores.records.tables import from_microseconds, users
from acai.stores.records.tables_jobs import jobs
from acai.stores.records.tables_lake import edges, set_versions, sets

EdgeRow = tuple[int, int, str, int | None, int]
"""Source, target, action, job and time in microseconds.

A closure is tens of thousands of rows. They are fetched at once, read by position, and handed on
as they are; the times are decoded by `moments`, once for all edges that share one.
"""

_EDGE = (
    edges.c.source_id,
    edges.c.target_id,
    edges.c.action,
    edges.c.job_id,
    type_coerce(edges.c.created_at, BigInteger),
)
_EPOCH = from_microseconds(0)


def add(
    tx: Transaction,
    target: int,
    sources: Collection[int],
    now: datetime,
    *,
    action: Action = Action.CREATION,
    job_id: int | None = None,
) -> None:
    """Record that a set version was made of others."""
    tx.insert(
        edges,
        (
            {
                "source_id": source,
                "target_id": target,
                "action": action.value,
                "job_id": job_id,
                "created_at": now,
            }
            for source in sorted(sources)
        ),
    )


def closure(
    tx: Transaction, start: int, *, back: bool, limit: int, depth: int | None, bound: int | None
) -> list[int]:
    """The set version and all that it comes from, or that come from it; the nearest first.

    `bound` leaves out what is older (or forward, newer) than that one. `depth` costs a row for
    every node at every depth it is met at; leave it None for a deep one.
    """
    near, far = (edges.c.target_id, edges.c.source_id)
    if not back:
        near, far = far, near
    first = [literal(start, BigInteger).label("id")]
    if depth is not None:
        first.append(literal(0, BigInteger).label("depth"))
    reached = select(*first).cte("reached", recursive=True)
    step: list[ColumnElement[Any]] = [far]
    conditions: list[ColumnElement[bool]] = [mine(edges)]
    if depth is not None:
        step.append(reached.c.depth + 1)
        conditions.append(reached.c.depth < depth)
    if bound is not None:
        conditions.append(far >= bound if back else far <= bound)
    walked = reached.join(edges, near == reached.c.id)
    reached = reached.union(select(*step).select_from(walked).where(*conditions))
    _use_indexes(tx)
    rows = plain_rows(tx.execute(select(reached.c.id).limit(limit)))
    return list(dict.fromkeys(id_ for (id_,) in rows))


def _use_indexes(tx: Transaction) -> None:
    """Keep PostgreSQL from scanning all edges at every step.

    It cannot know how many rows a recursion yields, and on tables without statistics it
    guesses a hash join. For the rest of this transaction it follows indexes.
    """
    if tx.dialect == "postgresql":
        tx.execute(
            select(
                func.set_config("enable_hashjoin", "off", True),
                func.set_config("enable_mergejoin", "off", True),
                func.set_config("enable_seqscan", "off", True),
                func.set_config("jit", "off", True),
            )
        )


@cache
def _edges_into(dialect: str) -> Select[Any]:
    return (
        select(*_EDGE)
        .where(mine(edges), among(dialect, edges.c.target_id))
        .order_by(edges.c.target_id, edges.c.source_id)
    )


def edges_into(tx: Transaction, ids: Collection[int]) -> Sequence[EdgeRow]:
    """The edges that lead to these set versions, by target and source."""
    return plain_rows(tx.execute(_edges_into(tx.dialect), given(tx, ids)))


@cache
def _edges_at(back: bool) -> Select[Any]:
    start, most = bindparam("start", type_=BigInteger), bindparam("most", type_=Integer)
    if back:
        return select(*_EDGE).where(mine(edges), edges.c.target_id == start).limit(most)
    # In two steps, or SQLite, without statistics, reads all edges of the project.
    leaving = edges.alias("leaving")
    targets = (
        select(leaving.c.target_id).where(mine(leaving), leaving.c.source_id == start).limit(most)
    )
    return select(*_EDGE).where(
        mine(edges), edges.c.target_id.in_(targets), edges.c.source_id == start
    )


def edges_at(tx: Transaction, start: int, *, back: bool, limit: int) -> Sequence[EdgeRow]:
    """One step: the edges that lead to a set version, or that leave it."""
    found = plain_rows(tx.execute(_edges_at(back), {"start": start, "most": limit}))
    return sorted(found, key=itemgetter(0 if back else 1))


@cache  # a third of the time of one hop went into making the statement anew
def _nodes(dialect: str) -> Select[Any]:
    return select(
        set_versions.c.id,
        set_versions.c.set_id,
        set_versions.c.user_id,
        set_versions.c.version,
        set_versions.c.content,
        set_versions.c.file_count,
        set_versions.c.size,
        type_coerce(set_versions.c.created_at, BigInteger),
        set_versions.c.removed_at.is_not(None),
        set_versions.c.job_id,
    ).where(mine(set_versions), among(dialect, set_versions.c.id))


@cache
def _names(dialect: str) -> CompoundSelect[Any]:
    owners = ((sets.c.name, "sets"), (users.c.name, "users"), (jobs.c.public_id, "jobs"))
    return union_all(
        *(
            select(literal_column(f"'{whose}'"), name.table.c.id, name).where(
                mine(name.table), among(dialect, name.table.c.id, whose)
            )
            for name, whose in owners
        )
    )


def nodes(tx: Transaction, ids: Collection[int]) -> dict[int, SetVersion]:
    """These set versions, removed ones too, by their row ids.

    The names, which are few and shared by many, are looked up apart: joined, they would come
    with every row.
    """
    found = plain_rows(tx.execute(_nodes(tx.dialect), given(tx, ids)))
    owners = given(tx, {row[1] for row in found}, "sets")
    owners |= given(tx, {row[2] for row in found}, "users")
    owners |= given(tx, {row[9] for row in found if row[9] is not None}, "jobs")
    names: dict[str, dict[int, str]] = {"sets": {}, "users": {}, "jobs": {}}
    for whose, id_, name in plain_rows(tx.execute(_names(tx.dialect), owners)):
        names[whose][id_] = name
    set_names, creators, job_ids = names["sets"], names["users"], names["jobs"]
    times = moments({row[7] for row in found})
    made = SetVersion.__new__
    values = {}
    for id_, set_id, user, version, content, file_count, size, time, removed, job in found:
        name = set_names[set_id]
        values[id_] = value = made(SetVersion)
        # Ten thousand of these at once: by keyword they would take twice the time.
        vars(value).update(
            name=name,
            version=version,
            file_count=file_count,
            size=size,
            hash=content.hex(),
            creator=creators.get(user, GLOBAL_ADMIN),
            create_time=times[time],
            id=f"set:{name}:{version}",
            job=job_ids.get(job),
            removed=bool(removed),
        )
    return values


def moments(given: Iterable[int]) -> dict[int, datetime]:
    """Times by their microseconds, each decoded once."""
    return {time: _EPOCH + timedelta(microseconds=time) for time in set(given)}


def node_page(tx: Transaction, *, after: int, limit: int) -> list[SetRow]:
    """Set versions in the order they were made, removed ones too."""
    picked = (
        select(set_versions)
        .where(mine(set_versions), set_versions.c.id > after)
        .order_by(set_versions.c.id)
        .limit(limit)
    )
    found = [set_records.row_of(row) for row in tx.execute(set_records.described(picked))]
    return sorted(found, key=lambda row: row.id)


def around(tx: Transaction, path: str, *, before: int, limit: int) -> list[SetRow]:
    """Set versions between whose first and last path this one lies, the newest first."""
    picked = (
        select(set_versions)
        .where(mine(set_versions), set_versions.c.id < before)
        .where(set_versions.c.first_path <= path, set_versions.c.last_path >= path)
        .order_by(set_versions.c.id.desc())
        .limit(limit)
    )
    found = [set_records.row_of(row) for row in tx.execute(set_records.described(picked))]
    return sorted(found, key=lambda row: -row.id)
