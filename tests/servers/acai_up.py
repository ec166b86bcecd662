"""A real server for tests: `acai up` as a process of its own, on a free port."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACAI = Path(sys.executable).with_name("acai")
_READY_WITHIN = 30.0


@dataclass(frozen=True, kw_only=True)
class RunningServer:
    process: subprocess.Popen[str]
    home: Path
    url: str
    log_file: Path
    link: str | None = None  # opens the dashboard signed in, once

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def log(self) -> list[dict[str, Any]]:
        """The lines that it has logged up to now."""
        return [json.loads(line) for line in self.log_file.read_text().splitlines() if "{" in line]

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait(timeout=10)


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """The process's environment without the developer's settings, and with this home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ACAI_")}
    kept["PATH"] = f"{ACAI.parent}{os.pathsep}{kept['PATH']}"
    return {**kept, "ACAI_HOME": str(home), **more}


@contextmanager
def acai_up(
    home: Path, environment: Mapping[str, str] | None = None, port: int = 0
) -> Iterator[RunningServer]:
    """Run a server on this home until the block ends; it is interrupted as Ctrl-C does."""
    home.mkdir(parents=True, exist_ok=True)
    log_file = home.with_name(f"{home.name}.log")
    with log_file.open("w") as log:
        process = subprocess.Popen(
            [str(ACAI), "up", "--port", str(port), "--json", "--log-format", "json"],
            env=clean_environment(home, **(environment or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        said = _wait_until_ready(process, log_file)
        yield RunningServer(
            process=process,
            home=home,
            url=str(said["url"]),
            log_file=log_file,
            link=said.get("link"),
        )
    finally:
        _stop(process)


def _wait_until_ready(process: subprocess.Popen[str], log_file: Path) -> dict[str, Any]:
    assert process.stdout is not None
    deadline = time.monotonic() + _READY_WITHIN
    said = ""
    while time.monotonic() < deadline:
        line = process.stdout.readline()
        if not line:
            break
        said += line
        if line.startswith("}"):
            ready: dict[str, Any] = json.loads(said)
            return ready
    raise AssertionError(f"acai up did not start:\n{said}{log_file.read_text()[-2000:]}")


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
