"""How trials become numbers: CPUs and memory, the template's numbers, and its choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acai.model.errors import InvalidInput
from acai.provisioning.runtime.student import Floats
from acai.provisioning.trials import Configuration, Trial, Value

CPU = "vCPU"  # the CPUs' name beside the template's own parameters


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """Questions or trials as arrays, one row each."""

    log_cpu: Floats
    log_memory: Floats  # relative to the trials' geometric mean
    numbers: Floats  # (rows, numbers), relative to the trials' mean; logarithms where possible
    levels: NDArray[np.int64]  # (rows, choices); -1 where no trial had that word
    words: Floats  # (rows, words of all choices): 1 where the row has that word

    def __len__(self) -> int:
        return len(self.log_cpu)

    def rows(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> Encoded:
        return Encoded(
            log_cpu=self.log_cpu[chosen],
            log_memory=self.log_memory[chosen],
            numbers=self.numbers[chosen],
            levels=self.levels[chosen],
            words=self.words[chosen],
        )


@dataclass(frozen=True, kw_only=True)
class Number:
    """A numeric parameter. It is seen through its logarithm if every trial's value is positive."""

    name: str
    logged: bool
    centre: float
    width: float
    low: float
    high: float
    distinct: int

    def decoded(self, seen: Floats) -> Floats:
        raw = seen * self.width + self.centre
        return np.asarray(np.exp(raw) if self.logged else raw, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Space:
    """The parameters that a set of trials has, and the range over which they were run."""

    numbers: tuple[Number, ...]
    choices: tuple[tuple[str, tuple[str, ...]], ...]
    cpu: tuple[float, float]
    memory: tuple[float, float]
    cpus: int  # how many different ones
    memory_centre: float

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> Space:
        names = list(dict.fromkeys(name for one in trials for name in one.values))
        for name in names:
            lacking = sum(name not in one.values for one in trials)
            if lacking:
                raise InvalidInput(f"{lacking} of {len(trials)} runs have no value for {name}")
        numeric = [n for n in names if not any(isinstance(t.values[n], str) for t in trials)]
        cpus = [one.configuration.cpu for one in trials]
        memories = [one.configuration.memory_mb for one in trials]
        return cls(
            numbers=tuple(
                _number(n, [float(t.values[n]) for t in trials], different(n, trials))
                for n in numeric
            ),
            choices=tuple(
                (n, tuple(sorted({str(t.values[n]) for t in trials})))
                for n in names
                if n not in numeric
            ),
            cpu=(min(cpus), max(cpus)),
            memory=(min(memories), max(memories)),
            cpus=len(set(cpus)),
            memory_centre=float(np.mean(np.log(memories))),
        )

    def encode(
        self,
        configurations: Sequence[Configuration],
        values: Mapping[str, Value] | Sequence[Mapping[str, Value]],
    ) -> Encoded:
        """`values` are one for all configurations, or one each."""
        rows = [values] * len(configurations) if isinstance(values, Mapping) else list(values)
        numbers = np.empty((len(rows), len(self.numbers)))
        for column, number in enumerate(self.numbers):
            numbers[:, column] = _encoded(number, rows)
        levels = np.empty((len(rows), len(self.choices)), dtype=np.int64)
        for column, (name, words) in enumerate(self.choices):
            place = {word: index for index, word in enumerate(words)}
            levels[:, column] = [place.get(str(_given(row, name)), -1) for row in rows]
        # More memory than was ever given, or less than was ever enough, is not known to matter.
        memories = [one.memory_mb for one in configurations]
        return Encoded(
            log_cpu=np.log([one.cpu for one in configurations]),
            log_memory=np.log(np.clip(memories, *self.memory)) - self.memory_centre,
            numbers=numbers,
            levels=levels,
            words=self._indicators(levels),
        )

    def _indicators(self, levels: NDArray[np.int64]) -> Floats:
        blocks = [np.empty((len(levels), 0))]
        for column, (_, words) in enumerate(self.choices):
            blocks.append((levels[:, column, None] == np.arange(len(words))).astype(np.float64))
        return np.hstack(blocks)

    def encode_trials(self, trials: Sequence[Trial]) -> Encoded:
        return self.encode([t.configuration for t in trials], [t.values for t in trials])

    def beyond(self, at: Encoded) -> dict[str, NDArray[np.bool_]]:
        """For the CPUs and for each number, which rows leave the range of the trials."""
        masks = {CPU: _off(np.exp(at.log_cpu), *self.cpu)}
        for column, number in enumerate(self.numbers):
            masks[number.name] = _off(
                number.decoded(at.numbers[:, column]), number.low, number.high
            )
        return masks

    def outside(self, at: Encoded) -> tuple[str, ...]:
        """Where the rows leave the range of the trials, in words."""
        ranges = {CPU: self.cpu, **{one.name: (one.low, one.high) for one in self.numbers}}
        asked = {CPU: np.exp(at.log_cpu)}
        for column, number in enumerate(self.numbers):
            asked[number.name] = number.decoded(at.numbers[:, column])
        said = []
        for name, mask in self.beyond(at).items():
            if mask.any():
                low, high = ranges[name]
                reach = asked[name].max() if asked[name].max() > high else asked[name].min()
                said.append(
                    f"{name} {reach:g} lies outside the {low:g} to {high:g} that were run: "
                    "the interval is wider"
                )
        for column, (name, words) in enumerate(self.choices):
            if (at.levels[:, column] < 0).any():
                said.append(f"of {name}, only {', '.join(words)} were run: the interval is wider")
        return tuple(said)


def _off(values: Floats, low: float, high: float) -> NDArray[np.bool_]:
    slack = 1e-9 * max(abs(low), abs(high))
    return np.asarray((values < low - slack) | (values > high + slack), dtype=np.bool_)


def different(name: str, trials: Sequence[Trial]) -> int:
    """How many values of it were run, also on the way to others."""
    return len({part.values[name] for one in trials for part in one.shown})


def _number(name: str, values: list[float], distinct: int) -> Number:
    logged = min(values) > 0
    seen = np.log(values) if logged else np.asarray(values)
    return Number(
        name=name,
        logged=logged,
        centre=float(seen.mean()),
        width=1.0 if logged else float(seen.std()) or 1.0,
        low=min(values),
        high=max(values),
        distinct=distinct,
    )


def _encoded(number: Number, rows: Sequence[Mapping[str, Value]]) -> Floats:
    raw = np.array([float(_given(row, number.name)) for row in rows])
    if number.logged:
        if (raw <= 0).any():
            raise InvalidInput(
                f"{number.name} was above 0 in every run; {raw.min():g} cannot be predicted"
            )
        raw = np.log(raw)
    return np.asarray((raw - number.centre) / number.width, dtype=np.float64)


def _given(row: Mapping[str, Value], name: str) -> Value:
    if name not in row:
        raise InvalidInput(f"no value for {name}; give one for every parameter of the template")
    return row[name]
