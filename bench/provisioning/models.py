"""The run-time models, their choice and adaptive profiling on many simulated programs.

    python bench/provisioning/models.py [--programs 90]

Every program (see `programs.py`) is profiled on the usual grid, by adaptive profiling and in
random order, and asked about values several times larger; then once more as if it reported how
far it is. Constants of the models that are a matter of judgement were settled on programs with
numbers below 1000; those shown here are others.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from programs import FAMILIES, SCATTERS, Exam, Family, profiled, spent
from tables import draw, table

from acai.provisioning.adaptive import TOLERANCE, Candidate, Stop, next_trials
from acai.provisioning.pricing import DEFAULT_PRICES
from acai.provisioning.runtime.selection import LEAST_TRIALS, MODELS, fit_runtime
from acai.provisioning.trials import Trial, finished

FIRST = 10_000  # programs below 1000 are for choosing
SHARES = (0.1, 0.2, 1 / 3, 0.5)
THIRD = SHARES.index(1 / 3)


@dataclass(frozen=True, kw_only=True)
class Result:
    """Errors and coverage of one program; of `paths`, by share of the grid's cost."""

    family: Family
    scatter: float
    models: dict[str, tuple[float, float]]
    chosen: tuple[float, float]
    stopped: tuple[float, float]
    stopped_share: float
    stopped_runs: int
    reports: bool
    paths: dict[str, list[float]] = field(default_factory=dict)


def measure(number: int, *, reporting: bool = False) -> Result:
    family, program, full, generator = profiled(number, reporting=reporting)
    exam = Exam.of(program, family, generator)
    measured = {_place(one): one for one in full}
    stopped = follow(family, measured)[-1]
    shuffled = [full[place] for place in generator.permutation(len(full))]
    return Result(
        family=family,
        scatter=program.scatter,
        models={
            name: exam.errors(fit(finished(full), None).predict(exam.where, exam.values))
            for name, fit in MODELS.items()
        },
        chosen=answered(exam, full),
        stopped=answered(exam, stopped),
        stopped_share=spent(stopped) / spent(full),
        stopped_runs=len(stopped),
        reports=any(one.passed for one in full),
        paths={
            "adaptive": along(exam, follow(family, measured, tolerance=0.0), full),
            "random order": along(exam, [shuffled[:n] for n in range(len(full) + 1)], full),
        },
    )


def _place(one: Trial | Candidate) -> object:
    return one.configuration, tuple(sorted(one.values.items()))


def follow(
    family: Family, measured: dict[object, Trial], tolerance: float = TOLERANCE
) -> list[list[Trial]]:
    """The trials after each step of adaptive profiling, until it stops."""
    steps: list[list[Trial]] = [[]]
    most = max(SHARES) * spent(list(measured.values()))
    while spent(steps[-1]) < most:
        found = next_trials(
            candidates=family.candidates(),
            trials=steps[-1],
            prices=DEFAULT_PRICES,
            tolerance=tolerance,
        )
        if isinstance(found, Stop):
            break
        steps.append([*steps[-1], *(measured[_place(one)] for one in found.candidates)])
    return steps


def along(exam: Exam, steps: Sequence[list[Trial]], full: list[Trial]) -> list[float]:
    """The error with the most trials that each share of the full cost pays for."""
    enough = [few for few in steps if len(finished(few)) >= LEAST_TRIALS]
    errors = []
    for share in SHARES:
        within = [few for few in enough if spent(few) <= share * spent(full)]
        errors.append(answered(exam, within[-1] if within else enough[0])[0])
    return errors


def answered(exam: Exam, trials: Sequence[Trial]) -> tuple[float, float]:
    return exam.errors(fit_runtime(trials).predict(exam.where, exam.values))


def show_models(results: Sequence[Result]) -> None:
    print("\n1. errors: mean / median over programs of the mean absolute percentage error; and")
    print("   how many of the further runs lie in their 90 % interval")
    rows = []
    for label, some in _groups(results):
        cells = [_errors([one.models[name][0] for one in some]) for name in MODELS]
        cells.append(_errors([one.chosen[0] for one in some]))
        cells.append(f"{100 * np.mean([one.chosen[1] for one in some]):.0f} %")
        rows.append([label, str(len(some)), *cells])
    table(["", "programs", *MODELS, "chosen", "in 90 %"], rows)


def show_adaptive(results: Sequence[Result]) -> None:
    print("\n2. profiling: errors as above, on the whole grid and for less")
    rows = []
    for label, some in _groups(results):
        grid = _errors([one.chosen[0] for one in some])
        third = [_errors([one.paths[way][THIRD] for one in some]) for way in some[0].paths]
        rows.append([label, grid, *_stopped(some), *third])
    heads = ["", "whole grid", "adaptive", "runs, cost", "in 90 %", "adaptive, a third"]
    table([*heads, "random, a third"], rows)

    def paint(axes: Any) -> None:
        shares = [100 * share for share in SHARES]
        for way in results[0].paths:
            off = np.mean([one.paths[way] for one in results], axis=0)
            axes.plot(shares, 100 * off, "o-", label=way)
        whole = 100 * float(np.mean([one.chosen[0] for one in results]))
        axes.axhline(whole, color="grey", label="whole grid")
        axes.axvline(100 / 3, color="grey", linestyle=":")
        axes.set(xlabel="share of the grid's cost, %", ylabel="mean error, %", ylim=(0, None))
        axes.legend()

    draw("models_adaptive", paint)


def show_reporting(results: Sequence[Result], reporting: Sequence[Result]) -> None:
    print("\n3. programs that report how far they are, beside the same if they do not")
    rows = []
    for (label, some), (_, others) in zip(_groups(results), _groups(reporting), strict=True):
        silent, grid = (_errors([one.chosen[0] for one in which]) for which in (some, others))
        held = f"{100 * np.mean([one.chosen[1] for one in others]):.0f} %"
        third = _errors([one.paths["adaptive"][THIRD] for one in others])
        rows.append([label, silent, grid, held, *_stopped(others), third])
    heads = ["", "whole grid, silent", "whole grid", "in 90 %", "adaptive", "runs, cost", "in 90 %"]
    table([*heads, "adaptive, a third"], rows)


def _stopped(some: Sequence[Result]) -> list[str]:
    """Adaptive profiling as it stops: errors, runs and cost, coverage."""
    share = np.mean([one.stopped_share for one in some])
    runs = np.mean([one.stopped_runs for one in some])
    return [
        _errors([one.stopped[0] for one in some]),
        f"{runs:.0f} for {100 * share:.0f} %",
        f"{100 * np.mean([one.stopped[1] for one in some]):.0f} %",
    ]


def _groups(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    groups = [("all", list(results))]
    for family in FAMILIES:
        groups.append((family.name, [one for one in results if one.family.name == family.name]))
    for scatter in SCATTERS:
        some = [one for one in results if one.scatter == scatter]
        groups.append((f"{100 * scatter:.0f} % of scatter", some))
    return [(label, some) for label, some in groups if some]


def _errors(found: Sequence[float]) -> str:
    return f"{100 * np.mean(found):.1f} / {100 * np.median(found):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=90)
    options = parser.parse_args()
    numbers = range(FIRST, FIRST + options.programs)
    with ProcessPoolExecutor() as pool:
        silent = list(pool.map(measure, numbers))
        show_models(silent)
        show_adaptive(silent)
        reporting = list(pool.map(partial(measure, reporting=True), numbers))
    both = [pair for pair in zip(silent, reporting, strict=True) if pair[1].reports]
    show_reporting(*zip(*both, strict=True))


if __name__ == "__main__":
    main()
