"""How a command is made: the options that all of them take, and what they are handed."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acai.cli import output

if TYPE_CHECKING:  # looked up on first use, so that help is shown at once
    from acai.client.client import Client
    from acai.client.credentials import Credentials

_COMMON: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("--json", "json", {"is_flag": True, "help": "Print one JSON document, nothing else."}),
    ("--quiet", "quiet", {"is_flag": True, "help": "Print only what was asked for."}),
    ("--server", "server", {"metavar": "URL", "help": "Server to talk to [ACAI_SERVER]."}),
    ("--token", "token", {"metavar": "T", "help": "Token to show it [ACAI_TOKEN]."}),
    ("--project", "project", {"metavar": "NAME", "help": "Project to act in [ACAI_PROJECT]."}),
    ("--debug", "debug", {"is_flag": True, "help": "Show the traceback of an error."}),
)
COMMON_NAMES = tuple(name for _, name, _ in _COMMON)


def common_options() -> list[click.Option]:
    return [
        click.Option([flag, "-q"] if name == "quiet" else [flag], expose_value=True, **more)
        for flag, name, more in _COMMON
    ]


class Invocation:
    """One run of one command: its common options, the client, and ways to speak."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.json: bool = bool(options.get("json"))
        self.quiet: bool = bool(options.get("quiet"))
        self.debug: bool = bool(options.get("debug"))
        self.server: str | None = options.get("server")
        self.token: str | None = options.get("token")
        self.project: str | None = options.get("project")

    @functools.cached_property
    def client(self) -> Client:
        from acai.client.client import Client

        return Client(self.server, self.token, self.project)

    def answer(self, value: Any, show: Callable[[], None]) -> None:
        """The command's result: as JSON if asked, else as `show` prints it."""
        if self.json:
            output.print_json(value)
        else:
            show()

    def note(self, text: str) -> None:
        """A remark beside the result: stderr, so that a pipe stays clean."""
        if not self.quiet:
            click.echo(text, err=True)

    def remember(self, home: Path, logins: Credentials) -> bool:
        """Store logins. A token is shown once, so failing to store it must not hide it."""
        try:
            logins.save(home)
        except OSError as error:
            click.echo(f"warning: it cannot be stored in {home}: {error.strerror}", err=True)
            return False
        return True

    def confirm(self, question: str, yes: bool) -> None:
        """Ask before something that cannot be undone; without a terminal, `-y` must say it."""
        if yes:
            return
        if not sys.stdin.isatty():
            raise click.UsageError("there is no terminal to ask on; add -y to go ahead")
        if not click.confirm(question, err=True):
            raise click.Abort


class Command(click.Command):
    """A command with an example in its help."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.example:
            with formatter.section("Example"):
                for line in self.example.splitlines():
                    formatter.write(f"{' ' * formatter.current_indent}{line}\n")
        super().format_epilog(ctx, formatter)


def command(
    name: str, *, example: str, cls: type[Command] = Command, **attrs: Any
) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function that takes an Invocation and its own parameters."""

    def decorate(function: Callable[..., Any]) -> Command:
        @functools.wraps(function)
        @click.pass_context
        def callback(ctx: click.Context, /, **params: Any) -> Any:
            own = {key: params.pop(key) for key in COMMON_NAMES}
            merged = {key: own[key] or _given_above(ctx, key) for key in COMMON_NAMES}
            invocation = Invocation(merged)
            ctx.find_root().obj = invocation
            return function(invocation, **params)

        made = click.command(name, cls=cls, example=example, **attrs)(callback)
        made.params.extend(common_options())
        return made

    return decorate


def _given_above(ctx: click.Context, key: str) -> Any:
    """A common option that stood before the verb, or before the noun."""
    above = ctx.parent
    while above is not None:
        if above.params.get(key):
            return above.params[key]
        above = above.parent
    return None


def group(name: str, help: str, *commands: click.Command) -> click.Group:
    made = click.Group(name, help=help, params=[*common_options()])
    for one in commands:
        made.add_command(one)
    return made
