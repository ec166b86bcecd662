"""The beliefs behind a fleet search, against textbook formulas and made-up jobs."""

from __future__ import annotations

from math import erf, exp, inf, log, sqrt

import numpy as np
import pytest

from acai.model.errors import InvalidInput
from acai.provisioning.fleet import Configuration, Prior, Space
from acai.provisioning.fleet.improvement import (
    absolute_improvement,
    chance_below,
    mean_above,
    normal_cdf,
    relative_improvement,
    truncated_level,
)
from acai.provisioning.fleet.surrogate import Belief


def fleets(
    *, sizes: tuple[int, ...] = (2, 4, 8), counts: tuple[int, ...] = (1, 2, 4, 8)
) -> list[Configuration]:
    return [
        Configuration(
            name=f"{count}x{size}",
            instance=f"c{size}",
            count=count,
            price_per_hour=0.05 * size * count,
            cpu=size,
            memory_mb=4096 * size,
        )
        for size in sizes
        for count in counts
    ]


def seconds(offer: Configuration) -> float:
    return 40.0 + 4000.0 / (offer.cpu * offer.count)


def test_conditioning_one_by_one_equals_solving_at_once() -> None:
    space = Space(fleets(), prior=Prior(hypotheses=4))
    tried = [0, 5, 7, 11]
    values = np.array([log(seconds(space.offers[offer])) for offer in tried])
    belief = Belief(space)
    for offer, value in zip(tried, values, strict=True):
        belief.observe(offer, float(value))
    view = belief.forecast()

    whole = np.stack([space.covariance(offer) for offer in range(len(space.offers))], axis=1)
    evidence = []
    for guess in range(4):
        mean = space.mean()[guess]
        matrix = whole[guess][np.ix_(tried, tried)] + space.noise[guess] ** 2 * np.eye(len(tried))
        cross = whole[guess][tried]
        off = values - mean[tried]
        expected = mean + cross.T @ np.linalg.solve(matrix, off)
        left = np.diag(whole[guess]) - np.einsum("ij,ij->j", cross, np.linalg.solve(matrix, cross))
        assert view.mean[guess] == pytest.approx(expected, abs=1e-6)
        assert view.spread[guess] ** 2 == pytest.approx(left, abs=1e-6)
        evidence.append(-0.5 * off @ np.linalg.solve(matrix, off))
        evidence[-1] -= 0.5 * np.linalg.slogdet(matrix)[1]
    weights = np.exp(np.array(evidence) - max(evidence))
    assert view.weights == pytest.approx(weights / weights.sum(), rel=1e-5)


def test_a_regular_job_is_learnt_from_a_few_points() -> None:
    space = Space(fleets())
    belief = Belief(space)
    for offer in (0, 3, 4, 7, 11):
        belief.observe(offer, log(seconds(space.offers[offer])))
    view = belief.forecast()
    foreseen = np.exp(view.weights @ view.mean)
    actual = np.array([seconds(offer) for offer in space.offers])
    assert np.abs(foreseen / actual - 1).mean() < 0.1


def test_earlier_jobs_make_the_first_measurement_say_more() -> None:
    def odd(offer: Configuration, factor: float) -> float:
        return factor * (3.0 if offer.cpu == 4 else 1.0) * seconds(offer)

    past = [{offer.name: odd(offer, factor) for offer in fleets()} for factor in (0.5, 2.0, 9.0)]
    errors = []
    for known in ((), past):
        space = Space(fleets(), past=known)
        belief = Belief(space)
        belief.observe(0, log(odd(space.offers[0], 4.0)))
        view = belief.forecast()
        actual = np.log([odd(offer, 4.0) for offer in space.offers])
        errors.append(np.abs(view.weights @ view.mean - actual).mean())
    assert errors[1] < 0.4 * errors[0]


def test_earlier_jobs_with_gaps_are_filled_in() -> None:
    past = [{offer.name: seconds(offer) for offer in fleets() if offer.count != 4}]
    space = Space(fleets(), past=past)
    assert np.isfinite(space.mean()).all()
    with pytest.raises(InvalidInput, match="shares no configuration"):
        Space(fleets(), past=[{"9xnothing": 3.0}])


def test_spaces_that_cannot_be_searched_are_refused() -> None:
    with pytest.raises(InvalidInput, match="offers no configuration"):
        Space([])
    with pytest.raises(InvalidInput, match="same name"):
        Space([*fleets(), fleets()[0]])


def test_improvements_agree_with_sampling() -> None:
    random = np.random.default_rng(1)
    for mean, spread, best in ((0.0, 0.5, 1.0), (1.0, 0.3, 1.5), (-0.5, 1.0, 2.0)):
        draws = random.normal(mean, spread, 400_000)
        at = (np.array([mean]), np.array([spread]))
        share = np.maximum(log(best) - draws, 0).mean()
        amount = np.maximum(best - np.exp(draws), 0).mean()
        assert relative_improvement(best, *at)[0] == pytest.approx(share, rel=0.03, abs=2e-3)
        assert absolute_improvement(best, *at)[0] == pytest.approx(amount, rel=0.03, abs=2e-3)
        assert chance_below(best, *at)[0] == pytest.approx((draws < log(best)).mean(), abs=5e-3)
        level = np.minimum(np.exp(draws), best).mean()
        assert truncated_level(best, *at)[0] == pytest.approx(level, rel=0.01)
        above = draws[draws > log(best)].mean()
        assert mean_above(log(best), mean, spread) == pytest.approx(above, rel=0.02, abs=0.01)


def test_improvements_at_the_ends() -> None:
    at = (np.array([0.0]), np.array([1.0]))
    assert chance_below(inf, *at)[0] == 1.0
    assert truncated_level(inf, *at)[0] == pytest.approx(exp(0.5), rel=1e-4)
    assert mean_above(9.0, 0.0, 1.0) == pytest.approx(9.11, abs=0.01)
    grid = np.linspace(-6, 6, 101)
    exact = [0.5 * (1 + erf(point / sqrt(2))) for point in grid]
    assert normal_cdf(grid) == pytest.approx(exact, abs=1e-6)
