"""`acai user`: the users of a project."""

from __future__ import annotations

import click

from acai.cli import output
from acai.cli.command import Invocation, command, group


@command("create", example="acai user create mei\nacai user create omar --admin --json")
@click.argument("name")
@click.option("--admin", is_flag=True, help="May make and remove users.")
def create(invocation: Invocation, name: str, admin: bool) -> None:
    """Make the user NAME in your project. The token is shown once: hand it over safely."""
    made = invocation.client.create_user(name, admin=admin)

    def show() -> None:
        click.echo(f"User {made.user.name} is made in project {made.user.project}.")
        click.echo(f"Token, shown this once: {made.token}")
        invocation.note(f"They sign in with: acai login {invocation.client.server}")

    invocation.answer(made, show)


@command("ls", example="acai user ls")
def ls(invocation: Invocation) -> None:
    """List the users of your project."""
    found = list(invocation.client.list_users())
    rows = [(u.name, u.role.value, u.id, output.local_time(u.create_time)) for u in found]
    invocation.answer(found, lambda: output.print_table(("name", "role", "id", "created"), rows))


@command("rm", example="acai user rm mei -y")
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def rm(invocation: Invocation, name: str, yes: bool) -> None:
    """Remove the user NAME: the token stops working at once. What they made stays."""
    invocation.confirm(f"Remove user {name}?", yes)
    gone = invocation.client.remove_user(name)
    invocation.answer(gone, lambda: click.echo(f"User {gone.name} is removed."))


user = group("user", "Make, list and remove users.", create, ls, rm)
