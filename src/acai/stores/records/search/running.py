"""Run a query: choose where to begin, then let the database check the rest row by row.

Neither database can guess how selective a condition on a user's key is, so we look: an index
tells in a millisecond whether a condition holds for few. The ways, tried in this order:

- *drive*: some condition holds for few entities; take those, check the rest, sort.
- *walk*: go along the index of the key to order by, checking as we go, until there are enough;
  where a condition holds for not too many, those are gathered first and act as a sieve.
- *scan*: all entities of the project.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    case,
    func,
    literal_column,
    nulls_last,
    select,
)

from acai.model.metadata import EntityKind, ValueType
from acai.model.query import ast
from acai.model.query.evaluate import TYPE_ORDER
from acai.stores.records import metadata
from acai.stores.records.database import Transaction
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
from acai.stores.records.search.entities import View, searched

_FEW = 2000  # rows that may simply be checked and sorted
_MANY = 200_000  # rows beyond which a condition is no place to begin
_SIEVE = 30_000  # rows that are worth gathering to walk by
_STEPS = (4000, 40_000)  # entries of the ordering index to go along before giving up
_SIEVED_STEP = 50_000  # the same, when most entries fall through a sieve
_ALWAYS = frozenset({"name", "version", "create_time", "creator", "size", "hash", "file_count"})
_RELATED = {"job": EntityKind.JOB, "input": EntityKind.SET, "output": EntityKind.SET}


@dataclass(frozen=True, kw_only=True)
class _Search:
    tx: Transaction
    view: View
    words: Vocabulary
    conjuncts: tuple[ast.Condition, ...]
    order: tuple[ast.Sort, ...]
    required: ast.Key | None  # the key that max and min ask for
    limit: int
    offset: int


def find(
    tx: Transaction, kind: EntityKind, query: ast.Query, *, limit: int, offset: int = 0
) -> list[int]:
    """Row ids of the entities that a resolved query selects, in its order."""
    entities = searched(kind, tx.dialect)
    order = tuple(query.order)
    required = None
    if query.extreme is not None:
        required = query.extreme.key
        order = (ast.Sort(key=required, descending=query.extreme.largest),)
        limit = min(limit, 1)
    if query.limit is not None:
        limit = min(limit, max(0, query.limit - offset))
    if limit <= 0 or (query.extreme is not None and offset > 0):
        return []
    conjuncts = _conjuncts(query.condition)
    if required is not None:
        conjuncts = (*conjuncts, ast.Has(subject=required))
    search = _Search(
        tx=tx,
        view=entities,
        words=_vocabulary(tx, kind, query),
        conjuncts=conjuncts,
        order=order,
        required=required,
        limit=limit,
        offset=offset,
    )
    return _run(search)


def _run(search: _Search) -> list[int]:
    starts = list(_starts(search))
    sources = [rows for _, rows in starts]
    way = _way(search)
    counts, end = _survey(search, sources, _FEW, way)
    if counts and min(counts) < _FEW:
        return _drive(search, *starts[counts.index(min(counts))])
    if way is not None:
        walked = _walk(search, way, end, None)
        if walked is None:
            sieve = _sieve(search, starts)
            step = _STEPS[1] if sieve is None else _SIEVED_STEP
            walked = _walk(search, way, _survey(search, [], 0, way, step)[1], sieve)
        if walked is not None:
            return walked
    if starts:
        counts, _ = _survey(search, sources, _MANY)
        if min(counts) < _MANY:
            return _drive(search, *starts[counts.index(min(counts))])
    return _scan(search)


def _starts(search: _Search) -> Iterator[tuple[ast.Predicate, Select[Any]]]:
    for one in search.conjuncts:
        if isinstance(one, ast.And | ast.Or | ast.Not):
            continue
        rows = indexed(one, search.view, search.words)
        if rows is not None:
            yield one, rows


def _sieve(
    search: _Search, starts: Sequence[tuple[ast.Predicate, Select[Any]]]
) -> Select[Any] | None:
    """A condition that holds for few enough to gather them, if one is likely to."""
    likely = [
        rows
        for one, rows in starts
        if isinstance(one, ast.Between)
        or (isinstance(one, ast.Compare) and one.comparator is ast.Comparator.EQUAL)
    ]
    counts, _ = _survey(search, likely, _SIEVE)
    if counts and min(counts) < _SIEVE:
        return likely[counts.index(min(counts))]
    return None


@dataclass(frozen=True, kw_only=True)
class _Way:
    """An index that lists entities in the query's order."""

    value: ColumnElement[Any]
    entity: ColumnElement[Any]
    conditions: tuple[ColumnElement[bool], ...]
    descending: bool

    @property
    def order(self) -> ColumnElement[Any]:
        return self.value.desc() if self.descending else self.value.asc()


