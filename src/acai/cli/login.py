"""`acai login` and `acai whoami`."""

from __future__ import annotations

import os
import sys

import click

from acai.cli import output
from acai.cli.command import Invocation, command
from acai.client.client import Client
from acai.client.credentials import Credentials, Login, home_directory, normal_server
from acai.model.errors import InvalidSetting, Unauthenticated
from acai.model.identity import User


@command(
    "login",
    example="acai login http://127.0.0.1:7650 --token acai_…\n"
    "acai login team.example.org < token.txt",
)
@click.argument("url")
def login(invocation: Invocation, url: str) -> None:
    """Sign in to the server at URL, and remember it as the current one.

    The token is asked for, or read from standard input, unless --token gives it.
    """
    server = normal_server(url)
    token = invocation.token or _ask_token()
    with Client(server, token, invocation.project) as client:
        user = client.whoami()
    home = home_directory(os.environ)
    made = Login(server=server, project=user.project or "", user=user.name, token=token)
    try:
        Credentials.load(home).with_login(made, current=True).save(home)
    except OSError as error:
        raise InvalidSetting(f"the login cannot be stored in {home}: {error.strerror}") from error
    where = f"in project {user.project}" if user.project else "as the global admin"
    invocation.answer(
        {"server": server, "user": user},
        lambda: click.echo(f"Signed in to {server} as {user.name}, {where}."),
    )


def _ask_token() -> str:
    if sys.stdin.isatty():
        text: str = click.prompt("Token", hide_input=True, err=True)
    else:
        text = sys.stdin.readline()
    if not text.strip():
        raise Unauthenticated("no token was given; add --token T or pipe it in")
    return text.strip()


@command("whoami", example="acai whoami --json")
def whoami(invocation: Invocation) -> None:
    """Show who you are, and where."""
    user = invocation.client.whoami()
    server = invocation.client.server

    def show() -> None:
        output.print_fields(_fields(user, server))

    invocation.answer({**output.to_json(user), "server": server}, show)


def _fields(user: User, server: str) -> list[tuple[str, str]]:
    return [
        ("user", user.name),
        ("role", user.role.value.replace("_", " ")),
        ("project", user.project or "(all: name one with --project)"),
        ("server", server),
    ]
