"""Projects, users, tokens, and the platform's own secrets."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

_name = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "platform",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_table(
        "projects",
        sa.Column("id", _row_id, primary_key=True),
        sa.Column("name", _name, nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "users",
        sa.Column("id", _row_id, primary_key=True),
        sa.Column("public_id", sa.String(32), nullable=False, unique=True),
        sa.Column("project_id", _row_id, sa.ForeignKey("projects.id")),
        sa.Column("name", _name, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("removed_at", sa.BigInteger()),
        sa.CheckConstraint(
            "(role = 'global_admin') = (project_id IS NULL)", name="global_has_no_project"
        ),
    )
    alive = sa.text("removed_at IS NULL")
    op.create_index(
        "uq_users_project_id_name",
        "users",
        ["project_id", "name"],
        unique=True,
        sqlite_where=alive,
        postgresql_where=alive,
    )
    one = sa.text("role = 'global_admin'")
    op.create_index(
        "uq_users_global_admin",
        "users",
        ["role"],
        unique=True,
        sqlite_where=one,
        postgresql_where=one,
    )
    op.create_table(
        "tokens",
        sa.Column("id", _row_id, primary_key=True),
        sa.Column("lookup", sa.String(16), nullable=False, unique=True),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("user_id", _row_id, sa.ForeignKey("users.id"), nullable=False, index=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger()),
    )
