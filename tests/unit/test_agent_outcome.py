"""How an attempt ended is judged by the first thing that went wrong, and said in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from acai.agent.control import Cause
from acai.agent.outcome import Ended, failure, format_memory, judge, more_memory
from acai.model.assignments import Outcome

MB = 10**6
WELL = Ended(
    returncode=0,
    started=datetime(2026, 5, 1, tzinfo=UTC),
    ended=datetime(2026, 5, 1, tzinfo=UTC),
    cpu_seconds=0.0,
    peak_memory=0,
)


@pytest.mark.parametrize(
    ("change", "outcome", "code", "reason"),
    [
        ({}, Outcome.SUCCEEDED, 0, None),
        ({"returncode": 3}, Outcome.FAILED, 3, "exit code 3"),
        ({"returncode": -11}, Outcome.FAILED, 139, "ended by SIGSEGV"),
        ({"returncode": 139}, Outcome.FAILED, 139, "ended by SIGSEGV"),
        ({"returncode": 130}, Outcome.FAILED, 130, "exit code 130"),
        ({"returncode": -9, "cause": Cause.KILLED}, Outcome.KILLED, 137, "killed"),
        ({"returncode": 0, "cause": Cause.TERMINATED}, Outcome.KILLED, 0, "killed"),
        (
            {"returncode": -15, "timed_out": True},
            Outcome.TIMED_OUT,
            143,
            "timed out after 2 min; try a longer --timeout",
        ),
        (
            {"returncode": -9, "oom_kills": 1},
            Outcome.OUT_OF_MEMORY,
            137,
            "out of memory: used 512 MB of 512 MB; try --memory 1GB",
        ),
        (
            {"returncode": 0, "oom_kills": 1},
            Outcome.OUT_OF_MEMORY,
            137,
            "out of memory: used 512 MB of 512 MB; try --memory 1GB",
        ),
        # Memory may run short while it is being killed; that is not what ended it.
        ({"returncode": -9, "oom_kills": 1, "cause": Cause.KILLED}, Outcome.KILLED, 137, "killed"),
    ],
)
def test_verdicts(
    change: dict[str, object], outcome: Outcome, code: int, reason: str | None
) -> None:
    verdict = judge(replace(WELL, **change), memory=512 * MB, timeout=120.0)  # type: ignore[arg-type]
    assert (verdict.outcome, verdict.exit_code, verdict.reason) == (outcome, code, reason)


def test_a_signal_without_a_name_is_still_told() -> None:
    assert failure(-63) == "ended by signal 63"
    assert failure(255) == "exit code 255"


@pytest.mark.parametrize(
    ("memory", "shown", "more"),
    [
        (512 * MB, "512 MB", "1GB"),
        (2048 * MB, "2 GB", "4GB"),
        (1000 * MB, "1 GB", "2GB"),
        (1500 * MB, "1.5 GB", "3GB"),
        (64 * MB, "64 MB", "128MB"),
        (2**30, "1 GiB", "2GiB"),
        (512 * 2**20, "512 MiB", "1GiB"),
        (700, "700 B", "1.4KB"),
    ],
)
def test_more_memory_is_a_number_that_people_write(memory: int, shown: str, more: str) -> None:
    assert format_memory(memory) == shown
    assert more_memory(memory) == more
