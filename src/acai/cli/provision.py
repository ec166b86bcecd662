"""`acai profile`, `acai template`, `acai autoprovision`, `acai cost`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from acai.cli.command import Invocation, command, group
from acai.cli.output import local_time, print_fields, print_table
from acai.cli.run import argument_option, given_args, input_option
from acai.cli.watching import submitted, watching_options
from acai.client.job_handle import JobHandle
from acai.model.errors import InvalidInput
from acai.model.metadata import parse_time
from acai.model.quantities import format_duration, format_size, parse_duration
from acai.model.templates import (
    PlanOption,
    Progress,
    ProvisionPlan,
    Template,
    TemplateDetail,
    TemplateStatus,
    TemplateValue,
    TrialPoint,
)

_PLOT_WIDE = 48


@command(
    "profile",
    example="acai profile --template-name mnist --code src/ --input mnist \\\n"
    "  --command-template 'python train.py --epochs {1,2,5}' --wait",
)
@click.option("--template-name", required=True, metavar="NAME", help="What to call it.")
@click.option(
    "--command-template",
    required=True,
    metavar="COMMAND",
    help="The command with hints, such as --epochs {1,2,5}.",
)
@input_option
@click.option("--code", metavar="PATH", help="A local file or directory, or a reference.")
@argument_option
@click.option("--requirements", metavar="FILE", help="A requirements file for the runs.")
@click.option("--cpus", default="0.5,1,2", show_default=True, metavar="LIST", help="CPUs to try.")
@click.option(
    "--memories", default="512,1024,2048", show_default=True, metavar="LIST", help="MB to try."
)
@click.option("--budget", type=float, metavar="MONEY", help="Most that profiling may cost.")
@click.option(
    "--adaptive/--grid", default=True, help="Choose runs by what they teach, or run them all."
)
@click.option("--timeout", metavar="TIME", help="Longest run, such as 10m.")
@click.option("--wait", is_flag=True, help="Return when enough is known.")
def profile(invocation: Invocation, /, **flags: Any) -> int:
    """Learn how long a command takes from its arguments and resources.

    Its runs are ordinary jobs at the lowest priority. Interrupting this command loses nothing:
    they go on, and running it again goes on from what is known. A program that prints
    `[ACAI_TAG_NUM] JOB epochs:1` after its first epoch, and so on, is predicted more closely.
    """
    client = invocation.client
    made = client.profile(
        flags["template_name"],
        flags["command_template"],
        input=list(flags["inputs"]) or None,
        code=flags["code"],
        args={key: _plain(value) for key, value in given_args(flags["args"]).items()},
        requirements=flags["requirements"],
        cpus=_numbers(flags["cpus"], "--cpus"),
        memories=_numbers(flags["memories"], "--memories"),
        budget=flags["budget"],
        adaptive=flags["adaptive"],
        timeout=flags["timeout"],
        on_note=invocation.note,
    )
    if flags["wait"]:
        made = _watch(invocation, made)
    invocation.answer(made, lambda: _tell(invocation, made))
    return 1 if made.status is TemplateStatus.FAILED else 0


def _watch(invocation: Invocation, made: Template) -> Template:
    lively = sys.stderr.isatty() and not invocation.quiet and not invocation.json

    def on_look(found: Template) -> None:
        if lively:
            click.echo(f"\r\x1b[K{_progress(found.progress)}", nl=False, err=True)

    try:
        return invocation.client.wait_for_template(made.name, on_look)
    except KeyboardInterrupt:
        invocation.note(f"Profiling goes on; see `acai template show {made.name}`.")
        raise
    finally:
        if lively:
            click.echo(err=True)


def _progress(progress: Progress) -> str:
    budget = "" if progress.budget is None else f" of {_money(progress.budget)}"
    return (
        f"{progress.done} runs done, {progress.running} running"
        f" (the whole grid has {progress.grid}); spent {_money(progress.spent)}{budget}"
    )


def _tell(invocation: Invocation, made: Template) -> None:
    if made.status is TemplateStatus.PROFILING:
        click.echo(made.name)
        invocation.note(f"It is being profiled; see `acai template show {made.name}`.")
    elif made.status is TemplateStatus.READY:
        click.echo(f"{made.name} is ready: {made.reason}.")
        invocation.note(_progress(made.progress))
    else:
        click.echo(f"{made.name} failed: {made.reason}")


@command("ls", example="acai template ls")
def list_templates(invocation: Invocation) -> None:
    """List the templates of the project."""
    found = list(invocation.client.templates())
    rows = [
        [
            one.name,
            one.status.value,
            f"{one.progress.done}",
            _money(one.progress.spent),
            ", ".join(parameter.name for parameter in one.parameters),
            one.command,
        ]
        for one in found
    ]
    invocation.answer(
        found,
        lambda: print_table(["name", "status", "runs", "spent", "arguments", "command"], rows),
    )


@command("show", example="acai template show mnist")
@click.argument("name")
def show_template(invocation: Invocation, /, name: str) -> None:
    """Show a template: its runs, predicted and measured, and the model behind it."""
    found = invocation.client.template(name)
    invocation.answer(found, lambda: _show(found))


def _show(found: TemplateDetail) -> None:
    print_fields(
        [
            ("name", found.name),
            ("status", found.status.value),
            ("command", found.command),
            ("input", ", ".join(found.inputs) or None),
            ("code", found.code),
            ("made by", f"{found.creator}, {local_time(found.create_time)}"),
            ("profiling", _progress(found.progress)),
            ("ended", found.reason),
            ("model", found.model),
            ("why", found.explanation),
        ]
    )
    if not found.points:
        return
    click.echo()
    rows = [
        [
            one.job,
            " ".join(f"{key}={_value(value)}" for key, value in one.values.items()),
            f"{one.cpu:g}",
            format_size(one.memory),
            one.outcome if one.profiled else f"{one.outcome} *",
            None if one.seconds is None else format_duration(one.seconds),
            _predicted(one),
            _off(one),
        ]
        for one in found.points
    ]
    print_table(["job", "values", "cpu", "memory", "outcome", "took", "predicted", "off by"], rows)
    for line in _plot(found.points):
        click.echo(line)


template = group("template", "List and show what has been profiled.", list_templates, show_template)


def _predicted(one: TrialPoint) -> str | None:
    said = one.predicted if one.predicted_before is None else one.predicted_before
    return None if said is None else format_duration(said)


def _off(one: TrialPoint) -> str | None:
    said = one.predicted if one.predicted_before is None else one.predicted_before
    if said is None or not one.seconds or one.outcome != "finished":
        return None
    return f"{100 * (said / one.seconds - 1):+.0f} %"


def _plot(points: Sequence[TrialPoint]) -> Iterator[str]:
    """Measured times as bars, with a mark where the model has them."""
    shown = [one for one in points if one.seconds and one.predicted and one.outcome == "finished"]
    if len(shown) < 2:
        return
    shown.sort(key=lambda one: one.seconds or 0.0)
    most = max(max(one.seconds or 0, one.predicted or 0) for one in shown)
    yield ""
    yield "Measured (=) and predicted (|):"
    for one in shown[-20:]:
        taken = round((one.seconds or 0) / most * (_PLOT_WIDE - 1))
        said = round((one.predicted or 0) / most * (_PLOT_WIDE - 1))
        line = ["=" if i <= taken else " " for i in range(_PLOT_WIDE)]
        line[min(said, _PLOT_WIDE - 1)] = "|"
        yield f"{format_duration(one.seconds or 0):>12} {''.join(line).rstrip()}"


@command(
    "autoprovision",
    example="acai autoprovision --template-name mnist --values 100 --max-cost 0.10 --dry-run",
)
@click.option("--template-name", required=True, metavar="NAME", help="The template to run.")
@click.option(
    "--values",
    "first_values",
    multiple=True,
    metavar="VALUE…",
    help="The template's values, in the order of its hints; or NAME=VALUE.",
)
@click.argument("more_values", nargs=-1, metavar="[VALUE]…")
@click.option("--max-cost", type=float, metavar="MONEY", help="Most it may cost.")
@click.option("--max-time", metavar="TIME", help="Longest it may take, such as 30m.")
@click.option("--optimize", type=click.Choice(["time", "cost"]), help="What to have the least of.")
@click.option(
    "--probability",
    type=click.FloatRange(0.5, 0.999),
    default=0.9,
    show_default=True,
    help="With which the limits are to hold.",
)
@input_option
@click.option("--output", metavar="NAME[=PATH]", help="The set to make of what it puts out.")
@argument_option
@click.option("--dry-run", is_flag=True, help="Only show the plan.")
@watching_options
def autoprovision(invocation: Invocation, /, **flags: Any) -> int:
    """Run a template on the resources that meet a budget or a deadline.

    The fastest under --max-cost, the cheapest under --max-time; without either, the trade-off
    between the two is shown.
    """
    plan = invocation.client.autoprovision(
        flags["template_name"],
        _given_values([*flags["first_values"], *flags["more_values"]]),
        max_cost=flags["max_cost"],
        max_time=None if flags["max_time"] is None else parse_duration(flags["max_time"]),
        optimize=flags["optimize"],
        probability=flags["probability"],
        args={key: _plain(value) for key, value in given_args(flags["args"]).items()},
        input=list(flags["inputs"]) or None,
        output=flags["output"],
        dry_run=flags["dry_run"],
    )
    if plan.choice is None:
        invocation.answer(plan, lambda: _show_plan(plan))
        return 1
    if plan.job is None or not (flags["wait"] or flags["follow"]):
        invocation.answer(plan, lambda: _show_plan(plan))
        return 0
    if not invocation.json and not invocation.quiet:
        _show_plan(plan)
    handle = JobHandle(plan.job, invocation.client)
    return submitted(invocation, handle, wait=flags["wait"], follow=flags["follow"])


def _show_plan(plan: ProvisionPlan) -> None:
    sign = plan.currency
    click.echo(f"{plan.command}")
    for warning in plan.warnings:
        click.echo(f"Note: {warning}")
    if plan.choice is None:
        click.echo(plan.shortfall)
    else:
        click.echo()
        unlimited = plan.max_cost is None and plan.max_time is None
        options = plan.curve if unlimited else (plan.choice, *plan.next_best)
        chosen = [("→" if one == plan.choice else "", one) for one in options]
        rows = [[mark, *_option_row(one, sign)] for mark, one in _thinned(chosen)]
        print_table(["", "cpu", "memory", "time", "90 % of runs", "cost", "90 % of runs"], rows)
    if plan.excluded:
        click.echo()
        for out in plan.excluded:
            click.echo(f"{out.count} of {plan.considered} configurations left out: {out.reason}")
    if plan.job is not None:
        click.echo(f"\nSubmitted as {plan.job.id}.")


def _thinned(options: Sequence[tuple[str, PlanOption]]) -> list[tuple[str, PlanOption]]:
    """A dozen of a long curve, with the chosen one among them."""
    if len(options) <= 12:
        return list(options)
    step = (len(options) - 1) / 11
    kept = {round(i * step) for i in range(12)}
    return [pair for i, pair in enumerate(options) if i in kept or pair[0]]


def _option_row(one: PlanOption, sign: str) -> list[str]:
    low, high = one.seconds_interval
    cheap, dear = one.cost_interval
    return [
        f"{one.cpu:g}",
        format_size(one.memory),
        format_duration(one.seconds),
        f"{format_duration(low)} to {format_duration(high)}",
        _money(one.cost, sign),
        f"{_money(cheap, sign)} to {_money(dear, sign)}",
    ]


@command("cost", example="acai cost --by day --since 2026-01-01")
@click.option(
    "--by",
    type=click.Choice(["user", "template", "tag", "day", "project"]),
    default="user",
    show_default=True,
    help="What to sum by.",
)
@click.option("--since", metavar="DATE", help="Only jobs submitted from then on.")
@click.option("--until", metavar="DATE", help="Only jobs submitted before then.")
def cost(invocation: Invocation, /, by: str, since: str | None, until: str | None) -> None:
    """Sum what jobs have cost."""
    found = invocation.client.costs(by, since=_date(since), until=_date(until))
    rows = [
        [
            one.key or "(none)",
            f"{one.jobs}",
            _money(one.cost),
            f"{one.cpu_hours:.2f}",
            format_duration(one.runtime),
        ]
        for one in found
    ]
    invocation.answer(
        found, lambda: print_table([by, "jobs", "cost", "CPU hours", "run time"], rows)
    )


def _date(text: str | None) -> datetime | None:
    if text is None:
        return None
    found = parse_time(text)
    if found is None:
        raise InvalidInput(f"{text!r} is not a date; write for example 2026-01-31")
    if isinstance(found, datetime):
        return found
    return datetime(found.year, found.month, found.day, tzinfo=UTC)


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise InvalidInput(f"{option} {text!r} is not a list of numbers such as 0.5,1,2") from None


def _given_values(words: Sequence[str]) -> list[TemplateValue] | dict[str, TemplateValue]:
    split = [word for given in words for word in given.split()]
    if split and all("=" in word for word in split):
        return {key: _number_or_word(value) for key, _, value in (w.partition("=") for w in split)}
    return [_number_or_word(word) for word in split]


def _number_or_word(text: str) -> TemplateValue:
    try:
        return float(text)
    except ValueError:
        return text


def _plain(value: Any) -> str | float:
    return value if isinstance(value, str | float | int) else str(value)


def _value(value: TemplateValue) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _money(amount: float, sign: str = "$") -> str:
    digits = 4 if amount >= 0.001 or amount == 0 else 7
    return f"{sign}{amount:.{digits}f}"
