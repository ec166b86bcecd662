"""The statements of a commit: what a session announced becomes files that everyone sees.

All of them run in one transaction, after `uploads.lock_project`.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, insert, literal, select, update
from sqlalchemy.dialects import postgresql, sqlite

from acai.model.ids import UserId
from acai.stores.records import paths
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables import Instant
from acai.stores.records.tables_lake import (
    blobs,
    directories,
    file_versions,
    files,
    objects,
    upload_blobs,
    upload_files,
)

_LOOKUP = 1000  # paths in one statement
_MANY = 1000  # rows from which a plan made for a few is a bad one


def announced(tx: Transaction, upload: int) -> tuple[int, int]:
    """How many files, and bytes, the session holds."""
    row = tx.execute(
        select(
            func.count().label("files"),
            func.coalesce(func.sum(upload_files.c.size), 0).label("size"),
        ).where(mine(upload_files), upload_files.c.upload_id == upload)
    ).one()
    return int(row.files), int(row.size)


def newest_version(tx: Transaction) -> int:
    """The row of the project's newest file version; those of a commit come after it."""
    found = tx.execute(select(func.max(file_versions.c.id)).where(mine(file_versions))).scalar()
    return found or 0


def prepare_commit(tx: Transaction, file_count: int) -> None:
    """For a large session: let PostgreSQL join in memory, and know how much there is to join.

    How many rows there are is all that it needs to know, and a small sample tells that.
    """
    if file_count <= _MANY:
        return
    if tx.dialect == "postgresql":
        tx.execute(
            select(
                func.set_config("work_mem", "64MB", True),
                func.set_config("default_statistics_target", "10", True),
            )
        )
    tx.analyze(upload_files, upload_blobs, objects)


def first_without_bytes(tx: Transaction, upload: int) -> str | None:
    """The path of a file whose blob has not arrived, if there is one; a wrong size counts.

    The first by name and not any: PostgreSQL believes that any one is soon found, and looks the
    blobs up one by one.
    """
    found: str | None = tx.execute(
        select(func.min(upload_files.c.path))
        .join(
            blobs,
            and_(
                blobs.c.project_id == upload_files.c.project_id,
                blobs.c.sha256 == upload_files.c.sha256,
                blobs.c.size == upload_files.c.size,
            ),
            isouter=True,
        )
        .where(mine(upload_files), upload_files.c.upload_id == upload, blobs.c.sha256.is_(None))
    ).scalar()
    return found


def publish_blobs(tx: Transaction, upload: int) -> None:
    """Make the session's stored blobs the project's; one that is there already stays.

    In the order of the key, which is the order that its index likes to grow in.
    """
    arrived = (
        select(
            this_project().label("project_id"),
            upload_blobs.c.sha256,
            upload_blobs.c.size,
            upload_blobs.c.object_id,
            upload_blobs.c.start,
        )
        .join(
            objects,
            and_(
                objects.c.id == upload_blobs.c.object_id,
                objects.c.project_id == upload_blobs.c.project_id,
            ),
        )
        .where(mine(upload_blobs), upload_blobs.c.upload_id == upload, objects.c.stored.is_(True))
        .order_by(upload_blobs.c.sha256, upload_blobs.c.object_id)
    )
    insert_blobs = (sqlite if tx.dialect == "sqlite" else postgresql).insert(blobs)
    names = ["project_id", "sha256", "size", "object_id", "start"]
    tx.execute(
        insert_blobs.from_select(names, arrived).on_conflict_do_nothing(
            index_elements=["project_id", "sha256"]
        )
    )


