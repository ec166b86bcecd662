"""Shorter runs are read off longer ones that report how far they are."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.provisioning.adaptive import Stop, grid, next_trials
from acai.provisioning.hints import parse_template
from acai.provisioning.pricing import DEFAULT_PRICES, cost
from acai.provisioning.progress import passed
from acai.provisioning.runtime.gaussian import Candidate, condition
from acai.provisioning.runtime.observed import Observed
from acai.provisioning.runtime.scaling import likely_trends
from acai.provisioning.runtime.selection import MOST_TRIALS, fit_runtime
from acai.provisioning.runtime.space import Space
from acai.provisioning.trials import Configuration, Passed, Trial

SETUP, EPOCH, TEARDOWN = 6.0, 4.0, 1.0


def reports(epochs: float, step: float = 1.0) -> list[tuple[float, float]]:
    return [
        (far, 1000.0 + SETUP + EPOCH * far)
        for far in (step * n for n in range(1, round(epochs / step) + 1))
    ]


def seconds(epochs: float) -> float:
    return SETUP + EPOCH * epochs + TEARDOWN


def test_a_run_contains_the_shorter_ones_that_it_reported() -> None:
    found = passed({"epochs": 8.0, "lr": 0.1}, seconds(8), {"epochs": reports(8)})
    assert [one.values for one in found] == [
        {"epochs": 1.0, "lr": 0.1},
        {"epochs": 3.0, "lr": 0.1},
    ]
    assert [one.seconds for one in found] == pytest.approx([seconds(1), seconds(3)])


def test_parts_of_a_unit_count_only_where_units_have_parts() -> None:
    found = passed({"epochs": 3.0}, seconds(3), {"epochs": reports(3, 0.25)})
    assert [one.values["epochs"] for one in found] == [1.0, 2.0]
    assert passed({"epochs": 1.0}, seconds(1), {"epochs": reports(1, 0.25)}) == ()
    found = passed({"epochs": 1.5}, seconds(1.5), {"epochs": reports(1.5, 0.25)})
    assert [one.values["epochs"] for one in found] == [0.25, 0.5]
    assert [one.seconds for one in found] == pytest.approx([seconds(0.25), seconds(0.5)])


def test_of_a_thousand_reports_the_first_that_say_something_are_taken() -> None:
    found = passed({"epochs": 1000.0}, seconds(1000), {"epochs": reports(1000)})
    assert [one.values["epochs"] for one in found] == [50.0, 224.0]


@pytest.mark.parametrize(
    ("why", "printed"),
    [
        ("nothing", []),
        ("the end alone", [(4.0, 5.0)]),
        ("it stopped early", [(1.0, 2.0), (2.0, 3.0), (3.0, 4.0)]),
        ("it counts something else", [(1.0, 2.0), (4.0, 3.0), (40.0, 4.0)]),
        ("it began again", [(1.0, 2.0), (2.0, 3.0), (1.0, 4.0), (4.0, 9.0)]),
        ("it counts down", [(4.0, 2.0), (3.0, 3.0), (2.0, 4.0), (1.0, 5.0)]),
        ("all was seen at the end", [(1.0, 9.0), (2.0, 9.0), (3.0, 9.0), (4.0, 9.0)]),
        ("clocks went back", [(1.0, 9.0), (2.0, 8.0), (4.0, 10.0)]),
        ("it took longer than the run", [(1.0, 2.0), (4.0, 99.0)]),
    ],
)
def test_what_is_not_progress_teaches_nothing(why: str, printed: list[tuple[float, float]]) -> None:
    assert passed({"n": 4.0}, 10.0, {"n": printed}) == (), why


def test_other_numbers_are_not_progress() -> None:
    assert passed({"n": 4.0}, 30.0, {"loss": [(1.0, 2.0), (4.0, 9.0)]}) == ()
    assert passed({"n": "4"}, 30.0, {"n": [(1.0, 2.0), (4.0, 9.0)]}) == ()
    assert passed({"n": -4.0}, 30.0, {"n": [(-8.0, 2.0), (-4.0, 9.0)]}) == ()


def test_output_that_was_held_back_counts_from_when_it_was_seen() -> None:
    printed = [(1.0, 4.0), (2.0, 4.0), (3.0, 8.0), (4.0, 8.0), (5.0, 10.0), (6.0, 12.0)]
    found = passed({"n": 6.0}, 20.0, {"n": printed})
    assert [(one.values["n"], one.seconds) for one in found] == [(2.0, 12.0), (4.0, 16.0)]


@given(
    steps=st.lists(st.tuples(st.floats(0.01, 10), st.floats(0, 10)), min_size=1, max_size=40),
    around=st.floats(0.1, 100),
)
def test_shorter_runs_are_shorter_and_in_order(
    steps: list[tuple[float, float]], around: float
) -> None:
    far = np.cumsum([one for one, _ in steps])
    when = np.cumsum([one for _, one in steps])
    total = float(when[-1] - when[0] + around)
    found = passed(
        {"n": float(far[-1])}, total, {"n": list(zip(far.tolist(), when.tolist(), strict=True))}
    )
    assert len(found) <= 2
    ladder = [*found, Passed(values={"n": float(far[-1])}, seconds=total)]
    for shorter, longer in pairwise(ladder):
        assert float(shorter.values["n"]) < float(longer.values["n"])
        assert 0 < shorter.seconds <= longer.seconds


def run(cpu: float, epochs: float, draw: np.random.Generator, *, silent: bool = False) -> Trial:
    speed = min(cpu, 1.0) if cpu <= 1 else cpu / (1 + 0.2 * (cpu - 1))
    slow = math.exp(draw.normal(0, 0.04))
    values = {"epochs": epochs}
    printed = [
        (far, slow * (6 / min(cpu, 1.0) + 4 * far / speed))
        for far in map(float, range(1, round(epochs) + 1))
    ]
    total = printed[-1][1]
    return Trial(
        configuration=Configuration(cpu=cpu, memory_mb=1024),
        values=values,
        seconds=total,
        passed=() if silent else passed(values, total, {"epochs": printed}),
    )


def far_off(trials: list[Trial]) -> float:
    model = fit_runtime(trials)
    cpus = (0.5, 1.0, 2.0)
    found = model.predict([Configuration(cpu=c, memory_mb=1024) for c in cpus], {"epochs": 20.0})
    true = [6 / min(c, 1.0) + 80 / (c if c <= 1 else c / (1 + 0.2 * (c - 1))) for c in cpus]
    return float(np.mean(np.abs(found.median / true - 1)))


def test_one_length_of_run_is_enough_if_it_reports() -> None:
    draw = np.random.default_rng(3)
    runs = [run(cpu, 2.0, draw) for cpu in (0.5, 1.0, 2.0) for _ in range(2)]
    assert far_off(runs) < 0.06
    silent = [
        Trial(configuration=t.configuration, values=t.values, seconds=t.seconds) for t in runs
    ]
    assert far_off(silent) > 0.2, "the set-up cannot be told from one length of run"
    assert "6 runs and 6 shorter ones" in fit_runtime(runs).explain()


def test_profiling_a_program_that_reports_costs_less_and_is_closer() -> None:
    candidates = grid(parse_template("train --epochs {1,2,3}"))

    def profiled(seed: int, *, silent: bool) -> list[Trial]:
        draw = np.random.default_rng(seed)
        trials: list[Trial] = []
        while True:
            found = next_trials(candidates=candidates, trials=trials, prices=DEFAULT_PRICES)
            if isinstance(found, Stop):
                return trials
            for one in found.candidates:
                made = run(one.configuration.cpu, float(one.values["epochs"]), draw, silent=silent)
                trials.append(
                    Trial(
                        configuration=one.configuration,
                        values=made.values,
                        seconds=made.seconds,
                        peak_memory_mb=300,
                        passed=made.passed,
                    )
                )

    def spent(trials: list[Trial]) -> float:
        return sum(cost(DEFAULT_PRICES, one.configuration, one.seconds) for one in trials)

    loud = [profiled(seed, silent=False) for seed in range(4)]
    quiet = [profiled(seed, silent=True) for seed in range(4)]
    assert sum(map(spent, loud)) < 0.8 * sum(map(spent, quiet))
    assert np.mean([far_off(one) for one in loud]) < np.mean([far_off(one) for one in quiet])


def test_leaving_a_run_out_leaves_out_what_it_reported() -> None:
    draw = np.random.default_rng(5)
    runs = [run(cpu, epochs, draw) for cpu in (0.5, 1.0, 2.0) for epochs in (1.0, 3.0)]
    space = Space.of(runs)
    trends, _ = likely_trends(space, Observed.of(space, runs))
    candidates = [Candidate(trend=trends[0])]

    def fitted(some: list[Trial]) -> Observed:
        whole = Observed.of(space, runs)
        each = zip(whole.runs, runs, strict=True)
        kept = np.concatenate([rows for rows, one in each if one in some])
        counts = [1 + len(one.passed) for one in some]
        return Observed(
            at=whole.at.rows(kept),
            logs=whole.logs[kept],
            whole=np.cumsum(counts) - 1,
            usual=whole.usual,
            weights=np.ones(len(some)),
            momentary=0.2,
        )

    everything = condition(
        name="all", space=space, candidates=candidates, observed=fitted(runs), noise=0.04
    )
    errors, deviations = everything.forms[0].leave_one_out()
    for place, one in enumerate(runs):
        rest = [other for other in runs if other is not one]
        without = condition(
            name="rest", space=space, candidates=candidates, observed=fitted(rest), noise=0.04
        )
        at = space.encode([one.configuration], [one.values])
        mean, variance = without.forms[0].predict(at)
        observed = everything.forms[0].observed
        noise = 0.04**2 * observed.spread[place] ** 2
        assert errors[place] == pytest.approx(math.log(one.seconds) - mean[0], abs=1e-6)
        assert deviations[place] == pytest.approx(math.sqrt(variance[0] + noise), rel=1e-6)


def test_of_many_runs_the_last_keep_what_they_reported() -> None:
    draw = np.random.default_rng(7)
    runs = [run(1.0 + n % 2, 1.0 + n % 3, draw) for n in range(120)]
    model = fit_runtime(runs)
    assert model.trials == 120
    assert 60 < model.passed <= MOST_TRIALS - 120


def test_what_is_of_the_moment_is_learnt() -> None:
    """As little as reports are off a straight line."""

    def momentary(inside: float) -> float:
        draw = np.random.default_rng(11)
        runs = []
        for cpu in (0.5, 1.0, 2.0):
            for epochs in (2.0, 4.0, 8.0):
                for _ in range(2):
                    made = run(cpu, epochs, draw)
                    moved = tuple(
                        Passed(values=one.values, seconds=one.seconds * math.exp(noise))
                        for one, noise in zip(made.passed, draw.normal(0, inside, 2), strict=False)
                    )
                    runs.append(
                        Trial(
                            configuration=made.configuration,
                            values=made.values,
                            seconds=made.seconds,
                            passed=moved,
                        )
                    )
        space = Space.of(runs)
        return likely_trends(space, Observed.of(space, runs))[1].momentary

    assert momentary(0.0) < 0.2
    assert momentary(0.1) == 1.0