def _survey(
    search: _Search,
    sources: Sequence[Select[Any]],
    most: int,
    way: _Way | None = None,
    step: int = _STEPS[0],
) -> tuple[list[int], Any]:
    """How many rows each source has, counting no further than `most`; and the value that ends
    the first `step` entries of the way, or None if there are fewer."""
    asked: list[Any] = [
        select(func.count()).select_from(rows.limit(most).subquery()).scalar_subquery()
        for rows in sources
    ]
    if way is not None:
        end = select(way.value).where(*way.conditions).order_by(way.order)
        asked.append(end.offset(step - 1).limit(1).scalar_subquery())
    if not asked:
        return [], None
    found = list(search.tx.execute(select(*asked)).one())
    return found[: len(sources)], found[-1] if way is not None else None


def _drive(search: _Search, by: ast.Predicate, rows: Select[Any]) -> list[int]:
    # A subquery with LIMIT is not merged into the query around it, on either database.
    start = rows.limit(10 * _MANY).subquery()
    found = replace(search.view, id=start.c.entity_id, age=start.c.entity_id)
    statement = select(start.c.entity_id)
    ordering = _ordering(search, found)
    if any(sort.key.name in search.view.keys for sort in search.order):
        # The order is by the entity's own row, so that this has to be at hand.
        joined = (
            search.view.source.join(start, start.c.entity_id == search.view.id)
            if search.tx.dialect == "postgresql"
            else start.join(search.view.source, start.c.entity_id == search.view.id)
        )
        checks = _checks(search, search.view)
        statement = statement.select_from(joined).where(*search.view.conditions, *checks)
        statement = statement.order_by(*ordering)
    else:
        # The entities' own rows are read last, in order, until there are enough.
        said, own = _parted(search, but=by if exact(by) else None)
        checks = [condition(one, found, search.words) for one in said]
        sorted_ = statement.where(*checks).order_by(*ordering).limit(10 * _MANY).subquery()
        entities = replace(search.view, id=sorted_.c.entity_id)
        statement = select(sorted_.c.entity_id).where(_own(search, entities, own))
    return [
        row[0] for row in search.tx.execute(statement.limit(search.limit).offset(search.offset))
    ]


def _scan(search: _Search) -> list[int]:
    statement = (
        select(search.view.id)
        .select_from(search.view.source)
        .where(*search.view.conditions, *_checks(search, search.view))
        .order_by(*_ordering(search, search.view))
        .limit(search.limit)
        .offset(search.offset)
    )
    return [row[0] for row in search.tx.execute(statement)]


def _way(search: _Search) -> _Way | None:
    if search.offset + search.limit > _STEPS[0]:
        return None
    if not search.order:  # newest first is the order of row ids, which every table has
        row = search.view.row
        return _Way(
            value=row.c.id, entity=row.c.id, conditions=search.view.conditions[:1], descending=True
        )
    sort = search.order[0]
    columns = search.words.columns[search.view.kind].get(sort.key.name, {})
    if (
        len(search.order) > 1
        or sort.key.relation is not None
        or sort.key.name in search.view.keys
        or len(columns) != 1
        or ValueType.TEXT in columns
    ):
        return None
    kind, column = next(iter(columns.items()))
    rows = table_of(kind)
    conditions = [rows.c.column_id == column]
    for one in search.conjuncts:
        if getattr(one, "subject", None) == sort.key and not isinstance(one, ast.Has):
            same = indexed(one, search.view, search.words)  # type: ignore[arg-type]
            if same is not None:
                assert same.whereclause is not None
                conditions.append(same.whereclause)
    return _Way(
        value=rows.c.value,
        entity=rows.c.entity_id,
        conditions=tuple(conditions),
        descending=sort.descending,
    )


