"""A fixed set-up plus work that scales: t = setup(cpu) + work(values) / speed(cpu).

Start-up and imports do not grow with the values, and use about one CPU whatever they are given.
The work is a product of powers of the values; below one CPU it slows down in proportion, above
one it speeds up as c / (1 + s (c - 1)), which saturates. The parameters have priors, so that a
handful of trials is enough to start with, and what the trials do not settle stays uncertain.
For each value the power is tried as 1, as 0 and free, and the evidence decides: three small
numbers of epochs cannot tell a power of 1.1 from a longer set-up, and should not try.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from acai.provisioning.runtime.gaussian import PRIOR_NOISE, Candidate, Fitted, condition
from acai.provisioning.runtime.observed import Observed
from acai.provisioning.runtime.space import Encoded, Space
from acai.provisioning.runtime.student import Floats
from acai.provisioning.trials import Trial

NAME = "set-up and scaling"
_SETUP, _SETUP_BELOW, _SETUP_ABOVE, _WORK, _BELOW, _SATURATION, _MEMORY, _FIRST = range(8)
_LINEAR, _NONE, _FREE = (1.0, 0.03), (0.0, 0.03), (0.5, 0.7)  # power: prior mean, deviation
_LOG_ODDS = {_LINEAR: 1.1}  # three in five are linear (epochs, steps, trees, rows)
ROBUST = 4.0  # degrees of freedom of the noise while fitting: a straggler does not bend the curve
Powers = tuple[tuple[float, float], ...]  # of each number: prior mean and deviation
_ENUMERATED = 9  # combinations of powers that are all tried; beyond, one value at a time


@dataclass(frozen=True, kw_only=True, eq=False)
class Scaling:
    """At parameters: log set-up and log work at 1 CPU and the trials' mean values, then powers."""

    parameters: Floats
    centre: Floats  # prior means
    prior: Floats
    log_odds: float  # of its powers, before any trial

    @property
    def shift(self) -> Floats:
        return self.parameters - self.centre

    def mean(self, at: Encoded) -> Floats:
        setup, work, _, _ = self._parts(at)
        return np.logaddexp(setup, work)

    def work_share(self, at: Encoded) -> Floats:
        """How much of the run time is work and not set-up: 0 to 1."""
        setup, work, _, _ = self._parts(at)
        return np.asarray(1 / (1 + np.exp(np.clip(setup - work, -60, 60))), dtype=np.float64)

    def slopes(self, at: Encoded) -> Floats:
        _, _, below, above = self._parts(at)
        share = self.work_share(at)
        saturation = math.exp(self.parameters[_SATURATION])
        extra = np.exp(above) - 1
        by_saturation = saturation * extra / (1 + saturation * extra)
        parts = [
            (1 - share),
            (1 - share) * -below,
            (1 - share) * -above,
            share,
            share * -below,
            share * by_saturation,
            share * at.log_memory,
            share[:, None] * at.numbers,
            share[:, None] * at.words,
        ]
        return np.column_stack(parts)

    def _parts(self, at: Encoded) -> tuple[Floats, Floats, Floats, Floats]:
        """Log set-up, log work, and log CPUs below and above one."""
        p = self.parameters
        below, above = np.minimum(at.log_cpu, 0.0), np.maximum(at.log_cpu, 0.0)
        setup = p[_SETUP] - p[_SETUP_BELOW] * below - p[_SETUP_ABOVE] * above
        slowing = np.log1p(math.exp(p[_SATURATION]) * (np.exp(above) - 1))
        numbers = at.numbers.shape[1]
        work = p[_WORK] - p[_BELOW] * below - above + slowing + p[_MEMORY] * at.log_memory
        work = work + at.numbers @ p[_FIRST : _FIRST + numbers]
        work = work + at.words @ p[_FIRST + numbers :]
        return setup, work, below, above

    def describe(self, space: Space) -> str:
        p = self.parameters
        powers = p[_FIRST : _FIRST + len(space.numbers)]
        said = [
            f"{number.name}^{power:.2f}" if number.logged else f"exp({power:.2f} {number.name})"
            for number, power in zip(space.numbers, powers, strict=True)
        ]
        gain = 2 / (1 + math.exp(p[_SATURATION]))
        return (
            f"about {math.exp(p[_SETUP]):.1f} s of set-up at 1 vCPU, then work that goes as "
            f"{' '.join(said) or 'a constant'} and is {gain:.2f} times as fast on 2 vCPU as on 1"
        )


def fit(trials: Sequence[Trial], space: Space | None = None) -> Fitted:
    space = space or Space.of(trials)
    trends, weighed = likely_trends(space, Observed.of(space, trials))
    return condition(
        name=NAME,
        space=space,
        candidates=[Candidate(trend=trend, log_odds=trend.log_odds) for trend in trends],
        observed=weighed,
    )


