"""`acai token`: replace tokens."""

from __future__ import annotations

import os
from dataclasses import replace

import click

from acai.cli.command import Invocation, command, group
from acai.client.credentials import Credentials, discover, home_directory


@command("rotate", example="acai token rotate\nacai token rotate --user mei")
@click.option("--user", metavar="NAME", help="Another user of your project; for admins.")
def rotate(invocation: Invocation, user: str | None) -> None:
    """Replace your token; the old one stops working at once.

    If the old token is the one stored on this machine, the new one takes its place there.
    """
    target = discover(server=invocation.server, token=invocation.token, project=invocation.project)
    home = home_directory(os.environ)
    stored = Credentials.load(home)
    made = invocation.client.rotate_token(user)
    mine = next((login for login in stored.logins if login.token == target.token), None)
    kept = False
    if mine is not None and user is None:
        kept = invocation.remember(home, stored.with_login(replace(mine, token=made.token)))

    def show() -> None:
        click.echo(f"Token of {made.user.name}, shown this once: {made.token}")
        if kept:
            invocation.note("It is stored on this machine in place of the old one.")

    invocation.answer(made, show)


token = group("token", "Replace tokens.", rotate)
