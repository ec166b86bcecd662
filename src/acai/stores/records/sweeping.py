"""What abandoned and ended upload sessions leave behind, found across all projects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, delete, or_, select, update

from acai.model.files import UploadState
from acai.model.ids import ProjectId
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine
from acai.stores.records.tables_lake import blobs, objects, upload_blobs, upload_files, uploads


@dataclass(frozen=True, kw_only=True)
class EndedUpload:
    id: int
    project: ProjectId


@dataclass(frozen=True, kw_only=True)
class Orphan:
    """An object that no blob of the project lies in."""

    id: int
    key: str
    multipart_id: str | None


def expire(tx: Transaction, *, idle_since: datetime, now: datetime) -> int:
    """End the sessions that nobody has touched since then. Runs platform-wide."""
    return tx.execute(
        update(uploads)
        .where(uploads.c.state == UploadState.PENDING.value, uploads.c.touched_at < idle_since)
        .values(state=UploadState.EXPIRED.value, ended_at=now)
    ).rowcount


def ended(tx: Transaction, *, before: datetime, limit: int) -> list[EndedUpload]:
    """Sessions that ended before then and have not been swept. Runs platform-wide."""
    rows = tx.execute(
        select(uploads.c.id, uploads.c.project_id)
        .where(
            uploads.c.swept_at.is_(None),
            uploads.c.state != UploadState.PENDING.value,
            or_(uploads.c.ended_at.is_(None), uploads.c.ended_at < before),
        )
        .order_by(uploads.c.touched_at)
        .limit(limit)
    )
    return [EndedUpload(id=row.id, project=ProjectId(row.project_id)) for row in rows]


def orphans(tx: Transaction, upload: int) -> list[Orphan]:
    rows = tx.execute(
        select(objects.c.id, objects.c.key, objects.c.multipart_id, objects.c.stored)
        .join(
            blobs,
            and_(blobs.c.object_id == objects.c.id, blobs.c.project_id == objects.c.project_id),
            isouter=True,
        )
        .where(mine(objects), objects.c.upload_id == upload, blobs.c.sha256.is_(None))
    )
    return [
        Orphan(id=row.id, key=row.key, multipart_id=None if row.stored else row.multipart_id)
        for row in rows
    ]


def forget(tx: Transaction, upload: int, gone: list[Orphan], now: datetime) -> None:
    """Drop the rows of a session's working state, once its orphaned bytes are deleted."""
    for table in (upload_blobs, upload_files):
        tx.execute(delete(table).where(mine(table), table.c.upload_id == upload))
    if gone:
        tx.execute(delete(objects).where(mine(objects), objects.c.id.in_([one.id for one in gone])))
    tx.execute(update(uploads).where(mine(uploads), uploads.c.id == upload).values(swept_at=now))
