"""`acai`: the command line. Each noun lives in its own module, loaded when it is called."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click

from acai.model.errors import AcaiError
from acai.version import __version__

# name: (module, attribute, what it does). Kept as data so that `acai --help` imports nothing.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "up": ("acai.cli.up", "up", "Start the platform on this machine."),
    "login": ("acai.cli.login", "login", "Sign in to a server and remember it."),
    "whoami": ("acai.cli.login", "whoami", "Show who you are, and where."),
    "doctor": ("acai.cli.doctor", "doctor", "Check the set-up and say how to mend it."),
    "file": ("acai.cli.file", "file", "Send, fetch, list and remove files."),
    "set": ("acai.cli.set", "set", "Make, list, show, compare and remove sets."),
    "run": ("acai.cli.run", "run", "Submit a job."),
    "job": ("acai.cli.job", "job", "List, show, watch, end and repeat jobs."),
    "profile": ("acai.cli.provision", "profile", "Learn how long a command takes."),
    "template": ("acai.cli.provision", "template", "List and show what has been profiled."),
    "autoprovision": (
        "acai.cli.provision",
        "autoprovision",
        "Run within a budget or a deadline.",
    ),
    "cost": ("acai.cli.provision", "cost", "Sum what jobs have cost."),
    "trace": ("acai.cli.trace", "trace", "Draw what a set comes from, or what came from it."),
    "graph": ("acai.cli.graph", "graph", "Print the graph of all sets, in several formats."),
    "project": ("acai.cli.project", "project", "Make and list projects."),
    "user": ("acai.cli.user", "user", "Make, list and remove users."),
    "token": ("acai.cli.token", "token", "Replace tokens."),
    "meta": ("acai.cli.meta", "meta", "Say things of files, sets and jobs."),
    "find": ("acai.cli.find", "find", "Search files, sets and jobs."),
    "completion": ("acai.cli.completion", "completion", "Set up completion in your shell."),
}


class Root(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean `acai {near[0]}`?" if near else " See `acai --help`."
            raise click.UsageError(f"there is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, row[2]) for name, row in COMMANDS.items()])


def _underscores(token: str) -> str:
    return token.replace("_", "-")


@click.group(
    cls=Root,
    context_settings={
        "token_normalize_func": _underscores,
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
)
@click.version_option(__version__, prog_name="acai", message="%(prog)s %(version)s")
@click.pass_context
def root(ctx: click.Context, /, **_common: Any) -> None:
    """Versioned data, jobs, provenance and provisioning for machine-learning teams.

    Begin with `acai up` in one terminal and `acai whoami` in another.
    """


def _prepare() -> None:
    from acai.cli.command import common_options

    root.params.extend(common_options())


_prepare()


def main(arguments: list[str] | None = None) -> None:
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:  # noqa: PLR0911  one for each way to end
    """Run a command line; returns its exit code: 0, 1 failed, 2 usage, 130 interrupted."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        result = root.main(args=given, prog_name="acai", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.UsageError as error:
        where = f"; see `{error.ctx.command_path} --help`" if error.ctx else ""
        return _complain(f"{error.format_message().rstrip('.')}{where}", 2, error, given)
    except click.ClickException as error:
        return _complain(error.format_message(), 1, error, given)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except AcaiError as error:
        return _complain(error.message, 1, error, given)
    except BrokenPipeError:
        # The reader went away; say nothing more, also not when Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return _complain(f"unexpected: {text}; add --debug for the traceback", 1, error, given)
    return result if isinstance(result, int) else 0


def _complain(message: str, code: int, error: Exception, given: list[str]) -> int:
    from acai.cli.output import print_json, use_color

    before_command = given[: given.index("--")] if "--" in given else given
    if "--debug" in before_command:
        traceback.print_exception(error)
    if "--json" in before_command:
        detail = error.detail if isinstance(error, AcaiError) else {}
        name = error.code if isinstance(error, AcaiError) else "usage" if code == 2 else "error"
        print_json({"error": {"code": name, "message": message, "detail": detail}})
    label = click.style("error:", fg="red", bold=True)
    click.echo(f"{label} {' '.join(message.split())}", err=True, color=use_color(sys.stderr))
    return code
