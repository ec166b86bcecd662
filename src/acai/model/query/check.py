"""What a well-formed condition may not say: types that never meet, patterns that no store
would agree on. Each finding becomes an InvalidQuery at the place where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acai.model.errors import InvalidQuery
from acai.model.metadata import EntityKind, KeyType, ValueType, key_type
from acai.model.query.ast import (
    Between,
    Boolean,
    Comparator,
    Compare,
    Day,
    Duration,
    Has,
    In,
    Instant,
    Key,
    Literal,
    Matches,
    Me,
    Number,
    Predicate,
    Relation,
    RelativeDay,
    RelativeTime,
    Size,
    Subject,
    Tags,
    Text,
)
from acai.model.query.lexer import written_at
from acai.model.query.literals import literal_type
from acai.model.query.matcher import compile_pattern
from acai.model.query.pattern import PatternError

RELATIONS: dict[EntityKind, dict[Relation, EntityKind]] = {
    EntityKind.FILE: {},
    EntityKind.SET: {Relation.JOB: EntityKind.JOB},
    EntityKind.JOB: {Relation.INPUT: EntityKind.SET, Relation.OUTPUT: EntityKind.SET},
}
_VALUE_WORDS = {
    KeyType.TEXT: "a text in quotes",
    KeyType.NUMBER: "a number",
    KeyType.DURATION: "a duration such as 90s, 15m or 2h, or a number of seconds",
    KeyType.SIZE: "a size such as 10MB or 2GiB, or a number of bytes",
    KeyType.TIME: "a time such as today, -7d or 2026-05-01",
}
_TYPE_OF_KEY = {
    KeyType.TEXT: ValueType.TEXT,
    KeyType.NUMBER: ValueType.NUMBER,
    KeyType.DURATION: ValueType.NUMBER,
    KeyType.SIZE: ValueType.NUMBER,
    KeyType.TIME: ValueType.TIME,
}
_UNITS: dict[KeyType, type[Duration] | type[Size]] = {
    KeyType.DURATION: Duration,
    KeyType.SIZE: Size,
}
_EQUALITY = {Comparator.EQUAL, Comparator.NOT_EQUAL}


class Checker:
    """Checks predicates on one kind of entity; `query` is the text they were read from."""

    def __init__(self, query: str, kind: EntityKind) -> None:
        self.query = query
        self.kind = kind

    def refuse(self, position: int, problem: str, expected: Sequence[str]) -> InvalidQuery:
        return InvalidQuery(
            f"Invalid query: {problem} at column {position + 1}; expected {' or '.join(expected)}",
            position=position,
            expected=list(expected),
            query=self.query,
        )

    def _written(self, literal: Literal) -> str:
        return written_at(self.query, literal.position)

    def relation(self, relation: Relation, position: int) -> None:
        known = RELATIONS[self.kind]
        if relation in known:
            return
        expected = [f"{each}.KEY" for each in known] or ["a key of the file itself"]
        raise self.refuse(
            position,
            f"a {self.kind} has no relation '{relation}'",
            [*expected, "the key in backticks if it is really named so"],
        )

    def predicate(self, predicate: Predicate) -> None:
        match predicate:
            case Has():
                return
            case Matches():
                self._matches(predicate)
            case Compare():
                ordered = predicate.comparator not in _EQUALITY
                self._values(predicate.subject, [predicate.value], ordered=ordered)
            case Between():
                self._values(predicate.subject, [predicate.low, predicate.high], ordered=True)
                self._range(predicate)
            case In():
                self._list(predicate)

    def _key_type(self, subject: Subject) -> KeyType | None:
        if isinstance(subject, Tags):
            return KeyType.TEXT
        kind = self.kind
        if subject.relation is not None:
            kind = RELATIONS[self.kind][subject.relation]
        known = key_type(kind, subject.name)
        return None if known is KeyType.ANY else known

    def _values(self, subject: Subject, values: Sequence[Literal], *, ordered: bool) -> None:
        if isinstance(subject, Tags) and ordered:
            raise self.refuse(
                subject.position,
                "tags have no order",
                ["tag = NAME", "tag in (…)", "tag ~ PATTERN"],
            )
        known = self._key_type(subject)
        for value in values:
            if known is not None:
                self._value(subject, known, value)
            if ordered and literal_type(value) is ValueType.BOOLEAN:
                raise self.refuse(value.position, "true and false have no order", ["'=' or '!='"])
            self._same_type(values[0], value)

    def _value(self, subject: Subject, known: KeyType, value: Literal) -> None:
        unit = _UNITS.get(known)
        fits = literal_type(value) is _TYPE_OF_KEY[known] and (
            not isinstance(value, Duration | Size) or (unit is not None and isinstance(value, unit))
        )
        if fits:
            return
        name = subject.name if isinstance(subject, Key) else "tag"
        hint = _VALUE_WORDS[known]
        if known is not KeyType.TEXT and isinstance(value, Text):
            hint += ", without quotes"
        problem = f"'{name}' cannot be compared with {self._written(value)}"
        raise self.refuse(value.position, problem, [hint])

    def _same_type(self, first: Literal, value: Literal) -> None:
        units = {_unit(first), _unit(value)} - {None}
        if literal_type(first) is literal_type(value) and len(units) <= 1:
            return
        problem = f"{self._written(value)} is not of the same type as {self._written(first)}"
        raise self.refuse(
            value.position, problem, [f"another {_unit(first) or literal_type(first)}"]
        )

    def _range(self, predicate: Between) -> None:
        low, high = _magnitude(predicate.low), _magnitude(predicate.high)
        if low[0] == high[0] and low[1] > high[1]:
            raise self.refuse(
                predicate.high.position, "the range runs backwards", ["the smaller value first"]
            )

    def _list(self, predicate: In) -> None:
        self._values(predicate.subject, predicate.values, ordered=False)
        for value in predicate.values:
            if isinstance(value, Day | RelativeDay):
                raise self.refuse(
                    value.position,
                    f"{self._written(value)} is a whole day, which a list cannot hold",
                    ["'=' with a day, combined by 'or'", "'between'", "times of day"],
                )

    def _matches(self, predicate: Matches) -> None:
        known = self._key_type(predicate.subject)
        if known not in {None, KeyType.TEXT}:
            name = predicate.subject.name if isinstance(predicate.subject, Key) else "tag"
            raise self.refuse(
                predicate.subject.position,
                f"'{name}' is not a text, so '~' cannot match it",
                ["= < >"],
            )
        pattern = predicate.pattern
        try:
            compile_pattern(pattern.value)
        except PatternError as error:
            raise self.refuse(
                self._inside(pattern, error.offset),
                f"in the regular expression, {error.problem}",
                [error.expected],
            ) from error

    def _inside(self, text: Text, offset: int) -> int:
        """Where the character at `offset` of a text stands in the query."""
        quote = self.query[text.position : text.position + 1]
        if quote not in {"'", '"'}:
            return text.position + offset
        return text.position + 1 + offset + text.value[:offset].count(quote)


def _unit(literal: Literal) -> str | None:
    if isinstance(literal, Duration):
        return "duration"
    return "size" if isinstance(literal, Size) else None


def _magnitude(literal: Literal) -> tuple[str, Any]:  # noqa: PLR0911 - one per literal
    """A scale and a place on it; only places on the same scale can be compared beforehand."""
    match literal:
        case Number() | Text() | Boolean():
            return literal_type(literal), literal.value
        case Duration():
            return ValueType.NUMBER, literal.seconds
        case Size():
            return ValueType.NUMBER, literal.bytes
        case RelativeTime():
            return "seconds", -literal.seconds_ago
        case RelativeDay():
            return "days", -literal.days_ago
        case Instant() | Day():
            return type(literal).__name__, literal.value
        case Me():
            return "me", 0
