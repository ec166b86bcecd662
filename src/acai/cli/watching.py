"""Waiting for jobs and following their logs, for `acai run` and `acai job`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from acai.cli.command import Invocation
from acai.cli.job_view import ending_text, exit_code, status_text
from acai.cli.output import cut, print_json, use_color, visible
from acai.client.job_handle import JobHandle
from acai.model.errors import InvalidInput, JobNotFound

LAST = "last"
_SHOWN_ON_FAILURE = 10  # lines of the log
_GLANCE = 1.0  # seconds between two looks, where a terminal shows the state
_SEARCHED = 1000


def watching_options(function: Callable[..., Any]) -> Callable[..., Any]:
    function = click.option("--follow", is_flag=True, help="Print its log until it has ended.")(
        function
    )
    return click.option("--wait", is_flag=True, help="Return when it has ended.")(function)


def find_job(invocation: Invocation, word: str) -> JobHandle:
    """The job that a word names: its id, the beginning of one, or `last` for your latest."""
    client = invocation.client
    if word == LAST:
        found = next(client.jobs(user="me", limit=1), None)
        if found is None:
            raise JobNotFound("you have run no job yet; start one with `acai run`")
        return found
    try:
        return client.job(word)
    except JobNotFound:
        if len(word) < 2:
            raise
        beginnings = (word, f"job-{word}")
        alike = [one for one in client.jobs(limit=_SEARCHED) if one.id.startswith(beginnings)]
        if len(alike) > 1:
            ids = ", ".join(one.id for one in alike[:3])
            raise InvalidInput(f"{word!r} begins several ids, such as {ids}; give more") from None
        if not alike:
            raise
        return alike[0]


def submitted(invocation: Invocation, job: JobHandle, *, wait: bool, follow: bool) -> int:
    """Say that a job is submitted, and stay with it if that was asked for."""
    if not wait and not follow:
        invocation.answer(job, lambda: _tell(invocation, job))
        return 0
    if not invocation.json and not job.status.ended:
        invocation.note(f"{job.id} is {status_text(job)}")
    return attend(invocation, [job], follow=follow)


def _tell(invocation: Invocation, job: JobHandle) -> None:
    click.echo(job.id)
    if job.cached_from is not None:
        invocation.note(f"Answered by {job.cached_from}; the output is {job.output}.")
    elif sys.stdout.isatty():
        invocation.note(f"It is {status_text(job)}. Watch it with: acai job logs -f {job.id}")


def attend(invocation: Invocation, jobs: Sequence[JobHandle], *, follow: bool) -> int:
    """Stay until the jobs have ended; returns the first exit code that is not 0.

    Ctrl-C only leaves them: they go on.
    """
    ended: list[JobHandle] = []
    try:
        for job in jobs:
            if follow and not invocation.json:
                print_log(invocation, job)
            ended.append(_wait(invocation, job))
            if not invocation.json:
                _tell_ending(invocation, ended[-1], followed=follow)
    except KeyboardInterrupt:
        left = [job.id for job in jobs[len(ended) :]]
        them = " ".join(left)
        invocation.note(
            f"\nDetached; {them} {'goes' if len(left) == 1 else 'go'} on."
            f" Come back with `acai job wait {them}`, end with `acai job kill {them}`."
        )
        return 130
    if invocation.json:
        print_json(ended[0] if len(ended) == 1 else ended)
    return next((code for job in ended if (code := exit_code(job))), 0)


def print_log(invocation: Invocation, job: JobHandle, *, tail: int | None = None) -> None:
    """The log as it grows, byte for byte."""
    for chunk in invocation.client.follow_log(job.id, tail=tail, on_note=invocation.note):
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()


def _wait(invocation: Invocation, job: JobHandle) -> JobHandle:
    client = invocation.client
    if invocation.json or invocation.quiet or not sys.stderr.isatty():
        return client.wait_for_job(job.id, on_note=invocation.note)
    shown = ""
    found = client.wait_for_job(job.id, _GLANCE)
    while not found.status.ended:
        now = cut(visible(f"{found.id} is {status_text(found)}"), 78)
        if now != shown:
            click.echo(f"\r{now}\033[K", err=True, nl=False)
            shown = now
        found = client.wait_for_job(job.id, _GLANCE, on_note=invocation.note)
    if shown:
        click.echo("\r\033[K", err=True, nl=False)
    return found


def _tell_ending(invocation: Invocation, job: JobHandle, *, followed: bool) -> None:
    line = visible(ending_text(job))
    if exit_code(job) == 0:
        if followed:
            invocation.note(line)
        elif not invocation.quiet:
            click.echo(line)
        return
    if not followed:
        for text in job.logs(tail=_SHOWN_ON_FAILURE).splitlines():
            invocation.note(f"  {visible(text)}")
    label = click.style("error:", fg="red", bold=True)
    click.echo(f"{label} {line}", err=True, color=use_color(sys.stderr))
    if not followed:
        invocation.note(f"Its whole log: acai job logs {job.id}")
