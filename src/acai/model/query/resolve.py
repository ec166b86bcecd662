"""Fixes a query in time and to a caller: what is relative becomes absolute.

A day is a span, so a comparison with one becomes a comparison with its first or last
microsecond, or a range: `create_time = today` asks for today's, not for midnight's.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

from acai.model.query.ast import (
    And,
    Between,
    Comparator,
    Compare,
    Condition,
    Day,
    Duration,
    In,
    Instant,
    Literal,
    Me,
    Not,
    Number,
    Or,
    Query,
    RelativeDay,
    RelativeTime,
    ResolvedLiteral,
    Size,
    Text,
)

_USES_LAST_MOMENT = {Comparator.LESS_OR_EQUAL, Comparator.GREATER}


def resolve(query: Query, *, now: datetime, me: str) -> Query:
    """The query with only Number, Text, Boolean and Instant literals.

    `now` is aware; days are those of UTC. `me` is the name that `creator` would hold.
    Resolving twice changes nothing more.
    """
    if query.condition is None:
        return query
    return replace(query, condition=_Resolver(now.astimezone(UTC), me).condition(query.condition))


class _Resolver:
    def __init__(self, now: datetime, me: str) -> None:
        self.now = now
        self.me = me

    def condition(self, condition: Condition) -> Condition:
        match condition:
            case Or() | And():
                return replace(condition, operands=tuple(map(self.condition, condition.operands)))
            case Not():
                return replace(condition, operand=self.condition(condition.operand))
            case Compare():
                return self._compare(condition)
            case Between():
                return replace(
                    condition,
                    low=self._literal(condition.low),
                    high=self._literal(condition.high, last=True),
                )
            case In():
                return replace(condition, values=tuple(map(self._literal, condition.values)))
            case _:
                return condition

    def _compare(self, condition: Compare) -> Compare | Between:
        value = condition.value
        comparator = condition.comparator
        if not isinstance(value, Day | RelativeDay):
            return replace(condition, value=self._literal(value))
        if comparator in {Comparator.EQUAL, Comparator.NOT_EQUAL}:
            return Between(
                subject=condition.subject,
                low=self._literal(value),
                high=self._literal(value, last=True),
                negated=comparator is Comparator.NOT_EQUAL,
                position=condition.position,
            )
        last = comparator in _USES_LAST_MOMENT
        return replace(condition, value=self._literal(value, last=last))

    def _literal(  # noqa: PLR0911 - one per kind of literal
        self, literal: Literal, *, last: bool = False
    ) -> ResolvedLiteral:
        """`last` picks the end of a day rather than its start."""
        position = literal.position
        match literal:
            case Duration():
                return Number(value=literal.seconds, position=position)
            case Size():
                return Number(value=literal.bytes, position=position)
            case Me():
                return Text(value=self.me, position=position)
            case RelativeTime():
                moment = self.now - timedelta(seconds=literal.seconds_ago)
                return Instant(value=moment, position=position)
            case RelativeDay():
                day = (self.now - timedelta(days=literal.days_ago)).date()
                return Instant(value=_moment(day, last), position=position)
            case Day():
                return Instant(value=_moment(literal.value, last), position=position)
            case _:
                return literal


def _moment(day: date, last: bool) -> datetime:
    return datetime.combine(day, time.max if last else time.min, UTC)
