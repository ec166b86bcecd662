"""What a program left in its output directory, sent to the lake but not published.

The session stays open: the server commits it together with the job's end, so that there is an
output set only of a job that ended well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from acai.agent.control import Control
from acai.agent.talk import Talk
from acai.client.transfer.calls import TransferCalls
from acai.client.transfer.patience import Patience
from acai.client.transfer.progress import Meter
from acai.client.transfer.sources import Source
from acai.client.transfer.upload import Uploading
from acai.model.errors import InvalidInput, UploadClosed, UploadIncomplete

_TRIES = 3
_NAMES_TOLD = 10


@dataclass(frozen=True, kw_only=True)
class Sent:
    upload: str
    file_count: int


@dataclass(frozen=True, kw_only=True)
class Found:
    """What there is to send, and which links were left out because they lead elsewhere."""

    sources: tuple[Source, ...]
    left_out: tuple[str, ...] = ()


def find_output(directory: Path, work: Path, to: str) -> Found:
    """Look through the output. A link counts as what it leads to, within the working directory.

    Raises InvalidInput if the directory itself has been replaced by a way out.
    """
    inside = work.resolve()
    if not directory.resolve().is_relative_to(inside):
        raise InvalidInput(
            f"the output directory {directory.name} became a link out of the working directory"
        )
    if not directory.is_dir():
        return Found(sources=())
    root, below = str(directory), len(str(directory)) + 1
    files = 0
    odd: list[str] = []
    for path, leads_out in _walk(root, str(inside)):
        if leads_out:
            odd.append(path[below:])
        else:
            files += 1
    if not files or not odd:
        whole = (Source(root, to, True),) if files else ()
        return Found(sources=whole, left_out=tuple(odd))
    kept = (path for path, leads_out in _walk(root, str(inside)) if not leads_out)
    sources = tuple(Source(path, to + path[below:], False) for path in kept)
    return Found(sources=sources, left_out=tuple(odd))


def _walk(
    root: str, inside: str, above: frozenset[str] = frozenset()
) -> Iterator[tuple[str, bool]]:
    """Every file below `root`, and every link that leads out, which is told as such."""
    real = os.path.realpath(root)
    if real in above:
        return  # a link to a directory that it lies in
    with os.scandir(root) as entries:
        listed = list(entries)
    for entry in listed:
        if entry.is_symlink() and not _within(os.path.realpath(entry.path), inside):
            yield entry.path, True
        elif entry.is_dir():
            yield from _walk(entry.path, inside, above | {real})
        elif entry.is_file():
            yield entry.path, False


def _within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def send_output(
    found: Found,
    talk: Talk,
    *,
    resume_key: str,
    patience: float,
    control: Control,
    note: Callable[[str], None],
) -> Sent:
    """Upload, for as long as it takes. Raises AcaiError for what cannot be uploaded at all,
    Interrupted or Stopped if the work is to end."""
    for path in found.left_out[:_NAMES_TOLD]:
        note(f"left out {path}: it is a link that leads out of the working directory")
    if len(found.left_out) > _NAMES_TOLD:
        note(f"left out {len(found.left_out) - _NAMES_TOLD} more such links")
    for attempt in range(1, _TRIES + 1):
        try:
            return talk.persist(
                lambda: _upload(found, talk, resume_key, patience, control, note),
                control.interrupt,
            )
        except (UploadClosed, UploadIncomplete):
            if attempt == _TRIES:
                raise
    raise AssertionError("unreachable")


def _upload(
    found: Found,
    talk: Talk,
    resume_key: str,
    patience: float,
    control: Control,
    note: Callable[[str], None],
) -> Sent:
    notes: list[str] = []
    with control.transfer() as stop:
        calls = TransferCalls(talk.session, Patience(patience, note=None, stop=stop))
        done = Uploading(
            calls,
            calls.limits(),
            found.sources,
            resume_key=resume_key,
            skip_unreadable=False,
            meter=Meter(None),
            note=notes.append,
            commit=False,
        ).run()
    for text in notes:
        note(text)
    return Sent(upload=done.id, file_count=done.file_count)
