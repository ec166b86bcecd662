"""The query language as values.

A query is `[condition] [max KEY | min KEY | order by …] [limit N]`. Nodes compare by what
they mean; `position`, the 0-based offset in the text they came from, does not count.

The literals of a freshly parsed query may be relative (`today`, `-7d`, `me`) or carry a unit
(`2h`, `1MB`, a whole day). After `resolve` only Number, Text, Boolean and Instant are left,
so that an evaluator or a compiler has four literals to know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum


class Relation(StrEnum):
    """From a set to the job that produced it; from a job to its input and output sets."""

    JOB = "job"
    INPUT = "input"
    OUTPUT = "output"


class Comparator(StrEnum):
    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    position: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Number(Node):
    value: int | float


@dataclass(frozen=True, kw_only=True, slots=True)
class Text(Node):
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Boolean(Node):
    value: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Instant(Node):
    """A moment in UTC."""

    value: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Day(Node):
    """A whole day, from midnight to midnight UTC."""

    value: date


@dataclass(frozen=True, kw_only=True, slots=True)
class RelativeDay(Node):
    """`today` (0) or `yesterday` (1)."""

    days_ago: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RelativeTime(Node):
    """`now` (0), or `-7d`: so many seconds ago."""

    seconds_ago: int | float


@dataclass(frozen=True, kw_only=True, slots=True)
class Duration(Node):
    seconds: int | float


@dataclass(frozen=True, kw_only=True, slots=True)
class Size(Node):
    bytes: int | float


@dataclass(frozen=True, kw_only=True, slots=True)
class Me(Node):
    """The name of whoever asks."""


Literal = (
    Number | Text | Boolean | Instant | Day | RelativeDay | RelativeTime | Duration | Size | Me
)
ResolvedLiteral = Number | Text | Boolean | Instant


@dataclass(frozen=True, kw_only=True, slots=True)
class Key(Node):
    """A metadata key, built-in or a user's, of the entity itself or of a related one."""

    name: str
    relation: Relation | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tags(Node):
    """The tags of the entity itself or of a related one."""

    relation: Relation | None = None


Subject = Key | Tags


@dataclass(frozen=True, kw_only=True, slots=True)
class Compare(Node):
    subject: Subject
    comparator: Comparator
    value: Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Between(Node):
    """Both ends belong to the range."""

    subject: Subject
    low: Literal
    high: Literal
    negated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class In(Node):
    subject: Subject
    values: tuple[Literal, ...]
    negated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Matches(Node):
    """The pattern is found anywhere in the text; see `query.pattern` for what it may hold."""

    subject: Subject
    pattern: Text
    negated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Has(Node):
    """The key is present; of Tags: there is at least one."""

    subject: Subject


@dataclass(frozen=True, kw_only=True, slots=True)
class Not(Node):
    operand: Condition


@dataclass(frozen=True, kw_only=True, slots=True)
class And(Node):
    operands: tuple[Condition, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Or(Node):
    operands: tuple[Condition, ...]


Predicate = Compare | Between | In | Matches | Has
Condition = Predicate | Not | And | Or


@dataclass(frozen=True, kw_only=True, slots=True)
class Sort(Node):
    key: Key
    descending: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Extreme(Node):
    """`max KEY` or `min KEY`: the one entity with the largest or smallest value."""

    key: Key
    largest: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Query(Node):
    """`extreme` excludes `order` and `limit`."""

    condition: Condition | None = None
    extreme: Extreme | None = None
    order: tuple[Sort, ...] = ()
    limit: int | None = None


def subjects(query: Query) -> Iterator[Subject]:
    """Every key and every mention of tags, in the condition and in what it is ordered by."""
    yield from (sort.key for sort in query.order)
    if query.extreme is not None:
        yield query.extreme.key
    if query.condition is not None:
        yield from _spoken_of(query.condition)


def _spoken_of(condition: Condition) -> Iterator[Subject]:
    match condition:
        case And(operands=operands) | Or(operands=operands):
            for one in operands:
                yield from _spoken_of(one)
        case Not(operand=operand):
            yield from _spoken_of(operand)
        case _:
            yield condition.subject
