"""Hints wake who watches, from any thread, and cost nothing when nobody does."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from acai.engine.hints import Hints
from acai.stores.records.database import open_database
from acai.stores.records.migrate import migrate


def run(act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(act(), 20))


def test_a_hint_from_a_thread_wakes_every_watcher_of_the_topic() -> None:
    hints = Hints()

    async def act() -> None:
        watches = [hints.watch("job:1", f"own:{n}") for n in range(50)]
        other = hints.watch("job:2")
        threading.Thread(target=hints.publish, args=("job:1",)).start()
        assert all(await asyncio.gather(*(watch.wait(5) for watch in watches)))
        assert not await other.wait(0.05)

    run(act)


def test_hints_while_busy_are_kept_as_one() -> None:
    hints = Hints()

    async def act() -> None:
        with hints.watch("log:1") as watch:
            for _ in range(1000):
                hints.publish("log:1")
            assert await watch.wait(1)
            assert not await watch.wait(0.05)
            hints.publish("log:1")
            assert await watch.wait(1)

    run(act)


def test_nothing_is_kept_for_those_who_left() -> None:
    hints = Hints()

    async def act() -> None:
        with hints.watch("log:1", "job:1"):
            pass

    run(act)
    assert not hints._watches
    hints.publish("log:1")


def test_a_hint_to_a_loop_that_is_gone_is_no_error() -> None:
    hints = Hints()

    async def act() -> None:
        hints.watch("log:1")

    run(act)
    hints.publish("log:1")
    hints.close()


def test_closing_wakes_everybody_and_lets_nobody_wait_again() -> None:
    hints = Hints()

    async def act() -> None:
        watch = hints.watch("log:1")
        waiting = asyncio.create_task(watch.wait(10))
        await asyncio.sleep(0)
        threading.Thread(target=hints.close).start()
        begun = time.monotonic()
        assert await waiting
        late = hints.watch("log:2")
        for one in (watch, late, watch, late):
            assert await one.wait(10)
        assert time.monotonic() - begun < 5
        assert hints.closed

    run(act)


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
