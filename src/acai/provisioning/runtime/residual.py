"""What the set-up-and-scaling trend leaves over, learnt by a Gaussian process.

Two parts: a curve over the CPUs alone, which bends the speed of the work whatever the values
are, so also outside those that were run (a thread pool that does not suit 1.5 CPUs does so for
3 epochs and for 300), and a smooth function of everything, which fades away from the trials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from acai.provisioning.matern import matern
from acai.provisioning.runtime.gaussian import Candidate, Fitted, condition
from acai.provisioning.runtime.observed import Observed
from acai.provisioning.runtime.scaling import ROBUST, Scaling, likely_trends
from acai.provisioning.runtime.space import Encoded, Space
from acai.provisioning.runtime.student import Floats
from acai.provisioning.trials import Trial

NAME = "scaling and residual"
_CPU_LENGTH = 0.25  # in log CPUs: neighbours such as 1.5 and 2 say a little about each other
_AMPLITUDE = (np.log(0.05), 1.0)  # priors of the logarithms: mean, deviation
_LENGTH = (np.log(1.5), 1.0)
_NOISE = (np.log(0.05), 1.0)
_STEPS = 80
_OUTLIER = 4.0  # deviations by which a trial must be off for the outliers to be weighed down
_ROUNDS = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Smooth:
    """Matern 5/2 over everything, plus a squared exponential over the CPUs for the work alone.

    `settings` are logarithms: CPU amplitude, overall amplitude, then one length per dimension.
    """

    settings: Floats
    trend: Scaling

    def between(self, a: Encoded, b: Encoded) -> Floats:
        cpu = np.exp(2 * self.settings[0]) * _over_cpus(self.trend, a, b)
        squares = np.tensordot(np.exp(-2 * self.settings[2:]), _gaps(a, b), 1)
        return np.asarray(cpu + np.exp(2 * self.settings[1]) * matern(squares), dtype=np.float64)

    def variance(self, at: Encoded) -> Floats:
        cpu = np.exp(2 * self.settings[0]) * self.trend.work_share(at) ** 2
        return np.asarray(cpu + np.exp(2 * self.settings[1]), dtype=np.float64)


def _over_cpus(trend: Scaling, a: Encoded, b: Encoded) -> Floats:
    gap = (a.log_cpu[:, None] - b.log_cpu[None, :]) / _CPU_LENGTH
    shares = np.outer(trend.work_share(a), trend.work_share(b))
    return np.asarray(shares * np.exp(-0.5 * gap**2), dtype=np.float64)


def _gaps(a: Encoded, b: Encoded) -> Floats:
    """Squared differences, one layer per dimension; two different words are one apart."""
    columns_a = np.column_stack([a.log_cpu, a.log_memory, a.numbers])
    columns_b = np.column_stack([b.log_cpu, b.log_memory, b.numbers])
    numeric = (columns_a.T[:, :, None] - columns_b.T[:, None, :]) ** 2
    words = (a.levels.T[:, :, None] != b.levels.T[:, None, :]).astype(np.float64)
    return np.concatenate([numeric, words])


def fit(trials: Sequence[Trial], space: Space | None = None) -> Fitted:
    space = space or Space.of(trials)
    observed = Observed.of(space, trials)
    trends, weighed = likely_trends(space, observed)
    observed = replace(observed, momentary=weighed.momentary)
    for _ in range(_ROUNDS):
        settings, noise = _learn(trends[0], observed)
        fitted = condition(
            name=NAME,
            space=space,
            candidates=with_kernel(trends, settings),
            observed=observed,
            noise=noise,
        )
        errors, deviations = fitted.leave_one_out()
        off = errors / deviations
        if np.abs(off).max() < _OUTLIER:
            break
        outliers = np.minimum(1.0, (ROBUST + 1) / (ROBUST + off**2))
        observed = replace(observed, weights=observed.weights * outliers)
    return fitted


def with_kernel(trends: Sequence[Scaling], settings: Floats) -> list[Candidate]:
    return [
        Candidate(
            trend=trend, kernel=Smooth(settings=settings, trend=trend), log_odds=trend.log_odds
        )
        for trend in trends
    ]


def _learn(trend: Scaling, observed: Observed) -> tuple[Floats, float]:
    """Settings and noise of the most posterior probability."""
    at = observed.at
    slopes = trend.slopes(at)
    linear = (slopes * trend.prior) @ slopes.T
    residuals = observed.logs - trend.mean(at) + slopes @ trend.shift
    over_cpus, gaps = _over_cpus(trend, at, at), _gaps(at, at)
    means = np.array([_AMPLITUDE[0], _AMPLITUDE[0], *[_LENGTH[0]] * len(gaps), _NOISE[0]])
    widths = np.array([_AMPLITUDE[1], _AMPLITUDE[1], *[_LENGTH[1]] * len(gaps), _NOISE[1]])

    def slope(where: Floats) -> tuple[float, Floats]:
        """Minus the log posterior, and its derivatives."""
        inverse_squares = np.exp(-2 * where[2:-1])
        distance = np.sqrt(np.tensordot(inverse_squares, gaps, 1))
        scaled = np.sqrt(5.0) * distance
        decay = np.exp(2 * where[1] - scaled)
        smooth = (1 + scaled + scaled**2 / 3) * decay
        cpu = np.exp(2 * where[0]) * over_cpus
        noise = np.exp(2 * where[-1]) * observed.scatter
        covariance = linear + cpu + smooth + noise
        lower = np.linalg.cholesky(covariance)
        inverse = np.linalg.inv(covariance)
        solved = inverse @ residuals
        value = 0.5 * float(residuals @ solved) + float(np.log(np.diag(lower)).sum())
        outer = 0.5 * (inverse - np.outer(solved, solved))
        by_gap = outer * (5 / 3) * (1 + scaled) * decay  # times each layer's scaled gaps
        derivative = np.concatenate(
            [
                [2 * float((outer * cpu).sum()), 2 * float((outer * smooth).sum())],
                inverse_squares * np.tensordot(gaps, by_gap, 2),
                [2 * float((outer * noise).sum())],
            ]
        )
        off = (where - means) / widths
        return value + 0.5 * float(off @ off), derivative + off / widths

    found = _descend(slope, means)
    return found[:-1], float(np.exp(found[-1]))


def _descend(slope: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    """Resilient descent: each coordinate has its own step, which signs alone grow and shrink."""
    where, steps = start.copy(), np.full(len(start), 0.2)
    before = np.zeros(len(start))
    best, best_value = where, np.inf
    for _ in range(_STEPS):
        value, gradient = slope(where)
        if value < best_value:
            best, best_value = where, value
        agreed = np.sign(gradient) * np.sign(before)
        steps = np.clip(steps * np.where(agreed > 0, 1.3, np.where(agreed < 0, 0.5, 1)), 1e-4, 0.7)
        before = np.where(agreed < 0, 0.0, gradient)
        where = np.clip(where - np.sign(before) * steps, start - 6, start + 6)
        if steps.max() < 2e-3:
            break
    return best
