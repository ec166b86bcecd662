"""The statements by which queries of one shape are run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    nulls_last,
    select,
    true,
)

from acai.model.metadata import EntityKind, ValueType
from acai.model.query import ast
from acai.model.query.evaluate import TYPE_ORDER
from acai.stores.records.search.conditions import (
    NEVER,
    Vocabulary,
    condition,
    exact,
    holds,
    indexed,
    is_equality,
    said_only,
    table_of,
    text_of,
)
from acai.stores.records.search.entities import View

SIEVE = 30_000  # rows that are worth gathering to walk by
_ALL = 2_000_000  # a subquery with LIMIT is not merged into the query around it, on either database
_ALWAYS = frozenset({"name", "version", "create_time", "creator", "size", "hash", "file_count"})


@dataclass(frozen=True, kw_only=True)
class Start:
    """A condition that an index knows the entities of."""

    condition: ast.Predicate
    rows: Select[Any]


@dataclass(frozen=True, kw_only=True)
class Way:
    """An index that lists entities in the query's order."""

    value: ColumnElement[Any]
    entity: ColumnElement[Any]
    conditions: tuple[ColumnElement[bool], ...]
    descending: bool

    @property
    def order(self) -> ColumnElement[Any]:
        return self.value.desc() if self.descending else self.value.asc()


