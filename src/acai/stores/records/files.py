"""Statements about files and their versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, and_, func, select, update

from acai.model.files import FileVersion
from acai.model.ids import Sha256
from acai.model.paths import prefix_range
from acai.model.references import FileRef, format_entity
from acai.stores.records import paths
from acai.stores.records.creators import creator, with_creator
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine
from acai.stores.records.tables_lake import (
    blobs,
    directories,
    directory_key,
    file_versions,
    files,
    objects,
)

_LOOKUP = 1000  # paths in one statement


@dataclass(frozen=True, kw_only=True)
class VersionRow:
    """A file version with its row ids, as the server joins it."""

    id: int
    path: str
    version: int
    latest: int
    hidden: bool
    size: int
    sha256: Sha256
    content_type: str | None
    creator: str
    created_at: datetime

    def value(self) -> FileVersion:
        return FileVersion(
            path=self.path,
            version=self.version,
            size=self.size,
            hash=self.sha256,
            content_type=self.content_type,
            creator=self.creator,
            create_time=self.created_at,
            id=format_entity(FileRef(path=self.path, version=self.version)),
        )


def _select(source: Any) -> Select[Any]:
    return select(
        file_versions.c.id,
        files.c.path,
        file_versions.c.version,
        files.c.latest,
        files.c.hidden,
        file_versions.c.size,
        file_versions.c.sha256,
        file_versions.c.content_type,
        file_versions.c.created_at,
        creator,
    ).select_from(with_creator(source, file_versions))


_same_project = file_versions.c.project_id == files.c.project_id
_versions = files.join(file_versions, and_(_same_project, file_versions.c.file_id == files.c.id))


def _row(row: Row[Any]) -> VersionRow:
    return VersionRow(
        id=row.id,
        path=row.path,
        version=row.version,
        latest=row.latest,
        hidden=row.hidden,
        size=row.size,
        sha256=row.sha256,
        content_type=row.content_type,
        creator=row.creator,
        created_at=row.created_at,
    )


def latest_of(tx: Transaction, wanted_paths: Sequence[str]) -> dict[str, VersionRow]:
    """The newest version of each of these paths that exists, hidden ones too."""
    found: dict[str, VersionRow] = {}
    for start in range(0, len(wanted_paths), _LOOKUP):
        wanted = paths.wanted([paths.split(p) for p in wanted_paths[start : start + _LOOKUP]])
        source = wanted.join(
            files, and_(files.c.parent == wanted.c.parent, files.c.name == wanted.c.name)
        ).join(
            file_versions,
            and_(
                _same_project,
                file_versions.c.file_id == files.c.id,
                file_versions.c.version == files.c.latest,
            ),
        )
        for row in tx.execute(_select(source).where(mine(files))):
            found[row.path] = _row(row)
    return found


def version_of(tx: Transaction, path: str, version: int) -> VersionRow | None:
    parent, name = paths.split(path)
    row = tx.execute(
        _select(_versions).where(
            mine(files),
            files.c.parent == parent,
            files.c.name == name,
            file_versions.c.version == version,
        )
    ).first()
    return None if row is None else _row(row)


def versions_of(tx: Transaction, path: str, *, before: int, limit: int) -> list[VersionRow]:
    """A path's versions, newest first, from below `before`."""
    parent, name = paths.split(path)
    rows = tx.execute(
        _select(_versions)
        .where(
            mine(files),
            files.c.parent == parent,
            files.c.name == name,
            file_versions.c.version < before,
        )
        .order_by(file_versions.c.version.desc())
        .limit(limit)
    )
    return [_row(row) for row in rows]


def under(tx: Transaction, prefix: str, *, after: str, limit: int) -> list[VersionRow]:
    """Latest versions of the visible files under a directory, by path, from beyond `after`."""
    low = max(prefix, after)
    page = (
        select(files)
        .where(
            mine(files),
            files.c.hidden.is_(False),
            paths.between(tx, files.c.path, low, prefix_range(prefix)[1]),
        )
        .order_by(*paths.ordered(tx, files.c.path))
        .limit(limit)
    )
    return sorted(_latest_of_page(tx, page), key=lambda row: row.path.encode())


def files_in(tx: Transaction, directory: str, *, after: str, limit: int) -> list[VersionRow]:
    """Latest versions of the visible files right in a directory, by name."""
    page = (
        select(files)
        .where(
            mine(files),
            files.c.parent == directory_key(directory),
            files.c.name > after,
            files.c.hidden.is_(False),
        )
        .order_by(files.c.name)
        .limit(limit)
    )
    return sorted(_latest_of_page(tx, page), key=lambda row: row.path.encode())


