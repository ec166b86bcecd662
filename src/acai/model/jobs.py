"""Jobs: what is asked for, what is known of one, and how its time was spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

ArgumentValue = int | float | str | bool

GIB = 1024**3


class JobState(StrEnum):
    QUEUED = "queued"
    LAUNCHING = "launching"
    DOWNLOADING = "downloading"
    RUNNING = "running"
    UPLOADING = "uploading"
    FINISHED = "finished"
    FAILED = "failed"
    KILLED = "killed"
    LOST = "lost"

    @property
    def ended(self) -> bool:
        return self in ENDED

    @property
    def active(self) -> bool:
        """Holds resources, and counts against its user's limit."""
        return self in ACTIVE


ACTIVE = (JobState.LAUNCHING, JobState.DOWNLOADING, JobState.RUNNING, JobState.UPLOADING)
ENDED = (JobState.FINISHED, JobState.FAILED, JobState.KILLED, JobState.LOST)


class Priority(StrEnum):
    """Whose turn comes first within a user's queue, and between users."""

    INTERACTIVE = "interactive"
    BATCH = "batch"
    PROFILING = "profiling"


PRIORITY_RANK = {Priority.INTERACTIVE: 0, Priority.BATCH: 1, Priority.PROFILING: 2}


@dataclass(frozen=True, kw_only=True)
class Resources:
    cpu: float = 1.0  # cores, in fractions
    memory: int = GIB  # bytes
    gpu: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Environment:
    """At most one of the three; none of them is the launcher's own interpreter."""

    requirements: str | None = None  # the text of a requirements file
    python: str | None = None  # such as 3.11
    image: str | None = None


@dataclass(frozen=True, kw_only=True)
class OutputSpec:
    """What lies under `path` afterwards becomes the next version of set `name`."""

    name: str
    path: str = "out/"  # below the working directory
    to: str | None = None  # the directory in the lake; /NAME/ if not given


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """What a user submits. References may be without a version; the job's own are pinned."""

    command: str
    name: str | None = None
    input: tuple[str, ...] = ()  # set references, merged
    code: str | None = None  # a reference: a directory's files land without its path
    args: Mapping[str, ArgumentValue] = field(default_factory=dict)
    environment: Environment = field(default_factory=Environment)
    output: OutputSpec | None = None
    resources: Resources = field(default_factory=Resources)
    timeout: float | None = None  # seconds of the program's run
    priority: Priority = Priority.BATCH
    cache: bool = False
    retries: int = 0  # how often a lost job is tried again
    env: Mapping[str, str] = field(default_factory=dict)
    description: str | None = None
    tags: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Transition:
    status: JobState
    time: datetime
    attempt: int
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Where the time went, in seconds, over all attempts; the present phase counts so far."""

    queue: float = 0.0
    launch: float = 0.0
    download: float = 0.0
    run: float = 0.0
    upload: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Why a queued job has not started."""

    position: int  # in its user's queue, from 1
    reason: str  # such as "2 of 2 running" or "needs 8 CPU, 4 free"
    expected: float | None = None  # seconds, where run times can be predicted


@dataclass(frozen=True, kw_only=True)
class Job:
    id: str  # job-…
    name: str | None
    status: JobState
    creator: str
    command: str  # with its arguments filled in
    submit_time: datetime
    start_time: datetime | None = None  # of the program
    end_time: datetime | None = None
    runtime: float | None = None  # seconds of the program
    queue_time: float | None = None
    cpu: float
    memory: int
    gpu: float
    cost: float | None = None
    peak_memory: int | None = None
    cpu_seconds: float | None = None
    exit_code: int | None = None
    reason: str | None = None  # how it ended, in words, when it did not end well
    attempt: int = 0
    inputs: tuple[str, ...] = ()  # NAME:VERSION
    code: str | None = None  # a pinned reference
    output: str | None = None  # NAME:VERSION, once it is made
    cached_from: str | None = None  # the job whose output answered this one
    kill_requested: bool = False
    log_size: int = 0  # bytes so far, of the latest attempt
    notes: tuple[str, ...] = ()  # such as "3 malformed tag lines", "the output was empty"
    waiting: Waiting | None = None
    template: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class JobDetail(Job):
    """One job with all that is kept of it."""

    request: JobRequest  # with pinned references: enough to run it again
    timeline: tuple[Transition, ...]
    phases: Phases
    environment_digest: str
    platform_version: str
    prediction: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Point:
    """One value of a numeric tag that a job printed."""

    n: int  # from 1, in the order printed
    value: float
    time: datetime


@dataclass(frozen=True, kw_only=True)
class Series:
    key: str
    points: tuple[Point, ...]


@dataclass(frozen=True, kw_only=True)
class UsageSample:
    """What the program's process tree uses at a moment."""

    time: datetime
    cpu: float  # cores, averaged since the sample before
    memory: int  # bytes resident


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What a launcher has altogether, and the most that one job may have."""

    cpu: float
    memory: int
    gpu: float = 0.0
    job_cpu: float | None = None  # None: as much as there is
    job_memory: int | None = None
    images: bool = False  # runs container images


@dataclass(frozen=True, kw_only=True)
class QueueState:
    """The engine at a glance."""

    capacity: Capacity
    free_cpu: float
    free_memory: int
    free_gpu: float
    queued: int
    active: int
    limit: int  # the caller's own: most active jobs at once
    own_queued: int
    own_active: int
