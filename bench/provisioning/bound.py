"""What a third of the grid's cost can teach at best, whoever chooses the runs.

    python bench/provisioning/bound.py [--programs 90]

Each simulated program is taken as known but for its parameters: how its run times depend on them is
linear close to the truth, and they are drawn as in `programs.py`. Then the error that is left after
any set of runs is a formula, and sets can be compared without running anything: the whole grid, the
best third of it by cost, chosen knowing the truth, a random third, the best for a third when
values may be run that are twice those of the grid, and the grid and its best third when runs report
how far they are. The best are found by leaving out one run after another, which comes close to the
optimum: no way of profiling, and no model, can do much better on average, and by how much they are
behind the grid is the price of fewer runs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from models import FIRST
from numpy.typing import NDArray
from programs import CPUS, SCATTERS, STRIDE, Family, Law, Program, numbered
from tables import table

from acai.provisioning.adaptive import Candidate
from acai.provisioning.pricing import DEFAULT_PRICES, cost
from acai.provisioning.trials import Value

Floats = NDArray[np.float64]
SHARE = 1 / 3
KILLED = 0.2  # of its time, when a run does not fit into memory
_STEP = 1e-4
# By how much programs differ, as in `programs.py`; of the first group, in the logarithm.
_SCALES = {"setup": 1.0, "work": 0.9, "other": 0.5, "saturation": 0.7}
_SHAPES = {"setup_gain": 0.09, "below": 0.06, "odd": 0.15}
_POWER = 0.3
_RANDOM = 5
Point = tuple[float, Mapping[str, Value]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """How the log run times of a program go by its parameters, and what is known beforehand."""

    program: Program
    powers: tuple[str, ...]  # of the numbers whose power is not known

    @property
    def prior(self) -> Floats:
        spreads = [*_SCALES.values(), *_SHAPES.values(), *[_POWER] * len(self.powers)]
        return np.array(spreads) ** 2

    def slopes(self, points: Sequence[Point]) -> Floats:
        base = self._log_seconds(self.program, points)
        moved = [self._log_seconds(one, points) for one in self._moved()]
        return np.column_stack([(one - base) / _STEP for one in moved])

    def noise(self, points: Sequence[Point]) -> Floats:
        """The covariance by which a run, and what it passes on its way, scatter, without
        stragglers: what comes earlier shares the noise of what comes later."""
        one = self.program
        seconds = np.exp(self._log_seconds(one, points))
        averaged = np.minimum(one.usual_s / np.maximum.outer(seconds, seconds), 10.0)
        covariance = one.scatter**2 * (1 - one.momentary + one.momentary * averaged)
        return np.asarray(covariance + 1e-9 * np.eye(len(points)))

    def _moved(self) -> list[Program]:
        one = self.program
        scales = [replace(one, **{name: getattr(one, name) * math.exp(_STEP)}) for name in _SCALES]
        shapes = [replace(one, **{name: getattr(one, name) + _STEP}) for name in _SHAPES]
        laws = [{**one.laws, name: _steeper(one.laws[name])} for name in self.powers]
        return [*scales, *shapes, *(replace(one, laws=some) for some in laws)]

    @staticmethod
    def _log_seconds(program: Program, points: Sequence[Point]) -> Floats:
        return np.log([program.seconds(cpu, values) for cpu, values in points])


def _steeper(law: Law) -> Law:
    return replace(law, power=law.power + _STEP)


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs:
    """Runs that may be made: each with what it teaches about the parameters, and its cost."""

    taught: list[Floats]  # of each (rows, parameters): slopes in units of the noise
    costs: Floats

    @classmethod
    def of(cls, known: Known, candidates: Sequence[Candidate], *, reporting: bool = False) -> Runs:
        return cls(
            taught=[_taught(known, _shown(known, one, reporting)) for one in candidates],
            costs=np.array([_cost(known.program, one) for one in candidates]),
        )

    def information(self, chosen: Sequence[int], prior: Floats) -> Floats:
        total = np.diag(1 / prior)
        for run in chosen:
            total += self.taught[run].T @ self.taught[run]
        return total


def _shown(known: Known, one: Candidate, reporting: bool) -> list[Point]:
    """The run, and if it reports what it passes on its way."""
    cpu, end = one.configuration.cpu, float(one.values["n"])
    if not reporting or known.program.laws["n"].power == 0:
        return [(cpu, one.values)]
    return [(cpu, {**one.values, "n": float(far)}) for far in np.arange(STRIDE, end + 1e-9, STRIDE)]


def _taught(known: Known, points: Sequence[Point]) -> Floats:
    whitener = np.linalg.inv(np.linalg.cholesky(known.noise(points)))
    return np.asarray(whitener @ known.slopes(points))


def _cost(program: Program, one: Candidate) -> float:
    seconds = program.seconds(one.configuration.cpu, one.values)
    return cost(DEFAULT_PRICES, one.configuration, seconds)


def error(information: Floats, asked: Floats) -> float:
    """Mean absolute error of the asked log run times."""
    variances = np.einsum("ij,jk,ik->i", asked, np.linalg.inv(information), asked)
    return float(np.mean(np.sqrt(2 / np.pi * variances)))


def best(runs: Runs, prior: Floats, asked: Floats, most: float) -> list[int]:
    """Which runs to make: all, less one by one those that are missed least for their cost."""
    kept = list(range(len(runs.costs)))
    while runs.costs[kept].sum() > most:
        covariance = np.linalg.inv(runs.information(kept, prior))

        def missed(run: int, covariance: Floats = covariance) -> float:
            taught = runs.taught[run]
            spread = taught @ covariance
            moved = spread @ asked.T
            left = np.eye(len(taught)) - spread @ taught.T
            return float((moved * np.linalg.solve(left, moved)).sum() / runs.costs[run])

        kept.remove(min(kept, key=missed))
    return kept


def at_random(runs: Runs, most: float, draw: np.random.Generator) -> list[int]:
    order = draw.permutation(len(runs.costs))
    spent = np.cumsum(runs.costs[order])
    return [int(run) for run in order[spent <= most]]


def study(number: int, powers_known: bool) -> tuple[float, list[float]]:
    """Scatter, and the errors: the grid, its best third, a random third, beyond the hints; and
    with reports the grid and its best third."""
    family, program, draw = numbered(number)
    names = tuple(name for name in program.laws if name in family.asked[0])
    known = Known(program=program, powers=() if powers_known else names)
    asked = known.slopes([(cpu, values) for cpu in CPUS for values in family.asked])
    candidates = family.candidates()
    survivors = [one for one in candidates if one.configuration.memory_mb >= program.peak_mb]
    lost = KILLED * sum(_cost(program, one) for one in candidates if one not in survivors)
    runs = Runs.of(known, survivors)
    most = SHARE * (float(runs.costs.sum()) + lost)
    further = Runs.of(known, [*survivors, *_doubled(family, survivors)])
    reporting = Runs.of(known, survivors, reporting=True)
    everything = range(len(survivors))

    def after(some: Runs, chosen: Sequence[int]) -> float:
        return error(some.information(chosen, known.prior), asked)

    third = after(runs, best(runs, known.prior, asked, most))
    randoms = [after(runs, at_random(runs, most, draw)) for _ in range(_RANDOM)]
    return program.scatter, [
        after(runs, everything),
        third,
        float(np.mean(randoms)),
        min(third, after(further, best(further, known.prior, asked, most))),
        after(reporting, everything),
        after(reporting, best(reporting, known.prior, asked, most)),
    ]


def _doubled(family: Family, survivors: Sequence[Candidate]) -> list[Candidate]:
    """The runs with the largest values, at twice those."""
    numbers = [name for name, value in family.asked[0].items() if not isinstance(value, str)]
    most = {name: max(float(one.values[name]) for one in survivors) for name in numbers}
    return [
        replace(one, values={**one.values, **{name: 2 * most[name] for name in numbers}})
        for one in survivors
        if all(one.values[name] == most[name] for name in numbers)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=90)
    options = parser.parse_args()
    print("\nthe mean error that is possible, and as a multiple of the whole grid's")
    rows = []
    for powers_known in (True, False):
        with ProcessPoolExecutor() as pool:
            numbers = range(FIRST, FIRST + options.programs)
            found = list(pool.map(partial(study, powers_known=powers_known), numbers))
        groups = {"all": found}
        groups |= {f"{100 * s:.0f} %": [one for one in found if one[0] == s] for s in SCATTERS}
        for label, some in groups.items():
            if some:
                means = np.mean([errors for _, errors in some], axis=0)
                said = [f"{100 * one:.1f} % ({one / means[0]:.2f})" for one in means]
                rows.append(["known" if powers_known else "not known", label, *said])
    heads = ["powers", "scatter", "whole grid", "best third", "random third", "twice the values"]
    table([*heads, "reporting: grid", "reporting: best third"], rows)


if __name__ == "__main__":
    main()
