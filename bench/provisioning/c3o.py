"""Run times of Spark jobs on cloud clusters, predicted from other runs of the same job.

    python bench/provisioning/c3o.py [--jobs grep,kmeans,sort] [--repeats 1]

The data are those of C3O (arXiv 2107.13317): settings of machine type, nodes, data size and
arguments, each run five times. As there, a setting's run time is the median of its five runs,
and a model of one job is fitted to most settings and asked about the rest, here in ten folds.
Slots stand for CPUs, the cluster's memory for memory; machine type is a choice. The settings
with two nodes are also shown apart: k-means on two nodes does not fit into memory and is two to
eight times slower on some settings than on their neighbours, in no order.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tables import EVALUATION_DATA, NOTHING_MEASURED, draw, table

from acai.provisioning.runtime.selection import MODELS, fit_runtime
from acai.provisioning.trials import Configuration, Trial, Value

DATA = EVALUATION_DATA / "c3o"
FOLDS = 10
RESOURCES = ("instance_count", "slots", "memory")


def load(job: str) -> list[Trial]:
    with (DATA / f"{job}.tsv").open(newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    names = [n for n in rows[0] if n not in (*RESOURCES, "gross_runtime")]
    varying = [n for n in names if len({row[n] for row in rows}) > 1]
    times: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        key = (row["slots"], row["memory"], *(row[n] for n in varying))
        times.setdefault(key, []).append(float(row["gross_runtime"]))
    return [
        Trial(
            configuration=Configuration(cpu=float(slots), memory_mb=float(memory)),
            values={n: _value(n, word) for n, word in zip(varying, words, strict=True)},
            seconds=statistics.median(measured),
        )
        for (slots, memory, *words), measured in times.items()
    ]


def _value(name: str, word: str) -> Value:
    return word if name == "machine_type" else float(word)


def folds(count: int, seed: int) -> list[Any]:
    order = np.random.default_rng(seed).permutation(count)
    return [order[place::FOLDS] for place in range(FOLDS)]


def predicted(
    trials: Sequence[Trial], fit: Callable[[Sequence[Trial]], Any], seed: int
) -> tuple[Any, Any]:
    """Medians out of the fold, and whether the 90 % interval holds the truth."""
    medians, inside = np.zeros(len(trials)), np.zeros(len(trials), dtype=bool)
    for fold in folds(len(trials), seed):
        held = set(fold.tolist())
        model = fit([one for place, one in enumerate(trials) if place not in held])
        asked = [trials[place] for place in fold]
        answer = model.predict([t.configuration for t in asked], [t.values for t in asked])
        low, high = answer.interval(0.9)
        real = np.array([one.seconds for one in asked])
        medians[fold], inside[fold] = answer.median, (low <= real) & (real <= high)
    return medians, inside


def report(job: str, trials: Sequence[Trial], repeats: int) -> list[list[str]]:
    fits: dict[str, Callable[[Sequence[Trial]], Any]] = {
        name: (lambda seen, fit=fit: fit(seen, None)) for name, fit in MODELS.items()
    }
    fits["chosen"] = fit_runtime
    real = np.array([one.seconds for one in trials])
    lines = []
    for name, fit in fits.items():
        start = time.perf_counter()
        runs = [predicted(trials, fit, seed) for seed in range(repeats)]
        off = np.mean([np.abs(medians - real) for medians, _ in runs], axis=0)
        covered = np.mean([inside for _, inside in runs])
        lines.append(
            [
                job,
                str(len(trials)),
                name,
                f"{100 * np.mean(off / real):.2f} %",
                f"{100 * off.mean() / real.mean():.2f} %",
                f"{100 * np.median(off / real):.2f} %",
                f"{100 * covered:.0f} %",
                f"{(time.perf_counter() - start) / repeats / FOLDS:.2f} s",
            ]
        )
        if name == "chosen":
            _plot(job, real, runs[0][0])
    return lines


def _plot(job: str, real: Any, medians: Any) -> None:
    def paint(axes: Any) -> None:
        axes.loglog(real, medians, ".")
        ends = [real.min(), real.max()]
        axes.loglog(ends, ends, color="grey", linewidth=0.8)
        axes.set(xlabel="measured s", ylabel="predicted s", title=job)

    draw(f"c3o_{job.replace(' ', '_')}", paint)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default="grep,kmeans,sort")
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    if not DATA.exists():
        print(f"no Spark runs in {DATA}: say where with ACAI_EVALUATION_DATA")
        return NOTHING_MEASURED
    lines: list[list[str]] = []
    for job in options.jobs.split(","):
        trials = load(job)
        lines += report(job, trials, options.repeats)
        if job == "kmeans":
            fewest = min(one.configuration.cpu for one in trials if one.configuration.cpu >= 16)
            larger = [one for one in trials if one.configuration.cpu > fewest]
            lines += report("kmeans over 2 nodes", larger, options.repeats)
    heads = ["job", "settings", "model", "MAPE", "MAE / mean", "median", "in 90 %", "a fit"]
    table(heads, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
