"""Statements about metadata: keys with their values, and tags, of any entity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    Double,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    func,
    null,
    select,
    union_all,
)

from acai.model.metadata import EntityKind, MetadataValue, ValueType, value_type
from acai.stores.records.among import among, given
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine
from acai.stores.records.sets import plain_rows
from acai.stores.records.tables import from_microseconds, to_microseconds
from acai.stores.records.tables_meta import (
    INDEXED_TEXT,
    meta_columns,
    meta_numbers,
    meta_tags,
    meta_texts,
)

KINDS = {EntityKind.FILE: 1, EntityKind.SET: 2, EntityKind.JOB: 3}
TYPES = {
    ValueType.NUMBER: 1,
    ValueType.TIME: 2,
    ValueType.TEXT: 3,
    ValueType.BOOLEAN: 4,
}
TYPE_OF = {number: kind for kind, number in TYPES.items()}
TAGS = ("", 5)  # the column of tags: no key has an empty name

Columns = Mapping[str, Mapping[ValueType, int]]


@dataclass(frozen=True, kw_only=True)
class Described:
    """What users have said of one entity."""

    values: Mapping[str, MetadataValue]
    tags: frozenset[str]


def columns(tx: Transaction, kind: EntityKind, names: Iterable[str]) -> Columns:
    """The columns of these keys; a key may have one for each type."""
    rows = plain_rows(tx.execute(_columns_of(kind), {"names": sorted(set(names))}))
    found: dict[str, dict[ValueType, int]] = {}
    for id_, name, type_ in rows:
        found.setdefault(name, {})[TYPE_OF[type_]] = id_
    return found


@cache
def _columns_of(kind: EntityKind) -> Select[Any]:
    return select(meta_columns.c.id, meta_columns.c.name, meta_columns.c.type).where(
        mine(meta_columns),
        meta_columns.c.kind == KINDS[kind],
        meta_columns.c.type != TAGS[1],
        meta_columns.c.name.in_(bindparam("names", expanding=True)),
    )


def tag_column(tx: Transaction, kind: EntityKind) -> int | None:
    return tx.execute(
        select(meta_columns.c.id).where(
            mine(meta_columns),
            meta_columns.c.kind == KINDS[kind],
            meta_columns.c.name == TAGS[0],
            meta_columns.c.type == TAGS[1],
        )
    ).scalar()


def _make_columns(
    tx: Transaction, kind: EntityKind, wanted: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], int]:
    """The ids of these columns, made where they are missing."""
    keys = sorted(set(wanted))
    statement = select(meta_columns.c.id, meta_columns.c.name, meta_columns.c.type).where(
        mine(meta_columns),
        meta_columns.c.kind == KINDS[kind],
        meta_columns.c.name.in_([name for name, _ in keys]),
    )
    found = {(row.name, row.type): row.id for row in tx.execute(statement)}
    missing = [key for key in keys if key not in found]
    if missing:
        tx.insert_missing(
            meta_columns,
            ({"kind": KINDS[kind], "name": name, "type": kind_of} for name, kind_of in missing),
            unique=("project_id", "kind", "name", "type"),
        )
        found = {(row.name, row.type): row.id for row in tx.execute(statement)}
    return found


def write(
    tx: Transaction,
    kind: EntityKind,
    entities: Sequence[int],
    values: Mapping[str, MetadataValue],
    tags: Iterable[str] = (),
) -> None:
    """Give every one of these entities the values and tags; what they had under a key goes."""
    if values:
        remove(tx, kind, entities, values)
        typed = {key: TYPES[value_type(value)] for key, value in values.items()}
        ids = _make_columns(tx, kind, typed.items())
        numbers: list[dict[str, Any]] = []
        texts: list[dict[str, Any]] = []
        for key, value in values.items():
            column = ids[key, typed[key]]
            if isinstance(value, str):
                whole = value if len(value) > INDEXED_TEXT else None
                row = {"column_id": column, "value": value[:INDEXED_TEXT], "whole": whole}
                texts += ({**row, "entity_id": entity} for entity in entities)
            else:
                row = {"column_id": column, "value": as_number(value)}
                numbers += ({**row, "entity_id": entity} for entity in entities)
        tx.insert(meta_numbers, numbers)
        tx.insert(meta_texts, texts)
    given = sorted(set(tags))
    if given:
        column = _make_columns(tx, kind, [TAGS])[TAGS]
        tx.merge(
            meta_tags,
            (
                {"column_id": column, "value": tag, "entity_id": entity}
                for tag in given
                for entity in entities
            ),
            replace=False,
        )


def remove(tx: Transaction, kind: EntityKind, entities: Sequence[int], keys: Iterable[str]) -> int:
    """Take these keys from the entities; returns how many values went."""
    ids = [i for types in columns(tx, kind, keys).values() for i in types.values()]
    if not ids:
        return 0
    return sum(
        tx.execute(
            delete(table).where(
                tx.one_of(table.c.entity_id, list(entities)), table.c.column_id.in_(ids)
            )
        ).rowcount
        for table in (meta_numbers, meta_texts)
    )


def remove_tags(
    tx: Transaction, kind: EntityKind, entities: Sequence[int], tags: Iterable[str]
) -> int:
    column = tag_column(tx, kind)
    if column is None:
        return 0
    return tx.execute(
        delete(meta_tags).where(
            meta_tags.c.column_id == column,
            tx.one_of(meta_tags.c.entity_id, list(entities)),
            meta_tags.c.value.in_(sorted(set(tags))),
        )
    ).rowcount


@cache
def _said(kind: EntityKind, dialect: str) -> Select[Any]:
    """Entity, key, type, and the value as a number or as a text: of numbers, texts and tags."""
    no_number, no_text = cast(null(), Double), cast(null(), Text)
    parts = [
        (meta_numbers, meta_numbers.c.value, no_text),
        (meta_texts, no_number, func.coalesce(meta_texts.c.whole, meta_texts.c.value)),
        (meta_tags, no_number, meta_tags.c.value),
    ]
    said = union_all(
        *(
            select(
                table.c.entity_id,
                table.c.column_id,
                number.label("number"),
                text.label("text"),
            ).where(among(dialect, table.c.entity_id))
            for table, number, text in parts
        )
    ).subquery("said")
    # An outer join, for SQLite would begin an inner one with the columns and read all their
    # rows. Columns of another kind, whose entities are numbered alike, come without a name.
    named = said.outerjoin(
        meta_columns,
        and_(
            meta_columns.c.id == said.c.column_id,
            mine(meta_columns),
            meta_columns.c.kind == KINDS[kind],
        ),
    )
    return select(
        said.c.entity_id, meta_columns.c.name, meta_columns.c.type, said.c.number, said.c.text
    ).select_from(named)


def read(tx: Transaction, kind: EntityKind, entities: Sequence[int]) -> dict[int, Described]:
    """What was said of each of these entities, in one statement for all of them."""
    values: dict[int, dict[str, MetadataValue]] = {entity: {} for entity in entities}
    tags: dict[int, set[str]] = {entity: set() for entity in entities}
    found = plain_rows(tx.execute(_said(kind, tx.dialect), given(tx, entities)))
    for entity, name, type_, number, text in found:
        if type_ in _FROM_NUMBER:
            values[entity][name] = _FROM_NUMBER[type_](number)
        elif type_ == TAGS[1]:
            tags[entity].add(text)
        elif type_ is not None:
            values[entity][name] = text
    return {
        entity: Described(values=dict(sorted(values[entity].items())), tags=frozenset(tags[entity]))
        for entity in entities
    }


def as_number(value: MetadataValue) -> float:
    """How a value that is not a text is kept."""
    assert not isinstance(value, str)
    if isinstance(value, bool | int | float):
        return float(value) + 0.0  # a negative zero would be two values to one database
    return float(to_microseconds(value))


def _number(stored: float) -> int | float:
    return int(stored) if stored.is_integer() and abs(stored) < 2**53 else stored


_FROM_NUMBER: Mapping[int, Callable[[float], MetadataValue]] = {
    TYPES[ValueType.NUMBER]: _number,
    TYPES[ValueType.TIME]: lambda stored: from_microseconds(int(stored)),
    TYPES[ValueType.BOOLEAN]: bool,
}
