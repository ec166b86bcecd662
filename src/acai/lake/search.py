"""Find files, sets and jobs by what they are and what was said of them."""

from __future__ import annotations

import json
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
from acai.stores.records.jobs import JobRow
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
            return [FoundSet(**sets[one].facts(), **extra[one]) for one in ids]
        jobs = job_records.by_ids(tx, ids)
        return [_found_job(jobs[one], extra[one]) for one in ids]


def _found_job(row: JobRow, said: dict[str, Any]) -> FoundJob:
    return FoundJob(
        id=row.public_id,
        name=row.name,
        status=row.status,
        creator=row.creator,
        command=row.command,
        submit_time=row.submitted_at,
        start_time=row.started_at,
        end_time=row.ended_at,
        runtime=row.runtime,
        queue_time=row.queue_time,
        cost=row.cost,
        cpu=row.cpu,
        memory=row.memory,
        gpu=row.gpu,
        peak_memory=row.peak_memory,
        cpu_seconds=row.cpu_seconds,
        exit_code=row.exit_code,
        reason=row.reason,
        args=json.loads(row.request).get("args", {}),
        **said,
    )
