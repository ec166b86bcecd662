"""Jobs: submit, watch, end, run again."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

from fastapi import Query
from pydantic import AwareDatetime, BaseModel
from starlette.concurrency import run_in_threadpool

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.paging import Cursor, Limit, Page, decode_cursor, encode_cursor
from acai.engine.hints import project_topic
from acai.engine.registry import Rerun
from acai.model.jobs import (
    ArgumentValue,
    Job,
    JobDetail,
    JobRequest,
    JobState,
    QueueState,
    Resources,
    Series,
    UsageSample,
)

routes = Routes("jobs")

_NEWEST = 2**62
_LOOK = 1.0  # seconds between looks, should every hint be lost

Status = Annotated[list[JobState], Query(description="Only jobs in one of these states.")]
User = Annotated[str | None, Query(description="Only jobs of this user; `me` is the caller.")]


class JobChanges(BaseModel):
    """What is to be different; what is left out stays."""

    input: list[str] | None = None
    args: dict[str, ArgumentValue] | None = None
    resources: Resources | None = None
    name: str | None = None
    cache: bool | None = None


class JobLimit(BaseModel):
    """Most active jobs of a user; without a user, of every user of the project."""

    user: str | None = None
    jobs: int | None = None  # none: what the platform allows


class JobLimits(BaseModel):
    items: list[JobLimit]


class SeriesList(BaseModel):
    items: list[Series]


class UsageList(BaseModel):
    items: list[UsageSample]


@routes.on("POST", "/jobs", Needs.PROJECT, status_code=201)
def submit_job(body: JobRequest, caller: Caller, platform: Platform) -> Job:
    """Queue a job. What can be known to be wrong is refused before anything is queued."""
    return platform.registry.submit(caller, body)


@routes.on("GET", "/jobs", Needs.PROJECT)
def list_jobs(
    caller: Caller,
    platform: Platform,
    *,
    status: Status = [],  # noqa: B006  FastAPI copies it
    user: User = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Job]:
    """Jobs, newest first."""
    before = decode_cursor(cursor, _NEWEST)
    found = platform.registry.list(
        caller, before=before, limit=limit + 1, statuses=status, user=user
    )
    more = len(found) > limit
    return Page(
        items=[job for _, job in found[:limit]],
        next=encode_cursor(found[limit - 1][0]) if more else None,
    )


@routes.on("GET", "/jobs/{job}", Needs.PROJECT)
def get_job(job: str, caller: Caller, platform: Platform) -> JobDetail:
    """One job with its time line and all that it takes to run it again."""
    return platform.registry.find(caller, job)


@routes.on("GET", "/jobs/{job}/wait", Needs.PROJECT)
async def wait_for_job(
    job: str,
    caller: Caller,
    platform: Platform,
    timeout: Annotated[float, Query(ge=0, le=55, description="Seconds.")] = 25,
) -> Job:
    """The job as soon as it has ended, or as it is when the time is up."""
    until = time.monotonic() + timeout
    with platform.hints.watch(project_topic(caller.project)) as watch:
        while True:
            found = await run_in_threadpool(platform.registry.peek, caller, job)
            left = until - time.monotonic()
            if found.status.ended or left <= 0 or platform.hints.closed:
                return found
            await watch.wait(min(left, _LOOK))
            await asyncio.sleep(0.005)  # many changes at once are one look


@routes.on("POST", "/jobs/{job}/kill", Needs.PROJECT)
def kill_job(job: str, caller: Caller, platform: Platform) -> Job:
    """End a job; one that runs is given a moment to end by itself."""
    return platform.registry.kill(caller, job)


@routes.on("POST", "/jobs/{job}/rerun", Needs.PROJECT, status_code=201)
def rerun_job(job: str, body: JobChanges, caller: Caller, platform: Platform) -> Job:
    """Run a job again, with the same versions of everything, or with changes."""
    changes = Rerun(
        input=None if body.input is None else tuple(body.input),
        args=body.args,
        resources=body.resources,
        name=body.name,
        cache=body.cache,
    )
    return platform.registry.rerun(caller, job, changes)


@routes.on("GET", "/jobs/{job}/series", Needs.PROJECT)
def get_job_series(
    job: str,
    caller: Caller,
    platform: Platform,
    *,
    key: Annotated[str | None, Query(description="Only this key.")] = None,
    after: Annotated[int, Query(ge=0, description="Only points beyond the n-th.")] = 0,
) -> SeriesList:
    """The numbers that a job has printed as tags; at most 10,000 points of a key."""
    return SeriesList(items=list(platform.registry.series(caller, job, key, after=after)))


@routes.on("GET", "/jobs/{job}/usage", Needs.PROJECT)
def get_job_usage(
    job: str,
    caller: Caller,
    platform: Platform,
    after: Annotated[
        AwareDatetime | None, Query(description="Only samples after this one's time.")
    ] = None,
) -> UsageList:
    """CPU and memory of a job's program, sampled about each second."""
    return UsageList(items=list(platform.registry.usage(caller, job, after=after)))


@routes.on("GET", "/queue", Needs.PROJECT)
def get_queue(caller: Caller, platform: Platform) -> QueueState:
    """What there is to run on, what of it is free, and who waits."""
    return platform.registry.queue(caller)


@routes.on("GET", "/quotas", Needs.PROJECT)
def list_quotas(caller: Caller, platform: Platform) -> JobLimits:
    """The limits on active jobs that differ from the platform's own."""
    found = platform.registry.limits(caller)
    return JobLimits(items=[JobLimit(user=user, jobs=jobs) for user, jobs in found])


@routes.on("PUT", "/quotas", Needs.PROJECT_ADMIN)
def set_quota(body: JobLimit, caller: Caller, platform: Platform) -> JobLimits:
    """Limit the active jobs of a user, or of every user of the project."""
    platform.registry.set_limit(caller, body.user, body.jobs)
    found = platform.registry.limits(caller)
    return JobLimits(items=[JobLimit(user=user, jobs=jobs) for user, jobs in found])
