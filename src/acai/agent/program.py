"""Running the user's command: its output to the spool at full speed, its use sampled, its end
enforced."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from acai.agent.control import Control
from acai.agent.limits.base import Confinement
from acai.agent.outcome import Ended
from acai.model.assignments import Sample

_SAMPLE_EVERY = 1.0
_READ = 1024 * 1024
_CHILDREN_GRACE = 1.0  # seconds that children have which outlive the program
_LOOK_EVERY = 0.05  # where the system cannot say by a descriptor that a process ended


class Program:
    """One run. `on_output` and `on_sample` are called in the thread that calls `run`."""

    def __init__(
        self,
        confinement: Confinement,
        control: Control,
        *,
        timeout: float | None,
        grace: float,
        on_output: Callable[[bytes], None],
        on_sample: Callable[[Sample], None],
    ) -> None:
        self._confinement = confinement
        self._control = control
        self._timeout = timeout
        self._grace = grace
        self._on_output = on_output
        self._on_sample = on_sample
        self._timed_out = False
        self._kill_at: float | None = None

    def run(self, command: str, *, cwd: Path, env: Mapping[str, str]) -> Ended:
        """Returns when the program and all its children have ended. Raises OSError."""
        reader, writer = os.pipe()
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _READ)
        try:
            started = datetime.now(UTC)
            try:
                child = self._confinement.spawn(
                    ["/bin/sh", "-c", command], cwd=cwd, env=env, stdout=writer, stderr=writer
                )
            finally:
                os.close(writer)
            with _end_of(child) as ended:
                self._attend(child, reader, ended)
            cause = self._control.cause if self._kill_at is not None else None
            self._end_children(reader)
            usage = self._confinement.usage()
        finally:
            os.close(reader)
            self._confinement.close()
        return Ended(
            returncode=child.wait(),
            started=started,
            ended=datetime.now(UTC),
            cpu_seconds=usage.cpu_seconds,
            peak_memory=usage.peak_memory,
            oom_kills=usage.oom_kills,
            timed_out=self._timed_out,
            cause=None if self._timed_out else cause,
        )

    def _attend(self, child: subprocess.Popen[bytes], reader: int, ended: int | None) -> None:
        poll = select.poll()
        poll.register(reader, select.POLLIN)
        poll.register(self._control.fileno(), select.POLLIN)
        if ended is not None:
            poll.register(ended, select.POLLIN)
        now = time.monotonic()
        timeout_at = now + self._timeout if self._timeout else None
        sample_at = now + _SAMPLE_EVERY
        while child.poll() is None:
            moments = [each for each in (sample_at, timeout_at, self._kill_at) if each is not None]
            wait = max(min(moments) - time.monotonic(), 0.0)
            wait = wait if ended is not None else min(wait, _LOOK_EVERY)
            for descriptor, _ in poll.poll(wait * 1000):
                if descriptor == reader and not self._read(reader):
                    poll.unregister(reader)
                elif descriptor == self._control.fileno():
                    poll.unregister(descriptor)
                    self._terminate()
            now = time.monotonic()
            if now >= sample_at:
                self._sample()
                sample_at = now + _SAMPLE_EVERY
            if timeout_at is not None and now >= timeout_at:
                timeout_at = None
                if self._kill_at is None:
                    self._timed_out = True
                    self._terminate()
            if self._kill_at is not None and now >= self._kill_at:
                self._confinement.kill_all()
                self._kill_at = now + _SAMPLE_EVERY  # should something have survived

    def _read(self, reader: int) -> bool:
        """Take what has been printed; False at the end of it."""
        data = os.read(reader, _READ)
        if data:
            self._on_output(data)
        return bool(data)

    def _sample(self) -> None:
        usage = self._confinement.usage()
        self._on_sample(
            Sample(
                time=datetime.now(UTC),
                cpu_seconds=usage.cpu_seconds,
                memory=usage.memory_resident,
            )
        )

    def _terminate(self) -> None:
        if self._kill_at is None:
            self._confinement.signal_all(signal.SIGTERM)
            self._kill_at = time.monotonic() + self._grace

    def _end_children(self, reader: int) -> None:
        """The program has ended; so do those that it left behind. Take what is still printed."""
        os.set_blocking(reader, False)
        if not self._confinement.empty():
            self._confinement.signal_all(signal.SIGTERM)
            until = time.monotonic() + min(_CHILDREN_GRACE, self._grace)
            while time.monotonic() < until and not self._confinement.empty():
                self._drain(reader, until)
                time.sleep(0.01)
            self._confinement.kill_all()
        self._drain(reader, time.monotonic() + _CHILDREN_GRACE)

    def _drain(self, reader: int, until: float) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._read(reader) and time.monotonic() < until:
                pass


@contextlib.contextmanager
def _end_of(child: subprocess.Popen[bytes]) -> Iterator[int | None]:
    """A descriptor that is readable once the process has ended; None where there is no such."""
    try:
        descriptor = os.pidfd_open(child.pid)
    except (OSError, AttributeError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
