"""Files and their versions."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.paging import Cursor, Limit, Page, decode_cursor, page
from acai.lake.uploads import BATCH
from acai.model.files import FileVersion, Listing, Places
from acai.model.ids import Sha256

routes = Routes("files")
_NEWEST = 2**31 - 1

BarePath = Annotated[str, Query(description="A bare path, not escaped.")]


class BlobsToLocate(BaseModel):
    hashes: list[Sha256] = Field(max_length=BATCH)


class Hidden(BaseModel):
    path: str
    hidden: int


@routes.on("GET", "/files", Needs.PROJECT)
def list_directory(
    caller: Caller,
    platform: Platform,
    path: BarePath = "/",
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Page[Listing]:
    """What lies right in the directory `path`, which ends in a slash."""
    after = decode_cursor(cursor, "")
    found = platform.files.listing(caller, path, after=after, limit=limit + 1)
    return page(found, limit, lambda line: line.path.rstrip("/").rsplit("/", 1)[1])


@routes.on("GET", "/files/under", Needs.PROJECT)
def list_files_under(
    caller: Caller,
    platform: Platform,
    path: BarePath = "/",
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Page[FileVersion]:
    """The latest versions of everything under the directory `path`, by path."""
    after = decode_cursor(cursor, "")
    found = platform.files.under(caller, path, after=after, limit=limit + 1)
    return page(found, limit, lambda file: file.path)


@routes.on("GET", "/files/version", Needs.PROJECT)
def get_file_version(
    caller: Caller,
    platform: Platform,
    path: BarePath,
    version: Annotated[int | None, Query(ge=1)] = None,
) -> FileVersion:
    """One version of a file; the latest unless `version` names another."""
    return platform.files.find(caller, path, version)


@routes.on("GET", "/files/versions", Needs.PROJECT)
def list_file_versions(
    caller: Caller, platform: Platform, path: BarePath, limit: Limit = 100, cursor: Cursor = None
) -> Page[FileVersion]:
    """A file's versions, newest first."""
    before = decode_cursor(cursor, _NEWEST)
    found = platform.files.versions(caller, path, before=before, limit=limit + 1)
    return page(found, limit, lambda file: file.version)


@routes.on("DELETE", "/files", Needs.PROJECT)
def hide_files(caller: Caller, platform: Platform, path: BarePath) -> Hidden:
    """Take a file, or all under a directory, out of listings. Every version is kept."""
    return Hidden(path=path, hidden=platform.files.hide(caller, path))


@routes.on("POST", "/blobs/locate", Needs.PROJECT)
def locate_blobs(body: BlobsToLocate, caller: Caller, platform: Platform) -> Places:
    """Where to read these contents: signed URLs of the objects that hold them."""
    return platform.files.places(caller, body.hashes)
