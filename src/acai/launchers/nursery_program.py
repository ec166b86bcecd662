"""The nursery itself: imports the agent once, then forks one for each order.

It has a single thread, so that forking is safe. Run as
`python -m acai.launchers.nursery_program SOCKET MODULE:FUNCTION`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acai.agent.limits.choose import cgroup_rights
from acai.agent.settings import AgentSettings
from acai.launchers.attempts import Attempt
from acai.launchers.nursery import MOST_BYTES

Entry = Callable[[AgentSettings], int]


def main(arguments: list[str]) -> int:
    line = socket.socket(fileno=int(arguments[0]))
    line.set_inheritable(False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        entry = _imported(arguments[1])
    except Exception as error:
        traceback.print_exc()
        _refuse_all(line, f"the agent cannot be loaded: {type(error).__name__}: {error}")
        return 1
    gc.collect()
    gc.freeze()  # pages of what is there now stay shared with the agents
    _Nursery(line, entry).serve()
    return 0


class _Nursery:
    def __init__(self, line: socket.socket, entry: Entry) -> None:
        self._line = line
        self._entry = entry
        self._children: dict[int, Attempt] = {}
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._woken, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Until the server closes its end."""
        while True:
            ready, _, _ = select.select([self._line.fileno(), self._woken], [], [])
            if self._woken in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, 4096)
                self._reap()
            if self._line.fileno() in ready:
                order, lock = _receive(self._line)
                if order is None or lock is None:
                    return
                _answer(self._line, self._start(order, lock))

    def _start(self, order: dict[str, Any], lock: int) -> dict[str, Any]:
        directory = Path(order["directory"])
        attempt = Attempt(directory.parent, directory.name)
        try:
            pid = os.fork()
        except OSError as error:
            os.close(lock)
            return {"error": f"no process can be forked: {error}"}
        if pid == 0:
            self._become_agent(attempt, order["settings"])
        os.close(lock)
        self._children[pid] = attempt
        return {"pid": pid}

    def _become_agent(self, attempt: Attempt, settings: dict[str, Any]) -> None:
        """In the child; never returns. The lock stays open until the process ends."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.close(self._woken)
            os.close(self._wake)
            self._line.close()
            os.setsid()
            _redirect(attempt.log)
            attempt.record_agent()
            os.chdir(attempt.run)
            code = self._entry(_settings(settings))
            attempt.note("exit", {"code": code})
        except BaseException as error:
            traceback.print_exc()
            attempt.note("exit", {"code": 1, "error": f"{type(error).__name__}: {error}"})
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code & 0xFF)

    def _reap(self) -> None:
        """Note how agents died that could not say so themselves."""
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            attempt = self._children.pop(pid, None)
            if attempt is not None and os.WIFSIGNALED(status) and attempt.exit() is None:
                attempt.note("exit", {"signal": os.WTERMSIG(status)})


def _receive(line: socket.socket) -> tuple[dict[str, Any] | None, int | None]:
    """The next order and its lock, or nothing at the end."""
    # The flag keeps the lock out of programs that are started while it is open here.
    flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    text, locks = b"", []
    while not text.endswith(b"\n"):
        part, descriptors, _, _ = socket.recv_fds(line, MOST_BYTES, 1, flags)
        if not part:
            return None, None
        text += part
        locks += descriptors
    os.set_inheritable(locks[0], False)
    return json.loads(text), locks[0]


def _refuse_all(line: socket.socket, reason: str) -> None:
    while True:
        order, lock = _receive(line)
        if order is None or lock is None:
            return
        os.close(lock)
        _answer(line, {"error": reason})


def _answer(line: socket.socket, said: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # the agent runs, whoever hears of it
        line.sendall(json.dumps(said).encode() + b"\n")


def _settings(given: dict[str, Any]) -> AgentSettings:
    paths = {name: Path(given[name]) for name in ("run_dir", "cache_dir")}
    server_file = Path(given["server_file"]) if given["server_file"] else None
    return AgentSettings(**{**given, **paths, "server_file": server_file})


def _imported(entry: str) -> Entry:
    module, _, function = entry.partition(":")
    loaded = importlib.import_module(module)
    found: Entry = getattr(loaded, function)
    cgroup_rights()  # what is found out here need not be by every agent
    if hasattr(loaded, "warm"):
        loaded.warm()
    return found


def _redirect(log: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(said)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
