"""JSON into the frozen values of `acai.model`, by their type hints."""

from __future__ import annotations

import dataclasses
import types
import typing
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

from acai.model.errors import Unavailable

T = TypeVar("T")


def decode(kind: type[T], data: Any) -> T:
    """A value of `kind`. Fields that a newer server adds are passed over.

    Raises Unavailable for what cannot be a `kind`.
    """
    try:
        return cast(T, _decode(kind, data))
    except (TypeError, ValueError, AttributeError) as error:
        raise Unavailable(
            "the server's answer is not one that this acai knows;"
            " check the address, or upgrade the older of the two"
        ) from error


def _decode(kind: Any, data: Any) -> Any:  # noqa: PLR0911  one for each kind of value
    if data is None or kind is Any:
        return data
    if dataclasses.is_dataclass(kind):
        hints = _hints(cast(type, kind))
        return kind(**{k: _decode(hints[k], v) for k, v in data.items() if k in hints})  # type: ignore[operator]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        inner = [a for a in arguments if a is not type(None)]
        return _decode(inner[0], data) if len(inner) == 1 else data
    if origin is tuple:
        return tuple(_decode(arguments[0], item) for item in data)
    if origin is list:
        return [_decode(arguments[0], item) for item in data]
    if origin is dict:
        return {key: _decode(arguments[1], value) for key, value in data.items()}
    if isinstance(kind, type) and issubclass(kind, datetime):
        return datetime.fromisoformat(data)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    return data


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)
