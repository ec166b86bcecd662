"""Regression in the logarithm of the run time around a trend, with or without a kernel.

A trend is any function of the encoded trial that has parameters with Gaussian priors. Around
its best parameters it is as good as linear, so that the model is one Gaussian: prior covariance
J P J' + kernel + noise. From that follow the prediction, its spread within and outside the
range of the trials, what leaving trials out would have predicted, and how much a further trial
would narrow a prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from acai.provisioning.runtime.prediction import Prediction
from acai.provisioning.runtime.space import Encoded, Space
from acai.provisioning.runtime.student import MOST_FREEDOM, Floats
from acai.provisioning.trials import Configuration, Value

PRIOR_NOISE = 0.05  # what repeats of a run differ by, before any are seen
PRIOR_NOISE_WEIGHT = 2.0  # how many trials that belief is worth
LEAST_FREEDOM = 3


class Trend(Protocol):
    """A parametric mean of log run time, at its best parameters."""

    @property
    def prior(self) -> Floats:
        """Variances of the parameters around their prior means."""
        ...

    @property
    def shift(self) -> Floats:
        """Best parameters minus prior means."""
        ...

    def rivalry(self, at: Encoded) -> tuple[Floats, Floats]:
        """Other forms that this trend may have: how probable each is, and by how much it differs
        at each row. The prediction is the mixture of all."""
        ...

    def mean(self, at: Encoded) -> Floats: ...

    def slopes(self, at: Encoded) -> Floats:
        """Derivatives by the parameters: (rows, parameters)."""
        ...

    def describe(self, space: Space) -> str: ...


class Kernel(Protocol):
    def between(self, a: Encoded, b: Encoded) -> Floats: ...

    def variance(self, at: Encoded) -> Floats:
        """Of each row alone."""
        ...


@dataclass(frozen=True, kw_only=True)
class Widening:
    """Factors on the spread: within the range of the trials, and beyond it by parameter."""

    within: float = 1.0
    beyond: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A fitted run-time model. `widening` corrects the spread where leaving trials out has
    shown it to be too narrow."""

    name: str
    space: Space
    trend: Trend
    kernel: Kernel | None
    at: Encoded
    log_seconds: Floats
    noise: float
    noise_weights: Floats  # a trial's noise variance is noise**2 / weight
    precision: Floats  # inverse of the trials' covariance
    freedom: int
    widening: Widening = field(default_factory=Widening)

    def predict(
        self,
        configurations: Sequence[Configuration],
        values: Mapping[str, Value] | Sequence[Mapping[str, Value]],
    ) -> Prediction:
        """One question per configuration; `values` are one for all, or one each."""
        at = self.space.encode(configurations, values)
        location, variance = self.at_encoded(at)
        return Prediction(
            location=location,
            scale=np.sqrt(variance + self.noise**2) * self._widening(at),
            freedom=self.freedom,
            warnings=self.space.outside(at) if len(at) else (),
        )

    def at_encoded(self, at: Encoded) -> tuple[Floats, Floats]:
        """Mean, and variance without noise, of log run time."""
        slopes = self.trend.slopes(at)
        cross = self._cross(at, slopes)
        weighted = cross @ self.precision
        location = self.trend.mean(at) - slopes @ self.trend.shift + weighted @ self._residuals()
        own = (slopes**2) @ self.trend.prior + (self.kernel.variance(at) if self.kernel else 0.0)
        variance = own - np.einsum("ij,ij->i", weighted, cross)
        lean, doubt = self.doubt(at)
        return location + lean, np.maximum(variance, 1e-9) + doubt

    def covariance(self, a: Encoded, b: Encoded) -> Floats:
        """Of the noiseless log run times at `a` and `b`, given the trials and the trend's form."""
        slopes_a, slopes_b = self.trend.slopes(a), self.trend.slopes(b)
        prior = (slopes_a * self.trend.prior) @ slopes_b.T
        if self.kernel is not None:
            prior = prior + self.kernel.between(a, b)
        cross_a, cross_b = self._cross(a, slopes_a), self._cross(b, slopes_b)
        return np.asarray(prior - cross_a @ self.precision @ cross_b.T, dtype=np.float64)

    def doubt(self, at: Encoded) -> tuple[Floats, Floats]:
        """What not knowing the trend's form adds to the mean and to the variance."""
        chances, apart = self.trend.rivalry(at)
        lean = chances @ apart
        return lean, chances @ apart**2 - lean**2

    def left_out(self, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Errors and standard deviations at `rows`, predicted from all the other trials."""
        block = np.linalg.inv(self.precision[np.ix_(rows, rows)])
        errors = block @ (self.precision @ self._residuals())[rows]
        return errors, np.sqrt(np.diag(block))

    def leave_one_out(self) -> tuple[Floats, Floats]:
        diagonal = np.diag(self.precision)
        return (self.precision @ self._residuals()) / diagonal, np.sqrt(1 / diagonal)

    def widened(self, widening: Widening) -> Fitted:
        return replace(self, widening=widening)

    def explain(self) -> str:
        return (
            f"{self.name}: {self.trend.describe(self.space)}; "
            f"runs scatter by {100 * self.noise:.1f} %"
        )

    def _widening(self, at: Encoded) -> Floats:
        factors = np.full(len(at), self.widening.within)
        for name, rows in self.space.beyond(at).items():
            further = self.widening.beyond.get(name, 1.0)
            factors = np.where(rows, np.maximum(factors, further), factors)
        return factors

    def _cross(self, at: Encoded, slopes: Floats) -> Floats:
        cross = (slopes * self.trend.prior) @ self.trend.slopes(self.at).T
        if self.kernel is not None:
            cross = cross + self.kernel.between(at, self.at)
        return cross

    def _residuals(self) -> Floats:
        """What the trials deviate from the prior mean, linearised at the best parameters."""
        slopes = self.trend.slopes(self.at)
        return self.log_seconds - self.trend.mean(self.at) + slopes @ self.trend.shift


def condition(
    *,
    name: str,
    space: Space,
    trend: Trend,
    kernel: Kernel | None,
    at: Encoded,
    log_seconds: Floats,
    noise: float | None,
    noise_weights: Floats,
) -> Fitted:
    """The model given its trials. Without `noise`, it is estimated from their scatter."""
    guess = PRIOR_NOISE if noise is None else noise
    for _ in range(3 if noise is None else 1):
        prior = _prior_covariance(trend, kernel, at)
        precision = _inverse(prior + np.diag(guess**2 / noise_weights))
        used = float(np.trace(prior @ precision))  # parameters that the data really settle
        left = max(len(at) - used, 0.0)
        if noise is None:
            residuals = log_seconds - trend.mean(at)
            total = float(noise_weights @ residuals**2) + PRIOR_NOISE_WEIGHT * PRIOR_NOISE**2
            guess = float(np.sqrt(total / (left + PRIOR_NOISE_WEIGHT)))
    freedom = int(np.clip(round(left + PRIOR_NOISE_WEIGHT), LEAST_FREEDOM, MOST_FREEDOM))
    return Fitted(
        name=name,
        space=space,
        trend=trend,
        kernel=kernel,
        at=at,
        log_seconds=log_seconds,
        noise=guess,
        noise_weights=noise_weights,
        precision=_inverse(prior + np.diag(guess**2 / noise_weights)),
        freedom=freedom,
    )


def _prior_covariance(trend: Trend, kernel: Kernel | None, at: Encoded) -> Floats:
    slopes = trend.slopes(at)
    prior = (slopes * trend.prior) @ slopes.T
    return prior if kernel is None else prior + kernel.between(at, at)


def _inverse(covariance: Floats) -> Floats:
    inverse = np.linalg.inv(covariance)
    return np.asarray((inverse + inverse.T) / 2, dtype=np.float64)
