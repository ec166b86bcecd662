"""Conditions of a query as SQL. Every one is true or false, never unknown, so that `not` is
the complement that the language promises.

A user's key is probed by a scalar subquery, `coalesce((SELECT 1 …), 0) = 1`: unlike EXISTS,
PostgreSQL never turns it into a join over the whole table, and SQLite runs both alike.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import count
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    Table,
    and_,
    cast,
    func,
    literal_column,
    not_,
    or_,
    select,
)

from acai.model.metadata import EntityKind, ValueType
from acai.model.query import ast, postgres_pattern
from acai.stores.records.metadata import KINDS, TAGS, Columns
from acai.stores.records.scope import mine
from acai.stores.records.search.entities import Expression, View, related
from acai.stores.records.search.shapes import as_beginning, as_own, as_stored, slot_of
from acai.stores.records.tables_meta import meta_columns, meta_numbers, meta_tags, meta_texts

# Spelled out: SQLAlchemy would let false() swallow the project's own condition beside it.
NEVER: ColumnElement[bool] = literal_column("0") == literal_column("1")
_COMPARE: dict[ast.Comparator, Callable[[Any, Any], Any]] = {
    ast.Comparator.EQUAL: operator.eq,
    ast.Comparator.NOT_EQUAL: operator.ne,
    ast.Comparator.LESS: operator.lt,
    ast.Comparator.LESS_OR_EQUAL: operator.le,
    ast.Comparator.GREATER: operator.gt,
    ast.Comparator.GREATER_OR_EQUAL: operator.ge,
}


_WIDER = {
    ast.Comparator.LESS: ast.Comparator.LESS_OR_EQUAL,
    ast.Comparator.GREATER: ast.Comparator.GREATER_OR_EQUAL,
}


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The project's columns of every key that the query speaks of, none where a key has none;
    and of tags, where it speaks of them."""

    columns: Mapping[EntityKind, Columns]
    tags: Mapping[EntityKind, int | None]
    dialect: str
    probes: Iterator[int] = field(default_factory=count)

    @cached_property
    def checksum(self) -> int:
        """The sum of all these columns' ids. Columns are only ever added, so it tells a change."""
        keys = (types for names in self.columns.values() for types in names.values())
        return sum(i for types in keys for i in types.values()) + sum(
            column or 0 for column in self.tags.values()
        )

    def checksum_now(self) -> ColumnElement[int]:
        """The same, as the database has it when it is asked."""
        spoken = [
            and_(
                meta_columns.c.kind == KINDS[kind],
                meta_columns.c.name.in_([*names, *([TAGS[0]] if kind in self.tags else [])]),
            )
            for kind, names in self.columns.items()
        ]
        total = cast(func.coalesce(func.sum(meta_columns.c.id), 0), BigInteger)
        return select(total).where(mine(meta_columns), or_(NEVER, *spoken)).scalar_subquery()

    def probe(self, table: Table) -> FromClause:
        """The table under a name that nothing else in the query has."""
        return _named(table, next(self.probes))


@lru_cache(maxsize=256)  # making its columns takes longer than the rest of a condition
def _named(table: Table, number: int) -> FromClause:
    return table.alias(f"probe_{number}")


def condition(node: ast.Condition, view: View, words: Vocabulary) -> ColumnElement[bool]:
    match node:
        case ast.And(operands=operands):
            return and_(*(condition(one, view, words) for one in operands))
        case ast.Or(operands=operands):
            return or_(*(condition(one, view, words) for one in operands))
        case ast.Not(operand=operand):
            return not_(condition(operand, view, words))
        case _:
            return _predicate(node, view, words)


def _predicate(node: ast.Predicate, view: View, words: Vocabulary) -> ColumnElement[bool]:
    subject = node.subject
    if subject.relation is not None:
        other = related(view, subject.relation.value, words.dialect)
        found: Select[Any] = select(literal_column("1")).select_from(other.source)
        inner = _own(node, other.view, words)
        return holds(found.where(*other.view.conditions, *other.conditions, inner).limit(1))
    return _own(node, view, words)


def _own(node: ast.Predicate, view: View, words: Vocabulary) -> ColumnElement[bool]:
    if isinstance(node.subject, ast.Tags):
        return _tags(node, view, words)
    name = node.subject.name
    if name in view.keys:
        value = view.keys[name]()
        present: ColumnElement[bool] = value.is_not(None)
        if isinstance(node, ast.Has):
            return present
        return and_(present, compare(node, value, words.dialect, as_own))
    columns = words.columns[view.kind].get(name, {})
    if isinstance(node, ast.Has):
        return or_(NEVER, *(_present(words, kind, i, view.id) for kind, i in columns.items()))
    kind = _type_of(node)
    if kind not in columns:
        return NEVER
    rows = words.probe(table_of(kind))
    bare = kind is not ValueType.TEXT or (_by_equality(node) and exact(node))
    probe: Select[Any] = select(literal_column("1")).where(
        rows.c.entity_id == view.id,
        rows.c.column_id == columns[kind],
        compare(node, rows.c.value if bare else text_of(rows), words.dialect),
    )
    return holds(probe)


def _present(
    words: Vocabulary, kind: ValueType, column: int, entity: Expression
) -> ColumnElement[bool]:
    rows = words.probe(table_of(kind))
    return holds(
        select(literal_column("1")).where(rows.c.entity_id == entity, rows.c.column_id == column)
    )


