"""Measure the MNIST program over its profiling grid and its test points, into a CSV file.

    python bench/provisioning/measuring.py [--slice-seconds 170]

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
from dataclasses import asdict, dataclass
from pathlib import Path

from limited import busy_neighbours, limits_enforceable, run_limited
from tables import EVALUATION_DATA

CACHE = Path(os.environ.get("ACAI_BENCH_CACHE", "~/.cache/acai-bench")).expanduser()
POINTS = CACHE / "mnist_points.csv"
TORCH = CACHE / "torch" / "bin" / "python"
HERE = Path(__file__).resolve().parent
DATA = EVALUATION_DATA / "mnist"
CPUS = (0.5, 1.0, 1.5, 2.0)
MEMORIES = (512, 1024, 2048)
TRAIN_EPOCHS = (1, 2, 3)
TEST_EPOCHS = (5, 10, 20)
VERIFIED = ((2.0, 7680), (2.0, 768))  # what one takes by default, and the optimiser's choice


@dataclass(frozen=True, kw_only=True)
class Run:
    role: str
    cpu: float
    memory: int
    epochs: int
    repeat: int

    def guess_seconds(self) -> float:
        """Only to tell whether the run still fits into the slice."""
        speed = {0.5: 0.5, 1.0: 1.0, 1.5: 1.2, 2.0: 1.6}.get(self.cpu, self.cpu)
        return (6 + 4.4 * self.epochs) / speed


def plan() -> list[Run]:
    """First one memory and one repeat, mixed, so that half of a plan is already of use."""

    def grid(memory: int) -> list[Run]:
        return [
            Run(role="grid", cpu=cpu, memory=memory, epochs=epochs, repeat=1)
            for cpu in CPUS
            for epochs in TRAIN_EPOCHS
        ]

    def test(repeat: int) -> list[Run]:
        return [
            Run(role="test", cpu=cpu, memory=1024, epochs=epochs, repeat=repeat)
            for cpu in CPUS
            for epochs in TEST_EPOCHS
        ]

    verify = [
        Run(role="verify", cpu=cpu, memory=memory, epochs=10, repeat=repeat)
        for cpu, memory in VERIFIED
        for repeat in (1, 2)
    ]
    parts = [[*grid(1024), *test(1)], [*grid(2048), *grid(512), *verify], test(2)]
    for seed, part in enumerate(parts):
        random.Random(seed).shuffle(part)
    return [run for part in parts for run in part]


def read_points(path: Path = POINTS) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def missing() -> list[Run]:
    made = {tuple(row[name] for name in Run.__dataclass_fields__) for row in read_points()}
    return [run for run in plan() if tuple(map(str, asdict(run).values())) not in made]


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
    options, _ = parser.parse_known_args()
    if not TORCH.exists():
        print(f"no torch: make a virtual environment at {TORCH.parents[1]} with torch and numpy")
        return 1
    if not limits_enforceable():
        print("limits cannot be enforced here: writable cgroup v1 cpu and memory are needed")
        return 1
    CACHE.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.slice_seconds
    left = missing()
    done = 0
    with busy_neighbours():
        if left:
            measure(Run(role="warm", cpu=2.0, memory=2048, epochs=1, repeat=0))
        for run in left:
            if done and time.monotonic() + run.guess_seconds() > end:
                continue
            row = measure(run)
            append(row)
            done += 1
            print(
                f"{run.role} cpu {run.cpu} memory {run.memory} epochs {run.epochs}: "
                f"{row['seconds']:.2f} s, peak {row['peak_mb']:.0f} MB, "
                f"exit {row['exit_code']}, out of memory {row['out_of_memory']}",
                flush=True,
            )
    print(f"{len(left) - done} of {len(plan())} runs are left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
