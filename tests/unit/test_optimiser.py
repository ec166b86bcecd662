"""Choosing configurations, and choosing profiling runs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from acai.model.errors import InvalidInput
from acai.provisioning.adaptive import (
    TOLERANCE,
    Candidate,
    Next,
    Stop,
    grid,
    grid_is_done,
    next_trials,
)
from acai.provisioning.hints import parse_template
from acai.provisioning.memory import MemoryModel, fit_memory
from acai.provisioning.optimiser import Goal, Optimise, Plan, configuration_grid, provision
from acai.provisioning.pricing import DEFAULT_PRICES, InstancePrices, InstanceType, Prices, cost
from acai.provisioning.runtime.prediction import Prediction
from acai.provisioning.runtime.selection import fit_runtime
from acai.provisioning.trials import Configuration, Outcome, Trial, Value, finished

UNKNOWN = MemoryModel(fitted=None, trials=())


class Inverse:
    """A run of `work` CPU-seconds that is divided by the CPUs, known up to `scale`."""

    def __init__(self, work: float, scale: float = 0.1) -> None:
        self.work, self.scale = work, scale

    def predict(
        self, configurations: Sequence[Configuration], values: Mapping[str, Value]
    ) -> Prediction:
        cpus = np.array([one.cpu for one in configurations])
        return Prediction(
            location=np.log(self.work / cpus), scale=np.full(len(cpus), self.scale), freedom=30
        )


def plan(
    goal: Goal, *, work: float = 3600, prices: Prices = DEFAULT_PRICES, **more: object
) -> Plan:
    arguments: dict[str, object] = {"memory": UNKNOWN, "values": {}, **more}
    return provision(runtime=Inverse(work), prices=prices, goal=goal, **arguments)  # type: ignore[arg-type]


def test_the_grid_is_the_papers() -> None:
    offered = configuration_grid()
    assert len(offered) == 16 * 31
    assert {one.cpu for one in offered} == {0.5 * step for step in range(1, 17)}
    assert max(one.memory_mb for one in offered) == 8192


def test_the_fastest_within_a_cost_is_the_largest_that_is_affordable() -> None:
    found = plan(Goal(max_cost=0.03))
    assert found.choice is not None
    brute = min(
        (
            Inverse(3600).predict([one], {}).median[0]
            for one in configuration_grid()
            if cost(DEFAULT_PRICES, one, Inverse(3600).predict([one], {}).quantile(0.9)[0]) <= 0.03
        ),
    )
    assert found.choice.seconds == pytest.approx(brute)
    assert found.choice.cost_likely <= 0.03
    assert found.choice.configuration.memory_mb == 512
    assert found.next_best[0].seconds > found.choice.seconds


def test_the_cheapest_within_a_time() -> None:
    found = plan(Goal(max_seconds=1000))
    assert found.choice is not None
    assert found.choice.seconds_likely <= 1000
    assert found.choice.configuration == Configuration(cpu=4.5, memory_mb=512)
    low, high = found.choice.seconds_interval
    assert low < found.choice.seconds < found.choice.seconds_likely < high


def test_a_surer_promise_takes_a_larger_machine() -> None:
    chosen = [plan(Goal(max_seconds=1000, probability=p)).choice for p in (0.5, 0.9, 0.999)]
    cpus = [option.configuration.cpu for option in chosen if option]
    assert cpus == sorted(cpus)
    assert cpus[0] < cpus[-1]


def test_without_limits_there_is_a_curve() -> None:
    found = plan(Goal())
    assert found.goal.minimised is Optimise.BALANCE
    times = [option.seconds for option in found.curve]
    costs = [option.cost for option in found.curve]
    assert times == sorted(times)
    assert costs == sorted(costs, reverse=True)
    assert {option.configuration.memory_mb for option in found.curve} == {512}
    assert found.choice in found.curve


def test_every_excluded_configuration_has_one_reason() -> None:
    killed = Trial(
        configuration=Configuration(cpu=1, memory_mb=1024),
        values={},
        seconds=5,
        outcome=Outcome.OUT_OF_MEMORY,
    )
    peak = Trial(
        configuration=Configuration(cpu=1, memory_mb=4096),
        values={},
        seconds=5,
        peak_memory_mb=1500,
    )
    found = plan(Goal(max_seconds=1000, max_cost=0.045), memory=fit_memory([killed, peak]))
    assert found.choice is not None
    assert found.choice.configuration.memory_mb >= 1500
    assert [reason.reason.split()[0] for reason in found.exclusions] == ["would", "takes", "costs"]
    excluded = sum(reason.count for reason in found.exclusions)
    left = found.considered - excluded
    assert left >= 1
    assert not any(o.configuration.memory_mb <= 1024 for o in (*found.curve, *found.next_best))


@pytest.mark.parametrize(
    "goal",
    [
        Goal(max_seconds=100),
        Goal(max_cost=0.001),
        Goal(max_cost=0.02, max_seconds=480),
        Goal(max_cost=0.0001, max_seconds=10),
    ],
)
def test_when_nothing_fits_it_says_by_how_much_and_what_would(goal: Goal) -> None:
    found = plan(goal)
    assert found.choice is None
    short = found.shortfall
    assert short is not None
    assert "Nothing fits" in short.message
    assert short.reachable_probability is not None
    assert short.reachable_probability < 0.9
    if short.enough_seconds is not None and goal.max_cost is None:
        assert plan(Goal(max_seconds=short.enough_seconds * 1.0001)).choice
    if short.enough_cost is not None and goal.max_seconds is None:
        assert plan(Goal(max_cost=short.enough_cost * 1.0001)).choice


def test_what_no_machine_can_hold_is_named() -> None:
    small = InstancePrices(types=(InstanceType(name="a", cpu=2, memory_mb=4096, hourly=0.1),))
    found = plan(Goal(max_seconds=10_000), prices=small)
    assert found.choice is not None
    assert found.choice.configuration.cpu <= 2
    assert any("no instance type" in reason.reason for reason in found.exclusions)
    huge = Trial(
        configuration=Configuration(cpu=1, memory_mb=65536),
        values={},
        seconds=5,
        peak_memory_mb=20_000,
    )
    none = plan(Goal(), memory=fit_memory([huge]))
    assert none.shortfall is not None
    assert none.shortfall.enough_memory_mb == pytest.approx(20_000, rel=0.7)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"max_cost": -0.1}, "largest cost.*-0.1"),
        ({"max_cost": 0.0}, "largest cost"),
        ({"max_seconds": math.nan}, "largest time"),
        ({"probability": 1.0}, "probability"),
        ({"probability": 0.2}, "probability"),
    ],
)
def test_impossible_goals_are_refused(fields: dict[str, float], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        Goal(**fields)  # type: ignore[arg-type]


TEMPLATE = parse_template("python train.py --epochs {1,2,3}")
SPEED = {0.5: 0.5, 1.0: 1.0, 1.5: 1.05, 2.0: 1.6}


def run(one: Candidate, draw: np.random.Generator) -> Trial:
    """A simulated run: set-up, work, saturation, and 600 MB that must fit."""
    cpu, epochs = one.configuration.cpu, float(one.values["epochs"])
    seconds = (4 / min(cpu, 1.0) + 4.4 * epochs / SPEED[cpu]) * float(np.exp(draw.normal(0, 0.03)))
    if one.configuration.memory_mb < 600:
        return Trial(
            configuration=one.configuration,
            values=one.values,
            seconds=2 / cpu,
            outcome=Outcome.OUT_OF_MEMORY,
        )
    return Trial(
        configuration=one.configuration, values=one.values, seconds=seconds, peak_memory_mb=600
    )


def profile(
    seed: int, budget: float | None = None, tolerance: float = TOLERANCE
) -> tuple[list[Trial], Stop]:
    draw = np.random.default_rng(seed)
    candidates = grid(TEMPLATE, cpus=tuple(SPEED))
    trials: list[Trial] = []
    for _ in range(len(candidates) + 1):
        found = next_trials(
            candidates=candidates,
            trials=trials,
            prices=DEFAULT_PRICES,
            budget=budget,
            tolerance=tolerance,
        )
        if isinstance(found, Stop):
            return trials, found
        trials.extend(run(one, draw) for one in found.candidates)
    raise AssertionError("it never stopped")


def test_with_no_tolerance_it_goes_on_while_runs_teach() -> None:
    enough, _ = profile(seed=3)
    all_that_teach, stop = profile(seed=3, tolerance=0.0)
    assert all_that_teach[: len(enough)] == enough
    assert len(all_that_teach) > 1.4 * len(enough)
    assert "teach" in stop.reason or "every candidate" in stop.reason


def spent(trials: Sequence[Trial]) -> float:
    return sum(cost(DEFAULT_PRICES, one.configuration, one.seconds) for one in trials)


def test_a_few_well_chosen_runs_replace_the_grid() -> None:
    draw = np.random.default_rng(9)
    everything = [run(one, draw) for one in grid(TEMPLATE, cpus=tuple(SPEED))]
    chosen, stop = profile(seed=3)
    assert "predictions are good to" in stop.reason
    assert spent(chosen) < 0.5 * spent(everything)
    assert len({(t.configuration, t.values["epochs"]) for t in chosen}) == len(chosen)
    model = fit_runtime(chosen)
    for cpu, speed in SPEED.items():
        far = model.predict([Configuration(cpu=cpu, memory_mb=1024)], {"epochs": 12.0}).median[0]
        assert far == pytest.approx(4 / min(cpu, 1.0) + 4.4 * 12 / speed, rel=0.25)


def test_runs_that_would_be_killed_are_not_profiled() -> None:
    chosen, _ = profile(seed=4)
    assert not any(one.outcome is Outcome.OUT_OF_MEMORY for one in chosen)


def test_the_budget_holds() -> None:
    chosen, stop = profile(seed=5, budget=0.0007)
    assert len(finished(chosen)) >= 2
    assert spent(chosen) < 0.0007 * 1.2
    assert "budget" in stop.reason
    with pytest.raises(InvalidInput, match="budget"):
        profile(seed=5, budget=-1)


def test_several_at_once_are_different_and_running_ones_are_not_proposed_again() -> None:
    draw = np.random.default_rng(6)
    candidates = grid(TEMPLATE, cpus=tuple(SPEED))
    first = next_trials(candidates=candidates, trials=[], prices=DEFAULT_PRICES)
    assert isinstance(first, Next)
    trials = [run(one, draw) for one in first.candidates]
    found = next_trials(candidates=candidates, trials=trials, prices=DEFAULT_PRICES, count=3)
    assert isinstance(found, Next)
    assert len({str(one) for one in found.candidates}) == 3
    more = next_trials(
        candidates=candidates, trials=trials, prices=DEFAULT_PRICES, running=found.candidates
    )
    assert isinstance(more, Next)
    assert more.candidates[0] not in found.candidates


def test_a_command_that_only_fails_is_not_run_forever() -> None:
    candidates = grid(TEMPLATE, cpus=tuple(SPEED))
    trials: list[Trial] = []
    for _ in range(3):
        found = next_trials(candidates=candidates, trials=trials, prices=DEFAULT_PRICES)
        assert isinstance(found, Next)
        one = found.candidates[0]
        trials.append(
            Trial(
                configuration=one.configuration,
                values=one.values,
                seconds=1,
                outcome=Outcome.FAILED,
            )
        )
    stop = next_trials(candidates=candidates, trials=trials, prices=DEFAULT_PRICES)
    assert isinstance(stop, Stop)
    assert "3 runs failed" in stop.reason


def test_a_grid_is_done_when_nineteen_in_twenty_are() -> None:
    assert grid_is_done(19, 20)
    assert not grid_is_done(18, 20)
    assert grid_is_done(26, 27)
    assert not grid_is_done(25, 27)
    assert grid_is_done(1, 1)


def test_the_whole_grid_is_searched_in_milliseconds() -> None:
    draw = np.random.default_rng(8)
    trials = [run(one, draw) for one in grid(TEMPLATE, cpus=tuple(SPEED))]
    model, memory = fit_runtime(trials), fit_memory(trials)
    took = []
    for _ in range(5):
        start = time.perf_counter()
        found = provision(
            runtime=model,
            memory=memory,
            prices=DEFAULT_PRICES,
            values={"epochs": 20.0},
            goal=Goal(max_seconds=80),
        )
        took.append(time.perf_counter() - start)
    assert found.choice is not None
    assert any("epochs 20" in warning for warning in found.warnings)
    assert min(took) < 0.1
