"""All that is measured about provisioning, with one command.

    python bench/provisioning/all.py [--measure] [--quick]

Prints the tables of the benches beside it and keeps them in bench/out, with their plots if
matplotlib is installed. `--measure` first makes the real runs that are still missing (some half an
hour, and a quiet machine); without it, what was measured before is analysed. `--quick` takes fewer
simulated programs and repeats: enough to see that everything runs. Ends by saying what was left
out, and why.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from tables import NOTHING_MEASURED, OUT, table

HERE = Path(__file__).resolve().parent
BENCHES: dict[str, tuple[list[str], list[str]]] = {  # arguments in full, and quick
    "models.py": ([], ["--programs", "9"]),
    "calibration.py": ([], ["--programs", "9"]),
    "bound.py": ([], ["--programs", "9"]),
    "real_runs.py": ([], ["--replays", "2"]),
    "c3o.py": ([], []),
    "fleet.py": ([], ["--repeats", "5"]),
}
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def run(bench: str, arguments: list[str]) -> tuple[int, float]:
    """Exit code and seconds; what it prints is shown and kept."""
    print(f"\n== {' '.join([bench, *arguments])}", flush=True)
    began = time.monotonic()
    # Small matrices: one thread is the fastest, and leaves the other cores alone.
    with subprocess.Popen(
        [sys.executable, str(HERE / bench), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**_ONE_THREAD, **os.environ},
    ) as process:
        assert process.stdout is not None
        kept = []
        for line in process.stdout:
            print(line, end="", flush=True)
            kept.append(line)
    if process.returncode == 0:
        (OUT / bench).with_suffix(".txt").write_text("".join(kept))
    return process.returncode, time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    if options.measure:
        run("measuring.py", ["--slice-seconds", "3600"])
    ends = {bench: run(bench, given[options.quick]) for bench, given in BENCHES.items()}
    said = {0: "done", NOTHING_MEASURED: "left out: its data are not there, see above"}
    print()
    table(
        ["bench", "seconds", "end"],
        [
            [bench, f"{seconds:.0f}", said.get(code, f"failed with exit code {code}")]
            for bench, (code, seconds) in ends.items()
        ],
    )
    return max(code for code, _ in ends.values())


if __name__ == "__main__":
    sys.exit(main())
