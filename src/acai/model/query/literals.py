"""Values as they are written in a query, and back.

A bare value that starts with a digit, a sign or a dot is a number, a duration, a size or a
time, or it is refused: a typing error such as `2hours` must not become a text that quietly
matches nothing. Other bare words are texts, but for the few with a meaning of their own.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from acai.model.errors import InvalidInput
from acai.model.metadata import MAX_INTEGER, ValueType, format_time, parse_number, parse_time
from acai.model.quantities import BYTES, SECONDS
from acai.model.query.ast import (
    Boolean,
    Day,
    Duration,
    Instant,
    Literal,
    Me,
    Number,
    RelativeDay,
    RelativeTime,
    Size,
    Text,
)
from acai.model.query.lexer import is_quantity

# A thousand years: beyond any question, and within what a time can express.
MAX_DURATION_SECONDS = 366_000 * 86_400

_DECIMAL = r"[0-9]+(?:\.[0-9]+)?"
_DURATION = re.compile(rf"(?:{_DECIMAL}(?:ms|s|m|h|d|w))+")
_DURATION_PART = re.compile(rf"({_DECIMAL})(ms|s|m|h|d|w)")
_SIZE = re.compile(rf"({_DECIMAL})([KMGT]I?B|B)", re.IGNORECASE)
_UNIT_BYTES = {unit.upper(): factor for unit, factor in BYTES.items()}
_BARE_WORD = re.compile(r"[\w/][\w./:@%+-]*")

_CONSTANTS: dict[str, Literal] = {
    "true": Boolean(value=True),
    "false": Boolean(value=False),
    "today": RelativeDay(days_ago=0),
    "yesterday": RelativeDay(days_ago=1),
    "now": RelativeTime(seconds_ago=0),
    "me": Me(),
}
_VALUE_TYPES: dict[type[Literal], ValueType] = {
    Number: ValueType.NUMBER,
    Duration: ValueType.NUMBER,
    Size: ValueType.NUMBER,
    Text: ValueType.TEXT,
    Me: ValueType.TEXT,
    Boolean: ValueType.BOOLEAN,
    Instant: ValueType.TIME,
    Day: ValueType.TIME,
    RelativeDay: ValueType.TIME,
    RelativeTime: ValueType.TIME,
}


def literal_type(literal: Literal) -> ValueType:
    """The type of stored values that a literal compares with."""
    return _VALUE_TYPES[type(literal)]


def read_word(word: str, position: int) -> Literal:
    """The literal that a bare word writes, or InvalidInput that says how to write it."""
    if is_quantity(word):
        return _read_quantity(word, position)
    constant = _CONSTANTS.get(word.lower())
    if constant is not None:
        return replace(constant, position=position)
    if not _BARE_WORD.fullmatch(word):
        raise InvalidInput(f"'{word}' needs quotes: write '{quoted(word)[1:-1]}'")
    return Text(value=word, position=position)


def read_string(token: str, position: int) -> Text:
    """A quoted text; its own quote is doubled inside, and a backslash is an ordinary character."""
    quote = token[0]
    return Text(value=token[1:-1].replace(quote * 2, quote), position=position)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def write_literal(literal: Literal) -> str:  # noqa: PLR0911 - one line per kind of literal
    """Text that reads back as an equal literal."""
    match literal:
        case Number():
            return repr(literal.value)
        case Text():
            return quoted(literal.value)
        case Boolean():
            return "true" if literal.value else "false"
        case Instant():
            return format_time(literal.value)
        case Day():
            return literal.value.isoformat()
        case RelativeDay():
            return "yesterday" if literal.days_ago else "today"
        case RelativeTime():
            return f"-{_write_duration(literal.seconds_ago)}" if literal.seconds_ago else "now"
        case Duration():
            return _write_duration(literal.seconds)
        case Size():
            return f"{_plain(literal.bytes)}B"
        case Me():
            return "me"


def _read_quantity(word: str, position: int) -> Literal:
    number = parse_number(word)
    if number is not None:
        return Number(value=number, position=position)
    moment = parse_time(word)
    if moment is not None:
        if isinstance(moment, datetime):
            return Instant(value=moment, position=position)
        return Day(value=moment, position=position)
    size = _SIZE.fullmatch(word)
    if size is not None:
        amount = _number(Decimal(size[1]) * _UNIT_BYTES[size[2].upper()])
        if amount > MAX_INTEGER:
            raise InvalidInput(f"'{word}' is beyond the largest size, 2**53 bytes")
        return Size(bytes=amount, position=position)
    past = word.startswith("-")
    if _DURATION.fullmatch(word, 1 if past else 0):
        seconds = _read_duration(word)
        if past:
            return RelativeTime(seconds_ago=seconds, position=position)
        return Duration(seconds=seconds, position=position)
    raise InvalidInput(
        f"'{word}' is not a number, a duration such as 90s, 15m, 2h or 7d, a size such as 10MB, "
        f"or a time such as -7d or 2026-05-01; a text goes in quotes: {quoted(word)}"
    )


def _read_duration(word: str) -> int | float:
    total = sum(
        (
            Decimal(part[1]) * Decimal(str(SECONDS[part[2]]))
            for part in _DURATION_PART.finditer(word)
        ),
        Decimal(),
    )
    if total > MAX_DURATION_SECONDS:
        raise InvalidInput(f"'{word}' is longer than a thousand years")
    return _number(total)


def _write_duration(seconds: int | float) -> str:
    return f"{_plain(seconds)}s"


def _number(exact: Decimal) -> int | float:
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def _plain(value: int | float) -> str:
    """Digits without an exponent, which reads back as the same number."""
    return format(Decimal(repr(value)), "f")
