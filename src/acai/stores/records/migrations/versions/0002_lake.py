"""The lake: uploads, objects, files, sets, their manifests, and what came from what."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_path = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_name = sa.String(255).with_variant(sa.String(255, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "blobs",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("object_id", _row_id, nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "sha256", name=op.f("pk_blobs")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_blobs_object_id"), "blobs", ["object_id"], unique=False)
    op.create_table(
        "chunks",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "id", name=op.f("pk_chunks")),
    )
    op.create_table(
        "directories",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("parent", sa.LargeBinary(length=16), nullable=False),
        sa.Column("name", _name, nullable=False),
        sa.Column("path", _path, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "parent", "name", name=op.f("pk_directories")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "file_versions",
        sa.Column("id", _row_id, nullable=False),
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("file_id", _row_id, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("content_type", sa.String(length=255), nullable=True),
        sa.Column("user_id", _row_id, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("upload_id", _row_id, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_file_versions")),
        sa.UniqueConstraint("file_id", "version", name=op.f("uq_file_versions_file_id_version")),
    )
    op.create_index(
        op.f("ix_file_versions_project_id_created_at"),
        "file_versions",
        ["project_id", "created_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_file_versions_project_id_id"), "file_versions", ["project_id", "id"], unique=False
    )
    op.create_table(
        "files",
        sa.Column("id", _row_id, nullable=False),
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("parent", sa.LargeBinary(length=16), nullable=False),
        sa.Column("name", _name, nullable=False),
        sa.Column("path", _path, nullable=False),
        sa.Column("latest", sa.Integer(), nullable=False),
        sa.Column("hidden", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_files")),
        sa.UniqueConstraint(
            "project_id", "parent", "name", name=op.f("uq_files_project_id_parent_name")
        ),
        postgresql_with={"fillfactor": 70},
    )
    shown = sa.text("hidden IS 0")
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_files_path", "files", ["project_id", "path"], sqlite_where=shown)
    else:
        op.execute(
            'CREATE INDEX ix_files_path_head ON files (project_id, (left(path, 600) COLLATE "C"))'
            " WHERE hidden IS false"
        )
    op.create_table(
        "meta_numbers",
        sa.Column("column_id", _row_id, nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("entity_id", _row_id, nullable=False),
        sa.PrimaryKeyConstraint("column_id", "value", "entity_id", name=op.f("pk_meta_numbers")),
        postgresql_with={
            "autovacuum_analyze_scale_factor": 0.02,
            "autovacuum_vacuum_insert_scale_factor": 0.02,
        },
        sqlite_with_rowid=False,
    )
    op.create_index(
        "uq_meta_numbers_entity",
        "meta_numbers",
        ["entity_id", "column_id"],
        unique=True,
        postgresql_include=["value"],
    )
    op.create_table(
        "meta_tags",
        sa.Column("column_id", _row_id, nullable=False),
        sa.Column(
            "value",
            sa.String(length=128).with_variant(sa.String(length=128, collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("entity_id", _row_id, nullable=False),
        sa.PrimaryKeyConstraint("column_id", "value", "entity_id", name=op.f("pk_meta_tags")),
        postgresql_with={
            "autovacuum_analyze_scale_factor": 0.02,
            "autovacuum_vacuum_insert_scale_factor": 0.02,
        },
        sqlite_with_rowid=False,
    )
    op.create_index("ix_meta_tags_entity", "meta_tags", ["entity_id", "column_id"], unique=False)
    op.create_table(
        "meta_texts",
        sa.Column("column_id", _row_id, nullable=False),
        sa.Column("value", _path, nullable=False),
        sa.Column("whole", _path, nullable=True),
        sa.Column("entity_id", _row_id, nullable=False),
        sa.PrimaryKeyConstraint("column_id", "value", "entity_id", name=op.f("pk_meta_texts")),
        postgresql_with={
            "autovacuum_analyze_scale_factor": 0.02,
            "autovacuum_vacuum_insert_scale_factor": 0.02,
        },
        sqlite_with_rowid=False,
    )
    op.create_index("uq_meta_texts_entity", "meta_texts", ["entity_id", "column_id"], unique=True)
    op.create_table(
        "upload_blobs",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("upload_id", _row_id, nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("object_id", _row_id, nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("upload_id", "sha256", "object_id", name=op.f("pk_upload_blobs")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_upload_blobs_object_id"), "upload_blobs", ["object_id"], unique=False)
    op.create_table(
        "upload_files",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("upload_id", _row_id, nullable=False),
        sa.Column("parent", sa.LargeBinary(length=16), nullable=False),
        sa.Column("name", _name, nullable=False),
        sa.Column("path", _path, nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("content_type", sa.String(length=255), nullable=True),
        sa.PrimaryKeyConstraint("upload_id", "parent", "name", name=op.f("pk_upload_files")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "meta_columns",
        sa.Column("id", _row_id, nullable=False),
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column(
            "name",
            sa.String(length=128).with_variant(sa.String(length=128, collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("type", sa.SmallInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_meta_columns_project_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_meta_columns")),
        sa.UniqueConstraint(
            "project_id",
            "kind",
            "name",
            "type",
            name=op.f("uq_meta_columns_project_id_kind_name_type"),
        ),
    )
    op.create_table(
        "sets",
        sa.Column("id", _row_id, nullable=False),
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column(
            "name",
            sa.String(length=128).with_variant(sa.String(length=128, collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("latest", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_sets_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sets")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_sets_project_id_name")),
    )
    op.create_table(
        "staged_chunks",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("staged_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_staged_chunks_project_id")
        ),
        sa.PrimaryKeyConstraint("project_id", "id", name=op.f("pk_staged_chunks")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "jobs",
        sa.Column("id", _row_id, nullable=False),
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("public_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", _row_id, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("runtime", sa.Float(), nullable=True),
        sa.Column("queue_time", sa.Float(), nullable=True),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("cpu", sa.Float(), nullable=True),
        sa.Column("memory", sa.BigInteger(), nullable=True),
        sa.Column("gpu", sa.Float(), nullable=True),
        sa.Column("peak_memory", sa.BigInteger(), nullable=True),
        sa.Column("cpu_seconds", sa.Float(), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_jobs_project_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_jobs_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("public_id", name=op.f("uq_jobs_public_id")),
    )
    op.create_index(op.f("ix_jobs_project_id_id"), "jobs", ["project_id", "id"], unique=False)
    op.create_index(
        op.f("ix_jobs_project_id_submitted_at"),
        "jobs",
        ["project_id", "submitted_at"],
        unique=False,
    )
    op.create_table(
        "set_versions",
        sa.Column("id", _row_id, nullable=False),
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("set_id", _row_id, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("root", sa.LargeBinary(length=32), nullable=False),
        sa.Column("content", sa.LargeBinary(length=32), nullable=False),
        sa.Column("file_count", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("first_path", _path, nullable=False),
        sa.Column("last_path", _path, nullable=False),
        sa.Column("user_id", _row_id, nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("removed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_set_versions_project_id")
        ),
        sa.ForeignKeyConstraint(["set_id"], ["sets.id"], name=op.f("fk_set_versions_set_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_set_versions_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_set_versions")),
        sa.UniqueConstraint("set_id", "version", name=op.f("uq_set_versions_set_id_version")),
    )
    op.create_index(
        op.f("ix_set_versions_project_id_created_at"),
        "set_versions",
        ["project_id", "created_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_set_versions_project_id_id"), "set_versions", ["project_id", "id"], unique=False
    )
    op.create_table(
        "uploads",
        sa.Column("id", _row_id, nullable=False),
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("public_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", _row_id, nullable=False),
        sa.Column("resume_key", sa.String(length=128), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("touched_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("swept_at", sa.BigInteger(), nullable=True),
        sa.Column("file_count", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("made_after", sa.BigInteger(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_uploads_project_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_uploads_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_uploads")),
        sa.UniqueConstraint("public_id", name=op.f("uq_uploads_public_id")),
    )
    op.create_index(
        "ix_uploads_unswept",
        "uploads",
        ["touched_at"],
        unique=False,
        sqlite_where=sa.text("swept_at IS NULL"),
        postgresql_where=sa.text("swept_at IS NULL"),
    )
    op.create_index(
        "uq_uploads_resume",
        "uploads",
        ["project_id", "user_id", "resume_key"],
        unique=True,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_table(
        "edges",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("source_id", _row_id, nullable=False),
        sa.Column("target_id", _row_id, nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("source_id < target_id", name=op.f("ck_edges_acyclic")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_edges_project_id")),
        sa.ForeignKeyConstraint(
            ["source_id"], ["set_versions.id"], name=op.f("fk_edges_source_id")
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["set_versions.id"], name=op.f("fk_edges_target_id")
        ),
        sa.PrimaryKeyConstraint("project_id", "target_id", "source_id", name=op.f("pk_edges")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_edges_project_id_source_id"),
        "edges",
        ["project_id", "source_id"],
        unique=False,
    )
    op.create_table(
        "job_inputs",
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("job_id", _row_id, nullable=False),
        sa.Column("set_version_id", _row_id, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_inputs_job_id")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_job_inputs_project_id")
        ),
        sa.ForeignKeyConstraint(
            ["set_version_id"], ["set_versions.id"], name=op.f("fk_job_inputs_set_version_id")
        ),
        sa.PrimaryKeyConstraint("job_id", "set_version_id", name=op.f("pk_job_inputs")),
    )
    op.create_index(
        op.f("ix_job_inputs_set_version_id"), "job_inputs", ["set_version_id"], unique=False
    )
    op.create_table(
        "objects",
        sa.Column("id", _row_id, nullable=False),
        sa.Column("project_id", _row_id, nullable=False),
        sa.Column("upload_id", _row_id, nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("multipart_id", sa.String(length=1024), nullable=True),
        sa.Column("part_size", sa.BigInteger(), nullable=True),
        sa.Column("stored", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_objects_project_id")
        ),
        sa.ForeignKeyConstraint(["upload_id"], ["uploads.id"], name=op.f("fk_objects_upload_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_objects")),
        sa.UniqueConstraint("key", name=op.f("uq_objects_key")),
    )
    op.create_index(op.f("ix_objects_upload_id"), "objects", ["upload_id"], unique=False)