class Plan:
    """Each statement is made when it is first asked for, and kept. Their parameters are the
    query's values (see `shapes`) and `limit`, `offset`; what others a statement has, it says."""

    def __init__(
        self,
        *,
        view: View,
        words: Vocabulary,
        conjuncts: tuple[ast.Condition, ...],
        order: tuple[ast.Sort, ...],
    ) -> None:
        self._view = view
        self._words = words
        self._conjuncts = conjuncts
        self._order = order
        self.look = cache(self._look)
        self.survey = cache(self._survey)
        self.drive = cache(self._drive)
        self.walk = cache(self._walk)

    @property
    def checksum(self) -> int:
        """Of the words that it was made with."""
        return self._words.checksum

    @property
    def ordered(self) -> bool:
        return bool(self._order)

    @cached_property
    def starts(self) -> Sequence[Start]:
        found = []
        for one in self._conjuncts:
            if not isinstance(one, ast.And | ast.Or | ast.Not):
                rows = indexed(one, self._view, self._words)
                if rows is not None:
                    found.append(Start(condition=one, rows=rows))
        return found

    @cached_property
    def way(self) -> Way | None:
        if not self._order:  # newest first is the order of row ids, which every table has
            row = self._view.row
            conditions = self._view.conditions[:1]
            return Way(value=row.c.id, entity=row.c.id, conditions=conditions, descending=True)
        sort = self._order[0]
        columns = self._words.columns[self._view.kind].get(sort.key.name, {})
        if (
            len(self._order) > 1
            or sort.key.relation is not None
            or sort.key.name in self._view.keys
            or len(columns) != 1
            or ValueType.TEXT in columns
        ):
            return None
        kind, column = next(iter(columns.items()))
        rows = table_of(kind)
        same = [
            start.rows.whereclause
            for start in self.starts
            if start.condition.subject == sort.key and start.rows.whereclause is not None
        ]
        return Way(
            value=rows.c.value,
            entity=rows.c.entity_id,
            conditions=(rows.c.column_id == column, *same),
            descending=sort.descending,
        )

    def _look(self, along: bool) -> Select[Any]:
        """What is asked first: the checksum of the words now; what the survey of every start says;
        and, if it is to look `along` the way, the answer up to that entry, as one value, unless a
        start has fewer than `most` rows."""
        checksum = self._words.checksum_now()
        if not (self.starts or along):
            return select(checksum)
        survey = self._survey(tuple(range(len(self.starts))), along).cte("survey")
        survey = survey.prefix_with("MATERIALIZED")
        asked: list[Any] = [checksum, *survey.c]
        if along:
            end = select(survey.c.end).correlate(None).scalar_subquery()
            answer = _gathered(self._along(end, None), self._words.dialect)
            most = bindparam("most", type_=Integer)
            worth = [number >= most for name, number in survey.c.items() if name != "end"]
            asked.append(case((and_(true(), *worth), answer)))
        return select(*asked).select_from(survey)

    def _survey(self, counted: tuple[int, ...], along: bool) -> Select[Any]:
        """How many rows each of these starts has, counting no further than `most`; and, if it is
        to look `along` the way, the value of the entry after `skipped` others."""
        asked: list[Any] = []
        for number in counted:
            some = self.starts[number].rows.limit(bindparam("most", type_=Integer)).subquery()
            rows = select(func.count()).select_from(some).scalar_subquery()
            asked.append(rows.label(f"rows_{number}"))
        if along:
            assert self.way is not None
            end = select(self.way.value).where(*self.way.conditions).order_by(self.way.order)
            skipped = bindparam("skipped", type_=Integer)
            asked.append(end.offset(skipped).limit(1).scalar_subquery().label("end"))
        return select(*asked)

    def _drive(self, number: int) -> Select[Any]:
        """From all the rows of one start."""
        by = self.starts[number]
        start = by.rows.limit(_ALL).subquery()
        found = replace(self._view, id=start.c.entity_id, age=start.c.entity_id)
        statement = select(start.c.entity_id)
        ordering = self._ordering(found)
        if any(sort.key.name in self._view.keys for sort in self._order):
            # The order is by the entity's own row, so that this has to be at hand.
            joined = (
                self._view.source.join(start, start.c.entity_id == self._view.id)
                if self._words.dialect == "postgresql"
                else start.join(self._view.source, start.c.entity_id == self._view.id)
            )
            checks = self._checks(self._view)
            statement = statement.select_from(joined).where(*self._view.conditions, *checks)
            return _page(statement.order_by(*ordering))
        # The entities' own rows are read last, in order, until there are enough.
        said, own = self._parted(but=by.condition if exact(by.condition) else None)
        checks = [condition(one, found, self._words) for one in said]
        in_order = statement.where(*checks).order_by(*ordering).limit(_ALL).subquery()
        entities = replace(self._view, id=in_order.c.entity_id)
        return _page(select(in_order.c.entity_id).where(self._own(entities, own)))

    def _walk(self, ends: bool, sieve: int | None) -> Select[Any]:
        """Along the way, if it `ends` to the value `end` and not beyond; through the sieve that
        one start makes, if it is given."""
        assert self.way is not None
        end = bindparam("end", type_=self.way.value.type) if ends else None
        return self._along(end, sieve)

    def _along(self, end: ColumnElement[Any] | None, sieve: int | None) -> Select[Any]:
        way = self.way
        assert way is not None
        bounds: list[ColumnElement[bool]] = []
        if end is not None:
            # A bound on the key and not a LIMIT inside: the walk stops as soon as it can.
            # Ascending, equal values come newest last in the index: what shares the last value
            # seen may have a newer sibling beyond, so it does not count.
            bounds.append(way.value > end if way.descending else way.value < end)
        if not self._order:
            statement = (
                select(self._view.id)
                .select_from(self._view.source)
                .where(*self._view.conditions, *self._checks(self._view), *bounds)
                .order_by(self._view.age.desc())
            )
            return _page(statement)
        if sieve is not None:
            bounds.append(self._through(way.entity, self.starts[sieve].rows))
        passing = self._passing(replace(self._view, id=way.entity))
        statement = select(way.entity).where(*way.conditions, *bounds, passing)
        return _page(statement.order_by(way.order, way.entity.desc()))

    @cached_property
    def scan(self) -> Select[Any]:
        """Through all entities of the project."""
        return _page(
            select(self._view.id)
            .select_from(self._view.source)
            .where(*self._view.conditions, *self._checks(self._view))
            .order_by(*self._ordering(self._view))
        )

    def _through(self, entity: Any, rows: Select[Any]) -> ColumnElement[bool]:
        """Membership in the sieve, in words that keep either planner from joining it first."""
        gathered = rows.limit(SIEVE)
        if self._words.dialect == "sqlite":
            return (entity + 0).in_(gathered)  # type: ignore[no-any-return]
        return entity.in_(gathered).is_(True)  # type: ignore[no-any-return]

    def _checks(self, entities: View) -> list[ColumnElement[bool]]:
        return [condition(one, entities, self._words) for one in self._conjuncts]

    def _passing(self, found: View) -> ColumnElement[bool]:
        """All conditions, for entities of which only the id is at hand.

        What was said of them is asked first; their own rows are read for what passes, by a
        subquery and not a join: beside the cost of the other conditions PostgreSQL holds all
        joins alike, and takes to reading the whole table.
        """
        said, own = self._parted()
        if not said:
            return self._own(found, own)
        # In a CASE, for PostgreSQL asks in the order of its own guesses otherwise.
        first = and_(*(condition(one, found, self._words) for one in said))
        return case((first, self._own(found, own)), else_=NEVER)

    def _parted(
        self, but: ast.Condition | None = None
    ) -> tuple[list[ast.Condition], list[ast.Condition]]:
        """The conditions on what was said, cheapest first, and those on the entity's own row."""
        said: list[ast.Condition] = []
        own: list[ast.Condition] = []
        for one in self._conjuncts:
            if one is not but:
                (said if said_only(one, self._view) else own).append(one)
        return sorted(said, key=lambda one: not is_equality(one)), own

    def _own(self, found: View, own: Sequence[ast.Condition]) -> ColumnElement[bool]:
        return holds(
            select(literal_column("1"))
            .select_from(self._view.source)
            .where(self._view.id == found.id, *self._view.conditions)
            .where(*(condition(one, self._view, self._words) for one in own))
        )

    def _ordering(self, entities: View) -> list[ColumnElement[Any]]:
        terms: list[ColumnElement[Any]] = []
        for sort in self._order:
            terms += _sort_terms(sort, entities, self._words)
        return [*terms, entities.age.desc()]


