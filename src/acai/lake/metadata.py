"""What users say of files, sets and jobs: keys with values, and tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acai.lake.files import Files
from acai.lake.specs import Specs, find_set
from acai.model.changes import Tell, metadata_of, tell_nobody
from acai.model.described import EntityMetadata
from acai.model.errors import InvalidInput, JobNotFound
from acai.model.identity import Principal
from acai.model.metadata import (
    EntityKind,
    MetadataValue,
    format_time,
    validate_tag,
    validate_user_key,
    validate_value,
    value_to_json,
)
from acai.model.references import FileRef, JobRef, SetRef, parse_entity
from acai.stores.records import jobs as job_records
from acai.stores.records import metadata as records
from acai.stores.records.database import Database, Transaction
from acai.stores.records.files import VersionRow
from acai.stores.records.jobs import JobRow
from acai.stores.records.sets import SetRow

MOST = 1000  # entities in one call, and keys or tags in one call


@dataclass(frozen=True, kw_only=True)
class _Located:
    kind: EntityKind
    row: int
    id: str
    built_in: Mapping[str, Any]


class Metadata:
    def __init__(
        self, database: Database, files: Files, specs: Specs, tell: Tell = tell_nobody
    ) -> None:
        self._database = database
        self._files = files
        self._specs = specs
        self._tell = tell

    def get(self, caller: Principal, entity: str) -> EntityMetadata:
        with self._database.read(caller.project) as tx:
            return self._described(tx, self._locate(tx, entity))

    def set(
        self,
        caller: Principal,
        entities: Sequence[str],
        values: Mapping[str, MetadataValue],
        tags: Iterable[str],
    ) -> Sequence[EntityMetadata]:
        """Give all of these entities the values and tags, or none of them."""
        given = sorted(set(tags))
        self._check_size(entities, values, given)
        for key, value in values.items():
            validate_value(value, key=key)
        for tag in given:
            validate_tag(tag)
        with self._database.write(caller.project) as tx:
            located = [self._locate(tx, entity) for entity in entities]
            kinds = _by_kind(located)
            for kind, rows in kinds.items():
                for key in values:
                    validate_user_key(kind, key)
                records.write(tx, kind, rows, values, given)
            described = [self._described(tx, one) for one in located]
        for kind in kinds:
            self._tell(caller.project, metadata_of(kind))
        return described

    def remove(
        self, caller: Principal, entity: str, keys: Iterable[str], tags: Iterable[str]
    ) -> EntityMetadata:
        """Take keys and tags away; one that is not there is an error that names it."""
        wanted, given = sorted(set(keys)), sorted(set(tags))
        with self._database.write(caller.project) as tx:
            located = self._locate(tx, entity)
            for key in wanted:
                validate_user_key(located.kind, key)
            there = records.read(tx, located.kind, [located.row])[located.row]
            absent = [key for key in wanted if key not in there.values]
            absent += [tag for tag in given if tag not in there.tags]
            if absent:
                has = sorted([*there.values, *there.tags])
                known = f"it has {', '.join(has)}" if has else "it has none"
                raise InvalidInput(f"{located.id} has no {absent[0]!r}; {known}", missing=absent)
            records.remove(tx, located.kind, [located.row], wanted)
            records.remove_tags(tx, located.kind, [located.row], given)
            described = self._described(tx, located)
        self._tell(caller.project, metadata_of(located.kind))
        return described

    def _check_size(
        self, entities: Sequence[str], values: Mapping[str, MetadataValue], tags: Sequence[str]
    ) -> None:
        if not entities:
            raise InvalidInput("name at least one entity, such as set:NAME")
        if not values and not tags:
            raise InvalidInput("give at least one key=value, or a tag")
        if max(len(entities), len(values), len(tags)) > MOST:
            raise InvalidInput(f"at most {MOST} entities, keys or tags in one call")

    def _locate(self, tx: Transaction, entity: str) -> _Located:
        ref = parse_entity(entity)
        if isinstance(ref, SetRef):
            return _set(find_set(tx, ref))
        if isinstance(ref, JobRef):
            job = job_records.find(tx, ref.id)
            if job is None:
                raise JobNotFound(f"there is no job {ref.id} in this project", job=ref.id)
            return _job(job)
        return _file(self._file_row(tx, ref))

    def _file_row(self, tx: Transaction, ref: FileRef) -> VersionRow:
        if ref.set is None:
            return self._files.row(tx, ref.path, ref.version)
        version = self._specs.version_in_set(tx, ref)
        return self._files.row(tx, ref.path, version)

    def _described(self, tx: Transaction, located: _Located) -> EntityMetadata:
        said = records.read(tx, located.kind, [located.row])[located.row]
        return EntityMetadata(
            id=located.id,
            kind=located.kind,
            built_in={k: v for k, v in located.built_in.items() if v is not None},
            meta={key: value_to_json(value) for key, value in said.values.items()},
            tags=tuple(sorted(said.tags)),
        )


def _by_kind(located: Iterable[_Located]) -> dict[EntityKind, list[int]]:
    found: dict[EntityKind, list[int]] = {}
    for one in located:
        rows = found.setdefault(one.kind, [])
        if one.row not in rows:
            rows.append(one.row)
    return found


def _file(row: VersionRow) -> _Located:
    value = row.value()
    return _Located(
        kind=EntityKind.FILE,
        row=row.id,
        id=value.id,
        built_in={
            "id": value.id,
            "name": value.path,
            "version": value.version,
            "create_time": {"$time": format_time(value.create_time)},
            "creator": value.creator,
            "size": value.size,
            "hash": value.hash,
            "content_type": value.content_type,
        },
    )


def _set(row: SetRow) -> _Located:
    value = row.value()
    return _Located(
        kind=EntityKind.SET,
        row=row.id,
        id=value.id,
        built_in={
            "id": value.id,
            "name": value.name,
            "version": value.version,
            "create_time": {"$time": format_time(value.create_time)},
            "creator": value.creator,
            "size": value.size,
            "hash": value.hash,
            "file_count": value.file_count,
        },
    )


def _job(row: JobRow) -> _Located:
    return _Located(
        kind=EntityKind.JOB,
        row=row.id,
        id=f"job:{row.public_id}",
        built_in={
            "id": f"job:{row.public_id}",
            "name": row.name,
            "status": row.status,
            "creator": row.creator,
            "command": row.command,
            "submit_time": {"$time": format_time(row.submitted_at)},
        },
    )
