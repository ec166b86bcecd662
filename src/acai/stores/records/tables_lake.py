"""The lake's tables: uploads, objects, files, sets, their manifests, and what came from what."""

from __future__ import annotations

import hashlib

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
    func,
    text,
)

from acai.stores.records.tables import Instant, RowId, metadata


class Digest(TypeDecorator[str]):
    """A SHA-256, hexadecimal in Python and half as long in the database."""

    impl = LargeBinary(32)
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        return None if value is None else bytes.fromhex(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        return None if value is None else bytes(value).hex()


# Paths are compared as bytes everywhere, so that both databases order and page alike.
Path = Text().with_variant(Text(collation="C"), "postgresql")
Name = String(255).with_variant(String(255, collation="C"), "postgresql")
SetName = String(128).with_variant(String(128, collation="C"), "postgresql")
# A directory's path in 16 bytes: a path may have 4,096 of them, and PostgreSQL indexes fewer.
DirectoryKey = LargeBinary(16)


def directory_key(path: str) -> bytes:
    """The key of a directory, given with its final slash."""
    return hashlib.blake2b(path.encode(), digest_size=16).digest()


def _project() -> Column[int]:
    return Column("project_id", ForeignKey("projects.id"), nullable=False)


def _reference(name: str, *, index: bool = False) -> Column[int]:
    """The row of another table, unchecked by the database.

    A hundred thousand of these are written at once, by statements that read them from the very
    table they refer to; PostgreSQL would look each of them up again, for seconds.
    """
    return Column(name, RowId, nullable=False, index=index)


uploads = Table(
    "uploads",
    metadata,
    Column("id", RowId, primary_key=True),
    _project(),
    Column("public_id", String(32), nullable=False, unique=True),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("resume_key", String(128)),
    Column("state", String(16), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("touched_at", Instant, nullable=False),
    Column("ended_at", Instant),
    Column("swept_at", Instant),
    Column("file_count", BigInteger, nullable=False, default=0),
    Column("size", BigInteger, nullable=False, default=0),
    # The file versions that it made come right after this row.
    Column("made_after", BigInteger, nullable=False, server_default="0"),
)
_pending = uploads.c.state == "pending"
Index(
    "uq_uploads_resume",
    uploads.c.project_id,
    uploads.c.user_id,
    uploads.c.resume_key,
    unique=True,
    sqlite_where=_pending,
    postgresql_where=_pending,
)
_unswept = uploads.c.swept_at.is_(None)
Index("ix_uploads_unswept", uploads.c.touched_at, sqlite_where=_unswept, postgresql_where=_unswept)

upload_files = Table(
    "upload_files",
    metadata,
    _reference("project_id"),
    _reference("upload_id"),
    Column("parent", DirectoryKey, nullable=False),
    Column("name", Name, nullable=False),
    Column("path", Path, nullable=False),
    Column("sha256", Digest, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("content_type", String(255)),
    PrimaryKeyConstraint("upload_id", "parent", "name"),
    sqlite_with_rowid=False,
)

objects = Table(
    "objects",
    metadata,
    Column("id", RowId, primary_key=True),
    _project(),
    Column("upload_id", ForeignKey("uploads.id"), nullable=False, index=True),
    Column("key", String(255), nullable=False, unique=True),
    Column("size", BigInteger, nullable=False),
    Column("sha256", Digest, nullable=False),
    Column("multipart_id", String(1024)),
    Column("part_size", BigInteger),
    Column("stored", Boolean, nullable=False, server_default=false()),
    Column("created_at", Instant, nullable=False),
)

upload_blobs = Table(
    "upload_blobs",
    metadata,
    _reference("project_id"),
    _reference("upload_id"),
    Column("sha256", Digest, nullable=False),
    Column("size", BigInteger, nullable=False),
    _reference("object_id", index=True),
    Column("start", BigInteger, nullable=False),
    PrimaryKeyConstraint("upload_id", "sha256", "object_id"),
    sqlite_with_rowid=False,
)

blobs = Table(
    "blobs",
    metadata,
    _reference("project_id"),
    Column("sha256", Digest, nullable=False),
    Column("size", BigInteger, nullable=False),
    _reference("object_id", index=True),
    Column("start", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "sha256"),
    sqlite_with_rowid=False,
)

files = Table(
    "files",
    metadata,
    Column("id", RowId, primary_key=True),
    _reference("project_id"),
    Column("parent", DirectoryKey, nullable=False),
    Column("name", Name, nullable=False),
    Column("path", Path, nullable=False),
    Column("latest", Integer, nullable=False),
    Column("hidden", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("project_id", "parent", "name"),
    # Room in each page to count the version of every row up without moving one.
    postgresql_with={"fillfactor": 50},
)
INDEXED_PATH = 600  # characters of a path that PostgreSQL's index holds: at most 2,400 bytes
_shown = files.c.hidden.is_(False)
Index("ix_files_path", files.c.project_id, files.c.path, sqlite_where=_shown).ddl_if(
    dialect="sqlite"
)
Index(
    "ix_files_path_head",
    files.c.project_id,
    func.left(files.c.path, text(str(INDEXED_PATH))).collate("C"),
    postgresql_where=_shown,
).ddl_if(dialect="postgresql")

directories = Table(
    "directories",
    metadata,
    _reference("project_id"),
    Column("parent", DirectoryKey, nullable=False),
    Column("name", Name, nullable=False),
    Column("path", Path, nullable=False),  # with its final slash
    PrimaryKeyConstraint("project_id", "parent", "name"),
    sqlite_with_rowid=False,
)

file_versions = Table(
    "file_versions",
    metadata,
    Column("id", RowId, primary_key=True),
    _reference("project_id"),
    _reference("file_id"),
    Column("version", Integer, nullable=False),
    Column("sha256", Digest, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("content_type", String(255)),
    _reference("user_id"),
    Column("created_at", Instant, nullable=False),
    _reference("upload_id"),
    UniqueConstraint("file_id", "version"),
    Index(None, "project_id", "id"),
    Index(None, "project_id", "created_at"),
)

sets = Table(
    "sets",
    metadata,
    Column("id", RowId, primary_key=True),
    _project(),
    Column("name", SetName, nullable=False),
    Column("latest", Integer, nullable=False),
    UniqueConstraint("project_id", "name"),
)

set_versions = Table(
    "set_versions",
    metadata,
    Column("id", RowId, primary_key=True),
    _project(),
    Column("set_id", ForeignKey("sets.id"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("root", LargeBinary(32), nullable=False),
    Column("content", LargeBinary(32), nullable=False),  # equal for equal paths and bytes
    Column("file_count", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    # Between them lie all of its paths: tells at once which sets cannot hold a given file.
    Column("first_path", Path, nullable=False),
    Column("last_path", Path, nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("job_id", BigInteger),
    Column("created_at", Instant, nullable=False),
    Column("removed_at", Instant),
    UniqueConstraint("set_id", "version"),
    Index(None, "project_id", "id"),
    Index(None, "project_id", "created_at"),
)

chunks = Table(
    "chunks",
    metadata,
    _reference("project_id"),
    Column("id", LargeBinary(32), nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("project_id", "id"),
)

# Chunks that no set refers to yet: those of a large set while it is being built.
staged_chunks = Table(
    "staged_chunks",
    metadata,
    _project(),
    Column("id", LargeBinary(32), nullable=False),
    Column("staged_at", Instant, nullable=False),
    PrimaryKeyConstraint("project_id", "id"),
    sqlite_with_rowid=False,
)

edges = Table(
    "edges",
    metadata,
    _project(),
    Column("source_id", ForeignKey("set_versions.id"), nullable=False),
    Column("target_id", ForeignKey("set_versions.id"), nullable=False),
    Column("action", String(16), nullable=False),
    Column("job_id", BigInteger),
    Column("created_at", Instant, nullable=False),
    PrimaryKeyConstraint("project_id", "target_id", "source_id"),
    # Without the target, or PostgreSQL takes it for the key where it has no statistics.
    Index(None, "project_id", "source_id"),
    # What a set is made of exists before it: no cycle can be written.
    CheckConstraint("source_id < target_id", name="acyclic"),
    sqlite_with_rowid=False,
)
