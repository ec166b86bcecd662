"""The life of a job: a pure state machine. Who calls it persists the step, then acts on it.

    queued → launching → downloading → running → uploading → finished
    from any of them: failed, killed, lost; a lost attempt with retries left is queued again.

An event that is out of date (of an earlier attempt, of a phase that has passed, after the end)
gives no step: messages may be repeated and overtake each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from acai.model.assignments import Outcome, Phase
from acai.model.jobs import JobState

_ORDER = {
    JobState.QUEUED: 0,
    JobState.LAUNCHING: 1,
    JobState.DOWNLOADING: 2,
    JobState.RUNNING: 3,
    JobState.UPLOADING: 4,
}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the machine knows of a job."""

    state: JobState
    attempt: int = 0
    retries: int = 0
    kill_requested: bool = False


@dataclass(frozen=True, kw_only=True)
class Start:
    """Its turn has come, and its resources are free."""


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An identical job has finished before; its output is this one's."""


@dataclass(frozen=True, kw_only=True)
class Entered:
    """The agent is in this phase."""

    attempt: int
    phase: Phase


@dataclass(frozen=True, kw_only=True)
class Ended:
    attempt: int
    outcome: Outcome
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class KillAsked:
    reason: str


@dataclass(frozen=True, kw_only=True)
class LaunchRefused:
    """The launcher could not start the agent."""

    attempt: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Vanished:
    """Nothing of the attempt runs any more, and its agent did not say how it ended."""

    attempt: int
    reason: str


Event = Start | Answered | Entered | Ended | KillAsked | LaunchRefused | Vanished


@dataclass(frozen=True, kw_only=True)
class Step:
    state: JobState
    attempt: int
    kill_requested: bool
    reason: str | None = None
    kill: bool = False  # the launcher is to end the attempt, once the step is persisted


def step(facts: Facts, event: Event) -> Step | None:
    """What an event makes of a job; None if nothing."""
    if facts.state.ended:
        return None
    if facts.state is JobState.QUEUED:
        return _queued(facts, event)
    return _active(facts, event)


def _queued(facts: Facts, event: Event) -> Step | None:
    if isinstance(event, Start):
        return Step(
            state=JobState.LAUNCHING,
            attempt=facts.attempt + 1,
            kill_requested=False,
        )
    if isinstance(event, Answered):
        return _end(facts, JobState.FINISHED, None)
    if isinstance(event, KillAsked):
        return _end(facts, JobState.KILLED, event.reason, kill_requested=True)
    return None


def _active(facts: Facts, event: Event) -> Step | None:
    if isinstance(event, KillAsked):
        return _asked_to_end(facts, event)
    if isinstance(event, Start | Answered) or event.attempt != facts.attempt:
        return None
    if isinstance(event, Entered):
        return _entered(facts, event)
    if isinstance(event, Ended):
        return _ended(facts, event)
    refused = isinstance(event, LaunchRefused)
    return _over(facts, JobState.FAILED if refused else JobState.LOST, event.reason)


def _asked_to_end(facts: Facts, event: KillAsked) -> Step | None:
    if facts.kill_requested:
        return None
    return Step(
        state=facts.state,
        attempt=facts.attempt,
        kill_requested=True,
        reason=event.reason,
        kill=True,
    )


def _entered(facts: Facts, event: Entered) -> Step | None:
    entered = JobState(event.phase.value)
    if _ORDER[entered] <= _ORDER[facts.state]:
        return None
    return Step(state=entered, attempt=facts.attempt, kill_requested=facts.kill_requested)


def _ended(facts: Facts, event: Ended) -> Step:
    if event.outcome is Outcome.SUCCEEDED:
        return _end(facts, JobState.FINISHED, None)
    if event.outcome is Outcome.KILLED:
        # An agent that was told to end by somebody else: its machine goes down, for example.
        return _over(facts, JobState.LOST, event.reason or "its agent was told to end")
    return _end(facts, JobState.FAILED, event.reason)


def _over(facts: Facts, without_retry: JobState, reason: str) -> Step:
    if facts.kill_requested:
        return _end(facts, JobState.KILLED, "killed")
    if facts.attempt <= facts.retries:
        return Step(
            state=JobState.QUEUED,
            attempt=facts.attempt,
            kill_requested=False,
            reason=reason,
        )
    return _end(facts, without_retry, reason)


def _end(
    facts: Facts, state: JobState, reason: str | None, *, kill_requested: bool | None = None
) -> Step:
    asked = facts.kill_requested if kill_requested is None else kill_requested
    return Step(
        state=state,
        attempt=facts.attempt,
        kill_requested=asked,
        reason=reason,
    )
