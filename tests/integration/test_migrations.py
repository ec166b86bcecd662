"""The schema: one chain of migrations that ends in what the code believes."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

import acai.stores.records
from acai.identity.service import Identity
from acai.model.errors import InvalidSetting, SchemaTooNew, Unavailable
from acai.model.identity import Role
from acai.stores.records import identity as records
from acai.stores.records.database import PLATFORM, Database, open_database
from acai.stores.records.migrate import HEAD, alembic_config, migrate, revision
from acai.stores.records.tables import metadata
from servers.racing import race

SCHEMAS = Path(__file__).parents[1] / "schemas"
for module in Path(acai.stores.records.__path__[0]).glob("tables*.py"):
    import_module(f"acai.stores.records.{module.stem}")  # each adds its tables to the metadata
RELEASED = sorted({file.name.split(".")[0] for file in SCHEMAS.glob("*.sql")})


@contextmanager
def opened(url: str) -> Iterator[Database]:
    database = open_database(url)
    try:
        yield database
    finally:
        database.close()


# Alembic cannot compare indexes of one dialect only, nor those on expressions; `schema` can.
_BEYOND_ALEMBIC = {
    index.name
    for table in metadata.tables.values()
    for index in table.indexes
    if index._ddl_if is not None
}


def _comparable(_item: Any, name: str | None, kind: str, _reflected: bool, _other: Any) -> bool:
    return not (kind == "index" and name in _BEYOND_ALEMBIC) and name != "alembic_version"


def differences(connection: Connection) -> list[Any]:
    options = {"compare_type": True, "compare_server_default": True, "include_object": _comparable}
    context = MigrationContext.configure(connection, opts=options)
    return list(compare_metadata(context, metadata))


def schema(connection: Connection) -> dict[str, Any]:
    """What the database itself says about its tables, to the letter of each index."""
    look = inspect(connection)
    if connection.dialect.name == "sqlite":
        source = "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    else:
        source = "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    indexes = [(table, " ".join(sql.split())) for table, sql in connection.execute(text(source))]
    return {
        table: {
            "columns": sorted(
                (c["name"], repr(c["type"]), c["nullable"], c["default"])
                for c in look.get_columns(table)
            ),
            "key": look.get_pk_constraint(table),
            "unique": sorted(str(one) for one in look.get_unique_constraints(table)),
            "foreign": sorted(str(one) for one in look.get_foreign_keys(table)),
            "checks": sorted(str(one) for one in look.get_check_constraints(table)),
            "options": str(look.get_table_options(table)),
            "indexes": sorted(sql for owner, sql in indexes if owner == table),
        }
        for table in sorted(set(look.get_table_names()) - {"alembic_version"})
    }


def contents(database: Database) -> dict[str, Any]:
    """Everything that a dump of the database would show."""
    with database.engine.connect() as connection:
        rows = {
            table: [tuple(row) for row in connection.execute(text(f'SELECT * FROM "{table}"'))]
            for table in sorted(inspect(connection).get_table_names())
        }
        return {"rows": rows, "schema": schema(connection)}


def test_the_newest_script_is_the_head_and_the_chain_has_no_fork() -> None:
    scripts = ScriptDirectory.from_config(alembic_config())
    chain = [script.revision for script in scripts.walk_revisions()]
    assert scripts.get_heads() == [HEAD]
    assert chain == sorted(chain, reverse=True), "revisions are compared as text; pad them"
    assert all(re.fullmatch(r"\d{4}", name) for name in chain)


def test_every_revision_before_the_newest_has_a_dump_to_upgrade_from() -> None:
    scripts = ScriptDirectory.from_config(alembic_config())
    older = {script.revision for script in scripts.walk_revisions()} - {HEAD}
    assert older <= set(RELEASED), "run tests/schemas/make.py for the missing revision"


def test_the_migrated_schema_is_what_the_code_believes(database: Database) -> None:
    with database.engine.begin() as connection:
        assert differences(connection) == []
        migrated = schema(connection)
        metadata.drop_all(connection)
        metadata.create_all(connection)
        declared = schema(connection)
    assert sorted(migrated) == sorted(declared)
    for table, described in declared.items():
        assert migrated[table] == described, table


def test_the_comparison_would_notice(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("DROP INDEX uq_users_global_admin"))
        connection.execute(text("ALTER TABLE projects ADD COLUMN colour TEXT"))
        found = str(differences(connection))
    assert "uq_users_global_admin" in found
    assert "colour" in found


def test_migrating_again_changes_nothing(database: Database) -> None:
    Identity(database, failure_limit=1).bootstrap("dana", lambda _made: None)
    before = contents(database)
    migrate(database)
    assert contents(database) == before


def test_a_newer_schema_is_refused_and_left_alone(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        connection.execute(text("CREATE TABLE of_the_future (id INTEGER)"))
    before = contents(database)
    with pytest.raises(SchemaTooNew, match=f"schema 9999, but this acai knows only up to {HEAD}"):
        migrate(database)
    assert contents(database) == before


def test_a_database_of_another_program_is_left_alone(database_url: str) -> None:
    with opened(database_url) as database:
        with database.engine.begin() as connection:
            connection.execute(text("CREATE TABLE users (id INTEGER, shoe_size INTEGER)"))
        before = contents(database)
        with pytest.raises(InvalidSetting, match="'users' that acai did not make"):
            migrate(database)
        assert contents(database) == before


def test_a_migration_that_fails_leaves_nothing_half_done(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from acai.stores.records import migrate as module

    def upgrade_and_fail(connection: Connection) -> None:
        plain_upgrade(connection)
        connection.execute(text("SELECT * FROM no_such_table"))

    plain_upgrade = module._upgrade
    monkeypatch.setattr(module, "_upgrade", upgrade_and_fail)
    with opened(database_url) as database:
        with pytest.raises(Exception, match="no_such_table"):
            migrate(database)
        assert contents(database) == {"rows": {}, "schema": {}}
        monkeypatch.undo()
        migrate(database)


def test_processes_that_migrate_at_once_do_it_once(database_url: str) -> None:
    setup = """
