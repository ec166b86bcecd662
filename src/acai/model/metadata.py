"""Metadata: what may be written on a file version, a set version or a job.

A value is a number, a text, a boolean or a time; which of them it is never changes by
itself. A number is a double everywhere (integers up to 2**53, so that none is rounded on
its way through a database or a browser). A time is UTC with microseconds.

Built-in keys are filled by the platform and are read-only. Each has a type, by which
queries are checked.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any

from acai.model.errors import InvalidInput

MetadataValue = int | float | str | bool | datetime

MAX_INTEGER = 2**53
MAX_TEXT_BYTES = 4096
MAX_TAG_CHARACTERS = 128
KEY = r"[A-Za-z_][A-Za-z0-9_.-]{0,127}"

_KEY = re.compile(KEY)
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(\.[0-9]+)?|(\.[0-9]+))([eE][+-]?[0-9]{1,4})?")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)(Z|z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)


class EntityKind(StrEnum):
    FILE = "file"
    SET = "set"
    JOB = "job"


class ValueType(StrEnum):
    """What a stored value is: comparisons and orderings stay within one of these."""

    NUMBER = "number"
    TIME = "time"
    TEXT = "text"
    BOOLEAN = "boolean"


class KeyType(StrEnum):
    """What a key holds; durations and sizes are numbers, of seconds and of bytes."""

    TEXT = "text"
    NUMBER = "number"
    DURATION = "duration"
    SIZE = "size"
    TIME = "time"
    ANY = "any"


_COMMON_KEYS = {
    "id": KeyType.TEXT,
    "name": KeyType.TEXT,
    "version": KeyType.NUMBER,
    "create_time": KeyType.TIME,
    "creator": KeyType.TEXT,
    "size": KeyType.SIZE,
    "hash": KeyType.TEXT,
    "content_type": KeyType.TEXT,
    "file_count": KeyType.NUMBER,
}
_JOB_KEYS = {
    "status": KeyType.TEXT,
    "submit_time": KeyType.TIME,
    "start_time": KeyType.TIME,
    "end_time": KeyType.TIME,
    "runtime": KeyType.DURATION,
    "queue_time": KeyType.DURATION,
    "cost": KeyType.NUMBER,
    "cpu": KeyType.NUMBER,
    "memory": KeyType.SIZE,
    "gpu": KeyType.NUMBER,
    "peak_memory": KeyType.SIZE,
    "cpu_seconds": KeyType.DURATION,
    "exit_code": KeyType.NUMBER,
    "command": KeyType.TEXT,
}
ARGUMENT_PREFIX = "args."
BUILT_IN_KEYS: Mapping[EntityKind, Mapping[str, KeyType]] = {
    EntityKind.FILE: _COMMON_KEYS,
    EntityKind.SET: _COMMON_KEYS,
    EntityKind.JOB: _COMMON_KEYS | _JOB_KEYS,
}


def key_type(kind: EntityKind, key: str) -> KeyType | None:
    """The type of a built-in key; None for a key that users may write."""
    if kind is EntityKind.JOB and key.startswith(ARGUMENT_PREFIX):
        return KeyType.ANY
    return BUILT_IN_KEYS[kind].get(key)


def validate_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise InvalidInput(
            f"{key!r} is not a key; a key has 1 to 128 letters, digits, '_', '.' or '-' "
            "and starts with a letter or '_'",
            key=key,
        )
    return key


def validate_user_key(kind: EntityKind, key: str) -> str:
    """A valid key that users may write on this kind of entity."""
    if key_type(kind, validate_key(key)) is not None:
        raise InvalidInput(
            f"{key!r} is set by the platform and is read-only on a {kind}; choose another key",
            key=key,
        )
    return key


def validate_tag(tag: str) -> str:
    """A tag is 1 to 128 printable characters without a comma or a space at either end."""
    if not (0 < len(tag) <= MAX_TAG_CHARACTERS and tag.isprintable() and tag.strip() == tag):
        raise InvalidInput(
            f"{tag!r} is not a tag; a tag has 1 to {MAX_TAG_CHARACTERS} printable characters "
            "and no space at its ends",
            tag=_encodable(tag),
        )
    if "," in tag:
        raise InvalidInput(f"The tag {tag!r} has a comma; give two tags, or another name", tag=tag)
    return tag


def validate_value(value: object, *, key: str = "value") -> MetadataValue:
    """The value in its stored form, or InvalidInput that names the key.

    Integers and reals of other libraries become `int` and `float`; times become UTC.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _validate_text(value, key)
    if isinstance(value, datetime):
        return _validate_time(value, key)
    if isinstance(value, numbers.Integral):
        return _validate_integer(int(value), key)
    if isinstance(value, numbers.Real):
        return _validate_real(float(value), key)
    raise InvalidInput(
        f"{key} is a {type(value).__name__}; a value is a number, a text, a boolean or a time",
        key=key,
    )