def _latest_of_page(tx: Transaction, page: Select[Any]) -> list[VersionRow]:
    """A page of files joined with their latest versions: the page first, whatever the planner
    believes of tables that have just grown."""
    some = page.subquery()
    rows = tx.execute(
        select(
            file_versions.c.id,
            some.c.path,
            file_versions.c.version,
            some.c.latest,
            some.c.hidden,
            file_versions.c.size,
            file_versions.c.sha256,
            file_versions.c.content_type,
            file_versions.c.created_at,
            creator,
        )
        .select_from(
            with_creator(
                some.join(
                    file_versions,
                    and_(
                        file_versions.c.file_id == some.c.id,
                        file_versions.c.version == some.c.latest,
                    ),
                ),
                file_versions,
            )
        )
        .where(mine(file_versions))
    )
    return [_row(row) for row in rows]


def directories_in(tx: Transaction, directory: str, *, after: str, limit: int) -> list[str]:
    """Names of the directories right in a directory that hold something visible."""
    low = directories.c.path
    high = func.substr(low, 1, func.length(low) - 1) + "0"
    occupied = _visible(tx, low, high).exists()
    rows = tx.execute(
        select(directories.c.name)
        .where(
            mine(directories),
            directories.c.parent == directory_key(directory),
            directories.c.name > after,
            occupied,
        )
        .order_by(directories.c.name)
        .limit(limit)
    )
    return [row.name for row in rows]


def of_upload(tx: Transaction, upload: int, *, after: int, limit: int) -> list[VersionRow]:
    """The versions that a session made, in the order of their rows."""
    rows = tx.execute(
        _select(_versions)
        .where(mine(file_versions), file_versions.c.upload_id == upload, file_versions.c.id > after)
        .order_by(file_versions.c.id)
        .limit(limit)
    )
    return [_row(row) for row in rows]


def by_ids(tx: Transaction, ids: Sequence[int]) -> dict[int, VersionRow]:
    rows = tx.execute(_select(_versions).where(mine(files), tx.one_of(file_versions.c.id, ids)))
    return {row.id: _row(row) for row in rows}


def hide(tx: Transaction, path: str) -> int:
    """Take a file, or all under a directory, out of listings; returns how many."""
    if path.endswith("/"):
        which = paths.between(tx, files.c.path, path, prefix_range(path)[1])
    else:
        parent, name = paths.split(path)
        which = and_(files.c.parent == parent, files.c.name == name)
    return tx.execute(
        update(files).where(mine(files), files.c.hidden.is_(False), which).values(hidden=True)
    ).rowcount


def is_directory(tx: Transaction, path: str) -> bool:
    """Whether something visible lies under a path."""
    found = _visible(tx, f"{path}/", prefix_range(f"{path}/")[1])
    return tx.execute(found.limit(1)).first() is not None


def _visible(tx: Transaction, low: Any, high: Any) -> Select[Any]:
    """The files from one path to before another that listings show."""
    within = paths.between(tx, files.c.path, low, high)
    return select(files.c.id).where(mine(files), files.c.hidden.is_(False), within)


def near(tx: Transaction, path: str, limit: int = 200) -> list[str]:
    """Visible names in the same directory, for a message that proposes one."""
    directory = path[: path.rindex("/") + 1]
    return [row.path for row in files_in(tx, directory, after="", limit=limit)]


@dataclass(frozen=True, kw_only=True)
class PlaceRow:
    sha256: Sha256
    size: int
    start: int
    object_id: int
    key: str
    object_size: int


def places(tx: Transaction, wanted: Sequence[Sha256]) -> list[PlaceRow]:
    """Where these blobs lie; those that the project does not have are left out."""
    rows = tx.execute(
        select(
            blobs.c.sha256,
            blobs.c.size,
            blobs.c.start,
            blobs.c.object_id,
            objects.c.key,
            objects.c.size.label("object_size"),
        )
        .join(
            objects,
            and_(objects.c.id == blobs.c.object_id, objects.c.project_id == blobs.c.project_id),
        )
        .where(mine(blobs), tx.one_of(blobs.c.sha256, wanted))
    )
    return [PlaceRow(**row._mapping) for row in rows]
