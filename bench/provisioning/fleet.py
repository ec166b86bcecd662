"""The fleet search on measured data, beside published and rebuilt optimisers.

    python bench/provisioning/fleet.py [--repeats 50] [--out bench/out] [--only search,total]

search    best cost found / optimum after n measurements, on 12 Hadoop and Spark jobs, with the
          published runs of eight optimisers on the same table
total     what search and job take together, with a deadline or a budget, every measurement
          being a whole run of the job
training  cheapest training with accuracy >= 0.85 in no more than the median time

Our own `search` is repeated as often as asked for, all else a fifth of that.

"past" means that the other jobs' measurements are known: those of every other job, or (strict)
only of jobs of other applications. Settings were chosen on the jobs whose name has an even hash
("chosen on"); the others ("reported") had no part in that.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
from fleet_baselines import CHERRYPICK, PLAIN, RANDOM, Features, Rule, baseline
from fleet_replay import (
    Workload,
    lynceus,
    median_cost,
    median_time,
    published,
    scout,
    trimtuner,
)
from tables import EVALUATION_DATA, NOTHING_MEASURED, OUT

from acai.provisioning.fleet import (
    Goal,
    Plan,
    Settings,
    Space,
    TableCloud,
    cheapest_before,
    fastest_within,
    search,
)

STEPS = 20
COUNTING = Settings(runs=inf, max_measurements=STEPS, patience=inf)
PAYING = Settings()
MULTIPLES = (5, 10, 20)

Searcher = Callable[[TableCloud, Goal, int], Plan]


@dataclass(frozen=True, kw_only=True)
class Method:
    name: str
    prepare: Callable[[Workload], Searcher]


def ours(name: str, settings: Settings, others: Callable[[Workload], list[Workload]]) -> Method:
    def prepare(workload: Workload) -> Searcher:
        offers = [row.configuration for row in workload.rows]
        plain = Space(offers)
        past = [plain.complete(other.times()) for other in others(workload)]

        def run(cloud: TableCloud, goal: Goal, seed: int) -> Plan:
            space = Space(offers, past=past, seed=seed)
            return search(cloud, goal, settings=settings, space=space, seed=seed)

        return run

    return Method(name=name, prepare=prepare)


def rebuilt(rule: Rule) -> Method:
    def prepare(workload: Workload) -> Searcher:
        features = Features([row.configuration for row in workload.rows])
        return lambda cloud, goal, seed: baseline(cloud, goal, rule, seed=seed, features=features)

    return Method(name=rule.name, prepare=prepare)


def variants(settings: Settings, jobs: Sequence[Workload]) -> list[Method]:
    def everyone(workload: Workload) -> list[Workload]:
        return [other for other in jobs if other.name != workload.name]

    def strangers(workload: Workload) -> list[Workload]:
        return [other for other in jobs if other.application != workload.application]

    return [
        ours("acai", settings, lambda workload: []),
        ours("acai, past (strict)", settings, strangers),
        ours("acai, past", settings, everyone),
    ]


def best_so_far(plan: Plan, optimum: float, acceptable: Callable[[int], bool]) -> list[float]:
    found, best = [], inf
    for number, trial in enumerate(plan.trials):
        if trial.observation.completed and acceptable(number):
            best = min(best, trial.run_cost)
        found.append(best / optimum)
    return (found + [found[-1]] * STEPS)[:STEPS]


def groups(jobs: Sequence[Workload]) -> dict[str, list[str]]:
    return {
        "all": [job.name for job in jobs],
        "chosen on": [job.name for job in jobs if job.is_for_choosing],
        "reported": [job.name for job in jobs if not job.is_for_choosing],
    }


def compare_search(jobs: Sequence[Workload], repeats: int) -> dict[str, dict[str, list[float]]]:
    """Per method and job: mean best / optimum after 1, 2, ... measurements."""
    found: dict[str, dict[str, list[float]]] = {}
    optima = {job.name: min(row.cost for row in job.rows) for job in jobs}
    for algorithm, workloads in published().items():
        found[algorithm] = {
            name: np.mean(
                [np.minimum.accumulate(run[:STEPS]) / optima[name] for run in runs], axis=0
            ).tolist()
            for name, runs in workloads.items()
            if name in optima
        }
    long = [replace(rule, least=STEPS, most=STEPS) for rule in (CHERRYPICK, PLAIN)]
    for method in [*variants(COUNTING, jobs), *map(rebuilt, long)]:
        began = time.monotonic()
        found[method.name] = {}
        for job in jobs:
            run = method.prepare(job)
            seeds = repeats if method.name.startswith("acai") else max(1, repeats // 5)
            curves = [
                best_so_far(
                    run(TableCloud(job.rows), Goal(minimise="cost"), seed),
                    optima[job.name],
                    lambda _: True,
                )
                for seed in range(seeds)
            ]
            found[method.name][job.name] = np.mean(curves, axis=0).tolist()
        note(f"search {method.name}", began)
    return found


def compare_totals(jobs: Sequence[Workload], repeats: int) -> list[dict[str, Any]]:
    """Per scenario, multiple, method and job: means over the repeats."""
    found = []
    served = [
        ours(f"acai, serving {runs} runs", replace(PAYING, runs=runs), lambda job: [])
        for runs in (3, 30)
    ]
    rules = [CHERRYPICK, PLAIN]
    rules += [replace(rule, name=f"{rule.name}, aware", aware=True) for rule in rules]
    for method in [*variants(PAYING, jobs), *served, *map(rebuilt, [*rules, RANDOM])]:
        began = time.monotonic()
        for job in jobs:
            run = method.prepare(job)
            for scenario in ("deadline", "budget"):
                for multiple in MULTIPLES:
                    found.append(
                        {"method": method.name, "job": job.name, "scenario": scenario}
                        | {"multiple": multiple}
                        | outcome(run, job, scenario, multiple, repeats)
                    )
        note(f"total {method.name}", began)
    return found


def outcome(
    run: Searcher, job: Workload, scenario: str, multiple: int, repeats: int
) -> dict[str, float]:
    if scenario == "deadline":
        goal = cheapest_before(multiple * median_time(job))
        optimum = min(row.cost for row in job.rows if row.time_s <= goal.deadline_s)
    else:
        goal = fastest_within(multiple * median_cost(job))
        optimum = min(row.time_s for row in job.rows if row.cost <= goal.budget)
    cheapest = min(row.cost for row in job.rows)
    quickest = min(row.time_s for row in job.rows)
    rows = []
    for seed in range(repeats):
        plan = run(TableCloud(job.rows), goal, seed)
        reached = plan.run_cost if scenario == "deadline" else plan.run_s
        rows.append(
            (
                plan.total_cost / cheapest,
                plan.total_s / quickest,
                reached / optimum if plan.choice else nan,
                len(plan.trials),
                plan.total_s > goal.deadline_s or plan.total_cost > goal.budget,
                plan.choice is None,
            )
        )
    values = np.array(rows, dtype=float)
    means = values.mean(axis=0)
    known = values[~np.isnan(values[:, 2]), 2]
    return {
        "cost": means[0],
        "time": means[1],
        "choice": float(known.mean()) if known.size else nan,
        "measured": means[3],
        "violated": means[4],
        "without": means[5],
    }


def compare_training(jobs: Sequence[Workload], repeats: int) -> list[dict[str, Any]]:
    found = []
    methods = [
        ("counting", ours("acai", COUNTING, lambda job: [])),
        *(
            ("counting", rebuilt(replace(rule, least=STEPS, most=STEPS)))
            for rule in (CHERRYPICK, PLAIN)
        ),
        ("paying", ours("acai", PAYING, lambda job: [])),
        ("paying", ours("acai, serving 100 runs", replace(PAYING, runs=100), lambda job: [])),
        *(("paying", rebuilt(rule)) for rule in (CHERRYPICK, PLAIN)),
    ]
    for kind, method in methods:
        began = time.monotonic()
        for job in jobs:
            goal = Goal(minimise="cost", quality_at_least=0.85, run_within_s=median_time(job))
            found.append(
                {"method": method.name, "job": job.name, "kind": kind}
                | trained(method.prepare(job), job, goal, repeats)
            )
        note(f"training {kind} {method.name}", began)
    return found


def trained(run: Searcher, job: Workload, goal: Goal, repeats: int) -> dict[str, Any]:
    quality = goal.quality_at_least or 0.0
    optimum = min(
        row.cost
        for row in job.rows
        if row.time_s <= goal.run_within_s and (row.quality or 0.0) >= quality
    )
    curves, ends = [], []
    for seed in range(repeats):
        plan = run(TableCloud(job.rows), goal, seed)

        def meets(number: int, plan: Plan = plan) -> bool:
            seen = plan.trials[number].observation
            return (seen.quality or 0.0) >= quality and seen.time_s <= goal.run_within_s

        curves.append(best_so_far(plan, optimum, meets))
        spent = (plan.spent_cost / optimum, plan.total_cost / optimum, len(plan.trials))
        ends.append((plan.run_cost / optimum if plan.choice else inf, *spent))
    last = np.array(ends)
    return {
        "curve": np.median(curves, axis=0).tolist(),
        "found": float(np.median(last[:, 0])),
        "found_90": float(np.quantile(last[:, 0], 0.9)),
        "spent": float(last[:, 1].mean()),
        "total": float(last[:, 2].mean()),
        "measured": float(last[:, 3].mean()),
    }


def note(what: str, began: float) -> None:
    print(f"{what}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", default="search,total,training")
    given = parser.parse_args()
    if not EVALUATION_DATA.exists():
        print(f"no measured fleets in {EVALUATION_DATA}: say where with ACAI_EVALUATION_DATA")
        return NOTHING_MEASURED
    given.out.mkdir(parents=True, exist_ok=True)
    store = given.out / "fleet.json"
    results: dict[str, Any] = json.loads(store.read_text()) if store.exists() else {}
    jobs, fewer = scout(), max(1, given.repeats // 5)
    parts: dict[str, Callable[[], Any]] = {
        "search": lambda: compare_search(jobs, given.repeats),
        "total": lambda: compare_totals(jobs, fewer),
        "training": lambda: compare_training([*lynceus(), *trimtuner()], fewer),
    }
    for part in given.only.split(","):
        results[part] = parts[part]()
        results["repeats"] = given.repeats
        store.write_text(json.dumps(results))
    from fleet_report import plot, tables

    report = tables(results, groups(jobs))
    (given.out / "fleet.md").write_text(report)
    print(report)
    plot(results, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
