"""Metadata and search, from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from acai.client.base import Part
from acai.client.decode import decode
from acai.model.described import EntityMetadata, FoundFile, FoundJob, FoundSet, MetadataKey
from acai.model.metadata import EntityKind, MetadataValue, value_from_json, value_to_json

T = TypeVar("T", FoundFile, FoundSet, FoundJob, EntityMetadata)


class MetadataPart(Part):
    def metadata(self, entity: str) -> EntityMetadata:
        """All that is known of `file:REF`, `set:REF` or `job:ID`."""
        found = self._session.call("GET", "/metadata", query={"entity": entity})
        return _described(found)

    def set_metadata(
        self,
        entity: str | Sequence[str],
        meta: Mapping[str, MetadataValue] | None = None,
        tags: Iterable[str] = (),
    ) -> EntityMetadata:
        """Give an entity, or several, keys with values, and tags; returns the first one's.

        Values are numbers, strings, booleans or aware datetimes; a key that was there takes
        the new value.
        """
        entities = [entity] if isinstance(entity, str) else list(entity)
        body = {
            "entities": entities,
            "meta": {key: value_to_json(value) for key, value in (meta or {}).items()},
            "tags": list(tags),
        }
        answer = self._session.call("POST", "/metadata", body, repeatable=True)
        return _described(answer["items"][0])

    def remove_metadata(
        self, entity: str, keys: Iterable[str] = (), tags: Iterable[str] = ()
    ) -> EntityMetadata:
        """Take keys and tags from an entity."""
        body = {"entity": entity, "keys": list(keys), "tags": list(tags)}
        return _described(self._session.call("POST", "/metadata/remove", body))

    def find_files(self, query: str = "", *, limit: int | None = None) -> list[FoundFile]:
        """File versions that a query selects, in its order."""
        return self._found(FoundFile, "/search/files", query, limit)

    def find_sets(self, query: str = "", *, limit: int | None = None) -> list[FoundSet]:
        """Set versions that a query selects, in its order; `max KEY` gives one at most."""
        return self._found(FoundSet, "/search/sets", query, limit)

    def find_jobs(self, query: str = "", *, limit: int | None = None) -> list[FoundJob]:
        """Jobs that a query selects, in its order."""
        return self._found(FoundJob, "/search/jobs", query, limit)

    def metadata_keys(self, kind: EntityKind | str, prefix: str = "") -> list[MetadataKey]:
        """The keys that a query about "file", "set" or "job" can name, and that begin so.

        After a relation, such as `job.` for sets, they are those of what it leads to.
        """
        query = {"kind": str(kind), "prefix": prefix}
        return list(self._pages(MetadataKey, "/metadata/keys", query, size=1000))

    def _found(self, kind: type[T], path: str, query: str, limit: int | None) -> list[T]:
        size = min(limit or 1000, 1000)
        pages = self._pages(kind, path, {"q": query}, size=size)
        return [_values(one) for one in islice(pages, limit)]


def _values(found: T) -> T:
    """Times come as {"$time": …}; give them back as datetimes."""
    return replace(found, meta=_read(found.meta))


def _described(data: Any) -> EntityMetadata:
    found = _values(decode(EntityMetadata, data))
    return replace(found, built_in=_read(found.built_in))


def _read(meta: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value_from_json(value, key=key) if isinstance(value, dict) else value
        for key, value in meta.items()
    }
