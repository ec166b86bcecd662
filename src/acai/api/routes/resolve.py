"""What a reference means, for whoever wants to fetch it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.paging import Cursor, Limit, Page, decode_cursor, encode_cursor
from acai.model.errors import InvalidCursor
from acai.model.sets import ResolvedFile

routes = Routes("resolve")


@routes.on("GET", "/resolve", Needs.PROJECT)
def resolve(
    caller: Caller,
    platform: Platform,
    spec: Annotated[str, Query(description="A file or a directory, as is or in a set.")],
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Page[ResolvedFile]:
    """The file versions that `spec` names, by path.

    The pages of a set are all of the version that was the latest when the first was asked for.
    """
    at, after = pinned(cursor)
    at, found = platform.specs.resolve(caller, spec, at=at, after=after, limit=limit + 1)
    return pinned_page(at, found, limit)


def pinned(cursor: str | None) -> tuple[int, str]:
    """The set version that a listing holds on to, and the path where its last page ended."""
    if cursor is None:
        return 0, ""
    match decode_cursor(cursor, [0, ""]):
        case [int(at), str(after)] if at >= 0:
            return at, after
    raise InvalidCursor("the cursor is not one that this list gave; begin without a cursor")


def pinned_page(at: int, found: Sequence[ResolvedFile], limit: int) -> Page[ResolvedFile]:
    if len(found) <= limit:
        return Page(items=list(found))
    return Page(items=list(found[:limit]), next=encode_cursor([at, found[limit - 1].path]))
