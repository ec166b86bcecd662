"""Hints: who watches is woken, nothing is missed between looks, and closing wakes everybody."""

from __future__ import annotations

import asyncio
import threading

from acai.engine.hints import Hints, job_topic, log_topic


def test_only_who_watches_the_topic_is_woken() -> None:
    async def scene() -> tuple[bool, bool]:
        hints = Hints()
        with hints.watch(job_topic(1), log_topic(1)) as mine, hints.watch(job_topic(2)) as other:
            hints.publish(log_topic(1))
            return await mine.wait(5), await other.wait(0.02)

    assert asyncio.run(scene()) == (True, False)


def test_hints_that_come_while_busy_are_kept_as_one() -> None:
    async def scene() -> tuple[bool, bool]:
        hints = Hints()
        with hints.watch(job_topic(1)) as watch:
            for _ in range(3):
                hints.publish(job_topic(1))
            await asyncio.sleep(0)
            return await watch.wait(5), await watch.wait(0.02)

    assert asyncio.run(scene()) == (True, False)


def test_a_watch_is_woken_again_after_each_wait() -> None:
    async def scene() -> list[bool]:
        hints = Hints()
        woken = []
        with hints.watch(job_topic(1)) as watch:
            for _ in range(3):
                hints.publish(job_topic(1))
                woken.append(await watch.wait(5))
        return woken

    assert asyncio.run(scene()) == [True, True, True]


def test_a_hint_from_another_thread_wakes() -> None:
    async def scene() -> bool:
        hints = Hints()
        with hints.watch(job_topic(1)) as watch:
            thread = threading.Thread(target=hints.publish, args=(job_topic(1),))
            thread.start()
            woken = await watch.wait(5)
            thread.join()
            return woken

    assert asyncio.run(scene())


def test_nothing_is_kept_for_those_who_left() -> None:
    hints = Hints()

    async def leave() -> None:
        with hints.watch(job_topic(1), log_topic(1)):
            pass

    asyncio.run(leave())
    assert not hints._watches


def test_closing_wakes_everybody_for_good() -> None:
    async def scene() -> list[bool]:
        hints = Hints()
        with hints.watch(job_topic(1)) as before:
            hints.close()
            hints.close()
            woken = [await before.wait(5), await before.wait(5)]
        with hints.watch(job_topic(2)) as after:
            woken.append(await after.wait(5))
        assert hints.closed
        return woken

    assert asyncio.run(scene()) == [True, True, True]


def test_a_hint_after_the_loop_is_gone_is_harmless() -> None:
    hints = Hints()

    async def leave() -> None:
        hints.watch(job_topic(1))

    asyncio.run(leave())
    hints.publish(job_topic(1))


def test_words_are_kept_once_each_and_wake_nobody() -> None:
    async def scene() -> tuple[bool, list[set[str]], set[str]]:
        hints = Hints()
        with hints.watch("news:1", "project:1") as mine, hints.watch("news:2") as other:
            for word in ("files", "sets", "files"):
                hints.note("news:1", word)
            hints.note("news:3", "files")
            woken = await mine.wait(0.02)
            return woken, [mine.taken(), mine.taken()], other.taken()

    assert asyncio.run(scene()) == (False, [{"files", "sets"}, set()], set())
