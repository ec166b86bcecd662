"""Student's t with whole degrees of freedom: its distribution function and its quantiles."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MOST_FREEDOM = 60  # beyond this the difference to a normal distribution is of no interest


def probability_below(x: Floats, freedom: int) -> Floats:
    """P(T <= x), by the finite sums that hold for whole degrees of freedom."""
    angle = np.arctan(np.asarray(x, dtype=np.float64) / math.sqrt(freedom))
    sine, cosine = np.sin(angle), np.cos(angle)
    term = cosine if freedom % 2 else np.ones_like(cosine)
    total = term.copy() if freedom > 1 else np.zeros_like(cosine)
    for step in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term = term * cosine**2 * (step - 1) / step
        total = total + term
    if freedom % 2:
        within = 2 / math.pi * (angle + sine * total)
    else:
        within = sine * total
    return np.asarray(0.5 + within / 2, dtype=np.float64)


@lru_cache(maxsize=256)
def quantile(p: float, freedom: int) -> float:
    """The x with P(T <= x) = p."""
    if p == 0.5:
        return 0.0
    low, high = -1.0, 1.0
    while _below(low, freedom) > p:
        low *= 2
    while _below(high, freedom) < p:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom) < p else (low, middle)
    return (low + high) / 2


def _below(x: float, freedom: int) -> float:
    return float(probability_below(np.array([x]), freedom)[0])
