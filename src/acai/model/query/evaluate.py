"""What a query means, in plain Python. The SQL that a store runs has to agree with this.

- A comparison holds only when the key is present and its value is of the literal's type.
  This goes for `!=`, `not in`, `not between` and `!~` too: they ask for another value, not
  for a missing one. `not (…)` is the complement, and holds for what has no such key.
- Numbers compare as numbers, whole or not; texts by code point; times by moment. Booleans
  are equal or not.
- `tag = x` holds when x is one of the tags, `tag != x` when it is none of them, and so on
  for `in` and `~`. `has tag` holds when there is any tag.
- A condition on a relation holds when it holds for at least one related entity; each
  condition looks for one by itself.
- Order: by the sort keys, then newest first. A missing key comes last, ascending or
  descending. Where one key holds several types: numbers, times, texts, booleans.
- `max KEY` and `min KEY` give the first of that order among the entities that have the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from acai.model.metadata import MetadataValue, ValueType, value_type
from acai.model.query.ast import (
    And,
    Between,
    Boolean,
    Comparator,
    Compare,
    Condition,
    Has,
    In,
    Instant,
    Key,
    Literal,
    Matches,
    Not,
    Number,
    Or,
    Predicate,
    Query,
    Relation,
    Sort,
    Tags,
    Text,
)
from acai.model.query.matcher import compile_pattern

# Where one key holds several types, they are listed in this order, in either direction.
TYPE_ORDER = {
    ValueType.NUMBER: 0,
    ValueType.TIME: 1,
    ValueType.TEXT: 2,
    ValueType.BOOLEAN: 3,
}


@dataclass(frozen=True, kw_only=True)
class Entity:
    """What a query sees of a file version, a set version or a job.

    `sequence` grows with age: of two entities the one made later has the larger. `values`
    holds built-in and user keys alike.
    """

    sequence: int
    values: Mapping[str, MetadataValue] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    related: Mapping[Relation, Sequence[Entity]] = field(default_factory=dict)


def matches(condition: Condition | None, entity: Entity) -> bool:
    """Whether a resolved condition holds; no condition holds for everything."""
    match condition:
        case None:
            return True
        case And():
            return all(matches(each, entity) for each in condition.operands)
        case Or():
            return any(matches(each, entity) for each in condition.operands)
        case Not():
            return not matches(condition.operand, entity)
        case _:
            relation = condition.subject.relation
            candidates = [entity] if relation is None else entity.related.get(relation, ())
            return any(_holds(condition, each) for each in candidates)


def select(query: Query, entities: Iterable[Entity]) -> list[Entity]:
    """What a resolved query answers."""
    found = sorted(
        (each for each in entities if matches(query.condition, each)),
        key=lambda entity: entity.sequence,
        reverse=True,
    )
    if query.extreme is not None:
        key = query.extreme.key
        present = [each for each in found if key.name in each.values]
        return _sorted(present, Sort(key=key, descending=query.extreme.largest))[:1]
    for sort in reversed(query.order):
        found = _sorted(found, sort)
    return found[: query.limit]


def _sorted(entities: list[Entity], sort: Sort) -> list[Entity]:
    """Stable, so that what was sorted before settles ties."""
    groups: list[list[Entity]] = [[] for _ in range(len(TYPE_ORDER) + 1)]
    for entity in entities:
        value = entity.values.get(sort.key.name)
        groups[-1 if value is None else TYPE_ORDER[value_type(value)]].append(entity)

    def by_value(entity: Entity) -> Any:
        return entity.values[sort.key.name]

    ordered = [sorted(group, key=by_value, reverse=sort.descending) for group in groups[:-1]]
    return [entity for group in [*ordered, groups[-1]] for entity in group]


def _holds(predicate: Predicate, entity: Entity) -> bool:
    subject = predicate.subject
    if isinstance(subject, Tags):
        return _tags_hold(predicate, entity.tags)
    value = _value(subject, entity)
    if isinstance(predicate, Has):
        return value is not None
    return value is not None and _value_holds(predicate, value)


def _value(key: Key, entity: Entity) -> MetadataValue | None:
    return entity.values.get(key.name)


def _value_holds(predicate: Compare | Between | In | Matches, value: MetadataValue) -> bool:
    match predicate:
        case Matches():
            if not isinstance(value, str):
                return False
            return compile_pattern(predicate.pattern.value)(value) != predicate.negated
        case Compare():
            literal = _plain(predicate.value)
            return value_type(value) is value_type(literal) and _COMPARE[predicate.comparator](
                value, literal
            )
        case Between():
            low, high = _plain(predicate.low), _plain(predicate.high)
            if value_type(value) is not value_type(low):
                return False
            at_least = _COMPARE[Comparator.GREATER_OR_EQUAL](value, low)
            at_most = _COMPARE[Comparator.LESS_OR_EQUAL](value, high)
            return (at_least and at_most) != predicate.negated
        case In():
            values = [_plain(each) for each in predicate.values]
            return value_type(value) is value_type(values[0]) and (
                (value in values) != predicate.negated
            )


def _tags_hold(predicate: Predicate, tags: frozenset[str]) -> bool:
    match predicate:
        case Has():
            return bool(tags)
        case Matches():
            search = compile_pattern(predicate.pattern.value)
            return any(map(search, tags)) != predicate.negated
        case Compare():
            wanted = predicate.value
            found = isinstance(wanted, Text) and wanted.value in tags
            return found != (predicate.comparator is Comparator.NOT_EQUAL)
        case In():
            found = any(_plain(each) in tags for each in predicate.values)
            return found != predicate.negated
        case Between():
            raise TypeError("tags have no order")


def _plain(literal: Literal) -> int | float | str | bool | datetime:
    if isinstance(literal, Number | Text | Boolean | Instant):
        return literal.value
    raise TypeError(f"resolve the query first: {literal!r} is relative")


_COMPARE: dict[Comparator, Callable[[Any, Any], bool]] = {
    Comparator.EQUAL: lambda left, right: bool(left == right),
    Comparator.NOT_EQUAL: lambda left, right: bool(left != right),
    Comparator.LESS: lambda left, right: bool(left < right),
    Comparator.LESS_OR_EQUAL: lambda left, right: bool(left <= right),
    Comparator.GREATER: lambda left, right: bool(left > right),
    Comparator.GREATER_OR_EQUAL: lambda left, right: bool(left >= right),
}
