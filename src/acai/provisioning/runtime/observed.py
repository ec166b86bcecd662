"""Trials as rows of numbers, and how they scatter: each run after the shorter ones it contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from acai.provisioning.runtime.space import Encoded, Space
from acai.provisioning.runtime.student import Floats
from acai.provisioning.trials import Trial

MOMENTARY = 0.5  # the share of the noise's variance that averages out over a longer run,
_PRIOR_WEIGHT = 4.0  # and how many reports that belief is worth
_SHORTEST = np.log(0.1)  # as a share of the usual length: shorter runs scatter no more than these
READING = 0.02  # variance, beside the noise's, of reading off when a shorter run was passed


@dataclass(frozen=True, kw_only=True, eq=False)
class Observed:
    """Rows that scatter together: what a run has passed on its way shares what is of the whole
    run, and what was of the moment until then."""

    at: Encoded
    logs: Floats  # of the run times, or of whatever else was measured
    whole: NDArray[np.int64]  # the row of each run itself, behind those that it passed
    usual: float | None  # the log length of run that has this noise; None: all have
    weights: Floats  # of each run
    momentary: float = MOMENTARY

    @classmethod
    def of(cls, space: Space, trials: Sequence[Trial]) -> Observed:
        parts = [
            (one.configuration, part.values, part.seconds) for one in trials for part in one.shown
        ]
        whole = np.cumsum([1 + len(one.passed) for one in trials]) - 1
        logs = np.log([seconds for _, _, seconds in parts])
        usual = float(logs[whole].mean())
        return cls(
            at=space.encode([where for where, _, _ in parts], [values for _, values, _ in parts]),
            logs=logs,
            whole=whole,
            usual=usual,
            weights=np.ones(len(trials)),
        )

    @classmethod
    def evenly(cls, at: Encoded, logs: Floats) -> Observed:
        """Whole runs only, that scatter alike whatever their length."""
        rows = len(at)
        return cls(at=at, logs=logs, whole=np.arange(rows), usual=None, weights=np.ones(rows))

    def __len__(self) -> int:
        """How many runs."""
        return len(self.whole)

    @property
    def runs(self) -> list[NDArray[np.int64]]:
        """The rows of each run."""
        return np.split(np.arange(len(self.at)), self.whole[:-1] + 1)

    def only_whole(self) -> Observed:
        return replace(
            self,
            at=self.at.rows(self.whole),
            logs=self.logs[self.whole],
            whole=np.arange(len(self)),
        )

    @cached_property
    def scatter(self) -> Floats:
        """The covariance of the rows for a noise of 1."""
        counts = np.diff(self.whole, prepend=-1)
        run = np.repeat(np.arange(len(self)), counts)
        longer = np.maximum.outer(self.logs, self.logs)
        shared = unsteadiness(longer, self.usual, self.momentary) / np.repeat(self.weights, counts)
        reading = np.full(len(run), READING)
        reading[self.whole] = 0.0
        return np.asarray(np.where(np.equal.outer(run, run), shared, 0.0) + np.diag(reading))

    def told_momentary(self, misses: Floats, noise: float) -> float:
        """The share of the noise that is of the moment, judged by how the misses of a fit change
        from one report of a run to the next; what is believed where there are none."""
        inside = np.setdiff1d(np.arange(len(self.at)), self.whole)
        if not len(inside):
            return MOMENTARY
        steadiness = unsteadiness(self.logs, self.usual, 1.0)
        expected = float((steadiness[inside] - steadiness[inside + 1]).mean())
        found = float(np.square((misses[inside] - misses[inside + 1]) / noise).mean())
        known = len(inside) * expected
        believed = _PRIOR_WEIGHT * max(expected, READING)
        share = (len(inside) * found + believed * MOMENTARY) / (known + believed)
        return min(share, 1.0)

    @cached_property
    def spread(self) -> Floats:
        """The deviation of each whole run for a noise of 1."""
        return np.asarray(np.sqrt(np.diag(self.scatter)[self.whole]), dtype=np.float64)

    @cached_property
    def whitener(self) -> Floats:
        """Turns rows into ones that scatter by 1 each, on their own."""
        return np.asarray(np.linalg.inv(np.linalg.cholesky(self.scatter)), dtype=np.float64)

    def freedom(self, precision: Floats, noise: float) -> float:
        """How many of the whole runs are left to tell the noise, besides what they settle of a
        model; `precision` is the inverse of the covariance that rows have by it, with noise."""
        unsettled = noise**2 * self.scatter @ precision @ self.scatter
        return max(float((np.diag(unsettled)[self.whole] / self.spread**2).sum()), 0.0)


def unsteadiness(log_seconds: Floats, usual: float | None, momentary: float = MOMENTARY) -> Floats:
    """The noise's variance beside that of a run of usual length: some of it is of the moment,
    and averages out over a longer run."""
    if usual is None:
        return np.ones_like(log_seconds)
    longer = np.maximum(log_seconds - usual, _SHORTEST)
    return np.asarray(1 - momentary + momentary * np.exp(-longer), dtype=np.float64)
