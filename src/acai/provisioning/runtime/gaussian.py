"""Regression in the logarithm of the run time around a trend, with or without a kernel.

A trend is any function of the encoded trial that has parameters with Gaussian priors. Around
its best parameters it is as good as linear, so that a model is one Gaussian: prior covariance
J P J' + kernel + noise. From that follow the prediction, its spread within and outside the
range of the trials, what leaving trials out would have predicted, and how much a further trial
would narrow a prediction. Where the trend may have several forms, the model is the mixture of
one such Gaussian each, weighed by the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from acai.provisioning.runtime.observed import Observed, unsteadiness
from acai.provisioning.runtime.prediction import Prediction
from acai.provisioning.runtime.space import Encoded, Space
from acai.provisioning.runtime.student import MOST_FREEDOM, Floats
from acai.provisioning.trials import Configuration, Value

PRIOR_NOISE = 0.05  # what repeats of a run differ by, before any are seen
PRIOR_NOISE_WEIGHT = 2.0  # how many trials that belief is worth
LEAST_FREEDOM = 3
_ROUNDS = 6  # to estimate the noise
_NEGLIGIBLE = 0.01  # forms that are less probable are left out


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
class Candidate:
    """A form that the trend may have, and how likely that is before any trial (a logarithm)."""

    trend: Trend
    kernel: Kernel | None = None
    log_odds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Widening:
    """Factors on the spread: within the range of the trials, and beyond it by parameter."""

    within: float = 1.0
    beyond: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Form:
    """One Gaussian, given the trials."""

    trend: Trend
    kernel: Kernel | None
    observed: Observed
    residuals: Floats  # what the trials' rows deviate from the prior mean, linearised
    precision: Floats  # inverse of their covariance

    def predict(self, at: Encoded) -> tuple[Floats, Floats]:
        """Mean, and variance without noise, of log run time."""
        slopes = self.trend.slopes(at)
        cross = self._cross(at, slopes)
        weighted = cross @ self.precision
        location = self.trend.mean(at) - slopes @ self.trend.shift + weighted @ self.residuals
        own = (slopes**2) @ self.trend.prior + (self.kernel.variance(at) if self.kernel else 0.0)
        variance = own - np.einsum("ij,ij->i", weighted, cross)
        return location, np.maximum(variance, 1e-9)

    def covariance(self, a: Encoded, b: Encoded) -> Floats:
        slopes_a, slopes_b = self.trend.slopes(a), self.trend.slopes(b)
        prior = (slopes_a * self.trend.prior) @ slopes_b.T
        if self.kernel is not None:
            prior = prior + self.kernel.between(a, b)
        cross_a, cross_b = self._cross(a, slopes_a), self._cross(b, slopes_b)
        return np.asarray(prior - cross_a @ self.precision @ cross_b.T, dtype=np.float64)

    def leave_one_out(self) -> tuple[Floats, Floats]:
        """Errors and standard deviations at each trial, predicted from all the others."""
        pulled = self.precision @ self.residuals
        errors, deviations = [], []
        for rows in self.observed.runs:
            covariance = np.linalg.inv(self.precision[np.ix_(rows, rows)])
            errors.append(covariance[-1] @ pulled[rows])
            deviations.append(np.sqrt(covariance[-1, -1]))
        return np.array(errors), np.array(deviations)

    def log_evidence(self) -> float:
        _, size = np.linalg.slogdet(self.precision)
        return 0.5 * float(size - self.residuals @ self.precision @ self.residuals)

    def _cross(self, at: Encoded, slopes: Floats) -> Floats:
        cross = (slopes * self.trend.prior) @ self.trend.slopes(self.observed.at).T
        if self.kernel is not None:
            cross = cross + self.kernel.between(at, self.observed.at)
        return cross


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A fitted model. `widening` corrects the spread where leaving trials out has shown it to
    be too narrow. The first form is the most probable."""

    name: str
    space: Space
    forms: tuple[Form, ...]
    chances: Floats
    noise: float
    usual: float | None  # the log length of run that has this noise; None: all have
    momentary: float  # the share of it that averages out over a longer run
    freedom: int
    widening: Widening = field(default_factory=Widening)

    def predict(
        self,
        configurations: Sequence[Configuration],
        values: Mapping[str, Value] | Sequence[Mapping[str, Value]],
    ) -> Prediction:
        """One question per configuration; `values` are one for all, or one each."""
        at = self.space.encode(configurations, values)
        location, variance = (np.array(part) for part in zip(*self._each(at), strict=True))
        noise = self.noise**2 * unsteadiness(location, self.usual, self.momentary)
        return Prediction(
            location=location,
            scale=np.sqrt(variance + noise) * self._widening(at),
            freedom=self.freedom,
            chances=self.chances,
            warnings=self.space.outside(at) if len(at) else (),
        )

    def at_encoded(self, at: Encoded) -> tuple[Floats, Floats]:
        """Mean, and variance without noise, of log run time over all forms."""
        location, variance = (np.array(part) for part in zip(*self._each(at), strict=True))
        mean = self.chances @ location
        return mean, np.asarray(self.chances @ (variance + (location - mean) ** 2))

    def covariance(self, a: Encoded, b: Encoded) -> Floats:
        """Of the noiseless log run times at `a` and `b`, given the trials: within the forms, and
        for not knowing which of them it is."""
        total = np.zeros((len(a), len(b)))
        means_a = np.array([form.predict(a)[0] for form in self.forms])
        means_b = np.array([form.predict(b)[0] for form in self.forms])
        apart_a, apart_b = means_a - self.chances @ means_a, means_b - self.chances @ means_b
        for form, chance, off_a, off_b in zip(
            self.forms, self.chances, apart_a, apart_b, strict=True
        ):
            total += chance * (form.covariance(a, b) + np.outer(off_a, off_b))
        return total

    def noise_at(self, at: Encoded) -> Floats:
        """The variance by which runs there scatter."""
        return self.noise**2 * unsteadiness(self.at_encoded(at)[0], self.usual, self.momentary)

    def leave_one_out(self) -> tuple[Floats, Floats]:
        """Errors and deviations at each trial, of the mixture that all the others would give."""
        errors, deviations = (
            np.array(part)
            for part in zip(*(form.leave_one_out() for form in self.forms), strict=True)
        )
        mean = self.chances @ errors
        between = self.chances @ (errors - mean) ** 2
        return mean, np.asarray(np.sqrt(self.chances @ deviations**2 + between), dtype=np.float64)

    def widened(self, widening: Widening) -> Fitted:
        return replace(self, widening=widening)

    def explain(self) -> str:
        return (
            f"{self.name}: {self.forms[0].trend.describe(self.space)}; "
            f"runs scatter by {100 * self.noise:.1f} %"
        )

    def _each(self, at: Encoded) -> list[tuple[Floats, Floats]]:
        return [form.predict(at) for form in self.forms]

    def _widening(self, at: Encoded) -> Floats:
        factors = np.full(len(at), self.widening.within)
        for name, rows in self.space.beyond(at).items():
            further = self.widening.beyond.get(name, 1.0)
            factors = np.where(rows, np.maximum(factors, further), factors)
        return factors


