"""Commands with places for arguments: `python train.py --epochs {epochs}`.

A place is a name in braces. `${NAME}` is the shell's own, and `{{` and `}}` stand for plain
braces; braces around anything that is not a name are left alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from acai.model.errors import InvalidInput
from acai.model.jobs import ArgumentValue

_PLACE = re.compile(r"\{\{|\}\}|(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]*)\}")
ARGUMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}\Z")


def placeholders(command: str) -> tuple[str, ...]:
    """The names of the places, each once, in order."""
    return tuple(dict.fromkeys(found[1] for found in _PLACE.finditer(command) if found[1]))


def render(command: str, args: Mapping[str, ArgumentValue]) -> str:
    """The command with its arguments filled in, each quoted for the shell.

    Raises InvalidInput that names the arguments which are missing.
    """
    missing = [name for name in placeholders(command) if name not in args]
    if missing:
        raise InvalidInput(
            f"the command needs a value for {missing[0]!r}: give --arg {missing[0]}=…,"
            f" or write {{{{{missing[0]}}}}} for plain braces",
            missing=missing,
        )

    def fill(found: re.Match[str]) -> str:
        if found[1]:
            return shlex.quote(argument_text(args[found[1]]))
        return found[0][0]

    return _PLACE.sub(fill, command)


def argument_text(value: ArgumentValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