def publish_files(
    tx: Transaction, upload: int, user: UserId, now: datetime, *, file_count: int
) -> None:
    """Hand out versions and make the session's files visible."""
    joined = and_(
        files.c.project_id == upload_files.c.project_id,
        files.c.parent == upload_files.c.parent,
        files.c.name == upload_files.c.name,
    )
    session = and_(mine(upload_files), upload_files.c.upload_id == upload)
    known = tx.execute(
        update(files)
        .where(mine(files), joined, session)
        .values(latest=files.c.latest + 1, hidden=False)
    ).rowcount
    if known < file_count:
        _add_files(tx, session, joined)
    versions = (
        select(
            this_project().label("project_id"),
            files.c.id,
            files.c.latest,
            upload_files.c.sha256,
            upload_files.c.size,
            upload_files.c.content_type,
            literal(user),
            literal(now, Instant()),
            upload_files.c.upload_id,
        )
        .join(files, joined)
        .where(session, mine(files))
        .order_by(files.c.id)
    )
    tx.execute(
        insert(file_versions).from_select(
            [
                "project_id",
                "file_id",
                "version",
                "sha256",
                "size",
                "content_type",
                "user_id",
                "created_at",
                "upload_id",
            ],
            versions,
        )
    )
    if file_count > _MANY:
        tx.analyze(file_versions)  # or the next listing reads all of them


def _add_files(tx: Transaction, session: ColumnElement[bool], joined: ColumnElement[bool]) -> None:
    """Make the rows of the paths that are new, with version 1 as the latest."""
    new = (
        select(
            this_project().label("project_id"),
            upload_files.c.parent,
            upload_files.c.name,
            upload_files.c.path,
            literal(1),
        )
        .join(files, joined, isouter=True)
        .where(session, files.c.id.is_(None))
        .order_by(upload_files.c.parent, upload_files.c.name)
    )
    made = tx.execute(
        insert(files).from_select(["project_id", "parent", "name", "path", "latest"], new)
    ).rowcount
    if made > _MANY:
        tx.analyze(files)


def publish_directories(tx: Transaction, made: set[str]) -> None:
    tx.merge(
        directories,
        (
            {"parent": parent, "name": name, "path": path}
            for path in sorted(made)
            for parent, name in (paths.split_directory(path),)
        ),
        replace=False,
    )


def directories_of(tx: Transaction, upload: int) -> set[str]:
    """Every directory that the session's files lie in, with those above."""
    found = tx.execute(
        select(func.min(upload_files.c.path).label("path"))
        .where(mine(upload_files), upload_files.c.upload_id == upload)
        .group_by(upload_files.c.parent)
    )
    return paths.ancestors({row.path[: row.path.rindex("/") + 1] for row in found})


def file_in_the_way(tx: Transaction, made: set[str]) -> str | None:
    """A visible file that has the path of one of these directories."""
    pairs = [paths.split_directory(path) for path in made]
    for start in range(0, len(pairs), _LOOKUP):
        wanted = paths.wanted(pairs[start : start + _LOOKUP])
        row = tx.execute(
            select(files.c.path)
            .select_from(
                wanted.join(
                    files,
                    and_(files.c.parent == wanted.c.parent, files.c.name == wanted.c.name),
                )
            )
            .where(mine(files), files.c.hidden.is_(False))
            .limit(1)
        ).first()
        if row is not None:
            return str(row.path)
    return None


def directory_in_the_way(tx: Transaction, upload: int) -> str | None:
    """A path of the session that is a directory with something visible in it."""
    low = directories.c.path
    high = func.substr(low, 1, func.length(low) - 1) + "0"
    occupied = (
        select(files.c.id)
        .where(mine(files), files.c.hidden.is_(False), paths.between(tx, files.c.path, low, high))
        .exists()
    )
    row = tx.execute(
        select(upload_files.c.path)
        .join(
            directories,
            and_(
                directories.c.project_id == upload_files.c.project_id,
                directories.c.parent == upload_files.c.parent,
                directories.c.name == upload_files.c.name,
            ),
        )
        .where(mine(upload_files), upload_files.c.upload_id == upload, occupied)
        .limit(1)
    ).first()
    return None if row is None else str(row.path)