from acai.stores.records.database import open_database
from acai.stores.records.migrate import migrate, revision
database = open_database(sys.argv[1])
"""
    body = """
migrate(database)
with database.engine.connect() as connection:
    return revision(connection)
"""
    assert race(4, database_url, setup=setup, body=body) == [HEAD] * 4
    with opened(database_url) as database, database.engine.connect() as connection:
        assert differences(connection) == []


@pytest.mark.parametrize("name", RELEASED)
def test_a_released_schema_is_upgraded_with_what_is_in_it(name: str, database_url: str) -> None:
    with opened(database_url) as database:
        statements = (SCHEMAS / f"{name}.{database.dialect}.sql").read_text()
        if database.dialect == "sqlite":
            with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as raw:
                raw.executescript(statements)
        else:
            with database.engine.begin() as connection:
                connection.exec_driver_sql(statements)
                connection.exec_driver_sql("SET search_path TO public")
        with database.engine.connect() as connection:
            assert revision(connection) == name
        migrate(database)
        with database.engine.connect() as connection:
            assert revision(connection) == HEAD
            assert differences(connection) == []
        with database.read(PLATFORM) as tx:
            assert [p.name for p in records.list_projects(tx, after="", limit=9)] == [
                "default",
                "vision",
            ]
            found = records.token_by_lookup(tx, "bcdfghjkmnpq")
        assert found is not None
        assert (found.user.name, found.user.project, found.user.role) == (
            "dana",
            "vision",
            Role.ADMIN,
        )
        assert Identity(database, failure_limit=1).bootstrap("x", lambda _made: None) is None


@pytest.mark.parametrize(
    "content", [b"this is not a database at all, " * 50, b"SQLite format 3\0" + b"\xff" * 500]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "acai.db"
    file.write_bytes(content)
    with opened(f"sqlite:///{file}") as database, pytest.raises(Unavailable):
        migrate(database)
    assert file.read_bytes() == content
