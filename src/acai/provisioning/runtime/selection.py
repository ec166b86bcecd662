"""Which run-time model to believe: the one that predicts trials it has not seen best.

Two questions are asked of each model. How far off is it at one trial when it is fitted to all
the others? And how far off at the largest value of a parameter, or at the most CPUs, when it
is fitted to the smaller ones? The second is what people use predictions for, and a model that
only interpolates fails it; but it has few answers, and a wrong model may be lucky. So only
models that do well at the first are asked the second, and set-up and scaling wins unless another
is clearly better. A product of powers is often lucky with a few trials, and then far off beyond
them: it must be ahead by more than luck.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from acai.model.errors import InvalidInput
from acai.provisioning.runtime import loglinear, residual, scaling
from acai.provisioning.runtime.gaussian import Fitted, Widening
from acai.provisioning.runtime.prediction import Prediction
from acai.provisioning.runtime.space import CPU, Encoded, Space
from acai.provisioning.runtime.student import Floats
from acai.provisioning.trials import Configuration, Outcome, Trial, Value, finished

Fit = Callable[[Sequence[Trial], Space | None], Fitted]
MODELS: dict[str, Fit] = {  # from simple to rich
    loglinear.NAME: loglinear.fit,
    scaling.NAME: scaling.fit,
    residual.NAME: residual.fit,
}
LEAST_TRIALS = 3
MOST_TRIALS = 200  # the time to fit grows with the cube; shorter runs inside others count too
_BETTER = {loglinear.NAME: 0.8, residual.NAME: 0.95}  # shares of the error of set-up and scaling
_SOUND = 1.25  # who is further off than this share of the best within the runs is not asked beyond
_LUCK = 2.0  # deviations by which the log-linear model must be ahead of set-up and scaling
_WIDEST = 3.0
_FOLD_WEIGHT = 2.0  # how many errors one fit tells of, however many there are beyond,
_PRIOR_WEIGHT = 4.0  # beside a belief that is worth so many


@dataclass(frozen=True, kw_only=True, eq=False)
class Score:
    """Absolute errors of the logarithm, which for small ones are relative errors: at each trial
    left out, and at the largest of each parameter that had enough different values."""

    model: str
    at_each: Floats
    at_largest: tuple[Floats, ...]
    widening: Widening

    @property
    def one_out(self) -> float:
        return float(self.at_each.mean())

    @property
    def largest_out(self) -> float | None:
        if not self.at_largest:
            return None
        return float(np.mean([misses.mean() for misses in self.at_largest]))

    @property
    def error(self) -> float:
        if self.largest_out is None:
            return self.one_out
        return (self.one_out + self.largest_out) / 2

    @property
    def misses(self) -> Floats:
        return np.concatenate([self.at_each, *self.at_largest])

    def __str__(self) -> str:
        largest = "" if self.largest_out is None else f" and {100 * self.largest_out:.1f} %"
        return f"{self.model} {100 * self.one_out:.1f} %{largest}"


@dataclass(frozen=True, kw_only=True, eq=False)
class RuntimeModel:
    """The chosen model, and how each of them scored."""

    fitted: Fitted
    scores: tuple[Score, ...]
    trials: int
    passed: int = 0  # shorter runs that they contain
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.fitted.name

    @property
    def score(self) -> Score:
        return next(score for score in self.scores if score.model == self.name)

    def predict(
        self,
        configurations: Sequence[Configuration],
        values: Mapping[str, Value] | Sequence[Mapping[str, Value]],
    ) -> Prediction:
        return self.fitted.predict(configurations, values)

    def covariance(self, a: Encoded, b: Encoded) -> Floats:
        return self.fitted.covariance(a, b)

    def explain(self) -> str:
        """Why this model, in a few sentences."""
        asked = "leaving one run out"
        if self.score.largest_out is not None:
            asked += ", and leaving the largest values out"
        others = "; ".join(str(score) for score in self.scores if score.model != self.name)
        compared = f" (others: {others})" if others else ""
        told = f" and {self.passed} shorter ones that they reported" if self.passed else ""
        return " ".join(
            [
                f"Of {self.trials} runs{told}, {self.score} of error {asked}{compared}.",
                f"{self.fitted.explain()}.",
                *self.notes,
            ]
        )


def fit_runtime(trials: Sequence[Trial], models: Mapping[str, Fit] | None = None) -> RuntimeModel:
    """The model that predicts best, of `models` or of all.

    Only finished trials are fitted; one that was cut while it ran counts where the model would
    have it shorter than it is known to be. Fewer than LEAST_TRIALS finished trials are refused;
    of more than MOST_TRIALS the last ones count, so pass them in the order in which they ran.
    """
    done = _within(finished(trials)[-MOST_TRIALS:])
    if len(done) < LEAST_TRIALS:
        raise InvalidInput(_too_few(trials, len(done)), needed=LEAST_TRIALS - len(done))
    chosen = _choose(done, models or MODELS)
    cut = [t for t in trials if t.outcome is Outcome.CUT and t.seconds > 0]
    longer = [t for t in cut if chosen.predict([t.configuration], t.values).median[0] < t.seconds]
    if longer:
        taught = _choose([*done, *longer], models or MODELS)
        note = f"{len(longer)} runs that were cut count as at least as long as they ran."
        chosen = replace(taught, notes=(note,))
    return chosen


def _within(done: Sequence[Trial]) -> list[Trial]:
    """With the shorter runs that they contain only in so many of the last ones as there is room."""
    rows = len(done) + np.cumsum([len(one.passed) for one in reversed(done)])[::-1]
    return [
        one if count <= MOST_TRIALS else replace(one, passed=())
        for one, count in zip(done, rows, strict=True)
    ]


def _too_few(trials: Sequence[Trial], done: int) -> str:
    more = LEAST_TRIALS - done
    ended = {
        outcome: sum(one.outcome is outcome for one in trials)
        for outcome in (Outcome.OUT_OF_MEMORY, Outcome.FAILED, Outcome.CUT)
    }
    said = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in ended.items() if n)
    also = f" ({said})" if said else ""
    return (
        f"{done} finished runs are too few to predict run times{also}; "
        f"{more} more {'is' if more == 1 else 'are'} needed"
    )


def _choose(done: Sequence[Trial], models: Mapping[str, Fit]) -> RuntimeModel:
    space = Space.of(done)
    folds = _largest_out(space, done)
    fitted = {name: fit(done, space) for name, fit in models.items()}
    scores = {name: _score(fitted[name], models[name], done, folds) for name in models}
    trend = scores.get(scaling.NAME)
    lucky = trend and loglinear.NAME in scores and _may_be_luck(scores[loglinear.NAME], trend)
    eligible = [name for name in models if not (lucky and name == loglinear.NAME)]
    closest = min(scores[name].one_out for name in eligible)
    sound = [name for name in eligible if scores[name].one_out <= _SOUND * closest + 0.005]
    best = min(sound, key=lambda name: scores[name].error / _BETTER.get(name, 1.0))
    return RuntimeModel(
        fitted=fitted[best].widened(scores[best].widening),
        scores=tuple(scores.values()),
        trials=len(done),
        passed=sum(len(one.passed) for one in done),
    )


def _may_be_luck(score: Score, other: Score) -> bool:
    """Whether being closer than the other model could be the luck of a few trials."""
    gaps = other.misses - score.misses
    return bool(gaps.mean() <= _LUCK * gaps.std() / math.sqrt(len(gaps)))


def _score(
    fitted: Fitted, fit: Fit, done: Sequence[Trial], folds: Mapping[str, NDArray[np.bool_]]
) -> Score:
    errors, deviations = fitted.leave_one_out()
    far: list[Floats] = []
    beyond: dict[str, float] = {}
    for name, held in folds.items():
        seen = [one for one, out in zip(done, held, strict=True) if not out]
        hidden = [one for one, out in zip(done, held, strict=True) if out]
        partial = fit(seen, None)
        prediction = partial.predict([t.configuration for t in hidden], [t.values for t in hidden])
        off = np.log([one.seconds for one in hidden]) - prediction.centre
        far.append(np.abs(off))
        beyond[name] = _shrunk(_factor(off / prediction.spread))
    return Score(
        model=fitted.name,
        at_each=np.abs(errors),
        at_largest=tuple(far),
        widening=Widening(within=_factor(errors / deviations), beyond=beyond),
    )


def _factor(misses: Floats) -> float:
    """By how much the spread must grow for misses of its own size to be usual."""
    return min(_WIDEST, max(1.0, math.sqrt(float(np.mean(np.square(misses))))))


def _shrunk(factor: float) -> float:
    """The errors beyond come from one fit and go together, so that they tell less than they are."""
    return math.sqrt((_FOLD_WEIGHT * factor**2 + _PRIOR_WEIGHT) / (_FOLD_WEIGHT + _PRIOR_WEIGHT))


def _largest_out(space: Space, done: Sequence[Trial]) -> dict[str, NDArray[np.bool_]]:
    """Which trials to hide: those with the largest value of one parameter, or the most CPUs.

    Only where two different values and enough trials stay.
    """
    columns = {n.name: np.array([float(one.values[n.name]) for one in done]) for n in space.numbers}
    columns[CPU] = np.array([one.configuration.cpu for one in done])
    needed = LEAST_TRIALS + len(columns)
    held = {
        name: column >= column.max()
        for name, column in columns.items()
        if len(np.unique(column)) >= 3
    }
    return {name: hidden for name, hidden in held.items() if (~hidden).sum() >= needed}
