"""Find files, sets and jobs by what they are and what was said of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from acai.model.described import FoundFile, FoundJob, FoundSet
from acai.model.identity import Principal
from acai.model.metadata import EntityKind, value_to_json
from acai.model.query import parse_query, resolve
from acai.stores.records import files as file_records
from acai.stores.records import jobs as job_records
from acai.stores.records import metadata as metadata_records
from acai.stores.records import sets as set_records
from acai.stores.records.database import Database, Transaction
from acai.stores.records.search import find

Found = FoundFile | FoundSet | FoundJob


class Search:
    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    def find(
        self, caller: Principal, kind: EntityKind, text: str, *, limit: int, offset: int
    ) -> Sequence[Found]:
        """The entities that a query selects, in its order. Raises InvalidQuery with a position."""
        query = resolve(parse_query(text, kind), now=self._clock(), me=caller.user.name)
        with self._database.read(caller.project) as tx:
            ids = find(tx, kind, query, limit=limit, offset=offset)
            return self._load(tx, kind, ids) if ids else []

    def _load(self, tx: Transaction, kind: EntityKind, ids: Sequence[int]) -> Sequence[Found]:
        said = metadata_records.read(tx, kind, ids)
        extra: dict[int, dict[str, Any]] = {
            one: {
                "meta": {key: value_to_json(value) for key, value in about.values.items()},
                "tags": tuple(sorted(about.tags)),
            }
            for one, about in said.items()
        }
        if kind is EntityKind.FILE:
            files = file_records.by_ids(tx, ids)
            return [FoundFile(**vars(files[one].value()), **extra[one]) for one in ids]
        if kind is EntityKind.SET:
            sets = set_records.by_ids(tx, ids)
            return [FoundSet(**vars(sets[one].value()), **extra[one]) for one in ids]
        jobs = job_records.by_ids(tx, ids)
        return [
            FoundJob(
                id=jobs[one].public_id,
                name=jobs[one].name,
                status=jobs[one].status,
                creator=jobs[one].creator,
                command=jobs[one].command,
                submit_time=jobs[one].submitted_at,
                start_time=jobs[one].started_at,
                end_time=jobs[one].ended_at,
                **extra[one],
            )
            for one in ids
        ]
