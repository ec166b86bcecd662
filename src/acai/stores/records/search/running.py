"""Run a query: choose where to begin, then let the database check the rest row by row.

Neither database can guess how selective a condition on a user's key is, so we look: an index
tells in a millisecond whether a condition holds for few. The ways, tried in this order:

- *drive*: some condition holds for few entities; take those, check the rest, sort.
- *walk*: go along the index of the key to order by, checking as we go, until there are enough;
  where a condition holds for not too many, those are gathered first and act as a sieve.
- *scan*: all entities of the project.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, Select

from acai.model.ids import ProjectId
from acai.model.metadata import EntityKind
from acai.model.query import ast
from acai.stores.records import metadata
from acai.stores.records.database import Transaction
from acai.stores.records.metadata import Columns
from acai.stores.records.search.conditions import Vocabulary, is_equality
from acai.stores.records.search.entities import searched
from acai.stores.records.search.plans import SIEVE, Plan
from acai.stores.records.search.shapes import shape_of
from acai.stores.records.sets import plain_rows

_FEW = 2000  # rows that may simply be checked and sorted
_MANY = 200_000  # rows beyond which a condition is no place to begin
_STEPS = (4000, 40_000)  # entries of the ordering index to go along before giving up
_SIEVED_STEP = 50_000  # the same, when most entries fall through a sieve
_RELATED = {"job": EntityKind.JOB, "input": EntityKind.SET, "output": EntityKind.SET}

# How queries of a shape are run in a project of each database, with the words there were.
_Shape = tuple[ProjectId, EntityKind, tuple[ast.Condition, ...], tuple[ast.Sort, ...]]
_plans: WeakKeyDictionary[Engine, dict[_Shape, Plan]] = WeakKeyDictionary()
_PLANS = 512


@dataclass(frozen=True)
class _Run:
    tx: Transaction
    plan: Plan
    given: Mapping[str, Any]  # the query's values, `limit` and `offset`
    complete: bool  # whether those without the key to order by are not asked for


def find(
    tx: Transaction, kind: EntityKind, query: ast.Query, *, limit: int, offset: int = 0
) -> list[int]:
    """Row ids of the entities that a resolved query selects, in its order."""
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
    shape, values = shape_of(query.condition)
    conjuncts = _conjuncts(shape)
    if required is not None:
        conjuncts = (*conjuncts, ast.Has(subject=required))
    given = {**values, "limit": limit, "offset": offset}
    plans = _plans.setdefault(tx.engine, {})
    key = (tx.project, kind, conjuncts, order)
    plan, found = plans.get(key), None
    while plan is None or (found := _found(_Run(tx, plan, given, required is not None))) is None:
        words = _words(tx, kind, query)
        view = searched(kind, tx.dialect)
        plan = Plan(view=view, words=words, conjuncts=conjuncts, order=order)
        if len(plans) >= _PLANS:
            plans.clear()
        plans[key] = plan
    return found


def _found(run: _Run) -> list[int] | None:
    """The answer, or None if the plan's words are no longer all."""
    plan = run.plan
    every = tuple(range(len(plan.starts)))
    along = plan.way is not None and run.given["offset"] + run.given["limit"] <= _STEPS[0]
    checksum, counts, end, walked = _look(run, along)
    if checksum != plan.checksum:
        return None
    if counts and min(counts) < _FEW:
        return _ids(run, plan.drive(counts.index(min(counts))))
    if along:
        if end is None:
            walked = _walked(run, None, None)
        if walked is None:
            sieve = _sieve(run)
            step = _STEPS[1] if sieve is None else _SIEVED_STEP
            walked = _walked(run, _survey(run, (), 0, step)[1], sieve)
        if walked is not None:
            return walked
    if every:
        counts, _ = _survey(run, every, _MANY, None)
        if min(counts) < _MANY:
            return _ids(run, plan.drive(counts.index(min(counts))))
    return _ids(run, plan.scan)


def _look(run: _Run, along: bool) -> tuple[int, Sequence[int], Any, list[int] | None]:
    """The checksum of the words now, how many rows each start has (or `_FEW`), the value that
    ends the first step of the way, and the answer if it lies before that."""
    given = {**run.given, "most": _FEW, "skipped": _STEPS[0] - 1}
    checksum, *rest = plain_rows(run.tx.execute(run.plan.look(along), given))[0]
    if not along:
        return checksum, rest, None, None
    *counts, end, ids = rest
    found = json.loads(ids) if isinstance(ids, str) else ids
    return checksum, counts, end, found if found and len(found) == run.given["limit"] else None


def _survey(
    run: _Run, counted: tuple[int, ...], most: int, step: int | None
) -> tuple[Sequence[int], Any]:
    """How many rows these starts have, or `most`; and the value that ends the first `step`
    entries of the way, or None if there are fewer."""
    if not counted and step is None:
        return [], None
    given = {**run.given, "most": most, "skipped": (step or 1) - 1}
    row = run.tx.execute(run.plan.survey(counted, step is not None), given).one()
    return row[: len(counted)], None if step is None else row[-1]


def _walked(run: _Run, end: Any, sieve: int | None) -> list[int] | None:
    """The answer by going along the way, or None if that leads beyond `end`."""
    if end is None and run.plan.ordered and not run.complete:
        return None  # the whole index is short of a step; those without the key may follow
    found = _ids(run, run.plan.walk(end is not None, sieve), end=end)
    return found if len(found) == run.given["limit"] or end is None else None


def _sieve(run: _Run) -> int | None:
    """A condition that holds for few enough to gather them, if one is likely to."""
    likely = tuple(
        number
        for number, start in enumerate(run.plan.starts)
        if isinstance(start.condition, ast.Between) or is_equality(start.condition)
    )
    counts, _ = _survey(run, likely, SIEVE, None)
    if counts and min(counts) < SIEVE:
        return likely[counts.index(min(counts))]
    return None


def _ids(run: _Run, statement: Select[Any], **more: Any) -> list[int]:
    return [row[0] for row in plain_rows(run.tx.execute(statement, {**run.given, **more}))]


def _conjuncts(node: ast.Condition | None) -> tuple[ast.Condition, ...]:
    if node is None:
        return ()
    if isinstance(node, ast.And):
        return tuple(part for one in node.operands for part in _conjuncts(one))
    return (node,)


def _words(tx: Transaction, kind: EntityKind, query: ast.Query) -> Vocabulary:
    """Look up the columns of every key in the query, a statement for each kind it speaks of."""
    names: dict[EntityKind, set[str]] = {kind: set()}
    tagged = set()
    for subject in ast.subjects(query):
        whose = _RELATED[subject.relation.value] if subject.relation else kind
        kept = names.setdefault(whose, set())
        if isinstance(subject, ast.Key):
            kept.add(subject.name)
        else:
            tagged.add(whose)
    columns: dict[EntityKind, Columns] = {}
    for whose, wanted in names.items():
        known = metadata.columns(tx, whose, wanted) if wanted else {}
        columns[whose] = {name: known.get(name, {}) for name in wanted}
    return Vocabulary(
        columns=columns,
        tags={whose: metadata.tag_column(tx, whose) for whose in tagged},
        dialect=tx.dialect,
    )
