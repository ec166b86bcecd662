"""Tables of jobs: what was asked, every state it was in, what it printed and used."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    literal_column,
)

from acai.model.jobs import ACTIVE
from acai.stores.records.tables import Instant, RowId, metadata

_Key = String(128).with_variant(String(128, collation="C"), "postgresql")

jobs = Table(
    "jobs",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("public_id", String(32), nullable=False, unique=True),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("name", String(128)),
    Column("status", String(16), nullable=False),
    Column("command", Text, nullable=False),
    Column("submitted_at", Instant, nullable=False),
    Column("started_at", Instant),
    Column("ended_at", Instant),
    Column("runtime", Float),
    Column("queue_time", Float),
    Column("cost", Float),
    Column("cpu", Float),
    Column("memory", BigInteger),
    Column("gpu", Float),
    Column("peak_memory", BigInteger),
    Column("cpu_seconds", Float),
    Column("exit_code", Integer),
    # The request with its references pinned, as JSON: what it takes to run the job again.
    Column("request", Text, nullable=False, server_default="{}"),
    Column("priority", SmallInteger, nullable=False, server_default="1"),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("retries", Integer, nullable=False, server_default="0"),
    Column("reason", Text),
    Column("notes", Text, nullable=False, server_default="[]"),
    Column("code_set_id", BigInteger),
    Column("output_set_id", BigInteger),
    Column("cached_from_id", BigInteger),
    Column("cache_key", LargeBinary(32)),
    Column("environment_digest", String(64)),
    Column("platform_version", String(32)),
    Column("kill_requested_at", Instant),
    Column("queued_at", Instant),  # of the latest attempt
    Column("seen_at", Instant),  # when its agent last said something
    Column("log_size", BigInteger, nullable=False, server_default="0"),
    Column("tag_count", Integer, nullable=False, server_default="0"),
    Column("settled", Boolean, nullable=False, server_default=false()),  # nothing left to tidy
    Column("template_id", BigInteger),
    Column("prediction", Text),
    Index(None, "project_id", "id"),
    Index(None, "project_id", "submitted_at"),
)
# Written out, not bound: a partial index serves only a condition that repeats its own words.
is_queued = jobs.c.status == literal_column("'queued'")
Index(
    "ix_jobs_queued",
    jobs.c.project_id,
    jobs.c.user_id,
    jobs.c.priority,
    jobs.c.id,
    jobs.c.cpu,  # this and what follows, so that a look at all queues reads the index alone
    jobs.c.memory,
    jobs.c.queued_at,
    sqlite_where=is_queued,
    postgresql_where=is_queued,
)
is_active = jobs.c.status.in_([literal_column(f"'{state.value}'") for state in ACTIVE])
Index("ix_jobs_active", jobs.c.status, sqlite_where=is_active, postgresql_where=is_active)
is_unsettled = jobs.c.settled.is_(False)
Index("ix_jobs_unsettled", jobs.c.id, sqlite_where=is_unsettled, postgresql_where=is_unsettled)
_cached = jobs.c.cache_key.is_not(None)
Index(
    "ix_jobs_cache_key",
    jobs.c.project_id,
    jobs.c.cache_key,
    sqlite_where=_cached,
    postgresql_where=_cached,
)
_templated = jobs.c.template_id.is_not(None)
Index("ix_jobs_template", jobs.c.template_id, sqlite_where=_templated, postgresql_where=_templated)

job_inputs = Table(
    "job_inputs",
    metadata,
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("job_id", ForeignKey("jobs.id"), nullable=False),
    Column("set_version_id", ForeignKey("set_versions.id"), nullable=False),
    PrimaryKeyConstraint("job_id", "set_version_id"),
    Index(None, "set_version_id"),
)

job_transitions = Table(
    "job_transitions",
    metadata,
    Column("project_id", RowId, nullable=False),
    Column("job_id", RowId, nullable=False),
    Column("n", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("at", Instant, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("reason", Text),
    PrimaryKeyConstraint("job_id", "n"),
    Index(None, "project_id", "at"),
    sqlite_with_rowid=False,
)

# Values of numeric tags, in the order they were printed.
job_points = Table(
    "job_points",
    metadata,
    Column("project_id", RowId, nullable=False),
    Column("job_id", RowId, nullable=False),
    Column("key", _Key, nullable=False),
    Column("n", Integer, nullable=False),
    Column("value", Double, nullable=False),
    Column("at", Instant, nullable=False),
    PrimaryKeyConstraint("job_id", "key", "n"),
    sqlite_with_rowid=False,
)

# What a job has printed about the set that it is going to make.
job_output_meta = Table(
    "job_output_meta",
    metadata,
    Column("project_id", RowId, nullable=False),
    Column("job_id", RowId, nullable=False),
    Column("key", _Key, nullable=False),
    Column("number", Double),
    Column("text", Text),
    PrimaryKeyConstraint("job_id", "key"),
    sqlite_with_rowid=False,
)

job_usage = Table(
    "job_usage",
    metadata,
    Column("project_id", RowId, nullable=False),
    Column("job_id", RowId, nullable=False),
    Column("at", Instant, nullable=False),
    Column("cpu_seconds", Float, nullable=False),
    Column("memory", BigInteger, nullable=False),
    PrimaryKeyConstraint("job_id", "at"),
    sqlite_with_rowid=False,
)

# Stretches of a log, without gaps: recent ones as data, older ones as objects in the store.
job_logs = Table(
    "job_logs",
    metadata,
    Column("project_id", RowId, nullable=False),
    Column("job_id", RowId, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),  # before compression
    Column("lines", BigInteger, nullable=False),  # line ends in it
    Column("data", LargeBinary),  # zlib
    Column("object_key", String(255)),  # gzip
    PrimaryKeyConstraint("job_id", "attempt", "start"),
)

# One row for a user who has run jobs: when the scheduler last served the user's queue.
job_queues = Table(
    "job_queues",
    metadata,
    Column("project_id", RowId, nullable=False),
    Column("user_id", RowId, nullable=False),
    Column("served", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "user_id"),
    sqlite_with_rowid=False,
)

# Most active jobs: of a user, or with user 0 of every user of the project.
job_limits = Table(
    "job_limits",
    metadata,
    Column("project_id", RowId, nullable=False),
    Column("user_id", RowId, nullable=False),
    Column("jobs", Integer, nullable=False),
    PrimaryKeyConstraint("project_id", "user_id"),
    sqlite_with_rowid=False,
)

# Commands whose run time is learnt. `plan` and `model` are JSON.
templates = Table(
    "templates",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("name", _Key, nullable=False),
    Column("command", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", Text),
    Column("created_at", Instant, nullable=False),
    Column("ended_at", Instant),
    UniqueConstraint("project_id", "name"),
)
