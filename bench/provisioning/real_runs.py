"""How well run times of a real program are predicted, and what that buys.

    python bench/provisioning/real_runs.py

Reads what `measuring.py` measured: a PyTorch perceptron on MNIST under enforced limits, on the
profiling grid (0.5 to 2 vCPU, 512 to 2048 MB, 1 to 3 epochs) and on test points that no model is
fitted to or chosen by (5, 10 and 20 epochs). Prints three tables and draws them into bench/out:

1. errors and interval coverage on the test points, beside the plain log-linear model;
2. adaptive profiling against the full grid, replayed over the measured runs; both with what the
   runs reported on their way, and as if they had been silent;
3. the optimiser against the configuration one would take by default (2 vCPU, 7.5 GB).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from measuring import CPUS, MEMORIES, POINTS, missing, plan, read_points
from tables import NOTHING_MEASURED, draw, table

from acai.provisioning.adaptive import Stop, grid, next_trials
from acai.provisioning.hints import parse_template
from acai.provisioning.memory import fit_memory
from acai.provisioning.optimiser import Goal, provision
from acai.provisioning.pricing import DEFAULT_PRICES, cost
from acai.provisioning.progress import passed
from acai.provisioning.runtime.prediction import Prediction
from acai.provisioning.runtime.selection import MODELS, RuntimeModel, fit_runtime
from acai.provisioning.trials import Configuration, Outcome, Passed, Trial, finished

TEMPLATE = parse_template("python mnist_mlp.py --epochs {1,2,3}")
BASELINE = Configuration(cpu=2.0, memory_mb=7680)


def trials(role: str) -> list[Trial]:
    return [
        Trial(
            configuration=Configuration(cpu=float(row["cpu"]), memory_mb=float(row["memory"])),
            values={"epochs": float(row["epochs"])},
            seconds=float(row["seconds"]),
            outcome=Outcome.OUT_OF_MEMORY if row["out_of_memory"] == "True" else Outcome.FINISHED,
            peak_memory_mb=None if row["out_of_memory"] == "True" else float(row["peak_mb"]),
            passed=_passed(row),
        )
        for row in read_points()
        if row["role"] == role
    ]


def _passed(row: dict[str, str]) -> tuple[Passed, ...]:
    if row["out_of_memory"] == "True":
        return ()
    reports = json.loads(row.get("reported") or "{}")  # not in what was measured long ago
    return passed({"epochs": float(row["epochs"])}, float(row["seconds"]), reports)


def silent(of: Sequence[Trial]) -> list[Trial]:
    """The same runs, had they not reported how far they were."""
    return [replace(one, passed=()) for one in of]


def asked(model: Any, of: Sequence[Trial]) -> Prediction:
    prediction: Prediction = model.predict([t.configuration for t in of], [t.values for t in of])
    return prediction


def errors(model: Any, test: Sequence[Trial]) -> tuple[float, float, float]:
    """Mean absolute percentage error, mean absolute error over the mean, interval coverage."""
    prediction = asked(model, test)
    real = np.array([one.seconds for one in test])
    low, high = prediction.interval(0.9)
    return (
        float(np.mean(np.abs(prediction.median / real - 1))),
        float(np.mean(np.abs(prediction.median - real)) / real.mean()),
        float(np.mean((low <= real) & (real <= high))),
    )


def repeatability(test: Sequence[Trial]) -> float:
    """How far repeats of the same test run lie from their mean: no model can do better."""
    groups: dict[tuple[float, object], list[float]] = {}
    for one in test:
        groups.setdefault((one.configuration.cpu, one.values["epochs"]), []).append(one.seconds)
    off = [
        abs(t / np.mean(times) - 1) for times in groups.values() if len(times) > 1 for t in times
    ]
    return float(np.mean(off)) if off else float("nan")


def predictions(train: list[Trial], test: list[Trial]) -> RuntimeModel:
    chosen = fit_runtime(train)
    rows = []
    for name, fit in MODELS.items():
        rows.append([name, *_percent(errors(fit(finished(train), None), test))])
    rows.append([f"chosen: {chosen.name}", *_percent(errors(chosen, test))])
    without = fit_runtime(silent(train))
    rows.append([f"silent runs: {without.name}", *_percent(errors(without, test))])
    print(f"\n1. {len(finished(train))} runs to train on, {len(test)} to test on")
    table(["model", "MAPE", "MAE / mean", "in 90 % interval"], rows)
    print(f"repeats of one test run differ from their mean by {100 * repeatability(test):.1f} %")
    print(chosen.explain())
    prediction = asked(chosen, test)
    low, high = prediction.interval(0.9)
    real = [one.seconds for one in test]
    middle = prediction.median

    def paint(axes: Any) -> None:
        axes.errorbar(
            real, middle, yerr=[middle - low, high - middle], fmt="o", capsize=2, label=chosen.name
        )
        paper = asked(MODELS["log-linear"](finished(train), None), test).median
        axes.plot(real, paper, "x", color="tab:red", label="log-linear")
        ends = [min(real) * 0.8, max(real) * 1.2]
        axes.plot(ends, ends, color="grey", linewidth=0.8)
        axes.set(xscale="log", yscale="log", xlabel="measured s", ylabel="predicted s")
        axes.legend()

    draw("mnist_predictions", paint)
    return chosen


def _percent(shares: Sequence[float]) -> list[str]:
    return [f"{100 * share:.1f} %" for share in shares]


def spent(of: Sequence[Trial]) -> float:
    return sum(cost(DEFAULT_PRICES, one.configuration, one.seconds) for one in of)


def resampled(train: list[Trial], seed: int) -> dict[tuple[Configuration, object], Trial]:
    """Another profiling of the same grid: each run takes as long as one that was measured with
    as many CPUs and epochs, whatever its memory. The first is as it was measured."""
    draw = np.random.default_rng(seed)
    alike: dict[tuple[float, object], list[Trial]] = {}
    for one in finished(train):
        alike.setdefault((one.configuration.cpu, one.values["epochs"]), []).append(one)
    found: dict[tuple[Configuration, object], Trial] = {}
    for one in train:
        other = one
        if seed and one.outcome is Outcome.FINISHED:
            group = alike[one.configuration.cpu, one.values["epochs"]]
            taken = group[draw.integers(len(group))]
            other = replace(one, seconds=taken.seconds, passed=taken.passed)
        found[one.configuration, one.values["epochs"]] = other
    return found


def replay(measured: dict[tuple[Configuration, object], Trial]) -> tuple[list[list[Trial]], str]:
    """The trials after each step, and why it stopped."""
    candidates = [
        one
        for one in grid(TEMPLATE, CPUS, MEMORIES)
        if (one.configuration, one.values["epochs"]) in measured
    ]
    steps: list[list[Trial]] = [[]]
    while True:
        found = next_trials(candidates=candidates, trials=steps[-1], prices=DEFAULT_PRICES)
        if isinstance(found, Stop):
            return steps, found.reason
        new = [measured[one.configuration, one.values["epochs"]] for one in found.candidates]
        steps.append([*steps[-1], *new])


def adaptive(train: list[Trial], test: list[Trial], replays: int) -> None:
    print(f"\n2. adaptive profiling beside the full grid of {len(train)} runs")
    rows = []
    trails = {}
    for label, runs in (("reporting", train), ("silent", silent(train))):
        found = np.array([_compared(resampled(runs, seed), test, seed) for seed in range(replays)])
        average, middle = found.mean(axis=0), np.median(found, axis=0)
        count = str(len(runs))
        rows += [
            [label, "full grid", count, "100 %", *_percent((average[0], middle[0]))],
            ["", "adaptive", f"{average[5]:.0f}", *_percent((average[3], average[1], middle[1]))],
            ["", "adaptive, a third", "", *_percent((average[4], average[2], middle[2]))],
            ["", "random, a third", "", "33.3 %", *_percent((average[6], middle[6]))],
        ]
        steps, reason = replay(resampled(runs, 0))
        print(f"{label}, as measured, it stopped after {len(steps[-1])} runs: {reason}")
        trails[label] = (steps, runs)
    table(["runs", "", "count", "share of cost", "MAPE mean", "MAPE median"], rows)
    print(f"(over {replays} replays; all but the first draw each run from its repeats)")
    _plot_trails(trails, test)


def _compared(
    measured: dict[tuple[Configuration, object], Trial], test: list[Trial], seed: int
) -> list[float]:
    """Errors of the full grid, of adaptive profiling as it stops and for a third; their shares of
    the cost, how many runs it made; and the error in random order."""
    full = list(measured.values())
    steps, _ = replay(measured)
    third = [few for few in steps if spent(few) <= spent(full) / 3][-1]
    off = [errors(fit_runtime(few), test)[0] for few in (full, steps[-1], third)]
    shares = [spent(few) / spent(full) for few in (steps[-1], third)]
    return [*off, *shares, len(steps[-1]), _shuffled(full, test, seed)]


def _plot_trails(
    trails: dict[str, tuple[list[list[Trial]], list[Trial]]], test: list[Trial]
) -> None:
    def paint(axes: Any) -> None:
        for colour, (label, (steps, full)) in zip(
            ("tab:blue", "tab:orange"), trails.items(), strict=True
        ):
            told = [few for few in steps if len(finished(few)) >= 3]
            shares = [spent(few) / spent(full) for few in told]
            off = [100 * errors(fit_runtime(few), test)[0] for few in told]
            whole = 100 * errors(fit_runtime(full), test)[0]
            axes.plot(shares, off, "o-", color=colour, label=f"{label}, adaptive")
            axes.axhline(whole, color=colour, linestyle="--", label=f"{label}, full grid")
        axes.axvline(1 / 3, color="grey", linestyle=":")
        axes.set(xlabel="share of the full grid's cost", ylabel="MAPE on test points, %")
        axes.legend()

    draw("mnist_adaptive", paint)


def _shuffled(full: list[Trial], test: list[Trial], seed: int) -> float:
    """The error if a third of the cost is spent on runs in random order."""
    taken: list[Trial] = []
    for place in np.random.default_rng(seed).permutation(len(full)):
        taken.append(full[place])
        if spent(taken) >= spent(full) / 3 and len(finished(taken)) >= 3:
            break
    return errors(fit_runtime(taken), test)[0]


def provisioning(title: str, model: RuntimeModel, train: list[Trial]) -> None:
    """Equal predicted cost, and equal predicted time, over the whole space of configurations."""
    memory = fit_memory(train)
    rows = []
    for probability in (0.5, 0.9):
        for epochs in (20.0, 50.0):
            values = {"epochs": epochs}
            base = model.predict([BASELINE], values)
            seconds = float(base.quantile(probability)[0])
            dollars = cost(DEFAULT_PRICES, BASELINE, seconds)
            for held, goal in (
                ("cost", Goal(max_cost=dollars, probability=probability)),
                ("time", Goal(max_seconds=seconds * 1.01, probability=probability)),
            ):
                option = provision(
                    runtime=model, memory=memory, prices=DEFAULT_PRICES, values=values, goal=goal
                ).choice
                gains = ["nothing fits", "", ""]
                if option is not None:
                    was = cost(DEFAULT_PRICES, BASELINE, float(base.median[0]))
                    gains = [
                        str(option.configuration),
                        f"{base.median[0] / option.seconds:.2f} x",
                        f"{100 * (1 - option.cost / was):.0f} %",
                    ]
                rows.append([f"{epochs:.0f}", held, f"{100 * probability:.0f} %", *gains])
    print(f"\n3. {title}: against {BASELINE}, over 0.5 to 8 vCPU and 512 to 8192 MB")
    table(["epochs", "equal", "probability", "choice", "faster", "cheaper"], rows)
    print(memory.explain())


def as_published() -> list[Trial]:
    """The paper's 27 profiling runs by its own law: epochs over CPUs, 64.6 minutes for 20 epochs
    on 2 vCPU; with 3 % of scatter, and memory that never matters."""
    draw = np.random.default_rng(0)
    return [
        Trial(
            configuration=Configuration(cpu=cpu, memory_mb=memory),
            values={"epochs": epochs},
            seconds=6.46 * 60 * epochs / cpu * float(np.exp(draw.normal(0, 0.03))),
            peak_memory_mb=400.0,
        )
        for cpu in (0.5, 1.0, 2.0)
        for memory in (512.0, 1024.0, 2048.0)
        for epochs in (1.0, 2.0, 3.0)
    ]


def verified() -> None:
    """The default and the choice, really run."""
    measured: dict[Configuration, list[float]] = {}
    for one in trials("verify"):
        measured.setdefault(one.configuration, []).append(one.seconds)
    if not measured:
        return
    print("\n   verified by real runs of 10 epochs")
    rows = []
    for where, times in sorted(measured.items(), key=lambda one: one[0].memory_mb):
        mean = float(np.mean(times))
        dollars = cost(DEFAULT_PRICES, where, mean)
        rows.append([str(where), str(len(times)), f"{mean:.1f} s", f"${dollars:.6f}"])
    table(["configuration", "runs", "mean time", "cost"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replays", type=int, default=10)
    options = parser.parse_args()
    train, test = trials("grid"), trials("test")
    if not train or not test:
        print(
            f"no runs to train and to test on in {POINTS}: make them with "
            "python bench/provisioning/all.py --measure"
        )
        return NOTHING_MEASURED
    if left := missing():
        print(f"{len(left)} of {len(plan())} runs are still to be measured; these are of the rest")
    model = predictions(train, test)
    adaptive(train, test, options.replays)
    provisioning("the measured program", model, train)
    published = as_published()
    provisioning("a program by the paper's law", fit_runtime(published), published)
    verified()
    return 0


if __name__ == "__main__":
    sys.exit(main())
