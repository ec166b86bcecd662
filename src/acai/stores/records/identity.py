"""Statements about projects, users and tokens.

Signing in comes before any project is known, so these run platform-wide and name the project
themselves; every function that reads users takes the project it may see.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from acai.model.errors import AlreadyExists
from acai.model.identity import Project, Role, User
from acai.model.ids import ProjectId, UserId, public_id
from acai.stores.records.database import Transaction
from acai.stores.records.tables import platform, projects, tokens, users
from acai.stores.records.tables_jobs import jobs

_PLATFORM_LOCK = 7_650_000_002  # beside the one that migrations take


@dataclass(frozen=True, kw_only=True)
class StoredToken:
    """A token that has not been revoked, with the user that it speaks for."""

    hash: str
    user_id: UserId
    project_id: ProjectId | None
    user: User
    job_id: int | None = None
    attempt: int | None = None


_user_columns = (
    users.c.id,
    users.c.public_id,
    users.c.name,
    users.c.role,
    users.c.project_id,
    users.c.created_at,
    projects.c.name.label("project"),
)
_users_with_project = users.outerjoin(projects, projects.c.id == users.c.project_id)


def _user(row: Row[Any]) -> User:
    return User(
        id=row.public_id,
        name=row.name,
        role=Role(row.role),
        project=row.project,
        create_time=row.created_at,
    )


def add_project(tx: Transaction, name: str, now: datetime) -> tuple[ProjectId, Project]:
    try:
        row = tx.execute(
            insert(projects).values(name=name, created_at=now).returning(projects.c.id)
        ).one()
    except IntegrityError:
        raise AlreadyExists(f"a project named {name!r} exists; choose another name") from None
    return ProjectId(row.id), Project(name=name, create_time=now)


def project_named(tx: Transaction, name: str) -> tuple[ProjectId, Project] | None:
    row = tx.execute(select(projects).where(projects.c.name == name)).first()
    if row is None:
        return None
    return ProjectId(row.id), Project(name=row.name, create_time=row.created_at)


def list_projects(tx: Transaction, *, after: str, limit: int) -> list[Project]:
    rows = tx.execute(
        select(projects).where(projects.c.name > after).order_by(projects.c.name).limit(limit)
    )
    return [Project(name=row.name, create_time=row.created_at) for row in rows]


def add_user(
    tx: Transaction, *, project: ProjectId | None, name: str, role: Role, now: datetime
) -> tuple[UserId, User]:
    try:
        row = tx.execute(
            insert(users)
            .values(
                public_id=public_id("user"),
                project_id=project,
                name=name,
                role=role.value,
                created_at=now,
            )
            .returning(users.c.id)
        ).one()
    except IntegrityError:
        raise AlreadyExists(
            f"a user named {name!r} exists in this project; choose another name"
        ) from None
    found = tx.execute(
        select(*_user_columns).select_from(_users_with_project).where(users.c.id == row.id)
    ).one()
    return UserId(row.id), _user(found)


def user_named(tx: Transaction, project: ProjectId, name: str) -> tuple[UserId, User] | None:
    """The living user of that name, or of that public id, in the project."""
    row = tx.execute(
        select(*_user_columns)
        .select_from(_users_with_project)
        .where(
            users.c.project_id == project,
            (users.c.name == name) | (users.c.public_id == name),
            users.c.removed_at.is_(None),
        )
        .order_by((users.c.name == name).desc())
        .limit(1)
    ).first()
    return None if row is None else (UserId(row.id), _user(row))


def user_with_id(tx: Transaction, user: UserId) -> User | None:
    row = tx.execute(
        select(*_user_columns)
        .select_from(_users_with_project)
        .where(users.c.id == user, users.c.removed_at.is_(None))
    ).first()
    return None if row is None else _user(row)


def list_users(tx: Transaction, project: ProjectId, *, after: str, limit: int) -> list[User]:
    rows = tx.execute(
        select(*_user_columns)
        .select_from(_users_with_project)
        .where(users.c.project_id == project, users.c.removed_at.is_(None), users.c.name > after)
        .order_by(users.c.name)
        .limit(limit)
    )
    return [_user(row) for row in rows]


def count_admins(tx: Transaction, project: ProjectId) -> int:
    return int(
        tx.execute(
            select(func.count())
            .select_from(users)
            .where(
                users.c.project_id == project,
                users.c.role == Role.ADMIN.value,
                users.c.removed_at.is_(None),
            )
        ).scalar_one()
    )


def lock_project(tx: Transaction, project: ProjectId) -> None:
    """Make decisions about a project's users one at a time (SQLite's writers are already)."""
    tx.execute(select(projects.c.id).where(projects.c.id == project).with_for_update())


def lock_user(tx: Transaction, user: UserId) -> None:
    """Replace a user's token one at a time, so that one stays valid in the end."""
    tx.execute(select(users.c.id).where(users.c.id == user).with_for_update())


def remove_user(tx: Transaction, user: UserId, now: datetime) -> None:
    tx.execute(update(users).where(users.c.id == user).values(removed_at=now))
    revoke_tokens(tx, user, now, of_jobs_too=True)


def revoke_tokens(
    tx: Transaction, user: UserId, now: datetime, *, of_jobs_too: bool = False
) -> None:
    """End a user's token; the tokens of running jobs stay, unless the user goes."""
    statement = update(tokens).where(tokens.c.user_id == user, tokens.c.revoked_at.is_(None))
    if not of_jobs_too:
        statement = statement.where(tokens.c.job_id.is_(None))
    tx.execute(statement.values(revoked_at=now))


def add_token(tx: Transaction, user: UserId, lookup: str, hash: str, now: datetime) -> None:
    tx.execute(insert(tokens).values(lookup=lookup, hash=hash, user_id=user, created_at=now))


def token_by_lookup(tx: Transaction, lookup: str) -> StoredToken | None:
    row = tx.execute(
        select(
            tokens.c.hash,
            tokens.c.job_id,
            tokens.c.attempt,
            jobs.c.project_id.label("job_project_id"),
            *_user_columns,
        )
        .select_from(
            _users_with_project.join(tokens, tokens.c.user_id == users.c.id).outerjoin(
                jobs, jobs.c.id == tokens.c.job_id
            )
        )
        .where(
            tokens.c.lookup == lookup, tokens.c.revoked_at.is_(None), users.c.removed_at.is_(None)
        )
    ).first()
    if row is None:
        return None
    project = row.project_id if row.job_id is None else row.job_project_id
    return StoredToken(
        hash=row.hash,
        user_id=UserId(row.id),
        project_id=None if project is None else ProjectId(project),
        user=_user(row),
        job_id=row.job_id,
        attempt=row.attempt,
    )


def lock_platform(tx: Transaction) -> None:
    """One server at a time decides about the platform itself (SQLite's writers already do)."""
    if tx.dialect == "postgresql":
        tx.execute(select(func.pg_advisory_xact_lock(_PLATFORM_LOCK)))


def platform_value(tx: Transaction, key: str) -> str | None:
    return tx.execute(select(platform.c.value).where(platform.c.key == key)).scalar()


def set_platform_value(tx: Transaction, key: str, value: str) -> None:
    tx.execute(insert(platform).values(key=key, value=value))
