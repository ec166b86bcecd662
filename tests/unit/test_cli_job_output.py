"""How jobs are shown, how a command line becomes a job, and how a log's events are read."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.cli.job_view import (
    bar,
    bars,
    brief,
    ending_text,
    exit_code,
    facts,
    plot,
    status_text,
    table,
    time_line,
)
from acai.cli.output import width
from acai.cli.run import command_text, given_args, run
from acai.client.log_stream import Event, events
from acai.model.errors import InvalidInput
from acai.model.jobs import (
    Job,
    JobDetail,
    JobRequest,
    JobState,
    OutputSpec,
    Phases,
    Point,
    Transition,
    Waiting,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
JOB = Job(
    id="job-7kq2m9xw4t",
    name="train",
    status=JobState.RUNNING,
    creator="ada",
    command="python train.py",
    submit_time=NOW - timedelta(minutes=3),
    start_time=NOW - timedelta(seconds=90),
    cpu=2,
    memory=2 * 10**9,
    gpu=0,
)


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        ("finished", 0, 0),
        ("finished", None, 0),
        ("failed", 3, 3),
        ("failed", None, 1),
        ("failed", 0, 1),
        ("failed", -9, 137),
        ("killed", None, 1),
        ("killed", -15, 143),
        ("lost", None, 1),
    ],
)
def test_exit_codes(status: str, code: int | None, expected: int) -> None:
    assert exit_code(replace(JOB, status=JobState(status), exit_code=code)) == expected


def test_states_in_words() -> None:
    waiting = replace(
        JOB, status=JobState.QUEUED, waiting=Waiting(position=3, reason="2 of 2 running")
    )
    assert status_text(waiting) == "queued, number 3: 2 of 2 running"
    soon = replace(waiting, waiting=Waiting(position=1, reason="needs 8 CPU, 4 free", expected=300))
    assert status_text(soon) == "queued, number 1: needs 8 CPU, 4 free, about 5 min"
    assert status_text(replace(JOB, kill_requested=True)) == "running, being killed"
    failed = replace(JOB, status=JobState.FAILED, reason="exit code 3", runtime=2.5, exit_code=3)
    assert status_text(failed) == "failed: exit code 3"
    assert ending_text(failed) == "job-7kq2m9xw4t failed in 2.5 s: exit code 3"
    killed = replace(JOB, status=JobState.KILLED, reason="killed by ada", runtime=2.5)
    assert status_text(killed) == "killed by ada"
    assert ending_text(killed) == "job-7kq2m9xw4t killed by ada after 2.5 s"
    done = replace(JOB, status=JobState.FINISHED, runtime=2.5, output="model:1")
    assert ending_text(done) == "job-7kq2m9xw4t finished in 2.5 s, output model:1"
    cached = replace(done, runtime=None, cached_from="job-2222222222")
    assert ending_text(cached) == (
        "job-7kq2m9xw4t finished, answered by job-2222222222, output model:1"
    )


def test_a_table_of_jobs_shows_what_there_is() -> None:
    headers, rows = table([JOB], NOW, creators=False)
    assert headers == ["job", "name", "status", "age", "time", "cpu", "memory"]
    assert rows == [[JOB.id, "train", "running", "3 min", "1 min 30 s", "2", "2.0 GB"]]
    ended = replace(JOB, status=JobState.FINISHED, runtime=0.25, cost=0.00123, gpu=1)
    headers, rows = table([ended, JOB], NOW, creators=True)
    assert headers[-2:] == ["gpu", "cost"] and headers[3] == "creator"
    assert rows[0][-1] == "$0.0012" and rows[1][-1] is None and rows[0][5] == "250 ms"
    assert [brief(s) for s in (0.4, 59, 61, 7300, 200000)] == ["0 s", "59 s", "1 min", "2 h", "2 d"]


def test_all_that_is_known_of_a_job() -> None:
    known = {name: getattr(JOB, name) for name in JOB.__dataclass_fields__}
    detail = JobDetail(
        **{
            **known,
            "status": JobState.FAILED,
            "cpu_seconds": 3.0,
            "runtime": 2.0,
            "peak_memory": 10**9,
            "exit_code": 3,
            "reason": "exit code 3",
            "meta": {"model": "mlp", "good": True},
            "notes": ("2 malformed tag lines",),
        },
        request=JobRequest(command="x {n}", args={"n": 5}, output=OutputSpec(name="model")),
        timeline=(
            Transition(status=JobState.QUEUED, time=JOB.submit_time, attempt=0),
            Transition(
                status=JobState.LOST,
                time=JOB.submit_time + timedelta(seconds=2.5),
                attempt=1,
                reason="the machine vanished",
            ),
            Transition(status=JobState.RUNNING, time=NOW, attempt=2),
        ),
        phases=Phases(run=2.0),
        environment_digest="",
        platform_version="0.1.0",
    )
    shown = dict(facts(detail))
    assert shown["status"] == "failed: exit code 3" and shown["exit code"] == 3
    assert shown["cpu"] == "2 asked, 1.50 used on average"
    assert shown["memory"] == "2.0 GB asked, 1.0 GB at most"
    assert shown["arguments"] == "n=5" and shown["output"] == "model, not made"
    assert (shown["model"], shown["good"], shown["note"]) == (
        "mlp",
        "true",
        "2 malformed tag lines",
    )
    assert not {"gpu", "cost", "code", "input", "attempt"} & set(shown)
    rows = time_line(detail)
    assert rows[0][1:] == ["+0 ms", "queued (attempt 0)", None]
    assert rows[1][1:] == ["+2.5 s", "lost (attempt 1)", "the machine vanished"]


def test_bars_show_shares() -> None:
    lines = list(bars(Phases(queue=1.0, run=3.0)))
    assert [line.split()[0] for line in lines] == ["queue", "launch", "download", "run", "upload"]
    assert lines[0].endswith("25%") and lines[1].endswith(" 0%") and "█" not in lines[1]
    assert lines[3].count("█") == 22 and "3.0 s" in lines[3]
    assert next(iter(bars(Phases()))).endswith("0%")
    for share in (0.0, 0.001, 0.5, 0.999, 1.0, 2.0):
        assert width(bar(share)) == 30
    assert bar(1e-9).strip()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(20, 120))
def test_plots_fit_whatever_they_show(values: list[float], columns: int) -> None:
    points = [Point(n=n, value=value, time=NOW) for n, value in enumerate(values, 1)]
    lines = list(plot(points, columns=columns))
    assert len(lines) == 12
    assert all(len(line) <= columns for line in lines)
    assert any("⠀" < char <= "⣿" for line in lines for char in line)


def test_a_falling_series_falls() -> None:
    points = [Point(n=n, value=1 / n, time=NOW) for n in range(1, 101)]
    lines = list(plot(points, columns=60))
    first, last = lines[0].partition("┤")[2], lines[9].partition("┤")[2]
    assert lines[0].startswith("   1 ┤") and lines[9].startswith("0.01 ┤")
    assert len(first) < 3 and len(last) == 54
    assert lines[11].split() == ["1", "100"]


def test_words_become_a_command() -> None:
    assert command_text(()) is None
    assert command_text(("python train.py | tee x",)) == "python train.py | tee x"
    words = ("python", "t.py", "--lr={lr}", "{n}", "a b", "$HOME", "x;y", "ü", "")
    assert command_text(words) == "python t.py --lr={lr} {n} 'a b' '$HOME' 'x;y' 'ü' ''"


@pytest.mark.parametrize(
    ("given_words", "words", "wait"),
    [
        (("python", "t.py", "--wait"), ("python", "t.py", "--wait"), False),
        (("--wait", "python", "t.py", "--cpu", "x"), ("python", "t.py", "--cpu", "x"), True),
        (("python t.py", "--wait"), ("python t.py",), True),
        (("--", "python t.py", "--wait"), ("python t.py", "--wait"), False),
        (("--wait", "--", "python t.py"), ("python t.py",), True),
        (("-f", "x", "--wait"), (), True),
    ],
)
def test_options_end_where_the_command_begins(
    given_words: tuple[str, ...], words: tuple[str, ...], wait: bool
) -> None:
    context = click.Context(run)
    run.parse_args(context, list(given_words))
    assert (context.params["words"], context.params["wait"]) == (words, wait)


def test_arguments_of_a_command_line() -> None:
    assert given_args(["n=5", "text=a=b", "empty="]) == {"n": 5, "text": "a=b", "empty": ""}
    for wrong in ("n", "=5", "1x=5"):
        with pytest.raises(InvalidInput):
            given_args([wrong])


STREAM = (
    b"retry: 1000\n\n: a comment\n\nid: 1:5\nevent: log\ndata: {}\n\n"
    b"data: one\r\ndata: two\r\n\r\nevent: end\ndata: x\n\ndata: never ended"
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_events_may_be_cut_anywhere(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in itertools.pairwise(places)]
    assert list(events(pieces)) == [
        Event(kind="log", data="{}", id="1:5"),
        Event(kind="message", data="one\ntwo", id="1:5"),
        Event(kind="end", data="x", id="1:5"),
    ]
