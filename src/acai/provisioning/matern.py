"""The Matérn 5/2 correlation: how alike a function's values are at two points, by their distance.

Run-time models correlate what a trend leaves over with it, fleet searches what offers have in
common.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def matern(squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """By squared distances, in units of the length over which the function changes."""
    scaled = np.sqrt(5.0 * squares)
    return np.asarray((1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled), dtype=np.float64)
