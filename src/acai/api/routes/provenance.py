"""The graph of sets: what came from what."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.paging import Cursor, Limit, Page, decode_cursor, page
from acai.api.routes.sets import SetReference, VersionOrLatest, set_ref
from acai.lake.provenance import MOST_NODES
from acai.model.provenance import Direction, GraphNode, PathBetween, Trace
from acai.model.sets import SetVersion

routes = Routes("provenance")
_NEWEST = 2**62


@routes.on("GET", "/sets/{name}/versions/{version}/trace", Needs.PROJECT)
def trace_set(
    name: str,
    version: VersionOrLatest,
    caller: Caller,
    platform: Platform,
    *,
    direction: Direction = Direction.BACK,
    depth: Annotated[int | None, Query(ge=0, le=_NEWEST, description="Most steps.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_NODES, description="Most sets.")] = 10_000,
) -> Trace:
    """What a set comes from, or what came from it; the nearest first."""
    return platform.provenance.trace(
        caller, set_ref(name, version), direction=direction, depth=depth, limit=limit
    )


@routes.on("GET", "/provenance", Needs.PROJECT)
def list_graph(
    caller: Caller, platform: Platform, limit: Limit = 1000, cursor: Cursor = None
) -> Page[GraphNode]:
    """Every set version with the edges that lead to it, in the order they were made."""
    after = decode_cursor(cursor, 0)
    found = platform.provenance.graph(caller, after=after, limit=limit + 1)
    whole = page(found, limit, lambda pair: pair[0])
    return Page(items=[node for _, node in whole.items], next=whole.next)


@routes.on("GET", "/provenance/path", Needs.PROJECT)
def path_between_sets(
    caller: Caller, platform: Platform, one: SetReference, other: SetReference
) -> PathBetween:
    """Every way from the older of two sets to the newer; empty if there is none."""
    return platform.provenance.between(caller, one, other)


@routes.on("GET", "/provenance/holding", Needs.PROJECT)
def list_sets_holding(
    caller: Caller,
    platform: Platform,
    file: Annotated[str, Query(description="A reference to one file version.")],
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[SetVersion]:
    """The set versions that hold a file version, newest first, removed ones too."""
    before = decode_cursor(cursor, _NEWEST)
    found = platform.provenance.holding(caller, file, before=before, limit=limit + 1)
    whole = page(found, limit, lambda pair: pair[0])
    return Page(items=[one for _, one in whole.items], next=whole.next)
