"""Jobs as users see them, made of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pydantic import TypeAdapter

from acai.engine.ports import JobData
from acai.model.ids import UserId
from acai.model.jobs import (
    Capacity,
    Job,
    JobDetail,
    JobRequest,
    JobState,
    Phases,
    Transition,
    Waiting,
)
from acai.model.metadata import ARGUMENT_PREFIX, EntityKind, value_to_json
from acai.model.quantities import format_size
from acai.stores.records import job_queue, jobs, metadata, templates
from acai.stores.records.database import Transaction
from acai.stores.records.jobs import JobRow
from acai.stores.records.metadata import Described

REQUEST = TypeAdapter(JobRequest)
_PHASE_OF = {
    JobState.QUEUED: "queue",
    JobState.LAUNCHING: "launch",
    JobState.DOWNLOADING: "download",
    JobState.RUNNING: "run",
    JobState.UPLOADING: "upload",
}


def request_of(row: JobRow) -> JobRequest:
    return REQUEST.validate_json(row.request)


def shown(
    tx: Transaction,
    rows: Sequence[JobRow],
    data: JobData,
    *,
    waiting: Mapping[int, Waiting] | None = None,
) -> list[Job]:
    """Jobs with what users said of them, in a handful of statements for all."""
    if not rows:
        return []
    ids = [row.id for row in rows]
    said = metadata.read(tx, EntityKind.JOB, ids)
    inputs = jobs.inputs_of(tx, ids)
    return [Job(**one) for one in _facts(tx, rows, data, waiting or {}, said, inputs)]


def submitted(
    tx: Transaction, row: JobRow, data: JobData, said: Described, inputs: Sequence[int]
) -> Job:
    """A job that was written in this very transaction, without reading it all again."""
    (facts,) = _facts(tx, [row], data, {}, {row.id: said}, {row.id: list(inputs)})
    return Job(**facts)


def detail(
    tx: Transaction, row: JobRow, data: JobData, now: datetime, waiting: Mapping[int, Waiting]
) -> JobDetail:
    said = metadata.read(tx, EntityKind.JOB, [row.id])
    (facts,) = _facts(tx, [row], data, waiting, said, jobs.inputs_of(tx, [row.id]))
    timeline = jobs.transitions(tx, row.id)
    return JobDetail(
        **facts,
        request=request_of(row),
        timeline=timeline,
        phases=phases(timeline, row.ended_at or now),
        environment_digest=row.environment_digest or "",
        platform_version=row.platform_version or "",
        prediction=None if row.prediction is None else json.loads(row.prediction),
    )


def _facts(
    tx: Transaction,
    rows: Sequence[JobRow],
    data: JobData,
    waiting: Mapping[int, Waiting],
    said: Mapping[int, Described],
    inputs: Mapping[int, Sequence[int]],
) -> list[dict[str, Any]]:
    outputs = [row.output_set_id for row in rows if row.output_set_id is not None]
    read = [one for several in inputs.values() for one in several]
    refs = data.references(tx, sorted({*outputs, *read}))
    sources = [row.cached_from_id for row in rows if row.cached_from_id is not None]
    cached = jobs.public_ids(tx, sources) if sources else {}
    profiled = {row.template_id for row in rows if row.template_id is not None}
    named = templates.names(tx, sorted(profiled)) if profiled else {}
    return [
        {
            "id": row.public_id,
            "name": row.name,
            "status": row.state,
            "creator": row.creator,
            "command": row.command,
            "submit_time": row.submitted_at,
            "start_time": row.started_at,
            "end_time": row.ended_at,
            "runtime": row.runtime,
            "queue_time": row.queue_time,
            "cpu": row.cpu or 0.0,
            "memory": row.memory or 0,
            "gpu": row.gpu or 0.0,
            "cost": row.cost,
            "peak_memory": row.peak_memory,
            "cpu_seconds": row.cpu_seconds,
            "exit_code": row.exit_code,
            "reason": row.reason,
            "attempt": row.attempt,
            "inputs": tuple(refs[one] for one in sorted(inputs[row.id]) if one in refs),
            "code": _code(row),
            "output": refs.get(row.output_set_id or -1),
            "cached_from": cached.get(row.cached_from_id or -1),
            "kill_requested": row.kill_requested_at is not None,
            "log_size": row.log_size,
            "notes": tuple(json.loads(row.notes)),
            "waiting": waiting.get(row.id),
            "template": named.get(row.template_id or -1),
            "meta": {
                key: value_to_json(value)
                for key, value in said[row.id].values.items()
                if not key.startswith(ARGUMENT_PREFIX)
            },
            "tags": tuple(sorted(said[row.id].tags)),
        }
        for row in rows
    ]


def _code(row: JobRow) -> str | None:
    found = json.loads(row.request).get("code")
    return None if found is None else str(found)


def phases(timeline: Sequence[Transition], until: datetime) -> Phases:
    """How long a job was in each phase, over all of its attempts."""
    spent: dict[str, timedelta] = {}
    for i, one in enumerate(timeline):
        phase = _PHASE_OF.get(one.status)
        if phase is not None:
            left = timeline[i + 1].time if i + 1 < len(timeline) else until
            spent[phase] = spent.get(phase, timedelta()) + max(left - one.time, timedelta())
    return Phases(**{phase: time.total_seconds() for phase, time in spent.items()})


def waiting(
    tx: Transaction,
    platform: Transaction,
    queued: Sequence[JobRow],
    *,
    capacity: Capacity,
    default_limit: int,
    now: datetime,
) -> dict[int, Waiting]:
    """Why each of these queued jobs waits. What is free depends on all projects, which
    `platform` sees."""
    used_cpu, used_memory, used_gpu = job_queue.in_use(platform)
    free = (capacity.cpu - used_cpu, capacity.memory - used_memory, capacity.gpu - used_gpu)
    users = {row.user_id for row in queued}
    limits = job_queue.limits_of(platform, tx.project, users)
    running = job_queue.predicted_ends(platform, tx.project, users)
    places: dict[UserId, dict[int, int]] = {}
    full: dict[UserId, str | None] = {}
    for user, queue in jobs.queues_of(tx, users).items():
        places[user] = {job: i for i, job in enumerate(queue, 1)}
        own, active = limits[user], len(running[user])
        limit = default_limit if own is None else own
        full[user] = f"{active} of {limit} running" if active >= limit else None
    next_end = {user: _next_end(of, now) for user, of in running.items()}
    return {
        row.id: Waiting(
            position=places[row.user_id].get(row.id, 1),
            reason=full[row.user_id]
            or _behind(places[row.user_id].get(row.id, 1))
            or _lacking(row, free)
            or "its turn comes next",
            expected=next_end[row.user_id] if places[row.user_id].get(row.id, 1) == 1 else None,
        )
        for row in queued
    }


def _next_end(running: Sequence[tuple[datetime | None, str | None]], now: datetime) -> float | None:
    """Seconds until the first of these jobs is likely to end; None unless all are predicted."""
    left = []
    for began, prediction in running:
        if prediction is None:
            return None
        elapsed = 0.0 if began is None else (now - began).total_seconds()
        left.append(max(float(json.loads(prediction)["seconds"]) - elapsed, 0.0))
    return min(left, default=None)


def _behind(position: int) -> str | None:
    if position == 1:
        return None
    before = position - 1
    return f"behind {before} of the user's own jobs" if before > 1 else "behind one of its user's"


def _lacking(row: JobRow, free: tuple[float, int, float]) -> str | None:
    cpu, memory, gpu = free
    if (row.cpu or 0) > cpu + 1e-6:
        return f"needs {row.cpu:g} CPU, {max(cpu, 0):g} free"
    if (row.memory or 0) > memory:
        return f"needs {format_size(row.memory or 0)}, {format_size(max(memory, 0))} free"
    if (row.gpu or 0) > gpu + 1e-6:
        return f"needs {row.gpu:g} GPU, {max(gpu, 0):g} free"
    return None
