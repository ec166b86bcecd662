"""The words that a query can be written in: keys, and the values that they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acai.model.described import MetadataKey
from acai.model.identity import Principal
from acai.model.jobs import JobState
from acai.model.metadata import BUILT_IN_KEYS, EntityKind, ValueType, key_type
from acai.model.query.check import RELATIONS
from acai.stores.records import metadata as metadata_records
from acai.stores.records import vocabulary as records
from acai.stores.records.database import Database, Transaction

TAG = "tag"
_ALL_KINDS = frozenset({"id", "name", "create_time", "creator"})
_OF_A_FILE = frozenset({"version", "size", "hash"})
# Built-in keys that entities of a kind really have: the language knows all of them for all.
_HELD: Mapping[EntityKind, frozenset[str]] = {
    EntityKind.FILE: _ALL_KINDS | _OF_A_FILE | {"content_type"},
    EntityKind.SET: _ALL_KINDS | _OF_A_FILE | {"file_count"},
    EntityKind.JOB: _ALL_KINDS
    | (BUILT_IN_KEYS[EntityKind.JOB].keys() - BUILT_IN_KEYS[EntityKind.SET].keys()),
}


class Vocabulary:
    def __init__(self, database: Database) -> None:
        self._database = database

    def keys(
        self, caller: Principal, kind: EntityKind, *, prefix: str, after: str, limit: int
    ) -> Sequence[MetadataKey]:
        """The keys that begin with a prefix, by name: built-in ones, and those in use.

        A prefix with a relation, such as `job.`, is for the keys of what it leads to.
        """
        relation, of, begun = _related(kind, prefix)
        beyond = after.removeprefix(relation)
        with self._database.read(caller.project) as tx:
            used = records.keys(tx, of, prefix=begun, after=beyond, limit=limit)
        found = {key: tuple(str(one) for one in types) for key, types in used.items()}
        for key in (*_HELD[of], TAG):
            if key.startswith(begun) and key > beyond:
                found[key] = (str(key_type(of, key) or ValueType.TEXT),)
        return [
            MetadataKey(
                key=relation + key,
                types=found[key],
                built_in=key == TAG or key_type(of, key) is not None,
            )
            for key in sorted(found)[:limit]
        ]

    def values(
        self, caller: Principal, kind: EntityKind, key: str, *, prefix: str, after: str, limit: int
    ) -> Sequence[str]:
        """Texts that a key has and that begin with a prefix, in order; none for other types."""
        _, of, name = _related(kind, key)
        with self._database.read(caller.project) as tx:
            if name == TAG or key_type(of, name) is None or name not in _HELD[of]:
                return self._said(tx, of, name, prefix, after, limit)
            if name == "creator":
                return records.user_names(tx, prefix=prefix, after=after, limit=limit)
            if name == "name" and of is EntityKind.SET:
                return records.set_names(tx, prefix=prefix, after=after, limit=limit)
        if name == "status":
            states = sorted(state.value for state in JobState)
            return [one for one in states if one.startswith(prefix) and one > after][:limit]
        return []

    def _said(
        self, tx: Transaction, kind: EntityKind, name: str, prefix: str, after: str, limit: int
    ) -> Sequence[str]:
        if name == TAG:
            column = metadata_records.tag_column(tx, kind)
            read = records.tags
        else:
            types = metadata_records.columns(tx, kind, [name]).get(name, {})
            column = types.get(ValueType.TEXT)
            read = records.texts
        return [] if column is None else read(tx, column, prefix=prefix, after=after, limit=limit)


def _related(kind: EntityKind, written: str) -> tuple[str, EntityKind, str]:
    """A key in its parts: `job.` and the like, the kind that it is of, and its name there."""
    for relation, of in RELATIONS[kind].items():
        if written.startswith(f"{relation}."):
            return f"{relation}.", of, written.removeprefix(f"{relation}.")
    return "", kind, written
