"""The port behind which agents are started: this machine, Ray, Slurm, Kubernetes.

A launcher keeps no truth. It starts an agent for one attempt of a job, says whether that agent
is still there, and ends it. Everything else (states, logs, outputs) the agent tells the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from acai.model.jobs import Capacity


class Sighting(StrEnum):
    UNKNOWN = "unknown"  # it was never submitted, or everything about it was forgotten
    STARTING = "starting"
    ALIVE = "alive"
    GONE = "gone"  # nothing of it runs any more, neither the agent nor the program


@dataclass(frozen=True, kw_only=True)
class Seen:
    sighting: Sighting
    reason: str | None = None  # how it went, where the launcher knows: "the node failed"


@dataclass(frozen=True, kw_only=True)
class Task:
    """One attempt to be launched. `handle` is unique to it, and chosen by the engine."""

    handle: str  # JOB.ATTEMPT
    job: str
    attempt: int
    project: str
    cpu: float
    memory: int
    gpu: float
    image: str | None
    token: str  # the agent's: good for this job only
    server: str

    def __repr__(self) -> str:
        return f"Task({self.handle})"  # never the token


class LaunchFailed(Exception):
    """The agent could not be started, and nothing of it runs; the message says why."""


class Launcher(Protocol):
    """Thread-safe. Methods return soon: none waits for a program to end."""

    def prepare(self) -> None:
        """Get ready for the first job, soon after the server has started. Never waits."""
        ...

    def submit(self, tasks: Sequence[Task]) -> Mapping[str, LaunchFailed]:
        """Start agents; returns those that failed, by handle.

        Submitting a handle again that was submitted before starts nothing.
        """
        ...

    def describe(self, handles: Sequence[str]) -> Mapping[str, Seen]:
        """What is known of each. GONE is final, and said only when nothing of it runs; what
        an agent that died left behind is ended first."""
        ...

    def kill(self, handles: Sequence[str]) -> None:
        """Ask agents to end their programs and say so; at once if they do not listen within
        the grace period. Ending what is gone or unknown is no error."""
        ...

    def forget(self, handles: Sequence[str]) -> None:
        """Drop what is kept of attempts that are over and settled."""
        ...

    def handles(self) -> Sequence[str]:
        """Every attempt that it knows of and that is not forgotten."""
        ...

    def capacity(self) -> Capacity: ...

    def check(self) -> str | None:
        """A sentence about what is only approximate or missing here, or None."""
        ...

    def close(self) -> None:
        """Let go of it; agents run on."""
        ...
