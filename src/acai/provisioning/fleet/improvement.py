"""How much better an untried configuration is expected to be, under uncertain forecasts."""

from __future__ import annotations

from math import erfc, exp, sqrt

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# The normal distribution by interpolation: numpy has no error function, and 5e-7 is ample.
_REACH, _PER_UNIT = 8.0, 250
_BELOW = np.array(
    [0.5 * erfc(-step / _PER_UNIT / sqrt(2.0)) for step in range(-2000, 2001)], dtype=np.float64
)
_BELOW[0], _BELOW[-1] = 0.0, 1.0
_RISE = np.append(np.diff(_BELOW), 0.0)
_HIGHEST = 300.0  # keeps exp() finite for forecasts that know nothing yet


def normal_cdf(values: Array) -> Array:
    place = (np.clip(values, -_REACH, _REACH) + _REACH) * _PER_UNIT
    cell = place.astype(np.intp)
    below: Array = _BELOW[cell] + (place - cell) * _RISE[cell]
    return below


def normal_pdf(values: Array) -> Array:
    density: Array = np.exp(-0.5 * values**2) / sqrt(2.0 * np.pi)
    return density


def relative_improvement(best: Array | float, mean: Array, spread: Array) -> Array:
    """Expected fall of the logarithm below log `best`: a share of what is had already."""
    gap = np.log(best) - mean
    score = gap / spread
    return np.maximum(gap * normal_cdf(score) + spread * normal_pdf(score), 0.0)


def absolute_improvement(best: Array | float, mean: Array, spread: Array) -> Array:
    """Expected fall below `best` itself, where the logarithm is normal."""
    score = (np.log(best) - mean) / spread
    level = np.exp(np.minimum(mean + 0.5 * spread**2, _HIGHEST))
    return np.maximum(best * normal_cdf(score) - level * normal_cdf(score - spread), 0.0)


def chance_below(limit: Array | float, mean: Array, spread: Array) -> Array:
    """The probability that exp of a normal variable is at most `limit`, which may be infinite."""
    bound = np.log(np.maximum(limit, exp(-_HIGHEST)))
    return normal_cdf((bound - mean) / spread)


def truncated_level(limit: Array | float, mean: Array, spread: Array) -> Array:
    """The expectation of min(exp of a normal variable, `limit`)."""
    score = (np.log(np.maximum(limit, exp(-_HIGHEST))) - mean) / spread
    level = np.exp(np.minimum(mean + 0.5 * spread**2, _HIGHEST))
    above = np.where(np.isfinite(limit), limit, 0.0) * normal_cdf(-score)
    return level * normal_cdf(score - spread) + above


def mean_above(bound: float, mean: float, spread: float) -> float:
    """The expectation of a normal variable that is known to exceed `bound`."""
    score = (bound - mean) / spread
    if score > 5.0:  # the tail's mean lies just above its edge
        return bound + spread / score
    tail = 0.5 * erfc(score / sqrt(2.0))
    return mean + spread * exp(-0.5 * score**2) / sqrt(2.0 * np.pi) / tail
