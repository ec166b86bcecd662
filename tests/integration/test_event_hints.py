"""Hints between servers that share a PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from acai.engine.hints import Hints
from acai.stores.records.database import open_database
from acai.stores.records.migrate import migrate


def run(act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(act(), 20))


def test_on_postgresql_hints_reach_other_servers_and_come_back_after_a_break(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acai.engine.hints._PATIENCE", 0.1)
    here, there = open_database(postgres_url), open_database(postgres_url)
    migrate(here)
    ours, theirs = Hints(here), Hints(there)

    async def heard() -> bool:
        """Whether a hint of the one reaches the other, which may first have to connect."""
        with theirs.watch("job:7") as watch:
            for _ in range(50):
                ours.publish("job:7", "job:8")
                if await watch.wait(0.2):
                    return True
        return False

    async def act() -> None:
        assert await heard()
        with here.engine.connect() as connection:
            ended = connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE query LIKE 'LISTEN%%' AND pid <> pg_backend_pid()"
            ).all()
        assert len(ended) == 1
        assert await heard()

    try:
        run(act)
    finally:
        ours.close()
        theirs.close()
        here.close()
        there.close()
    assert not [each for each in threading.enumerate() if each.name.startswith("acai-hints")]
