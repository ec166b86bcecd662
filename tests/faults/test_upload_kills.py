"""A few of the rounds that `make faults` runs a thousand of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("upload_rounds.py")


@pytest.mark.slow
def test_nothing_is_lost_whoever_is_killed(database_url: str) -> None:
    command = [sys.executable, str(SCRIPT), "--rounds", "40"]
    if database_url.startswith("postgresql"):
        command += ["--database", database_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "nothing lost" in done.stdout
