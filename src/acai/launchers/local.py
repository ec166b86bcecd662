"""Jobs as processes of this machine.

An agent lives as long as the lock in its directory is held. It belongs to no server: it has its
own session, and a server that is started again finds it by its directory.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from acai.agent.limits.base import is_name
from acai.agent.limits.choose import cgroup_rights, end_remains
from acai.agent.settings import CACHE_SIZE
from acai.launchers import machine
from acai.launchers.attempts import (
    Attempt,
    boot_id,
    discard,
    left_over,
    put_aside,
)
from acai.launchers.base import LaunchFailed, Seen, Sighting, Task
from acai.launchers.nursery import Nursery, Order, close_quietly
from acai.model.jobs import Capacity

AGENT = "acai.agent.main:run"
_AFTER_GRACE = 5.0
_LOOK_EVERY = 0.1
_TRIES = 2
_AT_ONCE = 64  # each holds a descriptor while it is started


class LocalLauncher:
    """See Launcher. `root` holds a directory for each attempt; `grace` is how long a program
    has between TERM and KILL."""

    def __init__(
        self,
        root: Path,
        *,
        cache_dir: Path,
        cache_size: int = CACHE_SIZE,
        server_file: Path | None = None,
        cpu: float | None = None,
        memory: int | None = None,
        gpu: float = 0.0,
        grace: float = 10.0,
        entry: str = AGENT,
    ) -> None:
        self._root = root.absolute()
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._cache_dir = cache_dir.absolute()
        self._cache_size = cache_size
        self._server_file = server_file.absolute() if server_file else None
        self._capacity = Capacity(
            cpu=cpu if cpu is not None else machine.cores(),
            memory=memory if memory is not None else machine.memory(),
            gpu=gpu,
        )
        self._starting: set[str] = set()  # whose locks may be let go of to be taken again
        self._patience = grace + _AFTER_GRACE
        self._nursery = Nursery(entry=entry, log=self._root / ".nursery.log")
        self._errands = _Errands(self._press)
        self._errands.remove(left_over(self._root))

    def prepare(self) -> None:
        with contextlib.suppress(OSError):  # submitting says so again, and to whom it concerns
            self._nursery.warm()

    def submit(self, tasks: Sequence[Task]) -> Mapping[str, LaunchFailed]:
        failed: dict[str, LaunchFailed] = {}
        for first in range(0, len(tasks), _AT_ONCE):
            self._submit(tasks[first : first + _AT_ONCE], failed)
        return failed

    def describe(self, handles: Sequence[str]) -> Mapping[str, Seen]:
        return {handle: self._seen(Attempt(self._root, handle)) for handle in handles}

    def kill(self, handles: Sequence[str]) -> None:
        for handle in handles:
            attempt = Attempt(self._root, handle)
            if attempt.exists() and attempt.held():
                attempt.ask_to_end(self._patience)
                self._errands.press(handle)

    def forget(self, handles: Sequence[str]) -> None:
        for handle in handles:
            attempt = Attempt(self._root, handle)
            if self._seen(attempt).sighting is Sighting.GONE and (aside := put_aside(attempt)):
                self._errands.remove([aside])

    def handles(self) -> Sequence[str]:
        return sorted(path.name for path in self._root.iterdir() if is_name(path.name))

    def capacity(self) -> Capacity:
        return self._capacity

    def check(self) -> str | None:
        rights = cgroup_rights()
        if rights.writable:
            return None
        return f"limits on CPU and memory are approximate here: {rights.reason}"

    def close(self) -> None:
        self._errands.close()
        self._nursery.close()

    def _submit(self, tasks: Sequence[Task], failed: dict[str, LaunchFailed]) -> None:
        waiting: dict[str, tuple[Task, int]] = {}
        for task in tasks:
            try:
                lock = self._claim(task)
            except (LaunchFailed, OSError) as error:
                failed[task.handle] = LaunchFailed(str(error))
                continue
            if lock is not None:
                waiting[task.handle] = (task, lock)
        claimed = set(waiting)
        self._starting |= claimed
        try:
            for left in reversed(range(_TRIES)):
                if waiting:
                    waiting = self._launch(waiting, failed, last=left == 0)
        finally:
            self._starting -= claimed

    def _claim(self, task: Task) -> int | None:
        """The lock of a new attempt, or None if there is one of this handle."""
        if not is_name(task.handle):
            raise LaunchFailed(f"{task.handle!r} cannot be a handle")
        attempt = Attempt(self._root, task.handle)
        if attempt.exists():
            return None
        if task.image is not None:
            raise LaunchFailed("container images cannot be run here; use a launcher that has them")
        return attempt.claim()

    def _launch(
        self, waiting: dict[str, tuple[Task, int]], failed: dict[str, LaunchFailed], *, last: bool
    ) -> dict[str, tuple[Task, int]]:
        """Start agents; returns those that are to be tried once more, with their locks."""
        try:
            answers = self._nursery.launch([self._order(*one) for one in waiting.values()])
            trouble = "the process that starts agents died"
        except OSError as error:
            answers, trouble = {}, f"no agent can be started: {error}"
        again: dict[str, tuple[Task, int]] = {}
        for handle, (task, lock) in waiting.items():
            close_quietly(lock)  # if the agent lives, it has its own
            answer = answers.get(handle)
            attempt = Attempt(self._root, handle)
            if answer is not None and answer.error is None:
                continue
            if answer is None and (attempt.agent() is not None or attempt.held()):
                continue  # it was started before the nursery died
            fresh = None if last else attempt.relock()
            if fresh is not None:
                again[handle] = (task, fresh)
                continue
            failed[handle] = LaunchFailed(answer.error if answer and answer.error else trouble)
            if aside := put_aside(attempt):
                self._errands.remove([aside])
        return again

    def _order(self, task: Task, lock: int) -> Order:
        attempt = Attempt(self._root, task.handle)
        settings: dict[str, Any] = {
            "server": task.server,
            "token": task.token,
            "job": task.job,
            "attempt": task.attempt,
            "project": task.project,
            "run_dir": str(attempt.run),
            "cache_dir": str(self._cache_dir),
            "cache_size": self._cache_size,
            "server_file": str(self._server_file) if self._server_file else None,
            "enforce": True,
        }
        return Order(handle=task.handle, directory=attempt.path, settings=settings, lock=lock)

    def _seen(self, attempt: Attempt) -> Seen:
        if not attempt.exists():
            return Seen(sighting=Sighting.UNKNOWN)
        if (reason := attempt.gone()) is not None:
            return Seen(sighting=Sighting.GONE, reason=reason)
        if attempt.handle in self._starting and attempt.agent() is None:
            return Seen(sighting=Sighting.STARTING)
        if attempt.held() and not self._press(attempt.handle):
            alive = attempt.agent() is not None
            return Seen(sighting=Sighting.ALIVE if alive else Sighting.STARTING)
        reason, orderly = _how_it_went(attempt)
        if not end_remains(attempt.handle, thorough=not orderly):
            return Seen(sighting=Sighting.ALIVE, reason="what its agent left behind will not end")
        attempt.note("gone", {"reason": reason})
        return Seen(sighting=Sighting.GONE, reason=reason)

    def _press(self, handle: str) -> bool:
        """Go on with an attempt that was asked to end; True once its agent is no more."""
        attempt = Attempt(self._root, handle)
        if not attempt.held():
            return True
        deadline = attempt.deadline()
        if deadline is None:
            return False
        attempt.deliver()
        if time.monotonic() < deadline:
            return False
        record = attempt.agent()
        if record is not None:
            record.send(signal.SIGKILL)
        end_remains(handle)
        return not attempt.held()


class _Errands:
    """What is done beside: pressing attempts that were asked to end, and removing directories.
    The thread comes with the first errand. What is not done at the end is found again later."""

    def __init__(self, press: Callable[[str], bool]) -> None:
        self._press = press
        self._change = threading.Condition()
        self._pressed: set[str] = set()
        self._rubbish: list[Path] = []
        self._closed = False
        self._thread: threading.Thread | None = None

    def press(self, handle: str) -> None:
        with self._change:
            self._pressed.add(handle)
            self._wake()

    def remove(self, directories: Iterable[Path]) -> None:
        with self._change:
            self._rubbish += directories
            if self._rubbish:
                self._wake()

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._change.notify()
        if self._thread is not None:
            self._thread.join(timeout=5.0)

    def _wake(self) -> None:
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._work, name="local launcher", daemon=True)
            self._thread.start()
        self._change.notify()

    def _work(self) -> None:
        while True:
            with self._change:
                if not self._rubbish:
                    self._change.wait(_LOOK_EVERY if self._pressed else None)
                if self._closed:
                    return
                pressed = list(self._pressed)
                rubbish, self._rubbish = self._rubbish[:1], self._rubbish[1:]
            for directory in rubbish:
                discard(directory)
            over = {handle for handle in pressed if self._press(handle)}
            with self._change:
                self._pressed -= over


def _how_it_went(attempt: Attempt) -> tuple[str, bool]:
    """In words; and whether the agent itself said so, having cleaned up."""
    agent, note = attempt.agent(), attempt.exit()
    if note is not None and "code" in note:
        if note["code"] == 0:
            return "the agent ended", True
        why = note.get("error") or attempt.last_word()
        ended = f"the agent ended with exit code {note['code']}"
        return (f"{ended}: {why}" if why else ended), "error" not in note
    if agent is None:
        return "the agent never started", False
    if agent.boot != boot_id():
        return "the machine was restarted", False
    if note is not None:
        number = signal.Signals(note["signal"])
        return f"the agent was killed by {number.name}", False
    return "the agent was killed", False
