"""The loop of duties: each repeats, none stops another, and stopping waits for work under way."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time

import pytest

from acai.engine.loop import Duty, Loop


def run(duties: list[Duty], seconds: float) -> float:
    """Run them for so long, and say how long stopping took."""

    async def live() -> float:
        loop = Loop(duties)
        loop.start()
        await asyncio.sleep(seconds)
        began = time.perf_counter()
        await loop.stop()
        return time.perf_counter() - began

    return asyncio.run(live())


def test_a_duty_recurs() -> None:
    seen: list[float] = []
    run([Duty(name="count", interval=0.02, act=lambda: seen.append(time.monotonic()))], 0.3)
    assert len(seen) >= 3
    assert all(later - earlier >= 0.015 for earlier, later in itertools.pairwise(seen))


def test_one_that_fails_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    tries: list[int] = []
    others: list[int] = []

    def fail() -> None:
        tries.append(1)
        raise RuntimeError("broken duty")

    with caplog.at_level(logging.ERROR, "acai.loop"):
        run(
            [
                Duty(name="fails", interval=0.02, act=fail),
                Duty(name="works", interval=0.02, act=lambda: others.append(1)),
            ],
            0.3,
        )
    assert len(tries) >= 2
    assert len(others) >= 2
    assert "broken duty" in caplog.text
    assert caplog.records[0].duty == "fails"  # type: ignore[attr-defined]


def test_a_slow_duty_holds_up_no_other() -> None:
    others: list[int] = []
    release = threading.Event()

    def wait_for_the_other() -> None:
        assert release.wait(30)

    def quick() -> None:
        others.append(1)
        if len(others) == 3:
            release.set()

    slow = Duty(name="slow", interval=1, act=wait_for_the_other)
    run([slow, Duty(name="quick", interval=0.01, act=quick)], 0.2)
    assert len(others) >= 3


def test_stopping_does_not_wait_for_the_interval_but_for_the_work() -> None:
    done: list[int] = []

    def work() -> None:
        time.sleep(0.2)
        done.append(1)

    took = run([Duty(name="work", interval=600, act=work)], 0.05)
    assert done == [1]
    assert took < 5


def test_without_duties_it_just_stops() -> None:
    assert run([], 0) < 1
