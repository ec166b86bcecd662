"""Who starts next: turns between users, limits, what fits, and what must not starve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from acai.engine.fairness import Candidate, Free, Key, Queue, choose

PLENTY = Free(cpu=1000, memory=2**50, gpu=0)


def candidate(job: int, key: Key, *, cpu: float = 1, rank: int = 1, waited: float = 0) -> Candidate:
    return Candidate(job=job, key=key, rank=rank, cpu=cpu, memory=1, gpu=0, waited=waited)


def run(
    waiting: dict[Key, list[Candidate]],
    free: Free,
    *,
    served: dict[Key, int] | None = None,
    active: dict[Key, int] | None = None,
    limit: int = 1000,
    patience: float = 60,
    most: int = 1000,
) -> list[Candidate]:
    queues = [
        Queue(
            key=key,
            rank=jobs[0].rank,
            served=(served or {}).get(key, 0),
            active=(active or {}).get(key, 0),
            limit=limit,
            least_cpu=min(job.cpu for job in jobs),
            least_memory=min(job.memory for job in jobs),
            waited=max(job.waited for job in jobs),
        )
        for key, jobs in waiting.items()
        if jobs
    ]

    def heads(key: Key, n: int) -> Sequence[Candidate]:
        return waiting[key][:n]

    return choose(queues, heads, free, patience=patience, most=most)


def test_a_thousand_jobs_of_one_do_not_delay_anothers_first() -> None:
    many, one = (1, 1), (1, 2)
    waiting = {many: [candidate(i, many) for i in range(1000)], one: [candidate(5000, one)]}
    chosen = run(waiting, Free(cpu=2, memory=100, gpu=0), served={many: 7})
    assert [c.job for c in chosen] == [5000, 0]


def test_users_take_turns() -> None:
    keys = [(1, n) for n in range(5)]
    waiting = {key: [candidate(100 * key[1] + i, key) for i in range(50)] for key in keys}
    chosen = run(waiting, Free(cpu=100, memory=1000, gpu=0))
    assert set(Counter(c.key for c in chosen).values()) == {20}


def test_the_limit_counts_what_is_active_already() -> None:
    key = (1, 1)
    waiting = {key: [candidate(i, key) for i in range(9)]}
    assert len(run(waiting, PLENTY, active={key: 2}, limit=5)) == 3
    assert run(waiting, PLENTY, active={key: 5}, limit=5) == []


def test_a_head_that_does_not_fit_holds_its_own_queue_only() -> None:
    large, small = (1, 1), (1, 2)
    waiting = {
        large: [candidate(1, large, cpu=8), candidate(2, large, cpu=1)],
        small: [candidate(3, small), candidate(4, small)],
    }
    chosen = run(waiting, Free(cpu=4, memory=100, gpu=0))
    assert [c.job for c in chosen] == [3, 4]


def test_one_that_was_passed_over_for_long_is_passed_over_no_more() -> None:
    large, small = (1, 1), (1, 2)
    waiting = {
        large: [candidate(1, large, cpu=8, waited=61)],
        small: [candidate(3, small)],
    }
    assert run(waiting, Free(cpu=4, memory=100, gpu=0), served={small: 3}) == []


def test_interactive_jobs_come_first() -> None:
    a, b = (1, 1), (1, 2)
    waiting = {a: [candidate(1, a, rank=1)], b: [candidate(2, b, rank=0)]}
    chosen = run(waiting, PLENTY, served={b: 9})
    assert [c.job for c in chosen] == [2, 1]


@given(
    sizes=st.lists(st.lists(st.sampled_from([0.5, 1, 2, 4]), max_size=12), min_size=1, max_size=6),
    cpu=st.sampled_from([0.5, 1, 3, 8]),
    limit=st.integers(1, 5),
)
def test_what_is_chosen_fits_keeps_order_and_stays_within_limits(
    sizes: list[list[float]], cpu: float, limit: int
) -> None:
    waiting = {
        (1, n): [candidate(100 * n + i, (1, n), cpu=size) for i, size in enumerate(one)]
        for n, one in enumerate(sizes)
    }
    chosen = run(waiting, Free(cpu=cpu, memory=10**9, gpu=0), limit=limit)
    assert sum(c.cpu for c in chosen) <= cpu + 1e-6
    for key, jobs in waiting.items():
        own = [c.job for c in chosen if c.key == key]
        assert own == [c.job for c in jobs][: len(own)]
        assert len(own) <= limit
    if not chosen:
        assert all(not jobs or jobs[0].cpu > cpu for jobs in waiting.values())
