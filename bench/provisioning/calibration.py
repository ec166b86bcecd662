"""Whether 90 % intervals hold nine runs in ten, for whatever kind of program.

    python bench/provisioning/calibration.py [--programs 270]

The errors at one program's questions come from one fit and go together: often all of its runs lie
inside, sometimes few. So coverage takes many programs to tell, several hundred for a percent. Each
(see `programs.py`) is fitted to all the finished runs of the grid, to 16 and to 9 of them in random
order, and its questions are answered by 20 runs each; then all once more as if they reported how
far they are, but for those whose work does not go by it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from programs import CPUS, SCATTERS, Program, profiled
from tables import table

from acai.provisioning.runtime.selection import fit_runtime
from acai.provisioning.trials import Configuration, finished

FIRST = 11_000  # not those of models.py, and not those on which anything was chosen
SOME = (16, 9)
REPEATS = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    scatter: float
    law: str
    reach: NDArray[np.float64]  # of each question: its value over the largest that was run
    inside: list[NDArray[np.float64]]  # of each question, fitted to all the runs, then to fewer
    reports: bool


def measure(number: int, *, reporting: bool = False) -> Result:
    family, program, full, draw = profiled(number, reporting=reporting)
    done = finished(full)
    order = draw.permutation(len(done))
    asked = [(cpu, values) for cpu in CPUS for values in family.asked]
    where = [Configuration(cpu=cpu, memory_mb=1024) for cpu, _ in asked]
    values = [values for _, values in asked]
    real = [program.seconds(cpu, values) for cpu, values in asked]
    again = np.array([[program.scattered(one, draw) for one in real] for _ in range(REPEATS)])
    names = [name for name, value in values[0].items() if not isinstance(value, str)]
    most = {name: max(float(one.values[name]) for one in done) for name in names}
    inside = []
    for count in (len(done), *SOME):
        few = fit_runtime([done[place] for place in order[:count]])
        low, high = few.predict(where, values).interval(0.9)
        inside.append(np.mean((low <= again) & (again <= high), axis=0))
    return Result(
        scatter=program.scatter,
        law=_law(program, names),
        reach=np.array([max(float(v[name]) / most[name] for name in names) for v in values]),
        inside=inside,
        reports=any(one.passed for one in done),
    )


def _law(program: Program, names: Sequence[str]) -> str:
    laws = [program.laws[name] for name in names]
    if any(law.logarithm for law in laws):
        return "n log n"
    return "linear or none" if all(law.power in (0.0, 1.0) for law in laws) else "another power"


def show(title: str, results: Sequence[Result]) -> None:
    rows = [_row("all", results)]
    for scatter in SCATTERS:
        some = [one for one in results if one.scatter == scatter]
        rows.append(_row(f"{100 * scatter:.0f} % of scatter", some))
    for law in ("linear or none", "n log n", "another power"):
        some = [one for one in results if one.law == law]
        rows.append(_row(law, some))
    rows.append(_row("up to 4 times the values", results, lambda one: one.reach <= 4))
    rows.append(_row("beyond 4 times", results, lambda one: one.reach > 4))
    whole = np.array([one.inside[0].mean() for one in results])
    print(f"\nhow many runs lie in their 90 % interval: {title}")
    table(["", "programs", "all the runs", *(f"{n} runs" for n in SOME)], rows)
    print(
        f"by program, all the runs: {100 * np.mean(whole > 0.97):.0f} % of programs above 97 %, "
        f"{100 * np.mean((whole >= 0.8) & (whole <= 0.97)):.0f} % between 80 and 97 %, "
        f"{100 * np.mean(whole < 0.8):.0f} % below"
    )


def _row(
    label: str,
    some: Sequence[Result],
    chosen: Callable[[Result], NDArray[np.bool_]] = lambda one: one.reach > 0,
) -> list[str]:
    if not some:
        return [label, "0", *["" for _ in range(1 + len(SOME))]]
    cells = []
    for place in range(1 + len(SOME)):
        means = [one.inside[place][chosen(one)].mean() for one in some if chosen(one).any()]
        margin = np.std(means) / np.sqrt(len(means))
        cells.append(f"{100 * np.mean(means):.1f} % ± {100 * margin:.1f}")
    return [label, str(len(some)), *cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=270)
    options = parser.parse_args()
    numbers = range(FIRST, FIRST + options.programs)
    with ProcessPoolExecutor() as pool:
        show("silent programs", list(pool.map(measure, numbers)))
        reporting = list(pool.map(partial(measure, reporting=True), numbers))
    show("programs that report how far they are", [one for one in reporting if one.reports])


if __name__ == "__main__":
    main()
