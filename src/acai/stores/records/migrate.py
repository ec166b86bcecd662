"""Bring a database to this version's schema, once, whoever else is starting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text

from acai.model.errors import InvalidSetting, SchemaTooNew
from acai.stores.records.database import Database, translated

HEAD = "0003"  # the newest file in migrations/versions; a test keeps it so
_LOCK = 7_650_000_001  # any constant that no other user of the database takes


def migrate(database: Database) -> None:
    """Upgrade to HEAD under a lock. Raises SchemaTooNew, changing nothing, for a newer one."""
    with translated(), database.engine.connect() as plain:
        connection = plain.execution_options(acai_write=True)
        with connection.begin():
            if database.dialect == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            current = revision(connection)
            if current == HEAD:
                return
            if current is not None and current > HEAD:
                raise SchemaTooNew(
                    f"the database has schema {current}, but this acai knows only up to {HEAD};"
                    " upgrade acai (pip install -U acai) or use another database",
                    found=current,
                    known=HEAD,
                )
            if current is None:
                _refuse_foreign_tables(connection)
            _upgrade(connection)


def revision(connection: Connection) -> str | None:
    """The database's schema revision; None for an empty database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: Any = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _refuse_foreign_tables(connection: Connection) -> None:
    from acai.stores.records.tables import metadata

    taken = sorted(set(inspect(connection).get_table_names()) & set(metadata.tables))
    if taken:
        raise InvalidSetting(
            f"the database has a table {taken[0]!r} that acai did not make; use an empty database"
        )


def _upgrade(connection: Connection) -> None:
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: Connection | None = None) -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
