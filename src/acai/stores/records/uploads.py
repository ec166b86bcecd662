"""Statements about upload sessions, and the one transaction that makes their files visible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    insert,
    select,
    update,
)

from acai.model.files import BlobSpan, NewFile, UploadState
from acai.model.ids import Sha256, UserId
from acai.stores.records import paths
from acai.stores.records.creators import creator, with_creator
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables import projects
from acai.stores.records.tables_lake import (
    blobs,
    objects,
    upload_blobs,
    upload_files,
    uploads,
)


@dataclass(frozen=True, kw_only=True)
class UploadRow:
    id: int
    public_id: str
    user_id: UserId
    creator: str
    state: UploadState
    created_at: datetime
    touched_at: datetime
    file_count: int
    size: int
    made_after: int


@dataclass(frozen=True, kw_only=True)
class ObjectRow:
    id: int
    key: str
    size: int
    sha256: Sha256
    multipart_id: str | None
    part_size: int | None
    stored: bool


def add(
    tx: Transaction, *, public_id: str, user: UserId, resume_key: str | None, now: datetime
) -> None:
    tx.execute(
        insert(uploads).values(
            project_id=this_project(),
            public_id=public_id,
            user_id=user,
            resume_key=resume_key,
            state=UploadState.PENDING.value,
            created_at=now,
            touched_at=now,
            file_count=0,
            size=0,
        )
    )


@cache  # every call of a session looks it up; made anew, the statement costs more than the answer
def _found(lock: bool) -> Select[Any]:
    return _selected(uploads.c.public_id == bindparam("public_id"), lock=lock)


def find(tx: Transaction, public_id: str, *, lock: bool = False) -> UploadRow | None:
    row = tx.execute(_found(lock), {"public_id": public_id}).first()
    return None if row is None else _upload(row)


def find_pending(tx: Transaction, user: UserId, resume_key: str) -> UploadRow | None:
    theirs = and_(
        uploads.c.user_id == user,
        uploads.c.resume_key == resume_key,
        uploads.c.state == UploadState.PENDING.value,
    )
    row = tx.execute(_selected(theirs, lock=True)).first()
    return None if row is None else _upload(row)


def _selected(condition: ColumnElement[bool], *, lock: bool) -> Select[Any]:
    statement = (
        select(uploads, creator)
        .select_from(with_creator(uploads, uploads))
        .where(mine(uploads), condition)
    )
    return statement.with_for_update(of=uploads) if lock else statement


def page(
    tx: Transaction, *, user: UserId | None, state: UploadState | None, before: int, limit: int
) -> list[UploadRow]:
    """Sessions, newest first."""
    statement = (
        select(uploads, creator)
        .select_from(with_creator(uploads, uploads))
        .where(mine(uploads), uploads.c.id < before)
        .order_by(uploads.c.id.desc())
        .limit(limit)
    )
    if user is not None:
        statement = statement.where(uploads.c.user_id == user)
    if state is not None:
        statement = statement.where(uploads.c.state == state.value)
    return [_upload(row) for row in tx.execute(statement)]


def _upload(row: Row[Any]) -> UploadRow:
    return UploadRow(
        id=row.id,
        public_id=row.public_id,
        user_id=row.user_id,
        creator=row.creator,
        state=UploadState(row.state),
        created_at=row.created_at,
        touched_at=row.touched_at,
        file_count=row.file_count,
        size=row.size,
        made_after=row.made_after,
    )


_touch = (
    update(uploads)
    .where(mine(uploads), uploads.c.id == bindparam("touched"))
    .values(touched_at=bindparam("now"))
)


def touch(tx: Transaction, upload: int, now: datetime) -> None:
    tx.execute(_touch, {"touched": upload, "now": now})


def clear_files(tx: Transaction, upload: int) -> None:
    tx.execute(delete(upload_files).where(mine(upload_files), upload_files.c.upload_id == upload))


def add_files(tx: Transaction, upload: int, announced: Iterable[NewFile]) -> None:
    """Announce files; one announced before, at the same path, is replaced."""
    tx.merge(
        upload_files,
        (
            {
                "upload_id": upload,
                "parent": parent,
                "name": name,
                "path": file.path,
                "sha256": file.sha256,
                "size": file.size,
                "content_type": file.content_type,
            }
            for file in announced
            for parent, name in (paths.split(file.path),)
        ),
        replace=True,
    )


def known_blobs(tx: Transaction, upload: int, wanted: Sequence[Sha256]) -> set[Sha256]:
    """Those of the blobs that need not be sent: the project or this session has them."""
    committed = select(blobs.c.sha256).where(mine(blobs), tx.one_of(blobs.c.sha256, wanted))
    found = {row[0] for row in tx.execute(committed)}
    if tx.execute(_STORED, {"upload": upload}).first() is None:
        return found
    staged = (
        select(upload_blobs.c.sha256)
        .join(
            objects,
            and_(
                objects.c.id == upload_blobs.c.object_id,
                objects.c.project_id == upload_blobs.c.project_id,
            ),
        )
        .where(
            mine(upload_blobs),
            upload_blobs.c.upload_id == upload,
            tx.one_of(upload_blobs.c.sha256, wanted),
            objects.c.stored.is_(True),
        )
    )
    found.update(row[0] for row in tx.execute(staged))
    return found


_STORED = (
    select(objects.c.id)
    .where(mine(objects), objects.c.upload_id == bindparam("upload"), objects.c.stored.is_(True))
    .limit(1)
)


def add_object(
    tx: Transaction,
    upload: int,
    *,
    key: str,
    size: int,
    sha256: Sha256,
    multipart_id: str | None,
    part_size: int | None,
    spans: Sequence[BlobSpan],
    now: datetime,
) -> int:
    object_id: int = tx.execute(
        insert(objects)
        .values(
            project_id=this_project(),
            upload_id=upload,
            key=key,
            size=size,
            sha256=sha256,
            multipart_id=multipart_id,
            part_size=part_size,
            created_at=now,
        )
        .returning(objects.c.id)
    ).scalar_one()
    tx.insert(
        upload_blobs,
        (
            {
                "upload_id": upload,
                "sha256": span.sha256,
                "size": span.size,
                "object_id": object_id,
                "start": span.start,
            }
            for span in spans
        ),
    )
    return object_id


def find_objects(tx: Transaction, upload: int, ids: Sequence[int] | None = None) -> list[ObjectRow]:
    statement = select(objects).where(mine(objects), objects.c.upload_id == upload)
    if ids is not None:
        statement = statement.where(objects.c.id.in_(ids))
    return [_object(row) for row in tx.execute(statement.order_by(objects.c.id))]


def find_object_of_blob(tx: Transaction, upload: int, sha256: Sha256) -> ObjectRow | None:
    """An unfinished multipart object of this session that was begun for this very blob."""
    row = tx.execute(
        select(objects)
        .where(
            mine(objects),
            objects.c.upload_id == upload,
            objects.c.sha256 == sha256,
            objects.c.multipart_id.is_not(None),
            objects.c.stored.is_(False),
        )
        .order_by(objects.c.id)
        .limit(1)
    ).first()
    return None if row is None else _object(row)


def _object(row: Row[Any]) -> ObjectRow:
    return ObjectRow(
        id=row.id,
        key=row.key,
        size=row.size,
        sha256=row.sha256,
        multipart_id=row.multipart_id,
        part_size=row.part_size,
        stored=row.stored,
    )


def mark_stored(tx: Transaction, ids: Sequence[int]) -> None:
    tx.execute(update(objects).where(mine(objects), objects.c.id.in_(ids)).values(stored=True))


def lock_project(tx: Transaction) -> None:
    """Commits of one project take turns, so that versions are handed out in sequence."""
    tx.execute(select(projects.c.id).where(projects.c.id == tx.project).with_for_update())


def end(
    tx: Transaction,
    upload: int,
    state: UploadState,
    now: datetime,
    *,
    file_count: int = 0,
    size: int = 0,
    made_after: int = 0,
) -> None:
    tx.execute(
        update(uploads)
        .where(mine(uploads), uploads.c.id == upload)
        .values(
            state=state.value,
            ended_at=now,
            touched_at=now,
            file_count=file_count,
            size=size,
            made_after=made_after,
        )
    )
