"""A predicted run time: not a number but a distribution, for many questions at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from acai.model.errors import InvalidInput
from acai.provisioning.runtime import student
from acai.provisioning.runtime.student import Floats

_HALVINGS = 22  # of a bracket some tenths wide: good to a millionth
_WIDEST = 1.0  # a scale beyond this says that nothing is known, not that the mean is huge


@dataclass(frozen=True, kw_only=True, eq=False)
class Prediction:
    """The logarithm of the run time is Student's t, or a mixture of several.

    `location` and `scale` have one entry per question; of a mixture, one row per form, which
    applies with its entry of `chances`. `warnings` say where the questions lie outside what was
    run.
    """

    location: Floats
    scale: Floats
    freedom: int
    chances: Floats = field(default_factory=lambda: np.ones(1))
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", np.atleast_2d(self.location))
        object.__setattr__(self, "scale", np.atleast_2d(self.scale))

    @property
    def centre(self) -> Floats:
        """The median of the logarithm."""
        return self._place(0.5)

    @property
    def spread(self) -> Floats:
        """The deviation of the logarithm, as far as a t has one: of scales and of locations."""
        mean = self.chances @ self.location
        return np.asarray(
            np.sqrt(self.chances @ (self.scale**2 + self.location**2) - mean**2), dtype=np.float64
        )

    @property
    def median(self) -> Floats:
        return np.asarray(np.exp(self.centre), dtype=np.float64)

    @property
    def mean(self) -> Floats:
        """Of the log-normals with the same locations and scales: the t's own has no mean."""
        capped = np.minimum(self.scale, _WIDEST)
        return np.asarray(self.chances @ np.exp(self.location + capped**2 / 2), dtype=np.float64)

    def quantile(self, p: float) -> Floats:
        if not 0 < p < 1:
            raise InvalidInput(f"a probability lies between 0 and 1, not at {p:g}")
        return np.asarray(np.exp(self._place(p)), dtype=np.float64)

    def interval(self, p: float = 0.9) -> tuple[Floats, Floats]:
        """The central interval that holds the run time with probability p."""
        return self.quantile((1 - p) / 2), self.quantile((1 + p) / 2)

    def probability_below(self, seconds: Floats | float) -> Floats:
        limit = np.log(np.maximum(np.asarray(seconds, dtype=np.float64), 1e-12))
        return self._below(np.broadcast_to(limit, self.location.shape[1:]))

    def sample(self, generator: np.random.Generator, count: int) -> Floats:
        """`count` draws for each question, as rows."""
        questions = np.arange(self.location.shape[1])
        form = generator.choice(len(self.chances), size=(count, 1), p=self.chances)
        draws = generator.standard_t(self.freedom, size=(count, len(questions)))
        drawn = self.location[form, questions] + self.scale[form, questions] * draws
        return np.asarray(np.exp(drawn), dtype=np.float64)

    def _below(self, log_seconds: Floats) -> Floats:
        off = (log_seconds - self.location) / self.scale
        return np.asarray(self.chances @ student.probability_below(off, self.freedom))

    def _place(self, p: float) -> Floats:
        """The quantile of the logarithm: between the least and the greatest of the forms'."""
        places = self.location + self.scale * student.quantile(p, self.freedom)
        low, high = places.min(axis=0), places.max(axis=0)
        if len(self.chances) > 1:
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                short = self._below(middle) < p
                low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.asarray((low + high) / 2, dtype=np.float64)
