"""Run time as a product of powers: log y = log a + sum b_i log x_i, by least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acai.provisioning.runtime.gaussian import Candidate, Fitted, condition
from acai.provisioning.runtime.observed import Observed
from acai.provisioning.runtime.space import Encoded, Space
from acai.provisioning.runtime.student import Floats
from acai.provisioning.trials import Trial

NAME = "log-linear"
_WIDE = 10.0**2  # variance: next to no prior, so that this is plain least squares
_UNSEEN = 0.5**2  # variance of the power of a factor that never varied


@dataclass(frozen=True, kw_only=True, eq=False)
class Product:
    prior: Floats
    shift: Floats  # the powers themselves: their prior means are 0

    def mean(self, at: Encoded) -> Floats:
        return np.asarray(self.slopes(at) @ self.shift, dtype=np.float64)

    def slopes(self, at: Encoded) -> Floats:
        ones = np.ones(len(at))
        return np.column_stack([ones, at.log_cpu, at.log_memory, at.numbers, at.words])

    def describe(self, space: Space) -> str:
        names = ["cpu", "memory", *(number.name for number in space.numbers)]
        powers = self.shift[1 : 1 + len(names)]
        said = [f"{name}^{power:.2f}" for name, power in zip(names, powers, strict=True)]
        return f"run time goes as {' '.join(said)}"


def fit(trials: Sequence[Trial], space: Space | None = None) -> Fitted:
    space = space or Space.of(trials)
    observed = Observed.evenly(space.encode_trials(trials), np.log([one.seconds for one in trials]))
    blank = Product(prior=np.empty(0), shift=np.empty(0))
    columns = blank.slopes(observed.at)
    varying = np.ptp(columns, axis=0) > 1e-9
    varying[0] = True
    prior = np.where(varying, _WIDE, _UNSEEN)
    ridge = np.diag(0.05**2 / prior)
    powers = np.asarray(
        np.linalg.solve(columns.T @ columns + ridge, columns.T @ observed.logs),
        dtype=np.float64,
    )
    return condition(
        name=NAME,
        space=space,
        candidates=[Candidate(trend=Product(prior=prior, shift=powers))],
        observed=observed,
    )
