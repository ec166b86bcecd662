"""A few of the kills that `make faults` makes three hundred of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("job_rounds.py")


@pytest.mark.slow
def test_no_job_is_lost_whoever_is_killed(database_url: str) -> None:
    command = [sys.executable, str(SCRIPT), "--kills", "12"]
    if database_url.startswith("postgresql"):
        command += ["--database", database_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "nothing lost" in done.stdout
