"""File sets and their versions."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, Field

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.paging import Cursor, Limit, Page, decode_cursor, page
from acai.api.routes.resolve import pinned, pinned_page
from acai.lake.sets import MOST_SPECS
from acai.model.errors import InvalidReference
from acai.model.references import MAX_VERSION, SetRef
from acai.model.sets import (
    DiffSummary,
    FileChange,
    Prefer,
    ResolvedFile,
    SetTotals,
    SetVersion,
)

routes = Routes("sets")

VersionOrLatest = Annotated[str, Path(description="A number, or `latest`.")]
Prefix = Annotated[str, Query(description="What the paths begin with, not escaped.")]
SetReference = Annotated[str, Query(description="`NAME` or `NAME:VERSION`.")]


class SetToCreate(BaseModel):
    name: str
    specs: list[str] = Field(max_length=MOST_SPECS)
    prefer: Prefer | None = None


class RemovedSets(BaseModel):
    removed: list[SetVersion]


def set_ref(name: str, version: str) -> SetRef:
    if version == "latest":
        return SetRef(name=name)
    if not version.isascii() or not version.isdigit() or int(version[:20]) > MAX_VERSION:
        raise InvalidReference(
            f"{version!r} is not a version of a set; give its number, or `latest`",
            reference=version,
        )
    return SetRef(name=name, version=int(version))


@routes.on("POST", "/sets", Needs.PROJECT, status_code=201)
def create_set(body: SetToCreate, caller: Caller, platform: Platform) -> SetVersion:
    """Make the next version of a set from files, directories and other sets."""
    return platform.sets.create(caller, body.name, body.specs, body.prefer)


@routes.on("GET", "/sets", Needs.PROJECT)
def list_sets(
    caller: Caller, platform: Platform, limit: Limit = 100, cursor: Cursor = None
) -> Page[SetVersion]:
    """The latest version of every set, by name."""
    after = decode_cursor(cursor, "")
    found = platform.sets.list(caller, after=after, limit=limit + 1)
    return page(found, limit, lambda one: one.name)


@routes.on("GET", "/sets/diff", Needs.PROJECT)
def diff_sets(
    caller: Caller,
    platform: Platform,
    *,
    before: SetReference,
    after: SetReference,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Page[FileChange]:
    """The paths on which two sets differ. Name versions to have all pages of the same two."""
    beyond = decode_cursor(cursor, "")
    found = platform.sets.diff(caller, before, after, beyond=beyond, limit=limit + 1)
    return page(found, limit, lambda one: one.path)


@routes.on("GET", "/sets/diff/summary", Needs.PROJECT)
def summarize_set_diff(
    caller: Caller, platform: Platform, before: SetReference, after: SetReference
) -> DiffSummary:
    """On how many paths two sets differ, and how."""
    return platform.sets.diff_summary(caller, before, after)


@routes.on("DELETE", "/sets/{name}", Needs.PROJECT)
def remove_set(name: str, caller: Caller, platform: Platform) -> RemovedSets:
    """Take all versions of a set out of listings. They are kept."""
    return RemovedSets(removed=list(platform.sets.remove(caller, SetRef(name=name))))


@routes.on("GET", "/sets/{name}/versions", Needs.PROJECT)
def list_set_versions(
    name: str, caller: Caller, platform: Platform, limit: Limit = 100, cursor: Cursor = None
) -> Page[SetVersion]:
    """A set's versions, newest first."""
    before = decode_cursor(cursor, MAX_VERSION)
    found = platform.sets.versions(caller, name, before=before, limit=limit + 1)
    return page(found, limit, lambda one: one.version)


@routes.on("GET", "/sets/{name}/versions/{version}", Needs.PROJECT)
def get_set(name: str, version: VersionOrLatest, caller: Caller, platform: Platform) -> SetVersion:
    """One version; a removed one is still found by its number."""
    return platform.sets.find(caller, set_ref(name, version))


@routes.on("DELETE", "/sets/{name}/versions/{version}", Needs.PROJECT)
def remove_set_version(
    name: str, version: VersionOrLatest, caller: Caller, platform: Platform
) -> RemovedSets:
    """Take one version out of listings. It is kept."""
    return RemovedSets(removed=list(platform.sets.remove(caller, _numbered(name, version))))


@routes.on("GET", "/sets/{name}/versions/{version}/files", Needs.PROJECT)
def list_set_files(
    name: str,
    version: VersionOrLatest,
    caller: Caller,
    platform: Platform,
    *,
    prefix: Prefix = "/",
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Page[ResolvedFile]:
    """A set's files, by path. All pages are of the version that was latest at the first."""
    at, after = pinned(cursor)
    ref = SetRef(name=name, version=at) if at else set_ref(name, version)
    at, found = platform.sets.files(caller, ref, prefix=prefix, after=after, limit=limit + 1)
    return pinned_page(at, found, limit)


@routes.on("GET", "/sets/{name}/versions/{version}/totals", Needs.PROJECT)
def get_set_totals(
    name: str, version: VersionOrLatest, caller: Caller, platform: Platform, prefix: Prefix = "/"
) -> SetTotals:
    """Number and size of the files whose path begins with `prefix`."""
    return platform.sets.totals(caller, set_ref(name, version), prefix)


def _numbered(name: str, version: str) -> SetRef:
    ref = set_ref(name, version)
    if ref.version is None:
        raise InvalidReference(
            f"name the version of {name} to remove by its number", reference=version
        )
    return ref
