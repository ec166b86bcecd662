"""The state machine of jobs, over random sequences of events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.engine.lifecycle import (
    Answered,
    Ended,
    Entered,
    Event,
    Facts,
    KillAsked,
    LaunchRefused,
    Start,
    Step,
    Vanished,
    step,
)
from acai.model.assignments import Outcome, Phase
from acai.model.jobs import ACTIVE, ENDED, JobState

ALLOWED = {
    JobState.QUEUED: {JobState.LAUNCHING, JobState.FINISHED, JobState.KILLED},
    **{
        state: {
            *ACTIVE[i + 1 :],
            JobState.QUEUED,
            *ENDED,
        }
        for i, state in enumerate(ACTIVE)
    },
}

attempts = st.integers(min_value=0, max_value=4)
events = st.one_of(
    st.just(Start()),
    st.just(Answered()),
    st.builds(Entered, attempt=attempts, phase=st.sampled_from(Phase)),
    st.builds(Ended, attempt=attempts, outcome=st.sampled_from(Outcome), reason=st.just("why")),
    st.just(KillAsked(reason="killed by dana")),
    st.builds(LaunchRefused, attempt=attempts, reason=st.just("no room")),
    st.builds(Vanished, attempt=attempts, reason=st.just("gone")),
)


def after(facts: Facts, done: Step | None) -> Facts:
    if done is None:
        return facts
    return Facts(
        state=done.state,
        attempt=done.attempt,
        retries=facts.retries,
        kill_requested=done.kill_requested,
    )


@given(retries=st.integers(0, 2), sequence=st.lists(events, max_size=60))
def test_no_sequence_of_events_makes_an_illegal_move(retries: int, sequence: list[Event]) -> None:
    facts = Facts(state=JobState.QUEUED, retries=retries)
    for event in sequence:
        done = step(facts, event)
        if done is None:
            continue
        assert not facts.state.ended, "an ended job moved"
        if done.state is not facts.state:
            assert done.state in ALLOWED[facts.state]
        assert done.attempt == facts.attempt + isinstance(event, Start)
        assert done.attempt <= retries + 1
        assert done.kill == (isinstance(event, KillAsked) and not done.state.ended)
        if done.state in {JobState.FAILED, JobState.KILLED, JobState.LOST}:
            assert done.reason
        facts = after(facts, done)


@given(retries=st.integers(0, 3), sequence=st.lists(events, max_size=30))
def test_every_path_ends(retries: int, sequence: list[Event]) -> None:
    """Whatever happened: an agent that always vanishes uses its retries up, and then it is over."""
    facts = Facts(state=JobState.QUEUED, retries=retries)
    for event in sequence:
        facts = after(facts, step(facts, event))
    for _ in range(retries + 2):
        facts = after(facts, step(facts, Start()))
        facts = after(facts, step(facts, Vanished(attempt=facts.attempt, reason="gone")))
    assert facts.state.ended


@given(state=st.sampled_from(ACTIVE), event=events, retries=st.integers(0, 2))
def test_a_message_of_another_attempt_changes_nothing(
    state: JobState, event: Event, retries: int
) -> None:
    facts = Facts(state=state, attempt=9, retries=retries)
    if getattr(event, "attempt", None) is not None:
        assert step(facts, event) is None


@given(state=st.sampled_from(ACTIVE), event=events)
def test_repeating_a_message_changes_nothing_more(state: JobState, event: Event) -> None:
    facts = Facts(state=state, attempt=1)
    done = step(facts, event)
    if done is not None and done.state is not JobState.QUEUED:
        assert step(after(facts, done), event) is None


def test_the_whole_way() -> None:
    facts = Facts(state=JobState.QUEUED)
    seen = []
    for event in (
        Start(),
        Entered(attempt=1, phase=Phase.DOWNLOADING),
        Entered(attempt=1, phase=Phase.RUNNING),
        Entered(attempt=1, phase=Phase.UPLOADING),
        Ended(attempt=1, outcome=Outcome.SUCCEEDED),
    ):
        facts = after(facts, step(facts, event))
        seen.append(facts.state.value)
    assert seen == ["launching", "downloading", "running", "uploading", "finished"]


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.OUT_OF_MEMORY, Outcome.TIMED_OUT])
def test_a_program_that_fails_is_not_tried_again(outcome: Outcome) -> None:
    facts = Facts(state=JobState.RUNNING, attempt=1, retries=3)
    done = step(facts, Ended(attempt=1, outcome=outcome, reason="exit code 1"))
    assert done is not None and done.state is JobState.FAILED


def test_a_lost_attempt_is_tried_again_while_retries_are_left() -> None:
    facts = Facts(state=JobState.RUNNING, attempt=1, retries=1)
    again = step(facts, Vanished(attempt=1, reason="gone"))
    assert again is not None and again.state is JobState.QUEUED
    second = Facts(state=JobState.RUNNING, attempt=2, retries=1)
    over = step(second, Vanished(attempt=2, reason="gone"))
    assert over is not None and over.state is JobState.LOST and over.reason == "gone"


def test_one_that_was_to_be_killed_is_killed_however_it_goes() -> None:
    for event in (
        Vanished(attempt=1, reason="gone"),
        Ended(attempt=1, outcome=Outcome.KILLED),
        LaunchRefused(attempt=1, reason="no"),
    ):
        facts = Facts(state=JobState.RUNNING, attempt=1, retries=5, kill_requested=True)
        done = step(facts, event)
        assert done is not None and done.state is JobState.KILLED
