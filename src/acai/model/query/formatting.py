"""Query to text: what parses back to an equal query."""

from __future__ import annotations

from acai.model.query.ast import (
    And,
    Between,
    Compare,
    Condition,
    Has,
    In,
    Key,
    Matches,
    Not,
    Or,
    Query,
    Sort,
    Subject,
    Tags,
)
from acai.model.query.lexer import KEYWORDS, RELATION_LIKE
from acai.model.query.literals import write_literal


def format_query(query: Query) -> str:
    """The canonical spelling: lower-case keywords, quoted texts, no needless parentheses."""
    parts = []
    if query.condition is not None:
        parts.append(format_condition(query.condition))
    if query.extreme is not None:
        parts.append(f"{'max' if query.extreme.largest else 'min'} {_subject(query.extreme.key)}")
    if query.order:
        parts.append(f"order by {', '.join(map(_sort, query.order))}")
    if query.limit is not None:
        parts.append(f"limit {query.limit}")
    return " ".join(parts)


def format_condition(condition: Condition) -> str:  # noqa: PLR0911 - one per kind of condition
    match condition:
        case Or():
            return " or ".join(_inside(each, Or) for each in condition.operands)
        case And():
            return " and ".join(_inside(each, Or, And) for each in condition.operands)
        case Not():
            return f"not {_inside(condition.operand, Or, And)}"
        case Has():
            return f"has {_subject(condition.subject)}"
        case Compare():
            value = write_literal(condition.value)
            return f"{_subject(condition.subject)} {condition.comparator} {value}"
        case Matches():
            operator = "!~" if condition.negated else "~"
            pattern = write_literal(condition.pattern)
            return f"{_subject(condition.subject)} {operator} {pattern}"
        case Between():
            low, high = write_literal(condition.low), write_literal(condition.high)
            return f"{_subject(condition.subject)} {_not(condition)}between {low} and {high}"
        case In():
            values = ", ".join(map(write_literal, condition.values))
            return f"{_subject(condition.subject)} {_not(condition)}in ({values})"


def _inside(condition: Condition, *looser: type[Condition]) -> str:
    text = format_condition(condition)
    return f"({text})" if isinstance(condition, looser) else text


def _not(condition: Between | In) -> str:
    return "not " if condition.negated else ""


def _subject(subject: Subject) -> str:
    prefix = "" if subject.relation is None else f"{subject.relation}."
    if isinstance(subject, Tags):
        return f"{prefix}tag"
    return prefix + _key_name(subject)


def _key_name(key: Key) -> str:
    name = key.name
    prefix, dot, _ = name.partition(".")
    like_a_relation = bool(dot) and prefix in RELATION_LIKE
    needs_quotes = name == "tag" or name.lower() in KEYWORDS or like_a_relation
    return f"`{name}`" if needs_quotes else name


def _sort(sort: Sort) -> str:
    return f"{_subject(sort.key)}{' desc' if sort.descending else ''}"
