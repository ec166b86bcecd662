"""What is to be uploaded, and where to: the words of a command made exact."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from acai.client.paths import bare_path
from acai.model.errors import InvalidInput

Local = str | PathLike[str]


class Source(NamedTuple):
    """A local file with the lake path it gets, or a directory with the one its content gets."""

    local: str  # absolute
    remote: str  # ends in `/` exactly when `local` is a directory
    is_directory: bool


def plan_sources(locals_: Sequence[Local], remote: str) -> list[Source]:
    """Where each of `locals_` goes.

    One directory: its content goes under `remote`. Several: a file keeps its name under
    `remote`, which ends in `/`; a directory too, or its content if it is written `DIR/`.
    One file: `remote` names it, or the directory it goes to.
    """
    target = bare_path(remote)
    if not locals_:
        raise InvalidInput("there is nothing to upload; name a file or a directory")
    if len(locals_) > 1 and not target.endswith("/"):
        raise InvalidInput(
            f"several files cannot all become {remote}; end it with '/' to name a directory"
        )
    planned = [_plan(each, target, alone=len(locals_) == 1) for each in locals_]
    taken: dict[str, str] = {}
    for source in planned:
        other = taken.setdefault(source.remote, source.local)
        if other != source.local and not source.is_directory:
            raise InvalidInput(f"{other} and {source.local} would both become {source.remote}")
    return planned


def _plan(local: Local, target: str, *, alone: bool) -> Source:
    written = fspath(local)
    path = Path(written).expanduser()
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InvalidInput(f"{written} cannot be uploaded: {error.strerror}") from error
    absolute = str(path.absolute())
    if stat.S_ISDIR(mode):
        below = target if target.endswith("/") else f"{target}/"
        if not alone and not written.endswith("/"):
            below = f"{below}{path.resolve().name}/"
        return Source(absolute, below, True)
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"{written} is neither a file nor a directory")
    return Source(absolute, f"{target}{path.name}" if target.endswith("/") else target, False)
