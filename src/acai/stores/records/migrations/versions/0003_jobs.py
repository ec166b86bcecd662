"""Jobs: what they ask for, their states, what they print and use; limits, queues, templates."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_key = sa.String(128).with_variant(sa.String(128, collation="C"), "postgresql")


def upgrade() -> None:
    _tune_lake()
    op.create_table(
        "job_limits",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("user_id", _row_id, nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_job_limits")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "job_logs",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("job_id", _row_id, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=True),
        sa.Column("object_key", sa.String(length=255), nullable=True),
        sa.PrimaryKeyConstraint("job_id", "attempt", "start", name=op.f("pk_job_logs")),
    )
    op.create_table(
        "job_output_meta",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("job_id", _row_id, nullable=False),
        sa.Column("key", _key, nullable=False),
        sa.Column("number", sa.Double(), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("job_id", "key", name=op.f("pk_job_output_meta")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "job_points",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("job_id", _row_id, nullable=False),
        sa.Column("key", _key, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "key", "n", name=op.f("pk_job_points")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "job_queues",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("user_id", _row_id, nullable=False),
        sa.Column("served", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_job_queues")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "job_transitions",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("job_id", _row_id, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("job_id", "n", name=op.f("pk_job_transitions")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_job_transitions_project_id_at"),
        "job_transitions",
        ["project_id", "at"],
        unique=False,
    )
    op.create_table(
        "job_usage",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("job_id", _row_id, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("cpu_seconds", sa.Float(), nullable=False),
        sa.Column("memory", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "at", name=op.f("pk_job_usage")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "templates",
        sa.Column("id", _row_id, nullable=False),
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("user_id", _row_id, nullable=False),
        sa.Column("name", _key, nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_templates_project_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_templates_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_templates")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_templates_project_id_name")),
    )
    op.add_column("jobs", sa.Column("request", sa.Text(), server_default="{}", nullable=False))
    op.add_column(
        "jobs", sa.Column("priority", sa.SmallInteger(), server_default="1", nullable=False)
    )
    op.add_column("jobs", sa.Column("attempt", sa.Integer(), server_default="0", nullable=False))
    op.add_column("jobs", sa.Column("retries", sa.Integer(), server_default="0", nullable=False))
    op.add_column("jobs", sa.Column("reason", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("notes", sa.Text(), server_default="[]", nullable=False))
    op.add_column("jobs", sa.Column("code_set_id", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("output_set_id", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("cached_from_id", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("cache_key", sa.LargeBinary(length=32), nullable=True))
    op.add_column(
        "jobs",
        sa.Column("environment_digest", sa.String(length=64), nullable=True),
    )
    op.add_column(
        "jobs",
        sa.Column("platform_version", sa.String(length=32), nullable=True),
    )
    op.add_column("jobs", sa.Column("kill_requested_at", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("queued_at", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("seen_at", sa.BigInteger(), nullable=True))
    op.add_column(
        "jobs", sa.Column("log_size", sa.BigInteger(), server_default="0", nullable=False)
    )
    op.add_column("jobs", sa.Column("tag_count", sa.Integer(), server_default="0", nullable=False))
    op.add_column(
        "jobs", sa.Column("settled", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
    op.add_column("jobs", sa.Column("template_id", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("prediction", sa.Text(), nullable=True))
    _partial(
        "ix_jobs_active",
        "jobs",
        ["status"],
        "status IN ('launching', 'downloading', 'running', 'uploading')",
    )
    _partial("ix_jobs_cache_key", "jobs", ["project_id", "cache_key"], "cache_key IS NOT NULL")
    _partial(
        "ix_jobs_queued",
        "jobs",
        ["project_id", "user_id", "priority", "id", "cpu", "memory", "queued_at"],
        "status = 'queued'",
    )
    _partial("ix_jobs_template", "jobs", ["template_id"], "template_id IS NOT NULL")
    _partial(
        "ix_jobs_unsettled",
        "jobs",
        ["id"],
        "settled IS 0" if op.get_bind().dialect.name == "sqlite" else "settled IS false",
    )
    op.add_column("tokens", sa.Column("job_id", sa.BigInteger(), nullable=True))
    op.add_column("tokens", sa.Column("attempt", sa.Integer(), nullable=True))
    _partial("ix_tokens_job_id", "tokens", ["job_id"], "job_id IS NOT NULL")


def _partial(name: str, table: str, columns: list[str], where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)


def _tune_lake() -> None:
    """PostgreSQL: conditions on texts without a look at the table; versions counted up in place."""
    if op.get_bind().dialect.name != "postgresql":
        return
    op.drop_index("uq_meta_texts_entity", table_name="meta_texts")
    op.create_index(
        "uq_meta_texts_entity",
        "meta_texts",
        ["entity_id", "column_id"],
        unique=True,
        postgresql_include=["value"],
    )
    op.execute("ALTER TABLE files SET (fillfactor = 50)")
