"""What a transfer tells: how far it is, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acai.model.files import FileVersion


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A local path that was not sent, and why."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    """A committed upload.

    `sent_bytes` is what travelled this time. What is `deduplicated` was in the project before,
    or in this upload already: twice among its files, or sent before it was interrupted.
    """

    id: str
    file_count: int
    size: int
    sent_bytes: int
    deduplicated_files: int
    deduplicated_bytes: int
    resumed: bool
    left_out: tuple[LeftOut, ...] = ()
    files: tuple[FileVersion, ...] | None = None  # not listed when there are very many


@dataclass(frozen=True, kw_only=True)
class Downloaded:
    """A finished download. `unchanged_files` were there already with the right content."""

    target: str
    file_count: int
    size: int
    received_bytes: int
    unchanged_files: int


@dataclass(frozen=True, kw_only=True)
class Removed:
    """What was taken out of listings; every version of it is kept."""

    path: str
    hidden: int


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a transfer is. The totals are None until everything has been counted."""

    files: int
    bytes: int
    total_files: int | None
    total_bytes: int | None


OnProgress = Callable[[Progress], None]
OnNote = Callable[[str], None]