def value_type(value: MetadataValue) -> ValueType:
    if isinstance(value, bool):
        return ValueType.BOOLEAN
    if isinstance(value, str):
        return ValueType.TEXT
    return ValueType.TIME if isinstance(value, datetime) else ValueType.NUMBER


def parse_number(text: str) -> int | float | None:
    """The number that `text` writes in full, or None; InvalidInput when it is out of range.

    `007` is no number: the zeros would be lost, so it is most likely a name.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if any(match.groups()):
        return _validate_real(float(text), text)
    # Longer than any integer in range, and Python refuses to read thousands of digits.
    return _validate_integer(int(text) if len(text) <= 20 else MAX_INTEGER + 1, text)


def parse_time(text: str) -> datetime | date | None:
    """An ISO 8601 date, or date and time (UTC unless it names a zone); None when it is neither.

    InvalidInput when it looks like a time and is none, such as 2026-02-30.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    try:
        if match[2] is None:
            return date.fromisoformat(match[1])
        moment = datetime.fromisoformat(f"{match[1]}T{match[2]}{(match[3] or 'Z').upper()}")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"{text} is not a time: {error}") from error


def format_time(moment: datetime) -> str:
    """ISO 8601 in UTC, with as many decimals as needed: `2026-05-01T12:00:00Z`."""
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text}Z" if "." not in text else f"{text.rstrip('0')}Z"


def parse_value(text: str, *, key: str = "value") -> MetadataValue:
    """A value as a person writes it: a number, true or false, an ISO 8601 time, or a text.

    Text in single or double quotes is always a text, without the quotes.
    """
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return _validate_text(text[1:-1], key)
    number = parse_number(text)
    if number is not None:
        return number
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    moment = parse_time(text)
    if moment is None:
        return _validate_text(text, key)
    if isinstance(moment, datetime):
        return moment
    return datetime(moment.year, moment.month, moment.day, tzinfo=UTC)


def format_value(value: MetadataValue) -> str:
    """A value such that parse_value reads back an equal one: a text is quoted where needed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return format_time(value)
    if not isinstance(value, str):
        return repr(value)
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    try:
        plain = not quoted and parse_value(value) == value
    except InvalidInput:
        plain = False
    return value if plain else f"'{value}'"


def parse_assignment(word: str) -> tuple[str, MetadataValue]:
    """`key=value` of a command line."""
    key, equals, text = word.partition("=")
    if not equals:
        raise InvalidInput(f"{word!r} is not an assignment; write key=value")
    return validate_key(key), parse_value(text, key=key)


def value_to_json(value: MetadataValue) -> Any:
    """Numbers, texts and booleans as themselves, a time as `{"$time": "2026-05-01T12:00:00Z"}`."""
    return {"$time": format_time(value)} if isinstance(value, datetime) else value


def value_from_json(value: Any, *, key: str = "value") -> MetadataValue:
    """The inverse of value_to_json; refuses what no value looks like."""
    if not isinstance(value, dict):
        return validate_value(value, key=key)
    text = value.get("$time")
    moment = parse_time(text) if isinstance(text, str) and len(value) == 1 else None
    if not isinstance(moment, datetime):
        raise InvalidInput(
            f'{key} is an object; a time is written {{"$time": "2026-05-01T12:00:00Z"}}', key=key
        )
    return moment


def _validate_text(text: str, key: str) -> str:
    if "\x00" in text or _encodable(text) != text:
        raise InvalidInput(f"{key} has a NUL or is not valid UTF-8; remove it", key=key)
    size = len(text.encode())
    if size > MAX_TEXT_BYTES:
        raise InvalidInput(
            f"{key} has {size} bytes; a text has at most {MAX_TEXT_BYTES}, keep more in a file",
            key=key,
        )
    return text


def _validate_integer(value: int, key: str) -> int:
    if abs(value) > MAX_INTEGER:
        raise InvalidInput(
            f"{key} is an integer beyond 2**53, which would be rounded; give it as a text",
            key=key,
        )
    return value


def _validate_real(value: float, key: str) -> float:
    if not math.isfinite(value):
        raise InvalidInput(
            f"{key} is {value}; a number has to be finite, leave it out or give a text", key=key
        )
    return value


def _validate_time(moment: datetime, key: str) -> datetime:
    if moment.tzinfo is None:
        raise InvalidInput(
            f"{key} is a time without a zone; give it one, for example tzinfo=datetime.UTC",
            key=key,
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(f"{key} lies outside the years 1 to 9999", key=key) from error


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
