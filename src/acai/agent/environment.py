"""The Python that a program runs with: the launcher's own, or a virtual environment that is
built once for each list of requirements and shared by the jobs of this host."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from acai.agent.cache import locked
from acai.agent.talk import Interrupted
from acai.model.errors import InvalidInput
from acai.model.jobs import Environment

_READY = ".acai-ready"  # written last: what lacks it is half-built
_KEPT = 20  # environments; those used longest ago are removed
_TOLD = 256 * 1024  # bytes of a failed build's output that go to the log
_WAIT_STEP = 0.1
_VERSION = re.compile(r"\d+\.\d+")


class BuildFailed(InvalidInput):
    """The environment cannot be had; the message says why in a sentence."""


@contextlib.contextmanager
def environment(
    directory: Path,
    wanted: Environment,
    *,
    log: Callable[[bytes], None],
    interrupt: threading.Event,
) -> Iterator[Path | None]:
    """The directory to put first on PATH, which stays there while the block runs.

    None leaves PATH alone: in a container, the image has what it needs. A failed build's output
    goes to `log`. Raises BuildFailed; Interrupted if that comes first.
    """
    if wanted.image is not None:
        yield None
        return
    if wanted.requirements is None and wanted.python is None:
        yield Path(sys.executable).parent
        return
    python = _interpreter(wanted.python)
    directory.mkdir(parents=True, exist_ok=True)
    built = directory / _digest(python, wanted)
    lock = str(built.with_suffix(".lock"))
    while True:
        with locked(lock, interrupt, shared=True):
            if (built / _READY).exists():
                os.utime(built)
                yield built / "bin"
                return
        with locked(lock, interrupt):
            if not (built / _READY).exists():
                _build(built, python, wanted.requirements, log, interrupt)
        _evict(directory)


def _interpreter(version: str | None) -> str:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version is None:
        return sys.executable
    found = _VERSION.match(version)
    if found is None:
        raise BuildFailed(f"{version!r} is not a version of Python; write for example 3.11")
    if found[0] == own:
        return sys.executable
    path = shutil.which(f"python{found[0]}")
    if path is None:
        raise BuildFailed(
            f"there is no Python {found[0]} on the machine that runs the job, only {own};"
            f" install python{found[0]} there, or ask for {own}"
        )
    return path


def _digest(python: str, wanted: Environment) -> str:
    """Other requirements, another interpreter: another environment."""
    real = Path(python).resolve()
    text = json.dumps([str(real), sys.version, wanted.requirements, wanted.python])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _build(
    built: Path,
    python: str,
    requirements: str | None,
    log: Callable[[bytes], None],
    interrupt: threading.Event,
) -> None:
    shutil.rmtree(built, ignore_errors=True)
    steps: list[Sequence[str]] = [[python, "-m", "venv", str(built)]]
    if requirements is not None:
        file = built / "requirements.txt"
        pip = [str(built / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        steps.append([*pip, "install", "--no-input", "--progress-bar", "off", "-r", str(file)])
    said = built.with_suffix(".log")
    try:
        with said.open("w+b") as output:
            for step in steps:
                if built.exists() and requirements is not None:
                    (built / "requirements.txt").write_text(requirements, "utf-8")
                if _run(step, output.fileno(), interrupt) != 0:
                    text = _tail(said)
                    log(text)
                    raise BuildFailed(f"the environment could not be built: {_reason(text)}")
        (built / _READY).touch()
    except BaseException:
        shutil.rmtree(built, ignore_errors=True)
        raise
    finally:
        said.unlink(missing_ok=True)


def _run(command: Sequence[str], output: int, interrupt: threading.Event) -> int:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("ACAI_")}
    process = subprocess.Popen(
        command,
        env=kept,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        while process.poll() is None:
            if interrupt.wait(_WAIT_STEP):
                raise Interrupted
        return process.returncode
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _tail(file: Path) -> bytes:
    data = file.read_bytes()
    return data if len(data) <= _TOLD else b"...\n" + data[-_TOLD:]


def _reason(said: bytes) -> str:
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1].removeprefix("ERROR:").strip()[:500]


def _evict(directory: Path) -> None:
    built = [each for each in directory.iterdir() if (each / _READY).exists()]
    built.sort(key=lambda each: each.stat().st_mtime, reverse=True)
    for old in built[_KEPT:]:
        with contextlib.suppress(BlockingIOError), old.with_suffix(".lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody runs in it
            (old / _READY).unlink(missing_ok=True)
            shutil.rmtree(old, ignore_errors=True)
