"""`acai up`: start the platform on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from acai import settings as table
from acai.cli.command import Invocation, command
from acai.client.credentials import home_directory


def _setting_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for row in reversed(table.TABLE):
        shown = (
            f" [{row.variable}; default: {row.default}]" if row.default else f" [{row.variable}]"
        )
        function = click.option(row.flag, row.name, metavar="VALUE", help=row.help + shown)(
            function
        )
    return function


@command("up", example="acai up\nacai up --home ./demo --port 7700")
@_setting_options
def up(invocation: Invocation, **flags: str | None) -> None:
    """Start the platform on this machine, and stop it with Ctrl-C.

    Every setting may also stand in its variable, or in config.toml of the home under [server].
    """
    from acai.server import Ready, serve

    settings = table.load(flags)

    def ready(server: Ready) -> None:
        if invocation.json:
            from acai.cli.output import print_json

            print_json(
                {
                    "url": server.url,
                    "home": settings.home,
                    "first_start": server.first,
                    "link": server.link,
                }
            )
        else:
            if server.first:
                click.echo(f"A new platform is made in {settings.home}; you are signed in to it.")
            click.echo(f"acai is ready at {server.url}   (Ctrl-C stops it)")
            if server.link:
                click.echo(f"Dashboard, signed in (good once): {server.link}")
            if settings.home != home_directory(os.environ):
                click.echo(f"In another terminal, first: export ACAI_HOME={settings.home}")
        sys.stdout.flush()

    serve(settings, ready)
    invocation.note("acai has stopped.")