def _tags(node: ast.Predicate, view: View, words: Vocabulary) -> ColumnElement[bool]:
    column = words.tags[view.kind]
    negative = (isinstance(node, ast.Compare) and node.comparator is ast.Comparator.NOT_EQUAL) or (
        isinstance(node, ast.Matches | ast.In) and node.negated
    )
    if column is None:
        return not_(NEVER) if negative else NEVER
    rows = words.probe(meta_tags)
    probe: Select[Any] = select(literal_column("1")).where(
        rows.c.entity_id == view.id, rows.c.column_id == column
    )
    if not isinstance(node, ast.Has):
        probe = probe.where(_positive(node, rows.c.value, words.dialect))
    found = holds(probe.limit(1))
    return not_(found) if negative else found


def _positive(node: ast.Predicate, value: Expression, dialect: str) -> ColumnElement[bool]:
    match node:
        case ast.Compare(value=against):
            return value == as_stored(against)
        case ast.In(values=values):
            return value.in_([as_stored(one) for one in values])
        case ast.Matches(pattern=pattern):
            return _regular(value, pattern.value, dialect)
        case _:
            raise AssertionError(f"not a condition on tags: {node}")


def compare(
    node: ast.Predicate,
    value: Expression,
    dialect: str,
    form: Callable[[ast.Literal], Expression] = as_stored,
) -> ColumnElement[bool]:
    """What a predicate says of a value that is there and of the right type."""
    match node:
        case ast.Compare(comparator=comparator, value=against):
            result: ColumnElement[bool] = _COMPARE[comparator](value, form(against))
            return result
        case ast.Between(low=low, high=high, negated=negated):
            within = value.between(form(low), form(high))
            return not_(within) if negated else within
        case ast.In(values=values, negated=negated):
            among = value.in_([form(one) for one in values])
            return not_(among) if negated else among
        case ast.Matches(pattern=pattern, negated=negated):
            found = _regular(value, pattern.value, dialect)
            return not_(found) if negated else found
        case _:
            raise AssertionError(f"not a comparison: {node}")


def _regular(value: Expression, pattern: str, dialect: str) -> ColumnElement[bool]:
    if dialect == "sqlite":
        return func.acai_matches(pattern, value) == 1
    return value.op("~", is_comparison=True)(postgres_pattern(pattern))


def _type_of(node: ast.Predicate) -> ValueType:
    match node:
        case ast.Compare(value=value):
            return slot_of(value).type
        case ast.Between(low=low):
            return slot_of(low).type
        case ast.In(values=values):
            return slot_of(values[0]).type
        case _:
            return ValueType.TEXT


def table_of(kind: ValueType) -> Table:
    return meta_texts if kind is ValueType.TEXT else meta_numbers


def text_of(rows: FromClause) -> Expression:
    """A text as it was written; only what fits the index is in `value`."""
    return func.coalesce(rows.c.whole, rows.c.value)


def holds(probe: Select[Any]) -> ColumnElement[bool]:
    return func.coalesce(probe.scalar_subquery(), 0) == 1


def said_only(node: ast.Condition, view: View) -> bool:
    """Whether a condition is about what users said of the entity, and nothing of its own."""
    match node:
        case ast.And(operands=operands) | ast.Or(operands=operands):
            return all(said_only(one, view) for one in operands)
        case ast.Not(operand=operand):
            return said_only(operand, view)
        case _:
            subject = node.subject
            if subject.relation is not None:
                return False
            return isinstance(subject, ast.Tags) or subject.name not in view.keys


def indexed(node: ast.Predicate, view: View, words: Vocabulary) -> Select[Any] | None:
    """The ids of all entities that a condition can hold for, read from an index; or None.

    May name a few too many where long texts are involved: the condition itself decides.
    """
    if node.subject.relation is not None or not _positive_range(node):
        return None
    if isinstance(node.subject, ast.Tags):
        column = words.tags[view.kind]
        if column is None or isinstance(node, ast.Has | ast.Matches):
            return None
        rows = select(meta_tags.c.entity_id).where(
            meta_tags.c.column_id == column, _positive(node, meta_tags.c.value, words.dialect)
        )
        return rows.distinct() if isinstance(node, ast.In) else rows  # one may have several tags
    if node.subject.name in view.keys:
        return None
    columns = words.columns[view.kind].get(node.subject.name, {})
    kind = _type_of(node)
    if kind not in columns:
        return None
    table = table_of(kind)
    where = compare(_widened(node), table.c.value, words.dialect, as_beginning)
    return select(table.c.entity_id).where(table.c.column_id == columns[kind], where)


def exact(node: ast.Predicate) -> bool:
    """Whether `indexed` names no entity too many: a text that the index holds whole is equal to
    no longer one."""
    if _type_of(node) is not ValueType.TEXT:
        return True
    match node:
        case ast.Compare(comparator=comparator, value=value):
            return comparator is ast.Comparator.EQUAL and slot_of(value).short
        case ast.In(values=values):
            return all(slot_of(one).short for one in values)
        case _:
            return not isinstance(node, ast.Between)


def is_equality(node: ast.Condition) -> bool:
    return isinstance(node, ast.Compare) and node.comparator is ast.Comparator.EQUAL


def _by_equality(node: ast.Predicate) -> bool:
    return isinstance(node, ast.In | ast.Compare)


def _positive_range(node: ast.Predicate) -> bool:
    match node:
        case ast.Compare(comparator=comparator):
            return comparator is not ast.Comparator.NOT_EQUAL
        case ast.Between(negated=negated) | ast.In(negated=negated):
            return not negated
        case _:
            return False


def _widened(node: ast.Predicate) -> ast.Predicate:
    """The predicate for the indexed beginning of a text: true wherever that of the whole is."""
    if isinstance(node, ast.Compare) and _type_of(node) is ValueType.TEXT:
        return replace(node, comparator=_WIDER.get(node.comparator, node.comparator))
    return node
