"""Failed sign-ins: counted per address, forgotten after a minute, never a good token's fault."""

from __future__ import annotations

import threading

from acai.identity.limiter import FailureLimiter


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def limiter(limit: int = 3) -> tuple[FailureLimiter, Clock]:
    clock = Clock()
    return FailureLimiter(limit, clock), clock


def test_the_limit_is_reached_by_failures_only() -> None:
    limits, _ = limiter()
    for _ in range(2):
        limits.failed("a", "bad")
        limits.succeeded("good")
    assert limits.wait("a", "bad") == 0
    limits.failed("a", "bad")
    assert limits.wait("a", "bad") == 60


def test_other_addresses_are_not_touched() -> None:
    limits, _ = limiter(1)
    limits.failed("a", "bad")
    assert limits.wait("b", "bad") == 0


def test_a_token_that_signed_in_before_goes_on_working() -> None:
    limits, _ = limiter(1)
    limits.succeeded("good")
    limits.failed("a", "bad")
    assert limits.wait("a", "good") == 0
    assert limits.wait("a", "never seen") > 0


def test_a_revoked_token_loses_that_privilege() -> None:
    limits, _ = limiter(1)
    limits.succeeded("good")
    limits.failed("a", "good")
    assert limits.wait("a", "good") > 0


def test_failures_are_forgotten_one_by_one() -> None:
    limits, clock = limiter(2)
    limits.failed("a", "bad")
    clock.now += 30
    limits.failed("a", "bad")
    assert limits.wait("a", "bad") == 30
    clock.now += 30
    assert limits.wait("a", "bad") == 0
    limits.failed("a", "bad")
    assert limits.wait("a", "bad") == 30


def test_a_flood_of_addresses_takes_bounded_room() -> None:
    limits, _ = limiter(1)
    for number in range(10_500):
        limits.failed(f"address-{number}", "bad")
        limits.succeeded(f"token-{number}")
    assert len(limits._failures) <= 10_000
    assert len(limits._good) <= 10_000
    assert limits.wait("address-10499", "bad") > 0


def test_threads_lose_no_count() -> None:
    limits, _ = limiter(400)

    def guess() -> None:
        for _ in range(100):
            limits.failed("a", "bad")

    threads = [threading.Thread(target=guess) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert limits.wait("a", "bad") > 0
