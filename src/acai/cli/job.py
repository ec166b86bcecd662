"""`acai job`: list, show, watch, end and repeat jobs."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime

import click

from acai.cli import job_view, output
from acai.cli.command import Invocation, command, group
from acai.cli.run import (
    argument_option,
    cache_option,
    given_args,
    input_option,
    resource_options,
)
from acai.cli.watching import attend, find_job, print_log, submitted, watching_options
from acai.client.job_handle import JobHandle
from acai.client.job_options import memory_of
from acai.model.errors import AcaiError, InvalidInput, NotFound
from acai.model.jobs import ENDED, JobDetail, JobState

_ID = click.argument("id", metavar="JOB")
_IDS = click.argument("ids", metavar="JOB...", nargs=-1, required=True)
_WIDEST_PLOT = 100


@command("ls", example="acai job ls\nacai job ls --status queued --status running --all-users")
@click.option(
    "--status",
    multiple=True,
    type=click.Choice([*(str(state) for state in JobState), "active", "ended"]),
    help="Only in this state; repeatable.",
)
@click.option("--all-users", is_flag=True, help="Jobs of everybody in the project.")
@click.option("--user", metavar="NAME", help="Jobs of this user.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N")
def ls(
    invocation: Invocation,
    status: tuple[str, ...],
    all_users: bool,
    user: str | None,
    limit: int,
) -> None:
    """List jobs, newest first: yours, unless --all-users or --user says otherwise.

    A job that waits shows its place in the queue and why it waits.
    """
    if all_users and user is not None:
        raise click.UsageError("give --all-users or --user, not both")
    states: list[str] = []
    for word in status:
        if word == "active":
            states += [state for state in JobState if not state.ended]
        else:
            states += ENDED if word == "ended" else [word]
    whose = None if all_users else user or "me"
    found = list(invocation.client.jobs(status=states, user=whose, limit=limit + 1))
    shown = found[:limit]
    headers, rows = job_view.table(shown, datetime.now(UTC), creators=whose != "me")

    def show() -> None:
        if not shown:
            invocation.note("no jobs")
            return
        right = ("age", "time", "cpu", "memory", "gpu", "cost")
        output.print_table(headers, rows, right=right)
        if len(found) > limit:
            invocation.note(f"… and older ones: add --limit {limit * 5}")

    invocation.answer(shown, show)


@command("show", example="acai job show job-7kq2m9xw4t\nacai job show last")
@_ID
def show(invocation: Invocation, id: str) -> None:
    """Show all that is known of JOB: what ran, on what, what it used, where the time went.

    JOB is an id, the beginning of one, or `last`.
    """
    detail = find_job(invocation, id).detail()
    invocation.answer(detail, lambda: _show(invocation, detail))


def _show(invocation: Invocation, detail: JobDetail) -> None:
    output.print_fields(job_view.facts(detail))
    click.echo()
    rows = job_view.time_line(detail)
    output.print_table(("time", "since", "state", "reason"), rows, right=("since",))
    click.echo()
    for line in job_view.bars(detail.phases):
        click.echo(line)
    if detail.log_size:
        invocation.note(f"\nIts log:      acai job logs {detail.id}")
    if detail.status.ended:
        invocation.note(f"Run it again: acai job rerun {detail.id}")


@command("logs", example="acai job logs job-7kq2m9xw4t --tail 20\nacai job logs -f last")
@_ID
@click.option("-f", "--follow", is_flag=True, help="Go on until it has ended.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="Of an earlier attempt.")
def logs(
    invocation: Invocation, id: str, follow: bool, tail: int | None, attempt: int | None
) -> int:
    """Print what JOB has printed, byte for byte; with -f also what it prints from now on."""
    if follow and attempt is not None:
        raise click.UsageError("give -f or --attempt, not both")
    if follow and invocation.json:
        raise click.UsageError("give -f or --json, not both")
    job = find_job(invocation, id)
    client = invocation.client
    if invocation.json:
        log = client.job_log(job.id, tail=tail, attempt=attempt)
        output.print_json({"job": job.id, "log": log.decode("utf-8", "replace")})
        return 0
    if follow:
        return _follow(invocation, job, tail)
    for chunk in client.stream_log(job.id, tail=tail, attempt=attempt):
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
    return 0


def _follow(invocation: Invocation, job: JobHandle, tail: int | None) -> int:
    try:
        print_log(invocation, job, tail=tail)
    except KeyboardInterrupt:
        invocation.note(f"\nDetached; {job.id} goes on.")
        return 130
    return 0


@command("kill", example="acai job kill job-7kq2m9xw4t")
@_IDS
def kill(invocation: Invocation, ids: tuple[str, ...]) -> int:
    """End jobs, with all the processes they have started."""
    killed: list[JobHandle] = []
    for number, id in enumerate(ids, 1):
        try:
            killed.append(find_job(invocation, id).kill())
        except AcaiError as error:
            if number == len(ids) == 1:
                raise
            click.echo(f"error: {error.message}", err=True)

    def tell() -> None:
        for job in killed:
            state = "is killed" if job.status.ended else "is being killed"
            click.echo(f"{job.id} {state}.")

    invocation.answer(killed[0] if len(ids) == 1 else killed, tell)
    return 0 if len(killed) == len(ids) else 1


@command("wait", example="acai job wait job-7kq2m9xw4t\nacai job wait last && echo done")
@_IDS
def wait(invocation: Invocation, ids: tuple[str, ...]) -> int:
    """Return when jobs have ended, with the exit code of the first that failed, or 0.

    Ctrl-C leaves them running.
    """
    return attend(invocation, [find_job(invocation, id) for id in ids], follow=False)


@command(
    "rerun",
    example="acai job rerun job-7kq2m9xw4t\n"
    "acai job rerun last --arg epochs=40 --input mnist:3 --memory 4GB --follow",
)
@_ID
@input_option
@argument_option
@resource_options
@click.option("--name", metavar="NAME", help="Another name for it.")
@cache_option
@watching_options
def rerun(
    invocation: Invocation,
    id: str,
    inputs: tuple[str, ...],
    args: tuple[str, ...],
    cpu: float | None,
    memory: str | None,
    gpu: float | None,
    name: str | None,
    cache: bool | None,
    wait: bool,
    follow: bool,
) -> int:
    """Run JOB again: the same code, command and input versions, but for what is given."""
    try:
        values = given_args(args)
        size = None if memory is None else memory_of(memory)
    except InvalidInput as error:
        raise click.UsageError(error.message) from error
    job = find_job(invocation, id).rerun(
        input=inputs or None, args=values, cpu=cpu, memory=size, gpu=gpu, name=name, cache=cache
    )
    return submitted(invocation, job, wait=wait, follow=follow)


@command("plot", example="acai job plot last training_loss")
@_ID
@click.argument("key", required=False)
def plot(invocation: Invocation, id: str, key: str | None) -> None:
    """Draw the numbers that JOB has printed as tags: one KEY, or all of them."""
    job = find_job(invocation, id)
    found = [one for one in job.series(key) if one.points]
    if not found:
        what = f"no numbers called {key!r}" if key else "no numbers as tags"
        raise NotFound(f"{job.id} has printed {what}")

    def show() -> None:
        columns = min(shutil.get_terminal_size().columns, _WIDEST_PLOT)
        for series in found:
            click.echo(f"{output.visible(series.key)}: {series.points[-1].value:g} at the end")
            for line in job_view.plot(series.points, columns=columns):
                click.echo(line)

    invocation.answer(found, show)


@command("limit", example="acai job limit\nacai job limit 4 --user mei\nacai job limit --reset")
@click.argument("jobs", type=click.IntRange(min=0), required=False, metavar="[N]")
@click.option("--user", metavar="NAME", help="For this user, instead of every user.")
@click.option("--reset", is_flag=True, help="Back to what the server allows.")
def limit(invocation: Invocation, jobs: int | None, user: str | None, reset: bool) -> None:
    """Show how many jobs of a user run at once, or set it to N for your project.

    Only an admin of the project may set it; what waits meanwhile keeps its place.
    """
    if reset and jobs is not None:
        raise click.UsageError("give a number or --reset, not both")
    client = invocation.client
    found = client.set_quota(jobs, user=user) if reset or jobs is not None else client.quotas()
    own = client.queue().limit

    def show() -> None:
        click.echo(f"Of yours, {own} may run at once.")
        rows = [(one.user or "(every user)", one.jobs) for one in found]
        if rows:
            output.print_table(("user", "jobs"), rows, right=("jobs",))

    invocation.answer({"own": own, "set": found}, show)


job = group(
    "job",
    "List, show, watch, end and repeat jobs.",
    ls,
    show,
    logs,
    kill,
    wait,
    rerun,
    plot,
    limit,
)