def condition(
    *,
    name: str,
    space: Space,
    candidates: Sequence[Candidate],
    observed: Observed,
    noise: float | None = None,
) -> Fitted:
    """The model given its trials. Without `noise`, it is estimated from how they scatter around
    the first candidate."""
    first = candidates[0]
    guess = PRIOR_NOISE if noise is None else noise
    prior = _prior_covariance(first, observed)
    deviations = _deviations(first, observed)
    for _ in range(_ROUNDS if noise is None else 1):
        precision = _inverse(prior + guess**2 * observed.scatter)
        left = observed.freedom(precision, guess)
        if noise is None:
            missed = guess**2 * observed.scatter @ precision @ deviations
            total = float(((missed[observed.whole] / observed.spread) ** 2).sum())
            total += PRIOR_NOISE_WEIGHT * PRIOR_NOISE**2
            guess = float(np.sqrt(total / (left + PRIOR_NOISE_WEIGHT)))
    forms = [_form(one, observed, guess) for one in candidates]
    reached = np.array(
        [form.log_evidence() + one.log_odds for form, one in zip(forms, candidates, strict=True)]
    )
    chances = np.exp(reached - reached.max())
    order = [n for n in np.argsort(-chances) if chances[n] > _NEGLIGIBLE * chances.sum()]
    return Fitted(
        name=name,
        space=space,
        forms=tuple(forms[n] for n in order),
        chances=chances[order] / chances[order].sum(),
        noise=guess,
        usual=observed.usual,
        momentary=observed.momentary,
        freedom=int(np.clip(round(left + PRIOR_NOISE_WEIGHT), LEAST_FREEDOM, MOST_FREEDOM)),
    )


def _form(one: Candidate, observed: Observed, noise: float) -> Form:
    return Form(
        trend=one.trend,
        kernel=one.kernel,
        observed=observed,
        residuals=_deviations(one, observed),
        precision=_inverse(_prior_covariance(one, observed) + noise**2 * observed.scatter),
    )


def _deviations(one: Candidate, observed: Observed) -> Floats:
    """From the prior mean, linearised at the best parameters."""
    slopes = one.trend.slopes(observed.at)
    return observed.logs - one.trend.mean(observed.at) + slopes @ one.trend.shift


def _prior_covariance(one: Candidate, observed: Observed) -> Floats:
    slopes = one.trend.slopes(observed.at)
    prior = (slopes * one.trend.prior) @ slopes.T
    if one.kernel is not None:
        prior = prior + one.kernel.between(observed.at, observed.at)
    return np.asarray(prior, dtype=np.float64)


def _inverse(covariance: Floats) -> Floats:
    inverse = np.linalg.inv(covariance)
    return np.asarray((inverse + inverse.T) / 2, dtype=np.float64)
