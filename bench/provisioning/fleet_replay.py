"""The data sets of measured runs that fleet searches are replayed on."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2, log10
from pathlib import Path

from tables import EVALUATION_DATA as DATA

from acai.provisioning.fleet import Configuration, Row


@dataclass(frozen=True, kw_only=True)
class Workload:
    name: str
    application: str
    rows: tuple[Row, ...]

    @property
    def is_for_choosing(self) -> bool:
        """Settings were chosen on these workloads only; the rest is for the report."""
        return hashlib.sha256(self.name.encode()).digest()[0] % 2 == 0

    def times(self) -> dict[str, float]:
        return {row.configuration.name: row.time_s for row in self.rows}


def scout() -> list[Workload]:
    """Hadoop and Spark jobs on up to 48 EC2 instances of nine types; runs that failed are out."""
    prices = dict(
        zip(
            [f"{family}4.{size}" for family in "mcr" for size in ("large", "xlarge", "2xlarge")],
            (0.10, 0.20, 0.40, 0.10, 0.199, 0.398, 0.133, 0.266, 0.532),
            strict=True,
        )
    )
    cpus = {"large": 2, "xlarge": 4, "2xlarge": 8}
    gigabytes_per_cpu = {"m4": 4.0, "c4": 1.875, "r4": 7.625}
    found: dict[tuple[str, str], list[Row]] = {}
    for run in _read(DATA / "scout" / "multi_node_runs.csv.gz"):
        if run["completed"] != "True":
            continue
        instance, count = run["vm_type"], int(run["num_nodes"])
        family, size = instance.split(".")
        configuration = Configuration(
            name=f"{count}x{instance}",
            instance=instance,
            count=count,
            price_per_hour=prices[instance] * count,
            cpu=cpus[size],
            memory_mb=1024 * gigabytes_per_cpu[family] * cpus[size],
        )
        name = f"{run['framework']}_{run['workload']}_{run['datasize']}"
        application = f"{run['framework']}_{run['workload']}"
        found.setdefault((name, application), []).append(
            Row(configuration=configuration, time_s=float(run["elapsed_time_s"]))
        )
    return _workloads(found)


T2 = {  # price an hour, vCPU, GB
    "t2.small": (0.023, 1, 2),
    "t2.medium": (0.0464, 2, 4),
    "t2.xlarge": (0.1856, 4, 16),
    "t2.2xlarge": (0.3712, 8, 32),
}


def lynceus() -> list[Workload]:
    """Distributed training on MNIST until 85 % accuracy or ten minutes: 384 configurations."""
    found: dict[tuple[str, str], list[Row]] = {}
    for path in sorted((DATA / "lynceus-tf").glob("t2_*.csv")):
        name = path.name.removeprefix("t2_").removesuffix("_intermediate_values.csv")
        for run in _read(path):
            price = T2[run["vm_flavor"]][0] * (int(run["n_workers"]) + int(run["n_ps"]) + 1)
            found.setdefault((f"lynceus_{name}", name), []).append(_training(run, price))
    return _workloads(found)


def trimtuner(*, samples: int = 60_000) -> list[Workload]:
    """The same family of jobs, three runs averaged, on one size of the training set."""
    found: dict[tuple[str, str], list[Row]] = {}
    for path in sorted((DATA / "trimtuner-tf").glob("*.csv.gz")):
        name = path.name.removesuffix(".csv.gz")
        for run in _read(path):
            if int(run["training_set_size"]) != samples:
                continue
            workers = int(run["n_workers"]) + int(run["n_ps"])
            price = T2[run["vm_flavor"]][0] * workers + 0.3712
            found.setdefault((f"trimtuner_{name}", name), []).append(_training(run, price))
    return _workloads(found)


def _training(run: Mapping[str, str], price: float) -> Row:
    instance, count = run["vm_flavor"], int(run["n_workers"])
    rate, batch = float(run["learning_rate"]), int(run["batch_size"])
    _, cpu, gigabytes = T2[instance]
    return Row(
        configuration=Configuration(
            name=f"{count}x{instance} rate {rate:g} batch {batch} {run['synchronism']}",
            instance=instance,
            count=count,
            price_per_hour=price,
            cpu=cpu,
            memory_mb=1024 * gigabytes,
            features={
                "rate": log10(rate),
                "batch": 0.25 * log2(batch),
                "synchronous": 1.0 if run["synchronism"] == "sync" else 0.0,
            },
        ),
        time_s=float(run["training_time"]),
        quality=float(run["acc"]),
    )


def published() -> dict[str, dict[str, list[list[float]]]]:
    """Optimiser, workload and repeat of the published comparison: costs in order of trial."""
    runs: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in _read(DATA / "scout" / "baseline_trajectories.csv.gz"):
        if row["objective"] == "cost":
            key = (row["algorithm"], row["workload"], row["rep"])
            runs.setdefault(key, []).append((int(row["step"]), float(row["value"])))
    found: dict[str, dict[str, list[list[float]]]] = {}
    for (algorithm, workload, _), steps in sorted(runs.items()):
        values = [value for _, value in sorted(steps)]
        found.setdefault(algorithm, {}).setdefault(workload, []).append(values)
    return found


def median_time(workload: Workload) -> float:
    return statistics.median(row.time_s for row in workload.rows)


def median_cost(workload: Workload) -> float:
    return statistics.median(row.cost for row in workload.rows)


def _workloads(found: Mapping[tuple[str, str], list[Row]]) -> list[Workload]:
    return [
        Workload(name=name, application=application, rows=tuple(rows))
        for (name, application), rows in sorted(found.items())
    ]


def _read(path: Path) -> Iterable[dict[str, str]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    return csv.DictReader(io.StringIO(text))
