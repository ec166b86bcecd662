"""What becomes of pooled connections when PostgreSQL ends them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, literal, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from acai.model.errors import Unavailable
from acai.stores.records import database as records
from acai.stores.records.database import PLATFORM, Database, open_database


@pytest.fixture
def pooled(postgres_url: str) -> Iterator[Database]:
    database = open_database(postgres_url)
    yield database
    database.close()


def end_connections(url: str) -> None:
    """As a restart of the server would, without disturbing other tests."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )


def ask(database: Database) -> int:
    with database.read(PLATFORM) as tx:
        return int(tx.execute(select(literal(7))).scalar_one())


def test_a_connection_that_ended_while_resting_is_replaced(
    pooled: Database, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(pooled) == 7
    end_connections(postgres_url)
    monkeypatch.setattr(records, "_TRUSTED_REST", 0.05)
    time.sleep(0.1)
    assert ask(pooled) == 7


def test_one_that_ended_just_now_is_told_and_replaced(
    pooled: Database, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_TRUSTED_REST", 60.0)
    assert ask(pooled) == 7
    end_connections(postgres_url)
    with pytest.raises(Unavailable, match=r"try again|does not answer"):
        ask(pooled)
    assert ask(pooled) == 7
