"""How well run times of a real program are predicted, and what that buys.

    python bench/provisioning/real_runs.py

Reads what `measuring.py` measured: a PyTorch perceptron on MNIST under enforced limits, on the
profiling grid (0.5 to 2 vCPU, 512 to 2048 MB, 1 to 3 epochs) and on test points that no model
was fitted or chosen on (5, 10 and 20 epochs). Prints three tables and draws them into bench/out:

1. errors and interval coverage on the test points, beside the plain log-linear model;
2. adaptive profiling against the full grid, replayed over the measured runs;
3. the optimiser against the configuration one would take by default (2 vCPU, 7.5 GB).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from measuring import CPUS, MEMORIES, read_points
from tables import draw, table

from acai.provisioning.adaptive import Stop, grid, next_trials
from acai.provisioning.hints import parse_template
from acai.provisioning.memory import fit_memory
from acai.provisioning.optimiser import Goal, provision
from acai.provisioning.pricing import DEFAULT_PRICES, cost
from acai.provisioning.runtime.prediction import Prediction
from acai.provisioning.runtime.selection import MODELS, RuntimeModel, fit_runtime
from acai.provisioning.trials import Configuration, Outcome, Trial, finished

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
        )
        for row in read_points()
        if row["role"] == role
    ]


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


def adaptive(train: list[Trial], test: list[Trial]) -> None:
    """Replays: each candidate's outcome is the one that was measured."""
    by_key = {(t.configuration, t.values["epochs"]): t for t in train}
    candidates = [
        one
        for one in grid(TEMPLATE, CPUS, MEMORIES)
        if (one.configuration, one.values["epochs"]) in by_key
    ]
    done: list[Trial] = []
    trail = []
    while True:
        found = next_trials(candidates=candidates, trials=done, prices=DEFAULT_PRICES)
        if isinstance(found, Stop):
            break
        done.extend(by_key[(one.configuration, one.values["epochs"])] for one in found.candidates)
        if len(finished(done)) >= 3:
            error, _, _ = errors(fit_runtime(done), test)
            trail.append((spent(done) / spent(train), error))
    full, _, _ = errors(fit_runtime(train), test)
    last = errors(fit_runtime(done), test)[0]
    print(f"\n2. adaptive profiling, full grid of {len(train)} runs beside it")
    table(
        ["", "runs", "cost", "share", "MAPE on test"],
        [
            ["full grid", str(len(train)), f"${spent(train):.5f}", "100 %", f"{100 * full:.1f} %"],
            [
                "adaptive",
                str(len(done)),
                f"${spent(done):.5f}",
                f"{100 * spent(done) / spent(train):.0f} %",
                f"{100 * last:.1f} %",
            ],
        ],
    )
    reached = next((share for share, error in trail if error <= full), None)
    said = "never" if reached is None else f"at {100 * reached:.0f} % of its cost"
    print(f"the full grid's error was first reached {said}; it stopped: {found.reason}")
    orders = random_orders(train, test)
    print(
        "for comparison, random order until the same cost: "
        f"{100 * np.median(orders):.1f} % (median of {len(orders)})"
    )

    def paint(axes: Any) -> None:
        axes.plot([s for s, _ in trail], [100 * e for _, e in trail], "o-", label="adaptive")
        axes.axhline(100 * full, color="grey", label="full grid")
        axes.axvline(1 / 3, color="grey", linestyle=":")
        axes.set(xlabel="share of the full grid's cost", ylabel="MAPE on test points, %")
        axes.legend()

    draw("mnist_adaptive", paint)


def random_orders(train: list[Trial], test: list[Trial], repeats: int = 10) -> list[float]:
    """The same third of the cost, spent on runs in random order."""
    found = []
    for seed in range(repeats):
        order = np.random.default_rng(seed).permutation(len(train))
        taken: list[Trial] = []
        for place in order:
            taken.append(train[place])
            if spent(taken) >= spent(train) / 3 and len(finished(taken)) >= 3:
                break
        found.append(errors(fit_runtime(taken), test)[0])
    return found


def provisioning(model: RuntimeModel, train: list[Trial]) -> None:
    """Equal predicted cost, and equal predicted time, over the whole space of configurations."""
    memory = fit_memory(train)
    rows = []
    for probability in (0.5, 0.9):
        for epochs in (20.0, 50.0):
            values = {"epochs": epochs}
            base = model.predict([BASELINE], values)
            seconds = float(base.quantile(probability)[0])
            dollars = cost(DEFAULT_PRICES, BASELINE, seconds)
            for goal in (
                Goal(max_cost=dollars, probability=probability),
                Goal(max_seconds=seconds * 1.01, probability=probability),
            ):
                plan = provision(
                    runtime=model, memory=memory, prices=DEFAULT_PRICES, values=values, goal=goal
                )
                option = plan.choice
                faster = cheaper = "none fits"
                if option is not None:
                    faster = f"{base.median[0] / option.seconds:.2f} x"
                    was = cost(DEFAULT_PRICES, BASELINE, float(base.median[0]))
                    cheaper = f"{100 * (1 - option.cost / was):.0f} %"
                asked_for = "equal cost" if goal.max_cost else "equal time"
                rows.append(
                    [
                        f"{epochs:.0f}",
                        asked_for,
                        f"{100 * probability:.0f} %",
                        str(option.configuration) if option else "",
                        faster,
                        cheaper,
                    ]
                )
    print(f"\n3. against {BASELINE}, by the fitted model, 0.5 to 8 vCPU and 512 to 8192 MB")
    table(["epochs", "held", "probability", "choice", "faster", "cheaper"], rows)
    print(memory.explain())


def verified() -> None:
    """The default and the choice, really run."""
    measured: dict[tuple[float, float], list[float]] = {}
    for one in trials("verify"):
        where = (one.configuration.cpu, one.configuration.memory_mb)
        measured.setdefault(where, []).append(one.seconds)
    if not measured:
        return
    print("\n   verified by real runs of 10 epochs")
    rows = []
    for (cpu, memory), times in sorted(measured.items()):
        where = Configuration(cpu=cpu, memory_mb=memory)
        mean = float(np.mean(times))
        dollars = cost(DEFAULT_PRICES, where, mean)
        rows.append([str(where), str(len(times)), f"{mean:.1f} s", f"${dollars:.6f}"])
    table(["configuration", "runs", "mean time", "cost"], rows)


def main() -> int:
    train, test = trials("grid"), trials("test")
    if not test:
        print("nothing is measured yet: run bench/provisioning/measuring.py first")
        return 1
    model = predictions(train, test)
    adaptive(train, test)
    provisioning(model, train)
    verified()
    return 0


if __name__ == "__main__":
    sys.exit(main())
