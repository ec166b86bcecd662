"""Who made a row: the join with users that every listing shows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, FromClause, Join, and_, func

from acai.stores.records.tables import users

# The global admin belongs to no project, so the scoped join does not find it.
GLOBAL_ADMIN = "admin"
creator: ColumnElement[str] = func.coalesce(users.c.name, GLOBAL_ADMIN).label("creator")


def with_creator(source: FromClause, made: Any) -> Join:
    """`source` joined with the user who made its `made` table's rows."""
    return source.outerjoin(
        users, and_(users.c.id == made.c.user_id, users.c.project_id == made.c.project_id)
    )
