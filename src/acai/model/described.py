"""Entities together with what users have said of them: what search and metadata answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from acai.model.files import FileVersion
from acai.model.metadata import EntityKind
from acai.model.sets import SetVersion

Meta = dict[str, Any]  # key → JSON form of the value, see `acai.model.metadata`


@dataclass(frozen=True, kw_only=True)
class FoundFile(FileVersion):
    meta: Meta = field(default_factory=dict)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FoundSet(SetVersion):
    meta: Meta = field(default_factory=dict)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FoundJob:
    id: str
    name: str | None
    status: str
    creator: str
    command: str
    submit_time: datetime
    start_time: datetime | None = None
    end_time: datetime | None = None
    runtime: float | None = None
    queue_time: float | None = None
    cost: float | None = None
    cpu: float | None = None
    memory: int | None = None
    gpu: float | None = None
    peak_memory: int | None = None
    cpu_seconds: float | None = None
    exit_code: int | None = None
    reason: str | None = None
    args: Meta = field(default_factory=dict)
    meta: Meta = field(default_factory=dict)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EntityMetadata:
    """All that is known of one entity: what the platform set, and what users did."""

    id: str
    kind: EntityKind
    built_in: Meta
    meta: Meta
    tags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MetadataKey:
    """A key that entities of a kind have."""

    key: str
    types: tuple[str, ...]  # of its values: text, number, duration, size, time, boolean, any
    built_in: bool  # set by the platform
