"""The tables. What belongs to a project has a `project_id`; see `scope.py` for what follows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)


class Instant(TypeDecorator[datetime]):
    """A UTC time as whole microseconds: one representation, ordered alike on every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else to_microseconds(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else from_microseconds(value)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(moment: datetime) -> int:
    delta = moment - _EPOCH
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_microseconds(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


# SQLite gives an INTEGER primary key its fast row id; PostgreSQL wants BIGINT.
RowId = BigInteger().with_variant(Integer, "sqlite")

# Names are listed in the order of their bytes, on every database.
OrderedName = String(63).with_variant(String(63, collation="C"), "postgresql")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

platform = Table(
    "platform",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

projects = Table(
    "projects",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("name", OrderedName, nullable=False, unique=True),
    Column("created_at", Instant, nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("public_id", String(32), nullable=False, unique=True),
    Column("project_id", ForeignKey("projects.id"), nullable=True),  # null: the global admin
    Column("name", OrderedName, nullable=False),
    Column("role", String(16), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("removed_at", Instant),
    CheckConstraint("(role = 'global_admin') = (project_id IS NULL)", name="global_has_no_project"),
)
# A removed user keeps the row, for what it made keeps its creator; the name is free again.
Index(
    "uq_users_project_id_name",
    users.c.project_id,
    users.c.name,
    unique=True,
    sqlite_where=users.c.removed_at.is_(None),
    postgresql_where=users.c.removed_at.is_(None),
)
Index(
    "uq_users_global_admin",
    users.c.role,
    unique=True,
    sqlite_where=(users.c.role == "global_admin"),
    postgresql_where=(users.c.role == "global_admin"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("lookup", String(16), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("job_id", BigInteger),  # a token that is good for one attempt of this job only
    Column("attempt", Integer),
    Column("created_at", Instant, nullable=False),
    Column("revoked_at", Instant),
    UniqueConstraint("lookup"),
)
_of_job = tokens.c.job_id.is_not(None)
Index("ix_tokens_job_id", tokens.c.job_id, sqlite_where=_of_job, postgresql_where=_of_job)