def likely_trends(space: Space, observed: Observed) -> tuple[list[Scaling], Observed]:
    """The trend with each choice of powers, the one with the most evidence first, and the
    trials with robust weights, and with what is of the moment in them."""
    options = [_options(number.logged, number.distinct) for number in space.numbers]
    freest = tuple(choice[-1] for choice in options)
    start, weighed = _settle(observed, freest)
    noise = _noise(start, weighed)
    seen: dict[Powers, tuple[float, Scaling]] = {}

    def evidence(powers: Powers) -> float:
        if powers not in seen:
            trend = _climb(_blank(observed, powers), weighed, noise)
            seen[powers] = (_log_evidence(trend, weighed, noise), trend)
        return seen[powers][0]

    if math.prod(len(choice) for choice in options) <= _ENUMERATED:
        best = max(itertools.product(*options), key=evidence)
    else:
        best = freest
        evidence(best)
        for place, choice in enumerate(options):
            best = max(
                ((*best[:place], power, *best[place + 1 :]) for power in choice), key=evidence
            )
    trend, weighed = _settle(observed, best)
    return [trend, *(other for powers, (_, other) in seen.items() if powers != best)], weighed


def _options(logged: bool, distinct: int) -> list[tuple[float, float]]:
    if distinct < 2:
        return [_FREE if logged else (0.0, 0.3)]
    return [_LINEAR, _NONE, _FREE] if logged else [(0.0, 0.02), (0.0, 0.5)]


def _blank(observed: Observed, powers: Powers) -> Scaling:
    """At its prior means. A third of the shortest run is the first guess at the set-up."""
    runs = observed.only_whole()
    at, log_seconds = runs.at, runs.logs
    one_cpu = log_seconds + at.log_cpu
    priors = [
        (float(log_seconds.min()) + math.log(0.3), 1.5),
        (0.95, 0.3),
        (0.15, 0.15),
        (float(np.median(one_cpu)), 2.0),
        (1.0, 0.25),
        (math.log(0.15), 1.2),
        (0.0, 0.01),
        *powers,
        *[(0.0, 0.5)] * at.words.shape[1],
    ]
    centre = np.array([mean for mean, _ in priors])
    return Scaling(
        parameters=centre.copy(),
        centre=centre,
        prior=np.array([deviation for _, deviation in priors]) ** 2,
        log_odds=sum(_LOG_ODDS.get(power, 0.0) for power in powers),
    )


def _settle(observed: Observed, powers: Powers) -> tuple[Scaling, Observed]:
    """Fit, reweigh by how far each trial lies off, and fit again."""
    trend = _blank(observed, powers)
    weighed, noise = observed, 2 * PRIOR_NOISE
    for _ in range(4):
        trend = _climb(trend, weighed, noise)
        noise = _noise(trend, weighed)
        misses = _misses(trend, observed)
        off = misses[observed.whole] / observed.spread / noise
        weighed = replace(
            observed,
            weights=np.minimum((ROBUST + 1) / (ROBUST + off**2), 1.0),
            momentary=observed.told_momentary(misses, noise),
        )
    return trend, weighed


def _misses(trend: Scaling, observed: Observed) -> Floats:
    return observed.logs - trend.mean(observed.at)


def _noise(trend: Scaling, observed: Observed) -> float:
    slopes = trend.slopes(observed.at)
    guess = 2 * PRIOR_NOISE
    covariance = (slopes * trend.prior) @ slopes.T + guess**2 * observed.scatter
    left = observed.freedom(np.asarray(np.linalg.inv(covariance), dtype=np.float64), guess)
    misses = _misses(trend, observed)[observed.whole] / observed.spread
    return math.sqrt((float(misses @ misses) + 2 * PRIOR_NOISE**2) / (left + 2))


def _climb(trend: Scaling, observed: Observed, noise: float) -> Scaling:
    """Levenberg-Marquardt to the most probable parameters."""
    parameters, damping = trend.parameters, 1e-2
    whitener = observed.whitener / noise

    def loss(candidate: Scaling) -> float:
        misses = whitener @ _misses(candidate, observed)
        return float(misses @ misses) + float(candidate.shift**2 @ (1 / candidate.prior))

    best = loss(trend)
    for _ in range(40):
        slopes = whitener @ trend.slopes(observed.at)
        misses = whitener @ _misses(trend, observed)
        gradient = slopes.T @ misses - trend.shift / trend.prior
        curvature = slopes.T @ slopes + np.diag(1 / trend.prior)
        step = np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)), gradient)
        parameters = trend.parameters + np.clip(step, -2, 2)
        candidate = replace(trend, parameters=parameters)
        reached = loss(candidate)
        if reached < best:
            done = best - reached < 1e-7 * (1 + abs(best))
            trend, best, damping = candidate, reached, damping / 5
            if done:
                break
        else:
            damping *= 4
            if damping > 1e8:
                break
    return trend


def _log_evidence(trend: Scaling, observed: Observed, noise: float) -> float:
    """Of the model linearised at its best parameters."""
    slopes = trend.slopes(observed.at)
    residuals = _misses(trend, observed) + slopes @ trend.shift
    covariance = (slopes * trend.prior) @ slopes.T + noise**2 * observed.scatter
    _, size = np.linalg.slogdet(covariance)
    misfit = float(residuals @ np.linalg.solve(covariance, residuals))
    return trend.log_odds - 0.5 * (float(size) + misfit)