def _walk(search: _Search, way: _Way, end: Any, sieve: Select[Any] | None) -> list[int] | None:
    """The answer by going along the way, or None if that leads beyond `end`."""
    if end is None and search.order and search.required is None:
        return None  # the whole index is short of a step; those without the key may follow
    # The end is a bound on the key and not a LIMIT inside: the walk stops as soon as it can.
    # Ascending, equal values come newest last in the index: what shares the last value seen
    # may have a newer sibling beyond, so it does not count.
    bounds = [] if end is None else [way.value > end if way.descending else way.value < end]
    if search.order:
        if sieve is not None:
            bounds.append(_through(search.tx, way.entity, sieve))
        statement = select(way.entity).where(
            *way.conditions, *bounds, *_passing(search, replace(search.view, id=way.entity))
        )
        statement = statement.order_by(way.order, way.entity.desc())
    else:
        statement = (
            select(search.view.id)
            .select_from(search.view.source)
            .where(*search.view.conditions, *_checks(search, search.view), *bounds)
            .order_by(search.view.age.desc())
        )
    statement = statement.limit(search.limit).offset(search.offset)
    found = [row[0] for row in search.tx.execute(statement)]
    return found if len(found) == search.limit or end is None else None


def _through(tx: Transaction, entity: Any, sieve: Select[Any]) -> ColumnElement[bool]:
    """Membership in the sieve, in words that keep either planner from joining it first."""
    gathered = sieve.limit(_SIEVE)
    through: ColumnElement[bool] = (
        (entity + 0).in_(gathered) if tx.dialect == "sqlite" else entity.in_(gathered).is_(True)
    )
    return through


def _checks(search: _Search, entities: View) -> list[ColumnElement[bool]]:
    return [condition(one, entities, search.words) for one in search.conjuncts]


def _passing(search: _Search, found: View) -> list[ColumnElement[bool]]:
    """All conditions, for entities of which only the id is at hand.

    What was said of them is asked first; their own rows are read for what passes, by a subquery
    and not a join: beside the cost of the other conditions PostgreSQL holds all joins alike, and
    takes to reading the whole table.
    """
    said, own = _parted(search)
    if not said:
        return [_own(search, found, own)]
    # In a CASE, for PostgreSQL asks in the order of its own guesses otherwise.
    first = and_(*(condition(one, found, search.words) for one in said))
    return [case((first, _own(search, found, own)), else_=NEVER)]


def _parted(
    search: _Search, but: ast.Condition | None = None
) -> tuple[list[ast.Condition], list[ast.Condition]]:
    """The conditions on what was said, the cheapest first, and those on the entity's own row."""
    said: list[ast.Condition] = []
    own: list[ast.Condition] = []
    for one in search.conjuncts:
        if one is not but:
            (said if said_only(one, search.view) else own).append(one)
    return sorted(said, key=lambda one: not is_equality(one)), own


def _own(search: _Search, found: View, own: Sequence[ast.Condition]) -> ColumnElement[bool]:
    return holds(
        select(literal_column("1"))
        .select_from(search.view.source)
        .where(search.view.id == found.id, *search.view.conditions)
        .where(*(condition(one, search.view, search.words) for one in own))
    )


def _ordering(search: _Search, entities: View) -> list[ColumnElement[Any]]:
    terms: list[ColumnElement[Any]] = []
    for sort in search.order:
        terms += _sort_terms(sort, entities, search.words)
    return [*terms, entities.age.desc()]


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


def _conjuncts(node: ast.Condition | None) -> tuple[ast.Condition, ...]:
    if node is None:
        return ()
    if isinstance(node, ast.And):
        return tuple(part for one in node.operands for part in _conjuncts(one))
    return (node,)


def _vocabulary(tx: Transaction, kind: EntityKind, query: ast.Query) -> Vocabulary:
    """Look up the columns of every key in the query, a statement for each kind it speaks of."""
    names: dict[EntityKind, set[str]] = {kind: set()}
    keys = [sort.key for sort in query.order]
    if query.extreme is not None:
        keys.append(query.extreme.key)
    subjects = [*keys, *_subjects(query.condition)]
    for subject in subjects:
        whose = _RELATED[subject.relation.value] if subject.relation else kind
        kept = names.setdefault(whose, set())
        if isinstance(subject, ast.Key):
            kept.add(subject.name)
    tagged = {
        _RELATED[s.relation.value] if s.relation else kind
        for s in subjects
        if isinstance(s, ast.Tags)
    }
    return Vocabulary(
        columns={
            whose: metadata.columns(tx, whose, wanted) if wanted else {}
            for whose, wanted in names.items()
        },
        tags={
            whose: metadata.tag_column(tx, whose) if whose in tagged else None for whose in names
        },
        dialect=tx.dialect,
    )


def _subjects(node: ast.Condition | None) -> Iterator[ast.Subject]:
    match node:
        case None:
            return
        case ast.And(operands=operands) | ast.Or(operands=operands):
            for one in operands:
                yield from _subjects(one)
        case ast.Not(operand=operand):
            yield from _subjects(operand)
        case _:
            yield node.subject
