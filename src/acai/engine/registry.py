"""The registry: jobs are submitted, found, listed, ended and run again here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from acai.engine import admission, views
from acai.engine.lifecycle import Answered, KillAsked
from acai.engine.ports import JobData
from acai.engine.transitions import apply
from acai.launchers.base import Launcher
from acai.model.assignments import Pinned
from acai.model.commands import render
from acai.model.errors import Conflict, Forbidden, InvalidInput, JobNotFound, UserNotFound
from acai.model.identity import Principal, Role
from acai.model.ids import ProjectId, UserId
from acai.model.jobs import (
    PRIORITY_RANK,
    ArgumentValue,
    Capacity,
    Job,
    JobDetail,
    JobRequest,
    JobState,
    QueueState,
    Resources,
    Series,
    UsageSample,
    Waiting,
)
from acai.model.metadata import ARGUMENT_PREFIX, EntityKind, value_from_json
from acai.stores.records import identity as identity_records
from acai.stores.records import job_queue, metadata
from acai.stores.records import jobs as records
from acai.stores.records.database import PLATFORM, Database, Transaction
from acai.stores.records.jobs import JobRow
from acai.version import __version__

_CACHE_CANDIDATES = 20
_MOST_POINTS = 10_000


@dataclass(frozen=True, kw_only=True)
class Rerun:
    """What is to be different when a job is run again; None keeps what it had."""

    input: tuple[str, ...] | None = None
    args: Mapping[str, ArgumentValue] | None = None
    resources: Resources | None = None
    name: str | None = None
    cache: bool | None = None


class Registry:
    def __init__(
        self,
        database: Database,
        data: JobData,
        launcher: Launcher,
        *,
        default_limit: int,
        clock: Callable[[], datetime],
        changed: Callable[[ProjectId, int], None],
        wake: Callable[[], None],
    ) -> None:
        """`changed` is told the project and the job whose state changed; `wake` the scheduler."""
        self._database = database
        self._data = data
        self._launcher = launcher
        self._default_limit = default_limit
        self._clock = clock
        self._changed = changed
        self._wake = wake

    def submit(
        self,
        caller: Principal,
        request: JobRequest,
        *,
        template_id: int | None = None,
        prediction: str | None = None,
    ) -> Job:
        """Queue a job; or with `cache`, answer it at once from an identical one.

        Everything that can be known now is checked before anything is queued. Raises
        InvalidInput, SetNotFound, VersionNotFound, FileNotFound or PathConflict.
        """
        request = admission.check(request, self._launcher.capacity())
        pinned = self._data.pin(caller, request.input, request.code)
        request = _with_pinned(request, pinned)
        digest = admission.environment_digest(request.environment)
        key = None
        if request.cache and request.output is not None:
            key = admission.cache_key(request, pinned, digest)
        now = self._clock()
        with self._database.write(caller.project) as tx:
            row = records.add(
                tx,
                user=caller.user_id,
                name=request.name,
                command=render(request.command, request.args),
                status=JobState.QUEUED.value,
                now=now,
                inputs=[one.id for one in pinned.inputs],
                request=views.REQUEST.dump_json(request).decode(),
                cpu=request.resources.cpu,
                memory=request.resources.memory,
                gpu=request.resources.gpu,
                priority=PRIORITY_RANK[request.priority],
                retries=request.retries,
                code_set_id=None if pinned.code is None else pinned.code.set_id,
                cache_key=key,
                environment_digest=digest,
                platform_version=__version__,
                queued_at=now,
                template_id=template_id,
                prediction=prediction,
            )
            records.add_transition(tx, row.id, JobState.QUEUED, now, attempt=0)
            said = _describe(tx, row.id, request)
            if key is not None and self._answer_from_cache(tx, row, key, now):
                row = records.get(tx, row.id)
            job = views.submitted(tx, row, self._data, said, [one.id for one in pinned.inputs])
        self._changed(caller.project, row.id)
        if job.status is JobState.QUEUED:
            self._wake()
        return job

    def _answer_from_cache(self, tx: Transaction, row: JobRow, key: bytes, now: datetime) -> bool:
        for earlier in records.finished_with_key(tx, key, limit=_CACHE_CANDIDATES):
            assert earlier.output_set_id is not None
            ref = self._data.is_there(tx, earlier.output_set_id)
            if ref is not None:
                apply(
                    tx,
                    row,
                    Answered(),
                    now,
                    output_set_id=earlier.output_set_id,
                    cached_from_id=earlier.cached_from_id or earlier.id,
                    exit_code=0,
                    cost=0.0,
                    notes=json.dumps([f"answered from {earlier.public_id}: output {ref}"]),
                )
                return True
        return False

    def capacity(self) -> Capacity:
        return self._launcher.capacity()

    def find(self, caller: Principal, job: str) -> JobDetail:
        with self._database.read(caller.project) as tx:
            row = _found(tx, job)
            return views.detail(tx, row, self._data, self._clock(), self._waiting(tx, [row]))

    def peek(self, caller: Principal, job: str) -> Job:
        """The same without the time line."""
        with self._database.read(caller.project) as tx:
            row = _found(tx, job)
            (shown,) = views.shown(tx, [row], self._data, waiting=self._waiting(tx, [row]))
            return shown

    def list(
        self,
        caller: Principal,
        *,
        before: int,
        limit: int,
        statuses: Sequence[JobState] = (),
        user: str | None = None,
    ) -> Sequence[tuple[int, Job]]:
        """Jobs, newest first, with row ids to page by. `me` is the caller."""
        own = None if user is None else self._user(caller, user)
        with self._database.read(caller.project) as tx:
            rows = records.page(
                tx,
                before=before,
                limit=limit,
                statuses=[one.value for one in statuses],
                user=own,
            )
            found = views.shown(tx, rows, self._data, waiting=self._waiting(tx, rows))
        return [(row.id, job) for row, job in zip(rows, found, strict=True)]

    def kill(self, caller: Principal, job: str) -> Job:
        """End a job: at once if it waits; else its agent is told, and says when it is done."""
        now = self._clock()
        with self._database.write(caller.project) as tx:
            row = _found(tx, job, lock=True)
            if caller.user.role is Role.MEMBER and row.user_id != caller.user_id:
                raise Forbidden(f"{job} belongs to {row.creator}; only they or an admin may end it")
            if row.state.ended:
                raise Conflict(f"{job} has ended already: it is {row.status}", status=row.status)
            done = apply(tx, row, KillAsked(reason=f"killed by {caller.user.name}"), now)
            (shown,) = views.shown(tx, [records.get(tx, row.id)], self._data)
        self._changed(caller.project, row.id)
        if done is not None and done.kill:
            self._launcher.kill([job_queue.handle_of(row.public_id, row.attempt)])
        self._wake()
        return shown

    def rerun(self, caller: Principal, job: str, changes: Rerun) -> Job:
        """Submit a job's request again, with the versions that it had, or with changes."""
        with self._database.read(caller.project) as tx:
            row = _found(tx, job)
            said = metadata.read(tx, EntityKind.JOB, [row.id])[row.id]
            request = replace(views.request_of(row), tags=tuple(sorted(said.tags)))
        if changes.input is not None:
            request = replace(request, input=changes.input)
        if changes.args is not None:
            request = replace(request, args={**request.args, **changes.args})
        if changes.resources is not None:
            request = replace(request, resources=changes.resources)
        if changes.name is not None:
            request = replace(request, name=changes.name)
        if changes.cache is not None:
            request = replace(request, cache=changes.cache)
        return self.submit(caller, request, template_id=row.template_id)

    def series(
        self, caller: Principal, job: str, key: str | None, *, after: int = 0
    ) -> Sequence[Series]:
        with self._database.read(caller.project) as tx:
            row = _found(tx, job)
            keys = records.series_keys(tx, row.id) if key is None else [key]
            found = {
                one: records.points(tx, row.id, one, after=after, limit=_MOST_POINTS)
                for one in keys
            }
        return [Series(key=one, points=tuple(points)) for one, points in found.items()]

    def usage(
        self, caller: Principal, job: str, *, after: datetime | None = None
    ) -> Sequence[UsageSample]:
        """The samples after a moment, or all of them."""
        # From the moment's own sample on: the rate of the next one is what was used since.
        since = None if after is None else after - timedelta(microseconds=1)
        with self._database.read(caller.project) as tx:
            row = _found(tx, job)
            samples = records.usage(tx, row.id, after=since, limit=200_000)
        return [one for one in _rates(samples) if after is None or one.time > after]

    def queue(self, caller: Principal) -> QueueState:
        capacity = self._launcher.capacity()
        with self._database.read(PLATFORM) as tx:
            cpu, memory, gpu = job_queue.in_use(tx)
            own = job_queue.limits_of(tx, caller.project, [caller.user_id])[caller.user_id]
        with self._database.read(caller.project) as tx:
            queued, active = records.counts(tx)
            own_queued = len(records.queues_of(tx, [caller.user_id])[caller.user_id])
            own_active = records.active_of(tx, caller.user_id)
        return QueueState(
            capacity=capacity,
            free_cpu=max(capacity.cpu - cpu, 0.0),
            free_memory=max(capacity.memory - memory, 0),
            free_gpu=max(capacity.gpu - gpu, 0.0),
            queued=queued,
            active=active,
            limit=self._default_limit if own is None else own,
            own_queued=own_queued,
            own_active=own_active,
        )

    def limits(self, caller: Principal) -> Sequence[tuple[str | None, int]]:
        with self._database.read(PLATFORM) as tx:
            return job_queue.limits(tx, caller.project)

    def set_limit(self, caller: Principal, user: str | None, most: int | None) -> None:
        """Most active jobs of one user, or with None of every user of the project."""
        if most is not None and not 0 <= most <= 100_000:
            raise InvalidInput("a limit is a number of jobs from 0 to 100000")
        user_id = None if user is None else self._user(caller, user)
        with self._database.write(PLATFORM) as tx:
            job_queue.set_limit(tx, caller.project, user_id, most)
        self._wake()

    def _user(self, caller: Principal, name: str) -> UserId:
        if name == "me":
            return caller.user_id
        with self._database.read(PLATFORM) as tx:
            found = identity_records.user_named(tx, caller.project, name)
        if found is None:
            raise UserNotFound(f"there is no user {name!r} in this project; see `acai user ls`")
        return found[0]

    def _waiting(self, tx: Transaction, rows: Sequence[JobRow]) -> dict[int, Waiting]:
        queued = [row for row in rows if row.state is JobState.QUEUED]
        if not queued:
            return {}
        with self._database.read(PLATFORM) as platform:
            return views.waiting(
                tx,
                platform,
                queued,
                capacity=self._launcher.capacity(),
                default_limit=self._default_limit,
                now=self._clock(),
            )


