"""File sets: named, versioned, immutable lists of file versions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from acai.model.ids import Sha256
from acai.model.references import SetRef


@dataclass(frozen=True, kw_only=True)
class SetVersion:
    name: str
    version: int
    file_count: int
    size: int
    hash: str  # equal for sets that hold the same bytes at the same paths
    creator: str
    create_time: datetime
    id: str  # `set:NAME:VERSION`, which any command takes
    job: str | None = None  # the job that made it
    removed: bool = False  # hidden from listings; kept for what was made of it

    @property
    def ref(self) -> SetRef:
        return SetRef(name=self.name, version=self.version)


@dataclass(frozen=True, kw_only=True)
class ResolvedFile:
    """One file version that a reference or a set names: enough to fetch and check it."""

    path: str
    version: int
    size: int
    hash: Sha256


class Prefer(StrEnum):
    """Which source wins where two disagree on a path; without one they are an error."""

    LAST = "last"


class ChangeKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """A path on which two sets differ."""

    path: str
    change: ChangeKind
    before: ResolvedFile | None
    after: ResolvedFile | None


@dataclass(frozen=True, kw_only=True)
class DiffSummary:
    before: SetVersion
    after: SetVersion
    added: int
    removed: int
    changed: int


@dataclass(frozen=True, kw_only=True)
class SetTotals:
    """Number and size of a set's files under a prefix."""

    prefix: str
    file_count: int
    size: int
