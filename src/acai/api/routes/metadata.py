"""Metadata and search."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.paging import Cursor, Limit, Page, decode_cursor, encode_cursor, page
from acai.lake.metadata import MOST
from acai.lake.search import Found
from acai.model.described import EntityMetadata, FoundFile, FoundJob, FoundSet, MetadataKey
from acai.model.metadata import EntityKind, value_from_json

routes = Routes("metadata")

Entity = Annotated[str, Query(description="file:REF, set:REF or job:ID")]
Kind = Annotated[EntityKind, Query(description="What the keys are of.")]
Begun = Annotated[str, Query(max_length=512, description="What they begin with.")]
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


@routes.on("GET", "/metadata/keys", Needs.PROJECT)
def list_metadata_keys(
    caller: Caller,
    platform: Platform,
    *,
    kind: Kind,
    prefix: Begun = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[MetadataKey]:
    """The keys that a query can name, with the types of their values: to complete one.

    After a relation, such as `job.` for sets, they are the keys of what it leads to.
    """
    after = decode_cursor(cursor, "")
    found = platform.vocabulary.keys(caller, kind, prefix=prefix, after=after, limit=limit + 1)
    return page(found, limit, lambda one: one.key)


@routes.on("GET", "/metadata/values", Needs.PROJECT)
def list_metadata_values(
    caller: Caller,
    platform: Platform,
    *,
    kind: Kind,
    key: Annotated[str, Query(max_length=256, description="A key, or `tag`.")],
    prefix: Begun = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[str]:
    """The different texts of a key, or tags: to complete one. A key of numbers has none.

    Of a text of more than 512 characters, they are the first.
    """
    after = decode_cursor(cursor, "")
    found = platform.vocabulary.values(
        caller, kind, key, prefix=prefix, after=after, limit=limit + 1
    )
    return page(found, limit, str)


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