def _page(statement: Select[Any]) -> Select[Any]:
    return statement.limit(bindparam("limit", type_=Integer)).offset(
        bindparam("offset", type_=Integer)
    )


def _gathered(ids: Select[Any], dialect: str) -> ColumnElement[Any]:
    """All ids that a statement gives, in its order, as one value: an array, or JSON."""
    if dialect == "postgresql":
        return func.array(ids.scalar_subquery())
    listed = ids.subquery()
    return select(func.json_group_array(listed.c[0])).scalar_subquery()


def _sort_terms(sort: ast.Sort, entities: View, words: Vocabulary) -> list[ColumnElement[Any]]:
    def directed(value: ColumnElement[Any]) -> ColumnElement[Any]:
        return value.desc() if sort.descending else value.asc()

    if sort.key.name in entities.keys:
        value = entities.keys[sort.key.name]()
        if sort.key.name in _ALWAYS and entities.kind is not EntityKind.JOB:
            return [directed(value)]  # bare, so that an index can give the order
        return [value.is_(None).asc(), directed(value)]
    columns = words.columns[entities.kind].get(sort.key.name, {})
    kinds = sorted(columns, key=lambda kind: TYPE_ORDER[kind])
    values = [_value(words, kind, columns[kind], entities) for kind in kinds]
    if not values:
        return []
    if len(values) == 1:
        return [nulls_last(directed(values[0]))]
    rank = case(
        *((value.is_not(None), literal_column(str(n))) for n, value in enumerate(values)),
        else_=literal_column(str(len(values))),
    )
    return [rank.asc(), *(directed(value) for value in values)]


def _value(words: Vocabulary, kind: ValueType, column: int, entities: View) -> ColumnElement[Any]:
    rows = words.probe(table_of(kind))
    value = text_of(rows) if kind is ValueType.TEXT else rows.c.value
    return (
        select(value)
        .where(rows.c.entity_id == entities.id, rows.c.column_id == column)
        .scalar_subquery()
    )
