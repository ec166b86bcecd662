"""How much memory a run needs, so that nothing is proposed that would be killed.

The logarithm of the peak is linear in the template's values, with priors that expect little
change. A run that was killed at its limit needs more than that; one that finished without a
measured peak needs less than it had. Both are taken as what they are, bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from acai.provisioning.runtime.gaussian import Candidate, Fitted, condition
from acai.provisioning.runtime.loglinear import Product
from acai.provisioning.runtime.observed import Observed
from acai.provisioning.runtime.prediction import Prediction
from acai.provisioning.runtime.space import Encoded, Space
from acai.provisioning.runtime.student import Floats
from acai.provisioning.trials import Configuration, Outcome, Trial, Value

SAFETY = 0.99  # the probability with which a proposed run must fit into its memory
_LEVEL, _CPU, _LIMIT, _NUMBER, _WORD = 10.0, 0.1, 0.02, 0.5, 0.3  # deviations of the powers
_UNMEASURED = 0.3  # scatter where every run only gave a bound
_ROUNDS = 15


@dataclass(frozen=True, kw_only=True, eq=False)
class MemoryModel:
    """`fitted` is None where no run has said anything about memory."""

    fitted: Fitted | None
    trials: tuple[Trial, ...]

    def predict(
        self, configurations: Sequence[Configuration], values: Mapping[str, Value]
    ) -> Prediction | None:
        """The peak in MB, as a distribution."""
        return None if self.fitted is None else self.fitted.predict(configurations, values)

    def needed(
        self,
        configurations: Sequence[Configuration],
        values: Mapping[str, Value],
        safety: float = SAFETY,
    ) -> Floats:
        """What each configuration must hold to survive with that probability; 0 if unknown.

        What was seen goes before what is reckoned: an amount at which these very values were
        killed is not enough, and one at which they finished is.
        """
        prediction = self.predict(configurations, values)
        if prediction is None:
            return np.zeros(len(configurations))
        same = [one for one in self.trials if dict(one.values) == dict(values)]
        killed = max((_limit(t) for t in same if t.outcome is Outcome.OUT_OF_MEMORY), default=0.0)
        survived = min(
            (_limit(t) for t in same if t.outcome is Outcome.FINISHED and _limit(t) > killed),
            default=math.inf,
        )
        reckoned = np.minimum(prediction.quantile(safety), survived)
        return np.asarray(np.maximum(reckoned, np.nextafter(killed, np.inf)), dtype=np.float64)

    def explain(self) -> str:
        if self.fitted is None:
            return "No run has told how much memory is needed."
        peaks = [t.peak_memory_mb for t in self.trials if t.peak_memory_mb is not None]
        killed = sum(one.outcome is Outcome.OUT_OF_MEMORY for one in self.trials)
        highest = f"the highest measured peak is {max(peaks):.0f} MB" if peaks else "no peak"
        return f"Of {len(self.trials)} runs {killed} were killed for memory; {highest}."


def fit_memory(trials: Sequence[Trial]) -> MemoryModel:
    """From any trials at all; those that failed for reasons of their own do not count."""
    telling = [t for t in trials if t.outcome in (Outcome.FINISHED, Outcome.OUT_OF_MEMORY)]
    if not telling:
        return MemoryModel(fitted=None, trials=())
    space = Space.of(telling)
    at = space.encode_trials(telling)
    deviations = [_LEVEL, _CPU, _LIMIT, *[_NUMBER] * len(space.numbers)]
    deviations += [_WORD] * at.words.shape[1]
    prior = np.square(np.array(deviations))
    exact = np.array([_exact(one) for one in telling])
    bounds = np.log([_limit(one) for one in telling])
    peaks = np.where(exact, np.log([one.peak_memory_mb or 1.0 for one in telling]), bounds)
    noise = None if exact.any() else _UNMEASURED
    sides = np.array([1.0 if t.outcome is Outcome.OUT_OF_MEMORY else -1.0 for t in telling])
    fitted = _regress(space, at=at, peaks=peaks, prior=prior, noise=noise)
    for _ in range(_ROUNDS if not exact.all() else 0):
        location, _ = fitted.at_encoded(at)
        within = [
            _truncated_mean(mean, fitted.noise, bound, side)
            for mean, bound, side in zip(location, bounds, sides, strict=True)
        ]
        filled = np.where(exact, peaks, within)
        fitted = _regress(space, at=at, peaks=filled, prior=prior, noise=noise)
    return MemoryModel(fitted=fitted, trials=tuple(telling))


def _exact(trial: Trial) -> bool:
    return trial.outcome is Outcome.FINISHED and bool(trial.peak_memory_mb)


def _limit(trial: Trial) -> float:
    return trial.configuration.memory_mb


def _regress(
    space: Space, *, at: Encoded, peaks: Floats, prior: Floats, noise: float | None
) -> Fitted:
    trend = Product(prior=prior, shift=np.zeros(len(prior)))
    columns = trend.slopes(at)
    ridge = np.diag(0.05**2 / prior)
    powers = np.linalg.solve(columns.T @ columns + ridge, columns.T @ peaks)
    return condition(
        name="peak memory",
        space=space,
        candidates=[
            Candidate(trend=Product(prior=prior, shift=np.asarray(powers, dtype=np.float64)))
        ],
        observed=Observed.evenly(at, peaks),
        noise=noise,
    )


def _truncated_mean(mean: float, deviation: float, bound: float, side: float) -> float:
    """Of a normal variable that is known to lie above (side 1) or below (-1) the bound."""
    normal = NormalDist()
    place = side * (bound - mean) / deviation
    tail = 1 - normal.cdf(place)
    if tail < 1e-9:  # far beyond: as good as at the bound
        return bound + side * deviation / max(place, 1.0)
    return mean + side * deviation * normal.pdf(place) / tail
