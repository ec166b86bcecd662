"""Several processes that do the same thing from the same moment."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_FRAME = """
import json, sys
{setup}
sys.stdout.write("ready\\n"); sys.stdout.flush(); sys.stdin.readline()
def act():
{body}
sys.stdout.write(json.dumps(act()) + "\\n")
"""


def race(count: int, *arguments: str, setup: str, body: str) -> list[Any]:
    """What `body` returns in each of `count` processes; `setup` runs before the start signal.

    Both are Python source; `sys.argv[1:]` holds the arguments.
    """
    indented = "\n".join(f"    {line}" for line in body.strip().splitlines())
    program = _FRAME.format(setup=setup.strip(), body=indented)
    runners = [
        subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    try:
        for runner in runners:
            assert runner.stdout is not None
            runner.stdout.readline()
        for runner in runners:
            assert runner.stdin is not None
            runner.stdin.write("go\n")
            runner.stdin.flush()
        results = []
        for runner in runners:
            said, complained = runner.communicate(timeout=60)
            assert runner.returncode == 0, complained
            results.append(json.loads(said))
        return results
    finally:
        for runner in runners:
            runner.kill()
            runner.wait()
