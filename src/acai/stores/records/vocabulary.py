"""Statements about the words of a project: its keys and their values, in order, a few at a time.

None reads more of an index than it answers, however many entities there are. A column has one
row in `meta_columns`, and is in use if one probe finds a value of it. Different values are found
by skipping: the first value, then the first one beyond that, each a descent in the index on
(column_id, value), so that a value that a million entities share costs no more than a rare one.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, Table, case, func, literal, select

from acai.model.metadata import EntityKind, ValueType
from acai.stores.records.database import Transaction
from acai.stores.records.metadata import KINDS, TAGS, TYPE_OF, TYPES
from acai.stores.records.scope import mine
from acai.stores.records.tables import users
from acai.stores.records.tables_lake import sets
from acai.stores.records.tables_meta import meta_columns, meta_numbers, meta_tags, meta_texts


def keys(
    tx: Transaction, kind: EntityKind, *, prefix: str, after: str, limit: int
) -> dict[str, list[ValueType]]:
    """The keys that some entity has, by name, with the types of their values."""
    text = meta_columns.c.type == TYPES[ValueType.TEXT]
    rows = tx.execute(
        select(meta_columns.c.name, meta_columns.c.type)
        .where(
            mine(meta_columns),
            meta_columns.c.kind == KINDS[kind],
            meta_columns.c.type != TAGS[1],
            *_range(meta_columns.c.name, prefix, after),
            case((text, _used(meta_texts)), else_=_used(meta_numbers)) == 1,
        )
        .order_by(meta_columns.c.name, meta_columns.c.type)
        .limit(limit * len(TYPES))
    )
    found: dict[str, list[ValueType]] = {}
    for row in rows:
        found.setdefault(row.name, []).append(TYPE_OF[row.type])
    return dict(list(found.items())[:limit])


def texts(tx: Transaction, column: int, *, prefix: str, after: str, limit: int) -> list[str]:
    """Different texts of a column, in order; of a long one, what the index holds of it."""
    return _different(tx, meta_texts, column, prefix, after, limit)


def tags(tx: Transaction, column: int, *, prefix: str, after: str, limit: int) -> list[str]:
    """Different tags, in order."""
    return _different(tx, meta_tags, column, prefix, after, limit)


def set_names(tx: Transaction, *, prefix: str, after: str, limit: int) -> list[str]:
    return _names(tx, sets, prefix, after, limit)


def user_names(tx: Transaction, *, prefix: str, after: str, limit: int) -> list[str]:
    return _names(tx, users, prefix, after, limit)


def _names(tx: Transaction, table: Table, prefix: str, after: str, limit: int) -> list[str]:
    rows = tx.execute(
        select(table.c.name)
        .where(mine(table), *_range(table.c.name, prefix, after))
        .distinct()
        .order_by(table.c.name)
        .limit(limit)
    )
    return [row.name for row in rows]


def _used(table: Table) -> ColumnElement[int]:
    # In order, so that PostgreSQL descends in the index. Asked whether there is any, it hashes
    # the table; asked for any, it reads the table until it comes upon one.
    probe = select(literal(1)).where(table.c.column_id == meta_columns.c.id)
    return func.coalesce(probe.order_by(table.c.value).limit(1).scalar_subquery(), 0)


def _different(
    tx: Transaction, table: Table, column: int, prefix: str, after: str, limit: int
) -> list[str]:
    first, later = table.alias("first"), table.alias("later")
    begin = _first(first, column).where(*_range(first.c.value, prefix, after))
    step = select(begin.scalar_subquery().label("value"), literal(1).label("n")).cte(
        "step", recursive=True
    )
    beyond = _first(later, column).where(
        later.c.value > step.c.value, *_range(later.c.value, prefix, "")[1:]
    )
    step = step.union_all(
        select(beyond.correlate(step).scalar_subquery(), step.c.n + 1).where(
            step.c.value.is_not(None), step.c.n < limit
        )
    )
    rows = tx.execute(select(step.c.value).where(step.c.value.is_not(None)).order_by(step.c.n))
    return [row.value for row in rows]


def _first(rows: FromClause, column: int) -> Select[Any]:
    return select(rows.c.value).where(rows.c.column_id == column).order_by(rows.c.value).limit(1)


def _range(text: ColumnElement[Any], prefix: str, after: str) -> list[ColumnElement[bool]]:
    """What begins with the prefix and comes after; the lower bound first."""
    low = text > after if after >= prefix and after else text >= prefix
    end = _end(prefix)
    return [low] if end is None else [low, text < end]


def _end(prefix: str) -> str | None:
    """The first text, by code points, after all that begin with the prefix."""
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)
