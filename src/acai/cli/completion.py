"""`acai completion`: tab completion for the shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from acai.cli.command import Invocation, command


@command("completion", example='eval "$(acai completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(invocation: Invocation, shell: str) -> None:
    """Print the completion script of SHELL; evaluate it in the shell's start-up file."""
    from acai.cli.main import root

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(root, {}, "acai", "_ACAI_COMPLETE").source()
    invocation.answer({"shell": shell, "script": script}, lambda: click.echo(script))
