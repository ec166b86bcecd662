"""The process that forks agents, as the server sees it.

Starting Python and importing the agent takes hundreds of milliseconds; forking a process that
has done so takes few. The nursery holds nothing: when it dies another is started, and when the
server dies it goes by itself, while the agents live on.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_BYTES = 64 * 1024
_ANSWER_WITHIN = 60.0

# What agents, and the programs they run, get of the server's environment: never its secrets.
_KEPT = {
    "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "LOGNAME", "NO_PROXY", "PATH", "PYTHONPATH",
    "REQUESTS_CA_BUNDLE", "SHELL", "TERM", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV", "no_proxy",
}  # fmt: skip
_KEPT_PREFIXES = ("LC_", "PIP_", "UV_", "SSL_CERT_", "CUDA_", "NVIDIA_", "XDG_CACHE_")


@dataclass(frozen=True, kw_only=True)
class Order:
    """An agent to be started. `lock` becomes the agent's."""

    handle: str
    directory: Path
    settings: Mapping[str, Any]
    lock: int

    def __repr__(self) -> str:
        return f"Order({self.handle})"  # the settings hold a token


@dataclass(frozen=True, kw_only=True)
class Answer:
    pid: int | None
    error: str | None


class Nursery:
    """Thread-safe. `entry` names the agent's function as `module:function`."""

    def __init__(self, *, entry: str, log: Path) -> None:
        self._entry = entry
        self._log = log
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def warm(self) -> None:
        """Start it if it does not run; it imports on its own time. Raises OSError."""
        with self._turn:
            self._running()

    def launch(self, orders: Sequence[Order]) -> dict[str, Answer]:
        """Have agents started. Orders without an answer may or may not have been carried out:
        the nursery died. Raises OSError when none can be started."""
        answers: dict[str, Answer] = {}
        with self._turn:
            for order in orders:
                try:
                    answer = _exchange(self._running(), order)
                except (ConnectionError, TimeoutError):
                    self._end()
                    break
                answers[order.handle] = answer
                if answer.error is not None:
                    self._end()  # the next one may fare better
        return answers

    def close(self) -> None:
        with self._turn:
            self._end()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def _running(self) -> socket.socket:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._socket is None:
            self._start()
        assert self._socket is not None
        return self._socket

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        program = "acai.launchers.nursery_program"
        try:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", program, str(theirs.fileno()), self._entry],
                    env=kept_environment(os.environ),
                    cwd=self._log.parent,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.settimeout(_ANSWER_WITHIN)
        self._socket = ours

    def _end(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            try:
                self._process.wait(timeout=2.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


def kept_environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environ.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES) or name.lower().endswith("s_proxy")
    }


def _exchange(line: socket.socket, order: Order) -> Answer:
    """One order at a time, so that a stream keeps them apart."""
    message = {"directory": str(order.directory), "settings": dict(order.settings)}
    packet = json.dumps(message).encode() + b"\n"
    sent = socket.send_fds(line, [packet], [order.lock])
    line.sendall(packet[sent:])
    text = b""
    while not text.endswith(b"\n"):
        part = line.recv(MOST_BYTES)
        if not part:
            raise ConnectionResetError("the nursery is gone")
        text += part
    said = json.loads(text)
    return Answer(pid=said.get("pid"), error=said.get("error"))


def close_quietly(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.close(descriptor)
