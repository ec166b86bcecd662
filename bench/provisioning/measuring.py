"""Measure the MNIST program over its profiling grid and its test points, into a CSV file.

    python bench/provisioning/measuring.py [--slice-seconds 170] [--set grid|test]

The plan is fixed and its order shuffled once, so that slow drifts of the machine do not line up
with any setting. A call does what is still missing until its slice is used up: call it until it
says that nothing is left, at times when the machine is quiet. The first run of a call only warms
the file cache and is not kept.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from limited import limits_enforceable, run_limited

CACHE = Path(os.environ.get("ACAI_BENCH_CACHE", "~/.cache/acai-bench")).expanduser()
POINTS = CACHE / "mnist_points.csv"
TORCH = CACHE / "torch" / "bin" / "python"
HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("ACAI_DATA", HERE.parents[2] / "shared" / "data")) / "mnist"
CPUS = (0.5, 1.0, 1.5, 2.0)
MEMORIES = (512, 1024, 2048)
TRAIN_EPOCHS = (1, 2, 3)
TEST_EPOCHS = (5, 10, 20)
QUIET = 1.2  # CPUs that may be busy elsewhere for a run to count as undisturbed
ATTEMPTS = 3


@dataclass(frozen=True, kw_only=True)
class Run:
    role: str
    cpu: float
    memory: int
    epochs: int
    repeat: int

    @property
    def key(self) -> tuple[str, float, int, int, int]:
        return self.role, self.cpu, self.memory, self.epochs, self.repeat

    def guess_seconds(self) -> float:
        """Only to tell whether the run still fits into the slice."""
        speed = {0.5: 0.5, 1.0: 1.0, 1.5: 1.2, 2.0: 1.6}.get(self.cpu, self.cpu)
        return (6 + 4.4 * self.epochs) / speed


def plan(chosen: str) -> list[Run]:
    grid = [
        Run(role="grid", cpu=cpu, memory=memory, epochs=epochs, repeat=1)
        for cpu in CPUS
        for memory in MEMORIES
        for epochs in TRAIN_EPOCHS
    ]
    test = [
        Run(role="test", cpu=cpu, memory=1024, epochs=epochs, repeat=repeat)
        for repeat in (1, 2)
        for cpu in CPUS
        for epochs in TEST_EPOCHS
    ]
    random.Random(11).shuffle(grid)
    first, second = test[:12], test[12:]
    random.Random(12).shuffle(first)
    random.Random(13).shuffle(second)
    return {"grid": grid, "test": [*first, *second]}[chosen]


def read_points(path: Path = POINTS) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def missing(runs: list[Run]) -> Iterator[Run]:
    """Runs never made, then those that were always disturbed, up to a few attempts each.

    Whether a run is made again depends on what else the machine did, never on its result.
    """
    attempts: dict[tuple[str, float, int, int, int], list[float]] = {}
    for row in read_points():
        harmless = row["out_of_memory"] == "True"  # how long it took matters to nothing
        attempts.setdefault(_key(row), []).append(0.0 if harmless else float(row["foreign"]))
    by_tries = sorted(runs, key=lambda run: len(attempts.get(run.key, ())))
    for run in by_tries:
        tries = attempts.get(run.key, [])
        if not tries or (min(tries) > QUIET and len(tries) < ATTEMPTS):
            yield run


def _key(row: dict[str, str]) -> tuple[str, float, int, int, int]:
    return (
        row["role"],
        float(row["cpu"]),
        int(row["memory"]),
        int(row["epochs"]),
        int(row["repeat"]),
    )


def quietest() -> list[dict[str, str]]:
    """The least disturbed attempt of every run."""
    best: dict[tuple[str, float, int, int, int], dict[str, str]] = {}
    for row in read_points():
        held = best.get(_key(row))
        if held is None or float(row["foreign"]) < float(held["foreign"]):
            best[_key(row)] = row
    return list(best.values())


def measure(run: Run) -> dict[str, object]:
    measured = run_limited(
        [str(TORCH), str(HERE / "mnist_mlp.py"), "--data", str(DATA), "--epochs", str(run.epochs)],
        cpu=run.cpu,
        memory_mb=run.memory,
        environment={},
        log=CACHE / "mnist_runs.log",
    )
    return {**asdict(run), **asdict(measured)}


def append(row: dict[str, object]) -> None:
    new = not POINTS.exists()
    with POINTS.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice-seconds", type=float, default=170.0)
    parser.add_argument("--set", choices=("grid", "test"), default="grid")
    options = parser.parse_args()
    if not TORCH.exists():
        print(f"no torch: make a virtual environment at {TORCH.parents[1]} with torch and numpy")
        return 1
    if not limits_enforceable():
        print("limits cannot be enforced here: writable cgroup v1 cpu and memory are needed")
        return 1
    CACHE.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.slice_seconds
    left = list(missing(plan(options.set)))
    if left:
        measure(Run(role="warm", cpu=2.0, memory=2048, epochs=1, repeat=0))
    done = 0
    for run in left:
        if done and time.monotonic() + run.guess_seconds() > end:
            continue
        row = measure(run)
        append(row)
        done += 1
        print(
            f"{run.role} cpu {run.cpu} memory {run.memory} epochs {run.epochs}: "
            f"{row['seconds']:.2f} s, peak {row['peak_mb']:.0f} MB, exit {row['exit_code']}, "
            f"out of memory {row['out_of_memory']}, elsewhere {row['foreign']:.2f} CPU",
            flush=True,
        )
    print(f"{len(left) - done} of {len(plan(options.set))} runs are left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
