"""What a fleet search promises, over made-up jobs: limits, reserve, order, determinism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acai.model.errors import InvalidInput
from acai.provisioning.fleet import (
    Configuration,
    Goal,
    Limit,
    Observation,
    Plan,
    Row,
    Settings,
    TableCloud,
    cheapest_before,
    fastest,
    fastest_within,
    search,
)
from acai.provisioning.fleet.ledger import Ledger, Trial, closed_beyond

COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)


def table(seed: int, *, noise: float = 0.05) -> list[Row]:
    """A job with a fixed part, a part that scales, a price of talking, and perhaps a cliff."""
    random = np.random.default_rng(seed)
    fixed, work, talk = random.uniform((5, 500, 0.0), (60, 9000, 8.0))
    needed_mb = random.choice([0, 20_000, 80_000])
    rows = []
    for instance, cpu, memory_mb, price in (
        ("small", 2, 4096, 0.10),
        ("large", 8, 16384, 0.40),
        ("roomy", 8, 65536, 0.55),
    ):
        for count in COUNTS:
            slow = 3.0 if memory_mb * count < needed_mb else 1.0
            time = fixed + slow * work / (cpu * count) + talk * count
            rows.append(
                Row(
                    configuration=Configuration(
                        name=f"{count}x{instance}",
                        instance=instance,
                        count=count,
                        price_per_hour=price * count,
                        cpu=cpu,
                        memory_mb=memory_mb,
                    ),
                    time_s=float(time * np.exp(random.normal(0, noise))),
                )
            )
    return rows


def medians(rows: list[Row]) -> tuple[float, float]:
    return (
        float(np.median([row.time_s for row in rows])),
        float(np.median([row.cost for row in rows])),
    )


class Watched:
    """A table that checks, at every measurement, that the best so far could still be run."""

    def __init__(self, rows: list[Row], goal: Goal, *, share: float) -> None:
        self.table = TableCloud(rows, share=share)
        self.goal = goal
        self.seen: list[tuple[Configuration, Observation]] = []

    def offers(self) -> Sequence[Configuration]:
        return self.table.offers()

    def measure(self, configuration: Configuration, limit: Limit) -> Observation:
        before = self._affordable()
        seen = self.table.measure(configuration, limit)
        assert seen.spent_s <= limit.time_s and seen.spent_cost <= limit.cost * (1 + 1e-12)
        self.seen.append((configuration, seen))
        if before:
            assert self._affordable(), "a measurement used up what running the best would take"
        return seen

    def _affordable(self) -> bool:
        """With the margin that a search keeps: without it, a run may well break the limit."""
        room = 1 + Settings().margin
        left_s = (self.goal.deadline_s - self.table.spent_s) / room
        left_cost = (self.goal.budget - self.table.spent_cost) / room
        return any(
            seen.completed and seen.time_s <= left_s and offer.cost_of(seen.time_s) <= left_cost
            for offer, seen in self.seen
        )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    times=st.floats(0.3, 15.0),
    scenario=st.sampled_from(["deadline", "budget", "both"]),
    share=st.sampled_from([1.0, 0.1]),
    runs=st.sampled_from([2.0, 50.0, inf]),
)
def test_no_limit_is_ever_broken_and_the_reserve_holds(
    seed: int, times: float, scenario: str, share: float, runs: float
) -> None:
    rows = table(seed)
    time, cost = medians(rows)
    goal = {
        "deadline": cheapest_before(times * time),
        "budget": fastest_within(times * cost),
        "both": Goal(minimise="cost", deadline_s=times * time, budget=times * cost),
    }[scenario]
    cloud = Watched(rows, goal, share=share)
    plan = search(cloud, goal, settings=Settings(runs=runs), seed=seed)
    assert plan.total_s <= goal.deadline_s
    assert plan.total_cost <= goal.budget
    assert plan.spent_cost == pytest.approx(cloud.table.spent_cost)
    assert plan.spent_s == pytest.approx(cloud.table.spent_s)
    names = [trial.configuration.name for trial in plan.trials]
    assert len(set(names)) == len(names)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_nothing_is_tried_beyond_a_fall(seed: int) -> None:
    hungry = Settings(runs=inf, max_measurements=12)
    plan = search(TableCloud(table(seed)), fastest(), settings=hungry, seed=seed)
    for number, trial in enumerate(plan.trials):
        closed = closed_beyond(plan.trials[:number])
        here = trial.configuration
        assert here.count <= closed.get(here.curve, here.count)


def test_a_fall_is_seen_between_any_two_counts_of_one_curve() -> None:
    def tried(name: str, time: float, *, completed: bool = True) -> Trial:
        row = next(row for row in table(1) if row.configuration.name == name)
        return Trial(
            configuration=row.configuration,
            observation=Observation(
                configuration=name, completed=completed, time_s=time, spent_s=1, spent_cost=1
            ),
            limit=Limit(),
            reason="",
        )

    rising = [tried("1xsmall", 100), tried("4xsmall", 40), tried("2xlarge", 90)]
    assert closed_beyond(rising) == {}
    curve = rising[0].configuration.curve
    assert closed_beyond([*rising, tried("8xsmall", 41)]) == {curve: 8}
    assert closed_beyond([tried("8xsmall", 41), *rising]) == {curve: 8}
    cut = tried("6xsmall", 50, completed=False)
    assert closed_beyond([*rising, cut]) == {curve: 6}
    cut_early = tried("6xsmall", 30, completed=False)
    assert closed_beyond([*rising, cut_early]) == {}


@pytest.mark.parametrize("openings", [1, 3])
def test_smallest_fleets_come_first(openings: int) -> None:
    for seed in range(5):
        plan = search(TableCloud(table(seed)), fastest(), settings=Settings(openings=openings))
        assert plan.trials[0].configuration.instance == "roomy"
        assert {trial.configuration.count for trial in plan.trials[:openings]} == {1}


def test_the_same_seed_gives_the_same_plan() -> None:
    rows = table(3)

    def once(seed: int) -> Plan:
        return search(TableCloud(rows), fastest(), settings=Settings(runs=100), seed=seed)

    assert once(5) == once(5)


def test_good_configurations_are_found_with_few_measurements() -> None:
    shares = []
    for seed in range(12):
        rows = table(seed)
        plan = search(
            TableCloud(rows),
            Goal(minimise="cost"),
            settings=Settings(runs=inf, max_measurements=8, patience=inf),
        )
        shares.append(plan.run_cost / min(row.cost for row in rows))
    assert np.mean(shares) < 1.1


def test_a_budget_that_never_binds_still_makes_money_count() -> None:
    free, counted = (
        [search(TableCloud(table(seed)), goal, seed=seed) for seed in range(8)]
        for goal in (fastest(), fastest_within(1e6))
    )
    assert sum(plan.spent_cost for plan in counted) < 0.9 * sum(plan.spent_cost for plan in free)


def test_what_the_job_alone_must_meet_holds() -> None:
    rows = table(4)
    allowed = float(np.quantile([row.time_s for row in rows], 0.4))
    plan = search(TableCloud(rows), Goal(minimise="cost", run_within_s=allowed))
    assert plan.choice is not None and plan.run_s <= allowed
    assert all(trial.observation.spent_s <= allowed for trial in plan.trials)
    dear = float(np.quantile([row.cost for row in rows], 0.3))
    plan = search(TableCloud(rows), Goal(minimise="time", run_cost_within=dear))
    assert plan.choice is not None and plan.run_cost <= dear
    assert all(trial.observation.spent_cost <= dear * (1 + 1e-9) for trial in plan.trials)


def test_quality_is_learnt_and_required() -> None:
    rows = []
    for row in table(6):
        for rate in (-4.0, -3.0, -2.0):
            offer = row.configuration
            rows.append(
                Row(
                    configuration=Configuration(
                        name=f"{offer.name} {rate}",
                        instance=offer.instance,
                        count=offer.count,
                        price_per_hour=offer.price_per_hour,
                        cpu=offer.cpu,
                        memory_mb=offer.memory_mb,
                        features={"rate": rate},
                    ),
                    time_s=row.time_s,
                    quality=0.95 if rate == -3.0 else 0.6 - 0.02 * log2(offer.count),
                )
            )
    goal = Goal(minimise="cost", quality_at_least=0.85)
    for seed in range(3):
        plan = search(TableCloud(rows), goal, settings=Settings(runs=1000), seed=seed)
        assert plan.choice is not None and plan.choice.features["rate"] == -3.0
        tried_well = [trial.configuration.features["rate"] == -3.0 for trial in plan.trials]
        assert np.mean(tried_well) > 0.45


def test_when_nothing_fits_there_is_no_choice_and_no_overspending() -> None:
    rows = table(2)
    goal = fastest_within(0.2 * min(row.cost for row in rows))
    plan = search(TableCloud(rows), goal)
    assert plan.choice is None and plan.total_cost <= goal.budget
    assert "likely to fit" in plan.stopped or "reserved" in plan.stopped


def test_the_margin_is_kept_for_a_run_that_takes_longer_than_measured() -> None:
    rows = table(8)
    _, cost = medians(rows)
    goal = fastest_within(4 * cost)
    plan = search(TableCloud(rows), goal, settings=Settings(margin=0.2, runs=inf))
    assert plan.choice is not None
    assert plan.spent_cost + 1.2 * plan.run_cost <= goal.budget
    assert Ledger(goal=goal, margin=0.2, trials=plan.trials).best() is not None


def test_a_fixed_time_of_measuring_is_counted() -> None:
    rows = [
        Row(
            configuration=Configuration(
                name=row.configuration.name,
                instance=row.configuration.instance,
                count=row.configuration.count,
                price_per_hour=row.configuration.price_per_hour,
                cpu=row.configuration.cpu,
                memory_mb=row.configuration.memory_mb,
                measuring_s=20.0 + 2.0 * row.configuration.count,
            ),
            time_s=row.time_s,
        )
        for row in table(9)
    ]
    time, _ = medians(rows)
    goal = cheapest_before(3 * time)
    plan = search(TableCloud(rows), goal)
    assert plan.choice is not None and plan.total_s <= goal.deadline_s
    assert plan.spent_s == pytest.approx(
        sum(trial.configuration.measuring_s or 0.0 for trial in plan.trials)
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: fastest_within(-1.0),
        lambda: cheapest_before(0.0),
        lambda: Settings(openings=0),
        lambda: Settings(patience=0.5),
        lambda: Settings(opening_share=0.0),
        lambda: Configuration(
            name="x", instance="x", count=0, price_per_hour=1, cpu=1, memory_mb=1
        ),
        lambda: Configuration(
            name="x",
            instance="x",
            count=1,
            price_per_hour=1,
            cpu=1,
            memory_mb=1,
            measuring_share=0.0,
        ),
    ],
)
def test_senseless_values_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        make()
