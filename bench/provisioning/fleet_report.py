"""Tables and plots of what `fleet.py` measured."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

OURS = ("acai", "acai, past (strict)", "acai, past")


def tables(results: Mapping[str, Any], groups: Mapping[str, Sequence[str]]) -> str:
    repeats = results["repeats"]
    lines = [f"{repeats} repeats a job in the first table's published and own rows, else a fifth."]
    if "search" in results:
        lines += search_table(results["search"], groups)
    if "total" in results:
        lines += total_tables(results["total"], groups)
    if "training" in results:
        lines += training_table(results["training"])
    return "\n".join(lines) + "\n"


def search_table(
    found: Mapping[str, Mapping[str, Sequence[float]]], groups: Mapping[str, Sequence[str]]
) -> list[str]:
    lines = [
        "",
        "## Best cost found / optimum, mean over jobs and repeats",
        "",
        "| | " + " | ".join(f"{group}: 5 | 10 | 20" for group in groups) + " |",
        "|---|" + "---|" * (3 * len(groups)),
    ]
    for method, by_job in found.items():
        cells = []
        for names in groups.values():
            curve = np.mean([by_job[name] for name in names], axis=0)
            cells += [f"{curve[step - 1]:.3f}" for step in (5, 10, 20)]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return lines


def total_tables(
    found: Sequence[Mapping[str, Any]], groups: Mapping[str, Sequence[str]]
) -> list[str]:
    lines = [
        "",
        "## Search and job together, a whole run a measurement",
        "",
        "Cost in units of the cheapest run, time in units of the fastest run, means over jobs and "
        "repeats. The deadline or budget is so many median runs. "
        "choice: what was chosen / optimum under the constraint.",
        "",
        "| scenario | x | method | total cost | total time | choice | measured | violated "
        "| no choice |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    methods = list(dict.fromkeys(row["method"] for row in found))
    multiples = sorted({row["multiple"] for row in found})
    for scenario in ("deadline", "budget"):
        for multiple in multiples:
            for method in methods:
                rows = pick(found, scenario, multiple, method)
                lines.append(
                    f"| {scenario} | {multiple} | {method} | {mean(rows, 'cost'):.2f} "
                    f"| {mean(rows, 'time'):.2f} | {mean(rows, 'choice'):.3f} "
                    f"| {mean(rows, 'measured'):.1f} | {mean(rows, 'violated'):.1%} "
                    f"| {mean(rows, 'without'):.1%} |"
                )
    lines += [
        "",
        "How many times less than (mean of the jobs' ratios; total cost, then total time):",
        "",
        "| scenario | x | jobs | method | CherryPick-like: cost | time | plain BO: cost | time |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for scenario in ("deadline", "budget"):
        for multiple in multiples:
            for group, names in groups.items():
                for method in OURS:
                    cells = [
                        f"{ratio(found, scenario, multiple, method, other, what, names):.2f}"
                        for other in ("CherryPick-like", "plain BO")
                        for what in ("cost", "time")
                    ]
                    lines.append(
                        f"| {scenario} | {multiple} | {group} | {method} | "
                        + " | ".join(cells)
                        + " |"
                    )
    return lines


def training_table(found: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        "",
        "## Cheapest training with accuracy >= 0.85 within the median time",
        "",
        "Found / optimum after n measurements (median over repeats), without stopping:",
        "",
        "| job | method | 5 | 10 | 20 | 20, 90th percentile |",
        "|---|---|---|---|---|---|",
    ]
    for row in found:
        if row["kind"] == "counting":
            cells = " | ".join(f"{row['curve'][step - 1]:.2f}" for step in (5, 10, 20))
            lines.append(f"| {row['job']} | {row['method']} | {cells} | {row['found_90']:.2f} |")
    lines += [
        "",
        "With each method's own end, in units of the optimum's cost:",
        "",
        "| job | method | measured | spent on search | total | found, median | 90th percentile |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found:
        if row["kind"] == "paying":
            lines.append(
                f"| {row['job']} | {row['method']} | {row['measured']:.1f} | {row['spent']:.1f} "
                f"| {row['total']:.1f} | {row['found']:.2f} | {row['found_90']:.2f} |"
            )
    return lines


def pick(
    found: Sequence[Mapping[str, Any]], scenario: str, multiple: int, method: str
) -> list[Mapping[str, Any]]:
    wanted = (scenario, multiple, method)
    return [row for row in found if (row["scenario"], row["multiple"], row["method"]) == wanted]


def mean(rows: Sequence[Mapping[str, Any]], what: str) -> float:
    return float(np.nanmean([row[what] for row in rows]))


def ratio(
    found: Sequence[Mapping[str, Any]],
    scenario: str,
    multiple: int,
    method: str,
    other: str,
    what: str,
    names: Sequence[str],
) -> float:
    mine = {row["job"]: row[what] for row in pick(found, scenario, multiple, method)}
    theirs = {row["job"]: row[what] for row in pick(found, scenario, multiple, other)}
    return float(np.mean([theirs[name] / mine[name] for name in names]))


def plot(results: Mapping[str, Any], out: Path) -> None:
    try:
        import matplotlib  # not needed for the tables
    except ImportError:
        print("matplotlib is not installed: no plots", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    if "search" in results:
        figure, axes = pyplot.subplots(figsize=(7, 4.5))
        for method, by_job in results["search"].items():
            curve = np.mean(list(by_job.values()), axis=0)
            style = {"linewidth": 2.4} if method in OURS else {"linewidth": 1, "alpha": 0.7}
            axes.plot(range(1, len(curve) + 1), curve, label=method, **style)
        axes.axhline(1.0, color="black", linewidth=0.5)
        axes.set(xlabel="measurements", ylabel="best cost found / optimum", ylim=(0.98, 2.0))
        axes.legend(fontsize=7)
        figure.tight_layout()
        figure.savefig(out / "fleet-search.png", dpi=120)
    if "total" in results:
        figure, panels = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
        for axes, scenario in zip(panels, ("deadline", "budget"), strict=True):
            methods = list(dict.fromkeys(row["method"] for row in results["total"]))
            multiples = sorted({row["multiple"] for row in results["total"]})
            for place, method in enumerate(methods):
                heights = [
                    mean(pick(results["total"], scenario, multiple, method), "cost")
                    for multiple in multiples
                ]
                at = [number + (place - len(methods) / 2) * 0.1 for number in range(len(heights))]
                axes.bar(at, heights, width=0.09, label=method)
            axes.set_xticks(
                range(len(multiples)), [f"{multiple} median runs" for multiple in multiples]
            )
            axes.set(title=scenario, ylabel="search and job together / cheapest run")
        figure.legend(*panels[0].get_legend_handles_labels(), ncols=5, loc="outside lower center")
        figure.savefig(out / "fleet-total.png", dpi=120)
