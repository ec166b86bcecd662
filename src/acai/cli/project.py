"""`acai project`: make and list projects."""

from __future__ import annotations

import os

import click

from acai.cli import output
from acai.cli.command import Invocation, command, group
from acai.client.client import Client
from acai.client.credentials import LOCAL, Credentials, Login, discover, home_directory
from acai.model.identity import NewProject


def _admin_client(invocation: Invocation) -> Client:
    """Speak as the global admin where this machine has that login; else as yourself."""
    target = discover(server=invocation.server, token=invocation.token, as_global_admin=True)
    return Client(target.server, target.token)


@command("create", example="acai project create vision\nacai project create speech --admin mei")
@click.argument("name")
@click.option("--admin", metavar="USER", help="The project's first admin; by default, you.")
def create(invocation: Invocation, name: str, admin: str | None) -> None:
    """Make the project NAME. Its first admin's token is shown once.

    When the first admin is you, the token is also stored, so that --project NAME works at once.
    """
    with _admin_client(invocation) as client:
        you = _own_name(client, invocation)
        made = client.create_project(name, admin or you)
        kept = admin is None and _remember(invocation, client, made)

    def show() -> None:
        click.echo(f"Project {made.project.name} is made; its admin is {made.admin.user.name}.")
        click.echo(f"Token, shown this once: {made.admin.token}")
        if kept:
            invocation.note(f"It is stored here: add --project {made.project.name} to any command.")

    invocation.answer(made, show)


def _own_name(client: Client, invocation: Invocation) -> str:
    stored = discover(server=invocation.server, token=invocation.token)
    with Client(stored.server, stored.token) as own:
        return own.whoami().name


def _remember(invocation: Invocation, client: Client, made: NewProject) -> bool:
    home = home_directory(os.environ)
    stored = Credentials.load(home)
    local = discover(server=None, token="", environ={"ACAI_HOME": str(home)}).server
    server = LOCAL if client.server == local and stored.find(LOCAL, None) else client.server
    login = Login(
        server=server,
        project=made.project.name,
        user=made.admin.user.name,
        token=made.admin.token,
    )
    return invocation.remember(home, stored.with_login(login))


@command("ls", example="acai project ls")
def ls(invocation: Invocation) -> None:
    """List the projects that you may see."""
    with _admin_client(invocation) as client:
        found = list(client.list_projects())
    rows = [(one.name, output.local_time(one.create_time)) for one in found]
    invocation.answer(found, lambda: output.print_table(("name", "created"), rows))


project = group("project", "Make and list projects.", create, ls)
