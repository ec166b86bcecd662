"""A predicted run time: not a number but a distribution, for many questions at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acai.model.errors import InvalidInput
from acai.provisioning.runtime import student
from acai.provisioning.runtime.student import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Prediction:
    """The logarithm of the run time is Student's t: `location`, `scale`, `freedom`.

    `location` and `scale` have one entry per question. `warnings` say where the questions lie
    outside what was run.
    """

    location: Floats
    scale: Floats
    freedom: int
    warnings: tuple[str, ...] = ()

    @property
    def median(self) -> Floats:
        return np.asarray(np.exp(self.location), dtype=np.float64)

    @property
    def mean(self) -> Floats:
        """Of the log-normal with the same location and scale: the t's own has no mean."""
        return np.asarray(np.exp(self.location + self.scale**2 / 2), dtype=np.float64)

    def quantile(self, p: float) -> Floats:
        if not 0 < p < 1:
            raise InvalidInput(f"a probability lies between 0 and 1, not at {p:g}")
        place = student.quantile(p, self.freedom)
        return np.asarray(np.exp(self.location + self.scale * place), dtype=np.float64)

    def interval(self, p: float = 0.9) -> tuple[Floats, Floats]:
        """The central interval that holds the run time with probability p."""
        return self.quantile((1 - p) / 2), self.quantile((1 + p) / 2)

    def probability_below(self, seconds: Floats | float) -> Floats:
        limit = np.log(np.maximum(np.asarray(seconds, dtype=np.float64), 1e-12))
        return student.probability_below((limit - self.location) / self.scale, self.freedom)

    def sample(self, generator: np.random.Generator, count: int) -> Floats:
        """`count` draws for each question, as rows."""
        draws = generator.standard_t(self.freedom, size=(count, len(self.location)))
        return np.asarray(np.exp(self.location + self.scale * draws), dtype=np.float64)