def _found(tx: Transaction, job: str, *, lock: bool = False) -> JobRow:
    row = records.find(tx, job, lock=lock)
    if row is None:
        raise JobNotFound(f"there is no job {job} in this project; see `acai job ls`", job=job)
    return row


def _with_pinned(request: JobRequest, pinned: Pinned) -> JobRequest:
    return replace(
        request,
        input=tuple(one.ref for one in pinned.inputs),
        code=None if pinned.code is None else pinned.code.place.spec,
    )


def _describe(tx: Transaction, job_id: int, request: JobRequest) -> metadata.Described:
    values = {key: value_from_json(value, key=key) for key, value in request.meta.items()}
    values |= {ARGUMENT_PREFIX + name: value for name, value in request.args.items()}
    if values or request.tags:
        metadata.write(tx, EntityKind.JOB, [job_id], values, request.tags)
    return metadata.Described(values=dict(sorted(values.items())), tags=frozenset(request.tags))


def _rates(samples: Sequence[tuple[datetime, float, int]]) -> list[UsageSample]:
    """CPU as cores between one sample and the next; a new attempt begins at nothing."""
    found: list[UsageSample] = []
    before: tuple[datetime, float] | None = None
    for at, cpu_seconds, memory in samples:
        rate = 0.0
        if before is not None and cpu_seconds >= before[1]:
            elapsed = (at - before[0]).total_seconds()
            rate = (cpu_seconds - before[1]) / elapsed if elapsed > 0 else 0.0
        found.append(UsageSample(time=at, cpu=rate, memory=memory))
        before = (at, cpu_seconds)
    return found
