"""The directory of one local attempt, and what can be read from it.

    lock    held by the agent for as long as it lives, whoever started it
    agent   its pid, and what tells it from a later process of the same pid
    exit    how it ended, if it could say so or its parent saw it
    kill    when it has to be gone, once it was asked to end; `asked` once it heard
    gone    that nothing of it runs any more, and why: the last word
    log     what the agent itself printed
    run/    the agent's own, with its last word in `exit.json`

An open file description carries the lock, so that it is never left behind: not by a crash, not
by a reboot, and no other process can seem to hold it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from acai.agent.limits.base import is_name
from acai.agent.limits.processes import on_proc, process
from acai.model.ids import random_word

NEW = ".new-"
OLD = ".old-"


@dataclass(frozen=True, kw_only=True)
class AgentRecord:
    pid: int
    started: int | None
    boot: str | None

    @classmethod
    def own(cls) -> Self:
        seen = process(os.getpid()) if on_proc() else None
        return cls(pid=os.getpid(), started=seen.started if seen else None, boot=boot_id())

    def send(self, number: signal.Signals) -> bool:
        """Signal that very process; False if it is no more."""
        if self.boot != boot_id():
            return False
        try:
            if not hasattr(os, "pidfd_open"):  # its lock is held, so the pid is most likely its own
                os.kill(self.pid, number)
                return True
            descriptor = os.pidfd_open(self.pid)
            try:
                return self._send(descriptor, number)
            finally:
                os.close(descriptor)
        except ProcessLookupError:
            return False

    def _send(self, descriptor: int, number: signal.Signals) -> bool:
        """The descriptor pins whatever has the pid now, so that looking and sending agree."""
        seen = process(self.pid)
        if seen is None or seen.started != self.started:
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True


class Attempt:
    def __init__(self, root: Path, handle: str) -> None:
        self.handle = handle
        self.path = root / handle
        self.run = self.path / "run"
        self.log = self.path / "log"

    def exists(self) -> bool:
        return is_name(self.handle) and self.path.is_dir()

    def claim(self) -> int | None:
        """Make the directory with its lock held, and return the lock; None if it was made before.
        It is never seen without its lock."""
        new = self.path.parent / f"{NEW}{random_word(12)}"
        (new / "run").mkdir(mode=0o700, parents=True)
        new.chmod(0o700)
        lock = os.open(new / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            new.rename(self.path)  # fails where there is one already, as none is empty
        except OSError:
            os.close(lock)
            discard(new)
            if self.path.is_dir():
                return None
            raise
        return lock

    def held(self) -> bool:
        """Does the agent live, or is somebody about to start it?"""
        try:
            lock = os.open(self.path / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(lock)

    def relock(self) -> int | None:
        """The lock of an attempt that nobody holds; None if somebody does."""
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock

    def agent(self) -> AgentRecord | None:
        found = self._read("agent")
        try:
            return AgentRecord(**found) if found else None
        except TypeError:
            return None

    def record_agent(self) -> None:
        seen = AgentRecord.own()
        self.write("agent", {"pid": seen.pid, "started": seen.started, "boot": seen.boot})

    def exit(self) -> dict[str, Any] | None:
        return self._read("exit")

    def last_word(self) -> str | None:
        """Why the agent ended as it did, where it said so."""
        reason = (self._read("run/exit.json") or {}).get("reason")
        return str(reason) if reason else None

    def gone(self) -> str | None:
        found = self._read("gone")
        return str(found["reason"]) if found else None

    def ask_to_end(self, within: float) -> None:
        """Note that it has to be gone in so many seconds; the first deadline stays."""
        if self.deadline() is None:
            self.note("kill", {"deadline": time.monotonic() + within, "boot": boot_id()})
        self.deliver()

    def deadline(self) -> float | None:
        """By the monotonic clock of this boot."""
        found = self._read("kill")
        if not found or found.get("boot") != boot_id():
            return None
        return float(found["deadline"])

    def deliver(self) -> bool:
        """Send the agent its SIGTERM, once; False if it cannot be reached yet."""
        if (self.path / "asked").exists():
            return True
        record = self.agent()
        if record is None or not record.send(signal.SIGTERM):
            return False
        self.note("asked", {})
        return True

    def write(self, name: str, content: dict[str, Any]) -> None:
        """All of it or nothing. No error if the attempt was forgotten. Raises OSError."""
        scratch = self.path / f".{name}-{random_word(6)}"
        with contextlib.suppress(FileNotFoundError):
            scratch.write_text(json.dumps(content))
            scratch.rename(self.path / name)

    def note(self, name: str, content: dict[str, Any]) -> None:
        """Write what can be done without: on a full disk it is found out, or asked, again."""
        with contextlib.suppress(OSError):
            self.write(name, content)

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            found = json.loads((self.path / name).read_text())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return found if isinstance(found, dict) else None


def boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def left_over(root: Path) -> Iterator[Path]:
    """Directories that were being made or removed when somebody died."""
    for path in root.iterdir():
        making = path.name.startswith(NEW) and not Attempt(root, path.name).held()
        if making or path.name.startswith(OLD):
            yield path


def put_aside(attempt: Attempt) -> Path | None:
    """Take the directory away from its name; removing it may then take its time."""
    aside = attempt.path.parent / f"{OLD}{random_word(12)}"
    try:
        attempt.path.rename(aside)
    except FileNotFoundError:
        return None
    return aside


def discard(directory: Path) -> None:
    """Remove a tree, also directories that a program made read-only."""

    def open_up(function: Any, path: str, error: Any) -> None:
        parent = Path(path).parent
        with contextlib.suppress(OSError):
            for one in (parent, Path(path)):
                if stat.S_ISDIR(one.lstat().st_mode):
                    one.chmod(0o700)
            function(path)

    shutil.rmtree(directory, onerror=open_up)
