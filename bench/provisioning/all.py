"""All that is measured about provisioning, with one command.

    python bench/provisioning/all.py [--measure]

Prints the tables of the benches beside it, and draws their plots into bench/out if matplotlib is
installed. `--measure` first makes the real runs that are still missing (some half an hour, and a
quiet machine); without it, what was measured before is analysed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCHES = ("models.py", "real_runs.py", "c3o.py", "fleet.py")


def run(*command: str) -> int:
    print(f"\n== {' '.join(command)}", flush=True)
    program = [sys.executable, str(HERE / command[0]), *command[1:]]
    return subprocess.run(program, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    if options.measure:
        run("measuring.py", "--slice-seconds", "3600")
    return max(run(bench) for bench in BENCHES)


if __name__ == "__main__":
    sys.exit(main())
