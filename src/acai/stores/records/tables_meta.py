"""Tables of what users say about files, sets and jobs.

Metadata is one typed row per value, found by key and value, and by entity; `design/
metadata-layout.md` says why. A `column` is a key of one type, of one kind of entity, in one
project: its id stands for all four in the rows.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Double,
    ForeignKey,
    Index,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from acai.stores.records.tables import RowId, metadata

INDEXED_TEXT = 512  # characters of a text that are found by index; the rest lies in `whole`

_Text = Text().with_variant(Text(collation="C"), "postgresql")
_Name = String(128).with_variant(String(128, collation="C"), "postgresql")

meta_columns = Table(
    "meta_columns",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("name", _Name, nullable=False),
    Column("type", SmallInteger, nullable=False),
    UniqueConstraint("project_id", "kind", "name", "type"),
)


def _values(name: str, *columns: Column[object]) -> Table:
    return Table(
        name,
        metadata,
        Column("column_id", RowId, nullable=False),
        *columns,
        Column("entity_id", RowId, nullable=False),
        PrimaryKeyConstraint("column_id", "value", "entity_id"),
        sqlite_with_rowid=False,
        postgresql_with={
            "autovacuum_analyze_scale_factor": 0.02,
            "autovacuum_vacuum_insert_scale_factor": 0.02,
        },
    )


# Numbers, times in microseconds, and booleans as 0 and 1.
meta_numbers = _values("meta_numbers", Column("value", Double, nullable=False))
Index(
    "uq_meta_numbers_entity",
    meta_numbers.c.entity_id,
    meta_numbers.c.column_id,
    unique=True,
    postgresql_include=["value"],
)
meta_texts = _values(
    "meta_texts", Column("value", _Text, nullable=False), Column("whole", _Text, nullable=True)
)
Index(
    "uq_meta_texts_entity",
    meta_texts.c.entity_id,
    meta_texts.c.column_id,
    unique=True,
    postgresql_include=["value"],
)
meta_tags = _values("meta_tags", Column("value", _Name, nullable=False))
Index("ix_meta_tags_entity", meta_tags.c.entity_id, meta_tags.c.column_id)
