"""`acai run`: submit a job."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import click

from acai.cli.command import Command, Invocation, command
from acai.cli.progress import progress_bar
from acai.cli.watching import submitted, watching_options
from acai.client.job_options import (
    PRIORITIES,
    JobOptions,
    argument_name,
    argument_of,
    memory_of,
    output_of,
    priority_of,
    seconds_of,
)
from acai.model.errors import InvalidInput
from acai.model.jobs import ArgumentValue
from acai.model.metadata import parse_assignment

# What a shell takes as it is, and the braces of arguments, whose values come with quotes.
_BARE = re.compile(r"[\w@%+=:,./{}-]+", re.ASCII)
_MARKED = "acai.cli.run.marked"  # a `--` says where the command begins


class CommandLast(Command):
    """Options end where the command begins, so that the command's own are not taken for ours.

    A command in one word, `'python train.py'`, may have options after it.
    """

    allow_interspersed_args = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            ctx.meta[_MARKED] = True
        return super().parse_args(ctx, self._options_first(ctx, args))

    def _options_first(self, ctx: click.Context, args: list[str]) -> list[str]:
        found, _, _ = self.make_parser(ctx).parse_args(list(args))
        words = found.get("words")
        if (
            not isinstance(words, tuple)
            or len(words) < 2
            or "--" in args
            or not re.search(r"\s", words[0])
        ):
            return args
        return [*args[: len(args) - len(words)], *words[1:], "--", words[0]]


def resource_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--gpu", type=click.FloatRange(min=0), metavar="N", help="GPUs."),
        click.option("--memory", metavar="SIZE", help="Memory, such as 2GB."),
        click.option(
            "--cpu",
            type=click.FloatRange(min=0, min_open=True),
            metavar="N",
            help="CPU cores, in fractions too.",
        ),
    ):
        function = option(function)
    return function


argument_option = click.option(
    "--arg", "args", multiple=True, metavar="K=V", help="An argument of the command; repeatable."
)
input_option = click.option(
    "--input", "inputs", multiple=True, metavar="SET", help="A set to work on; repeatable."
)
cache_option = click.option(
    "--cache/--no-cache", default=None, help="Take the output of an identical finished job."
)


def given_args(words: Sequence[str]) -> dict[str, ArgumentValue]:
    pairs = [_pair(word, "--arg") for word in words]
    return {argument_name(key): argument_of(value) for key, value in pairs}


def _pair(word: str, option: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise InvalidInput(f"{option} {word!r} is no assignment; write {option} NAME=VALUE")
    return key, value


def command_text(words: Sequence[str]) -> str | None:
    """One word is a whole command; several are quoted for the shell where they need it."""
    if len(words) < 2:
        return words[0] if words else None
    return " ".join(word if _BARE.fullmatch(word) else shlex.quote(word) for word in words)


def _options(words: Sequence[str], flags: dict[str, Any]) -> JobOptions:
    memory, timeout, priority = flags["memory"], flags["timeout"], flags["priority"]
    return JobOptions(
        command=command_text(words),
        name=flags["name"],
        input=flags["inputs"] or None,
        code=flags["code"],
        args=given_args(flags["args"]),
        requirements=flags["requirements"],
        python=flags["python"],
        image=flags["image"],
        cpu=flags["cpu"],
        memory=None if memory is None else memory_of(memory),
        gpu=flags["gpu"],
        timeout=None if timeout is None else seconds_of(timeout),
        priority=None if priority is None else priority_of(priority),
        cache=flags["cache"],
        retries=flags["retries"],
        env=dict(_pair(word, "--env") for word in flags["env"]),
        description=flags["description"],
        tags=flags["tags"],
        meta=dict(parse_assignment(word) for word in flags["meta"]),
        **output_of(flags["output"]),
    )


def _from_file(file: str) -> JobOptions:
    from acai.client.job_files import load_job_file, parse_job_file

    return parse_job_file(sys.stdin.read(), "<stdin>") if file == "-" else load_job_file(file)


@command(
    "run",
    cls=CommandLast,
    example="acai run --input mnist --code src/ --output model --cpu 2 --memory 2GB --wait \\\n"
    "  python train.py --epochs 20\n"
    "acai run -f job.yaml --arg epochs=5 --follow",
)
@click.option("-f", "--file", metavar="FILE", help="A job file; options here go before it.")
@input_option
@click.option("--code", metavar="PATH", help="A local file or directory, or a reference.")
@click.option("--output", metavar="NAME[=PATH]", help="The set made of PATH (out/) afterwards.")
@resource_options
@argument_option
@click.option("--env", multiple=True, metavar="K=V", help="An environment variable; repeatable.")
@click.option("--name", metavar="NAME", help="A name for the job.")
@click.option("--timeout", metavar="TIME", help="Longest run of the program, such as 2h.")
@click.option(
    "--priority",
    type=click.Choice([str(one) for one in PRIORITIES]),
    help="Interactive jobs start first.",
)
@cache_option
@click.option(
    "--retries", type=click.IntRange(min=0), metavar="N", help="Tries more if its machine is lost."
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; repeatable.")
@click.option("--meta", multiple=True, metavar="K=V", help="A key with a value; repeatable.")
@click.option("--description", metavar="TEXT", help="What it is for.")
@click.option("--requirements", metavar="FILE", help="Packages to install for it.")
@click.option("--python", metavar="VERSION", help="A version of Python, such as 3.11.")
@click.option("--image", metavar="IMAGE", help="A container image to run it in.")
@watching_options
@click.argument("words", metavar="[--] COMMAND...", nargs=-1, type=click.UNPROCESSED)
def run(
    invocation: Invocation,
    words: tuple[str, ...],
    file: str | None,
    wait: bool,
    follow: bool,
    **flags: Any,
) -> int:
    """Submit a job: COMMAND runs on the input sets, with the code, in a directory of its own.

    COMMAND is one word for the shell, or several as they are. {NAME} in it stands for the
    argument NAME. What lies under out/ (or the PATH of --output) when it has ended well becomes
    the next version of the output set. Prints the job's id; with --wait or --follow it stays
    and exits with the program's own exit code. Ctrl-C leaves the job running.
    """
    if not words and file is None:
        raise click.UsageError("give a command to run, or a job file with -f")
    try:
        options = _options(words, flags)
    except InvalidInput as error:
        raise click.UsageError(error.message) from error
    if file is not None:
        options = options.over(_from_file(file))
    bar = nullcontext() if options.code is None else progress_bar(invocation, "sending code")
    with bar as on_progress:
        request = invocation.client.prepare_job(
            options, on_progress=on_progress, on_note=invocation.note
        )
    job = invocation.client.submit(request)
    for ours in () if _MARKED in click.get_current_context().meta else ("--wait", "--follow"):
        if ours in words:
            invocation.note(f"{ours} stands after the command, and is part of it; put it before.")
    return submitted(invocation, job, wait=wait, follow=follow)
