"""Run-time and memory models: what they learn, how sure they are, which is chosen and why."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from acai.model.errors import InvalidInput
from acai.provisioning.memory import fit_memory
from acai.provisioning.runtime import loglinear, residual, scaling, student
from acai.provisioning.runtime.gaussian import Fitted
from acai.provisioning.runtime.observed import unsteadiness
from acai.provisioning.runtime.prediction import Prediction
from acai.provisioning.runtime.selection import MODELS, RuntimeModel, fit_runtime
from acai.provisioning.trials import Configuration, Outcome, Trial, Value

CPUS = (0.5, 1.0, 1.5, 2.0)
ODD = {0.5: 0.5, 1.0: 1.0, 1.5: 1.02, 2.0: 1.6}  # a pool of two threads does not suit 1.5 CPUs


def trial(cpu: float, seconds: float, memory: float = 1024, **values: Value) -> Trial:
    return Trial(
        configuration=Configuration(cpu=cpu, memory_mb=memory), values=values, seconds=seconds
    )


def trained(cpu: float, epochs: float) -> float:
    return 4 / min(cpu, 1.0) + 4.4 * epochs / ODD[cpu]


def grid(noise: float = 0.03, seed: int = 1) -> list[Trial]:
    draw = np.random.default_rng(seed)
    return [
        trial(cpu, trained(cpu, epochs) * np.exp(draw.normal(0, noise)), memory, epochs=epochs)
        for cpu in CPUS
        for memory in (1024, 2048)
        for epochs in (1.0, 2.0, 3.0)
    ]


@cache
def usual() -> RuntimeModel:
    return fit_runtime(grid())


def asked(model: Fitted, trials: Sequence[Trial]) -> Prediction:
    return model.predict([t.configuration for t in trials], [t.values for t in trials])


def test_students_t_matches_its_tables() -> None:
    assert student.quantile(0.95, 3) == pytest.approx(2.3534, abs=1e-4)
    assert student.quantile(0.975, 10) == pytest.approx(2.2281, abs=1e-4)
    assert student.quantile(0.05, 60) == pytest.approx(-1.6706, abs=1e-4)
    for freedom in (1, 2, 3, 4, 17, 60):
        place = student.quantile(0.9, freedom)
        assert student.probability_below(np.array([place]), freedom)[0] == pytest.approx(0.9)


def test_a_prediction_is_one_distribution() -> None:
    prediction = Prediction(location=np.log([10.0, 60.0]), scale=np.array([0.1, 0.3]), freedom=7)
    assert prediction.median == pytest.approx([10, 60])
    low, high = prediction.interval(0.9)
    assert prediction.probability_below(high) - prediction.probability_below(low) == pytest.approx(
        [0.9, 0.9]
    )
    draws = prediction.sample(np.random.default_rng(5), 20_000)
    assert np.quantile(draws, 0.9, axis=0) == pytest.approx(prediction.quantile(0.9), rel=0.02)
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        prediction.quantile(1.0)


def test_a_mixture_keeps_to_its_likelier_form_and_reaches_to_the_other() -> None:
    prediction = Prediction(
        location=np.log([[100.0, 10.0], [70.0, 10.0]]),
        scale=np.full((2, 2), 0.05),
        freedom=20,
        chances=np.array([0.8, 0.2]),
    )
    assert prediction.median == pytest.approx([98.5, 10], rel=0.01)
    low, high = prediction.interval(0.9)
    assert low[0] < 72 and high[0] < 112
    assert prediction.probability_below(high) - prediction.probability_below(low) == pytest.approx(
        [0.9, 0.9]
    )
    draws = prediction.sample(np.random.default_rng(6), 40_000)
    assert np.quantile(draws, 0.1, axis=0) == pytest.approx(prediction.quantile(0.1), rel=0.02)
    assert draws.mean(axis=0) == pytest.approx(prediction.mean, rel=0.02)
    assert prediction.spread == pytest.approx([np.hypot(0.05, 0.4 * np.log(10 / 7)), 0.05])


def test_not_knowing_the_power_is_doubt_that_a_longer_run_settles() -> None:
    trials = [
        trial(1.0, (10 + 10 * n) * np.exp(noise), n=n)
        for n, noise in zip((1.0, 2.0, 3.0) * 2, (0.05, -0.05, 0.0, -0.05, 0.05, 0.0), strict=True)
    ]
    model = scaling.fit(trials)
    assert len(model.forms) > 1
    far = model.space.encode([Configuration(cpu=1, memory_mb=1024)] * 2, [{"n": 20.0}, {"n": 2.0}])
    doubts = np.diag(model.covariance(far, far))
    within = np.diag(model.forms[0].covariance(far, far))
    assert doubts[0] > 1.5 * within[0]
    settled = scaling.fit([*trials, trial(1.0, 210.0, n=20.0)])
    assert settled.chances[0] > max(0.9, model.chances[0])


def test_longer_runs_scatter_less() -> None:
    lengths = np.log([1.0, 10.0, 100.0, 1e6])
    found = unsteadiness(lengths, float(np.log(10.0)))
    assert found == pytest.approx([5.5, 1.0, 0.55, 0.5], rel=1e-3)
    assert (unsteadiness(lengths, None) == 1).all()


def test_the_log_linear_model_finds_the_powers_of_a_product() -> None:
    trials = [
        trial(cpu, 30 * epochs**1.2 * batch**-0.4 / cpu, epochs=epochs, batch=batch)
        for cpu in (0.5, 1.0, 2.0)
        for epochs in (1.0, 2.0, 5.0)
        for batch in (64.0, 256.0)
    ]
    model = loglinear.fit(trials)
    far = trial(8.0, 0, epochs=100.0, batch=1024.0)
    expected = 30 * 100**1.2 * 1024**-0.4 / 8
    assert asked(model, [far]).median == pytest.approx([expected], rel=0.01)
    assert "epochs^1.20" in model.explain()


def test_a_fixed_set_up_is_told_from_work_and_the_product_misses_it() -> None:
    trials = grid(noise=0.01)
    far = [trial(cpu, trained(cpu, 20), epochs=20.0) for cpu in (0.5, 1.0)]
    real = [one.seconds for one in far]
    assert asked(scaling.fit(trials), far).median == pytest.approx(real, rel=0.1)
    assert (np.abs(asked(loglinear.fit(trials), far).median / real - 1) > 0.2).all()


def test_the_residual_learns_a_cpu_count_that_does_not_pay() -> None:
    far = [trial(1.5, trained(1.5, 20), epochs=20.0)]
    real = far[0].seconds

    def error(model: Fitted) -> float:
        return abs(float(asked(model, far).median[0]) / real - 1)

    trials = grid()
    assert error(residual.fit(trials)) < 0.08
    assert error(residual.fit(trials)) < 0.7 * error(scaling.fit(trials))


def test_choices_and_numbers_that_are_not_positive_are_modelled() -> None:
    draw = np.random.default_rng(2)
    cost = {"adam": 2.0, "sgd": 1.0}
    trials = [
        trial(
            cpu,
            (3 + 10 * cost[opt] * np.exp(0.5 * share)) / cpu * np.exp(draw.normal(0, 0.02)),
            opt=opt,
            share=share,
        )
        for cpu in (0.5, 1.0)
        for opt in cost
        for share in (-1.0, 0.0, 1.0)
    ]
    model = fit_runtime(trials)
    query = [trial(1.0, 3 + 20 * np.exp(0.25), opt="adam", share=0.5)]
    assert asked(model.fitted, query).median == pytest.approx([query[0].seconds], rel=0.1)
    unseen = model.predict([query[0].configuration], {"opt": "lion", "share": 0.5})
    known = model.predict([query[0].configuration], {"opt": "adam", "share": 0.5})
    assert unseen.spread[0] > 2 * known.spread[0]
    assert any("adam, sgd" in warning for warning in unseen.warnings)


def test_the_best_model_is_chosen_and_says_why() -> None:
    model = usual()
    assert model.name == residual.NAME
    assert {score.model for score in model.scores} == set(MODELS)
    assert model.score.one_out < 0.06
    for word in ("24 runs", "log-linear", "set-up", "largest"):
        assert word in model.explain()


def test_a_real_product_is_left_to_the_product() -> None:
    trials = [
        trial(cpu, 40 * size**0.5 * cpu**-0.55, size=size)
        for cpu in (1.0, 2.0, 4.0, 8.0)
        for size in (1.0, 4.0, 16.0, 64.0)
    ]
    assert fit_runtime(trials).name == loglinear.NAME


@pytest.mark.parametrize(
    ("seed", "places"), [(55, (1, 3, 7, 11, 14, 16, 20)), (91, (0, 12, 14, 18, 20, 21, 23))]
)
def test_a_product_that_is_lucky_with_a_few_runs_is_not_chosen(
    seed: int, places: tuple[int, ...]
) -> None:
    trials = grid(noise=0.08, seed=seed)
    model = fit_runtime([trials[place] for place in places])
    errors = {score.model: score.error for score in model.scores}
    assert errors[loglinear.NAME] < 0.6 * errors[scaling.NAME]
    assert model.name != loglinear.NAME


@pytest.mark.parametrize("seed", range(2))
def test_intervals_hold_what_they_promise(seed: int) -> None:
    model = fit_runtime(grid(noise=0.05, seed=seed))
    draw = np.random.default_rng(100 + seed)
    tests = [
        trial(cpu, trained(cpu, epochs) * np.exp(draw.normal(0, 0.05)), epochs=epochs)
        for cpu in CPUS
        for epochs in (1.0, 3.0, 5.0, 10.0, 20.0)
    ]
    low, high = asked(model.fitted, tests).interval(0.9)
    real = np.array([one.seconds for one in tests])
    assert np.mean((low <= real) & (real <= high)) >= 0.75


def test_outside_the_runs_the_interval_is_wider_and_it_says_so() -> None:
    model = usual()
    inside = model.predict([Configuration(cpu=1, memory_mb=1024)], {"epochs": 2.0})
    longer = model.predict([Configuration(cpu=1, memory_mb=1024)], {"epochs": 200.0})
    larger = model.predict([Configuration(cpu=8, memory_mb=1024)], {"epochs": 2.0})
    assert not inside.warnings
    assert longer.spread[0] > 1.5 * inside.spread[0]
    assert "epochs 200" in longer.warnings[0]
    assert larger.spread[0] > 1.5 * inside.spread[0]
    assert "vCPU 8" in larger.warnings[0]


def test_a_straggler_does_not_bend_the_curve() -> None:
    trials = grid(noise=0.02)
    spoilt = [*trials[:-1], trial(2.0, 5 * trials[-1].seconds, 2048, epochs=3.0)]
    far = [trial(2.0, trained(2.0, 20), epochs=20.0)]
    clean, bent = (float(asked(scaling.fit(t), far).median[0]) for t in (trials, spoilt))
    assert bent == pytest.approx(clean, rel=0.15)


def test_runs_that_were_not_profiled_teach_too() -> None:
    long = trial(1.0, 3 * trained(1.0, 50), epochs=50.0)
    later = [Trial(**{**vars(long), "profiled": False})] * 2
    before = usual().predict([long.configuration], long.values).median[0]
    after = fit_runtime([*grid(), *later]).predict([long.configuration], long.values).median[0]
    assert abs(np.log(after / long.seconds)) < abs(np.log(before / long.seconds)) / 2


def test_a_run_that_was_cut_counts_as_at_least_that_long() -> None:
    cut = Trial(**{**vars(trial(2.0, 200.0, epochs=3.0)), "outcome": Outcome.CUT})
    harmless = Trial(**{**vars(cut), "seconds": 1.0})
    model = fit_runtime([*grid(), cut])
    assert "1 runs that were cut" in model.explain()
    assert fit_runtime([*grid(), harmless]).trials == 24


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_runs_say_how_many_more(count: int) -> None:
    failed = Trial(**{**vars(grid()[0]), "outcome": Outcome.FAILED})
    with pytest.raises(InvalidInput, match=f"{3 - count} more .*needed") as caught:
        fit_runtime([*grid()[:count], failed])
    assert "1 failed" in caught.value.message


def test_three_runs_are_enough_to_begin_with() -> None:
    model = fit_runtime([grid()[0], grid()[8], grid()[20]])
    prediction = model.predict([Configuration(cpu=1, memory_mb=1024)], {"epochs": 2.0})
    assert prediction.median[0] == pytest.approx(trained(1.0, 2.0), rel=0.35)


@pytest.mark.parametrize(
    ("values", "named"), [({}, "no value for epochs"), ({"epochs": 0.0}, "epochs was above 0")]
)
def test_faulty_questions_are_refused_by_name(values: dict[str, Value], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        usual().predict([Configuration(cpu=1, memory_mb=1024)], values)


def peaked(memory: float, peak: float | None, killed: bool = False, **values: Value) -> Trial:
    return Trial(
        configuration=Configuration(cpu=1, memory_mb=memory),
        values=values,
        seconds=10,
        outcome=Outcome.OUT_OF_MEMORY if killed else Outcome.FINISHED,
        peak_memory_mb=peak,
    )


AT = [Configuration(cpu=1, memory_mb=1024)]


def test_the_memory_needed_grows_with_what_makes_it_grow() -> None:
    trials = [peaked(8192, 200 * n**0.9, n=n) for n in (1.0, 2.0, 4.0, 8.0)]
    model = fit_memory(trials)
    assert model.needed(AT, {"n": 4.0})[0] == pytest.approx(200 * 4**0.9, rel=0.3)
    assert model.needed(AT, {"n": 32.0})[0] > 200 * 32**0.9


def test_a_killed_run_needs_more_than_it_had() -> None:
    survivors = [peaked(2048, 620.0, n=n) for n in (1.0, 2.0)]
    told = fit_memory([*survivors, peaked(1024, None, killed=True, n=8.0)])
    untold = fit_memory(survivors)
    assert told.needed(AT, {"n": 8.0})[0] > 1024
    assert told.needed(AT, {"n": 16.0})[0] > untold.needed(AT, {"n": 16.0})[0]


def test_what_was_seen_goes_before_what_is_reckoned() -> None:
    both = [peaked(512, None, killed=True, n=1.0), peaked(640, None, n=1.0)]
    needed = fit_memory(both).needed(AT, {"n": 1.0})[0]
    assert 512 < needed <= 640


def test_no_run_says_nothing_about_memory() -> None:
    failed = Trial(**{**vars(peaked(512, 100.0)), "outcome": Outcome.FAILED})
    assert fit_memory([failed]).needed(AT, {})[0] == 0
