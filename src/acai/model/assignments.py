"""What the server and a job's agent say to each other.

Every message of the agent carries its attempt and can be repeated: the server takes what is new
in it. An answer with `stop` tells the agent that its attempt no longer counts (the job ended, or
another attempt has begun): it ends its program and goes, without uploading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from acai.model.jobs import Environment, OutputSpec


class Phase(StrEnum):
    DOWNLOADING = "downloading"
    RUNNING = "running"
    UPLOADING = "uploading"


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"  # the program exited with 0, and its output is uploaded
    FAILED = "failed"  # the program did not; or its inputs, environment or output could not be had
    OUT_OF_MEMORY = "out_of_memory"
    TIMED_OUT = "timed_out"
    KILLED = "killed"  # as the server had asked


@dataclass(frozen=True, kw_only=True)
class CodePlace:
    """Files of a reference, placed in the working directory without this prefix."""

    spec: str  # pinned: a directory or a file, in a set
    strip: str  # `/` for none; always ends in a slash


@dataclass(frozen=True, kw_only=True)
class PinnedSet:
    """A set version: its row, its reference and what its files hold."""

    id: int
    ref: str
    content: str


@dataclass(frozen=True, kw_only=True)
class PinnedCode:
    place: CodePlace
    set_id: int | None
    content: str


@dataclass(frozen=True, kw_only=True)
class Pinned:
    inputs: tuple[PinnedSet, ...]
    code: PinnedCode | None


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """All that an agent needs to know, once."""

    job: str
    attempt: int
    project: str
    command: str  # for `/bin/sh -c`
    args: Mapping[str, str]
    inputs: tuple[str, ...]  # pinned set references
    code: CodePlace | None
    environment: Environment
    environment_digest: str
    output: OutputSpec | None  # with `to` filled in, ending in a slash
    cpu: float
    memory: int
    gpu: float
    timeout: float | None
    env: Mapping[str, str]
    grace: float  # seconds from TERM to KILL
    heartbeat: float  # say something at least this often, in seconds
    stop: bool = False


@dataclass(frozen=True, kw_only=True)
class Sample:
    time: datetime
    cpu_seconds: float  # since the program began
    memory: int


class TagTarget(StrEnum):
    JOB = "job"
    OUTPUT = "output"


@dataclass(frozen=True, kw_only=True)
class PrintedTag:
    """A tag line of the log. `n` counts the tags of the attempt from 1, so that none counts
    twice."""

    n: int
    target: TagTarget
    key: str
    value: float | str
    time: datetime


@dataclass(frozen=True, kw_only=True)
class Report:
    attempt: int
    phase: Phase
    samples: tuple[Sample, ...] = ()
    tags: tuple[PrintedTag, ...] = ()
    malformed_tags: int = 0  # so far
    notes: tuple[str, ...] = ()  # such as "limits are approximate here"


@dataclass(frozen=True, kw_only=True)
class ReportAnswer:
    kill: bool = False  # end the program, then say that it was killed
    stop: bool = False


@dataclass(frozen=True, kw_only=True)
class LogAnswer:
    size: int  # bytes that the server has of this attempt's log: send on from there
    stop: bool = False


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The last word on an attempt; log, tags and samples have been sent before."""

    attempt: int
    outcome: Outcome
    exit_code: int | None = None
    reason: str | None = None
    started: datetime | None = None  # of the program, by the agent's clock
    ended: datetime | None = None
    cpu_seconds: float | None = None
    peak_memory: int | None = None
    log_size: int = 0
    upload: str | None = None  # the session that holds the output, not yet committed
    file_count: int = 0
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, kw_only=True)
class EndingAnswer:
    status: str  # of the job now
    output: str | None = None
    stop: bool = False
