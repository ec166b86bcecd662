"""Lists are paged by an opaque cursor: where the last page ended, and nothing else."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

from acai.model.errors import InvalidCursor

T = TypeVar("T")

Limit = Annotated[int, Query(ge=1, le=1000, description="Most items in one page.")]
Cursor = Annotated[str | None, Query(description="`next` of the page before.")]


class Page(BaseModel, Generic[T]):
    items: list[T]
    next: str | None = None


def page(items: Sequence[T], limit: int, key: Callable[[T], Any]) -> Page[T]:
    """A page of at most `limit`; pass one item more than that to say that there is a next."""
    if len(items) <= limit:
        return Page(items=list(items))
    kept = list(items[:limit])
    return Page(items=kept, next=encode_cursor(key(kept[-1])))


def encode_cursor(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None, default: T) -> T:
    """What `encode_cursor` was given; raises InvalidCursor unless it has the default's type."""
    if cursor is None:
        return default
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        value = json.loads(base64.b64decode(padded.encode(), altchars=b"-_", validate=True))
    except (ValueError, RecursionError, binascii.Error):
        value = None
    if type(value) is not type(default) or not _storable(value):
        raise InvalidCursor("the cursor is not one that this list gave; begin without a cursor")
    return value


def _storable(value: Any) -> bool:
    """Whether every database takes it: no NUL, no half of a pair, no number beyond 64 bits."""
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    if isinstance(value, list):
        return all(_storable(item) for item in value)
    return value is None or isinstance(value, float)
