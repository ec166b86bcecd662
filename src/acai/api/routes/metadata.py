"""Metadata and search."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.paging import Cursor, Limit, Page, decode_cursor, encode_cursor
from acai.lake.metadata import MOST
from acai.lake.search import Found
from acai.model.described import EntityMetadata, FoundFile, FoundJob, FoundSet
from acai.model.metadata import EntityKind, value_from_json

routes = Routes("metadata")

Entity = Annotated[str, Query(description="file:REF, set:REF or job:ID")]
QueryText = Annotated[str, Query(description="A query; see docs/queries.md.")]


class MetadataToSet(BaseModel):
    entities: list[str] = Field(max_length=MOST)
    meta: dict[str, Any] = {}
    tags: list[str] = []


class MetadataToRemove(BaseModel):
    entity: str
    keys: list[str] = []
    tags: list[str] = []


class Described(BaseModel):
    items: list[EntityMetadata]


@routes.on("GET", "/metadata", Needs.PROJECT)
def get_metadata(entity: Entity, caller: Caller, platform: Platform) -> EntityMetadata:
    """All that is known of one entity."""
    return platform.metadata.get(caller, entity)


@routes.on("POST", "/metadata", Needs.PROJECT)
def set_metadata(body: MetadataToSet, caller: Caller, platform: Platform) -> Described:
    """Give entities keys and tags; a key that was there takes the new value."""
    values = {key: value_from_json(value, key=key) for key, value in body.meta.items()}
    found = platform.metadata.set(caller, body.entities, values, body.tags)
    return Described(items=list(found))


@routes.on("POST", "/metadata/remove", Needs.PROJECT)
def remove_metadata(body: MetadataToRemove, caller: Caller, platform: Platform) -> EntityMetadata:
    """Take keys and tags away."""
    return platform.metadata.remove(caller, body.entity, body.keys, body.tags)


@routes.on("GET", "/search/files", Needs.PROJECT)
def search_files(
    caller: Caller, platform: Platform, q: QueryText = "", limit: Limit = 100, cursor: Cursor = None
) -> Page[FoundFile]:
    """Versions of files that a query selects."""
    return _searched(platform, caller, EntityKind.FILE, q, limit, cursor)


@routes.on("GET", "/search/sets", Needs.PROJECT)
def search_sets(
    caller: Caller, platform: Platform, q: QueryText = "", limit: Limit = 100, cursor: Cursor = None
) -> Page[FoundSet]:
    """Versions of sets that a query selects."""
    return _searched(platform, caller, EntityKind.SET, q, limit, cursor)


@routes.on("GET", "/search/jobs", Needs.PROJECT)
def search_jobs(
    caller: Caller, platform: Platform, q: QueryText = "", limit: Limit = 100, cursor: Cursor = None
) -> Page[FoundJob]:
    """Jobs that a query selects."""
    return _searched(platform, caller, EntityKind.JOB, q, limit, cursor)


def _searched(
    platform: Platform, caller: Caller, kind: EntityKind, q: str, limit: int, cursor: Cursor
) -> Page[Any]:
    offset = decode_cursor(cursor, 0)
    found: list[Found] = list(platform.search.find(caller, kind, q, limit=limit + 1, offset=offset))
    more = len(found) > limit
    return Page(items=found[:limit], next=encode_cursor(offset + limit) if more else None)
