"""A small real agent for testing launchers: it needs no server.

The address of its server is `script:PATH`, and PATH holds a shell script. It runs that script
confined, ends it politely on SIGTERM, and exits with its exit code. What it does it writes into
the directory of the script: `pid`, `settings` and `ended`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

from acai.agent.limits.approximate import ApproximateConfinement
from acai.agent.limits.base import Confinement
from acai.agent.limits.choose import confine
from acai.agent.settings import AgentSettings

GRACE = 1.0
_MEMORY = 256 * 1024**2


def run(settings: AgentSettings) -> int:
    return _attend(settings, confine(settings.handle, cpu=1.0, memory=_MEMORY))


def loosely(settings: AgentSettings) -> int:
    """As `run`, on a system without control groups."""
    inside = ApproximateConfinement(settings.handle, cpu=1.0, memory=_MEMORY)
    return _attend(settings, inside)


def _attend(settings: AgentSettings, inside: Confinement) -> int:
    script = Path(settings.server.removeprefix("script:"))
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    note(script.with_name("settings"), f"{settings.job} {settings.attempt} {settings.token}")
    child = inside.spawn(["/bin/sh", str(script)], cwd=script.parent, env=dict(os.environ))
    note(script.with_name("pid"), f"{os.getpid()} {child.pid}")
    try:
        while child.poll() is None:
            if asked.wait(0.01):
                inside.signal_all(signal.SIGTERM)
                _wait(child, GRACE)
                inside.kill_all()
                child.wait()
    finally:
        inside.close()
    note(script.with_name("ended"), str(child.returncode))
    return 0


def deaf(settings: AgentSettings) -> int:
    """One that does not listen: it ignores SIGTERM, and so does not end its program."""
    script = Path(settings.server.removeprefix("script:"))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    inside = confine(settings.handle, cpu=1.0, memory=_MEMORY)
    child = inside.spawn(["/bin/sh", str(script)], cwd=script.parent, env=dict(os.environ))
    note(script.with_name("pid"), f"{os.getpid()} {child.pid}")
    return child.wait()


def broken(settings: AgentSettings) -> int:
    raise RuntimeError(f"nothing works in {settings.handle}")


def note(path: Path, text: str) -> None:
    """Write a line that readers see whole."""
    scratch = path.with_name(f".{path.name}")
    scratch.write_text(f"{text}\n")
    scratch.rename(path)


def _wait(child: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return
