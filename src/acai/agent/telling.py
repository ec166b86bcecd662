"""A thread that tells the server what there is to tell, at the pace at which it listens."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable

from acai.agent.spool import Journal, LogSpool
from acai.agent.talk import LONGEST_CHUNK, Dismissed, GaveUp, Interrupted, Talk
from acai.model.assignments import Phase, Report, ReportAnswer
from acai.model.errors import AcaiError

_LOG_EVERY = 0.2  # seconds between two chunks, so that a byte waits for less than 0.25
_LOG_AT_ONCE = 256 * 1024  # unless so many bytes wait
_REPORT_EVERY = 1.0
_PHASE_AFTER = 0.03  # a phase that is over by then is told by the ending, at no extra cost
_BATCH = 256 * 1024  # bytes of the journal in one report
_ABANDON_WITHIN = 2.0
_NO_PROGRESS = 0.5  # pause when the server takes nothing of what it is sent


class Teller:
    """Log, samples, tags, phases and heartbeats of one attempt.

    `on_kill` is called, in this thread, when the server wants the program ended; `on_dismiss`
    when it wants nothing more of the attempt, after which nothing more is told.
    """

    def __init__(
        self,
        talk: Talk,
        *,
        attempt: int,
        heartbeat: float,
        log: LogSpool,
        journal: Journal,
        on_kill: Callable[[], None],
        on_dismiss: Callable[[], None],
    ) -> None:
        self._talk = talk
        self._attempt = attempt
        self._heartbeat = heartbeat
        self._log = log
        self._journal = journal
        self._on_kill = on_kill
        self._on_dismiss = on_dismiss
        self._wake = threading.Event()
        self._abandoned = threading.Event()
        self._idle = False
        self._closing = False
        self._phase = Phase.DOWNLOADING
        self._phases: deque[Phase] = deque()  # not told yet
        self._phase_due = 0.0
        self.notes: list[str] = []  # all of them, for the ending
        self._notes_told = 0
        self._malformed = self._malformed_told = 0
        self._sent = 0  # bytes of the log that the server has
        self._log_due = 0.0
        self._reported = time.monotonic()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="acai-tell", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def enter(self, phase: Phase) -> None:
        """Say so soon, unless the ending comes first."""
        self._phase_due = time.monotonic() + _PHASE_AFTER
        self._phases.append(phase)
        self._wake.set()

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.poke()

    def malformed(self, count: int) -> None:
        """So many tag lines were malformed up to now."""
        self._malformed = count

    def poke(self) -> None:
        """There may be something new. Cheap: it wakes the thread only if that is of use."""
        if self._idle or self._log.size - self._sent >= _LOG_AT_ONCE:
            self._wake.set()

    def close(self) -> None:
        """Return when everything has been told. Raises Dismissed or GaveUp."""
        self._closing = True
        self._wake.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def abandon(self) -> bool:
        """Tell nothing more, whether all has been told or not; True once the thread has ended."""
        self._abandoned.set()
        self._closing = True
        self._wake.set()
        self._thread.join(_ABANDON_WITHIN)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not (self._closing and self._all_told()):
                self._rest()
                self._send_log()
                self._send_report()
        except Dismissed as error:
            self._failure = error
            self._on_dismiss()
        except (GaveUp, Interrupted) as error:
            self._failure = error
        except Exception as error:
            self._failure = GaveUp(f"the agent failed: {type(error).__name__}: {error}")

    def _all_told(self) -> bool:
        return self._sent >= self._log.size and not self._news()

    def _news(self) -> bool:
        """Whether there is something that only a report can tell; notes go with the ending too."""
        return (
            self._journal.pending
            or self._malformed != self._malformed_told
            or (len(self.notes) > self._notes_told and not self._closing)
        )

    def _rest(self) -> None:
        """Sleep until something is due."""
        while True:
            self._idle = True  # before looking: what comes after the look wakes us
            pause = self._pause(time.monotonic())
            if pause <= 0:
                break
            if self._news() or self._sent < self._log.size:
                self._idle = False  # the time is set, and one more byte does not change it
            self._wake.wait(pause)
            self._wake.clear()
        self._idle = False

    def _pause(self, now: float) -> float:
        if self._closing:
            return 0.0
        due = self._reported + self._heartbeat
        if self._phases:
            due = min(due, self._phase_due)
        if self._news():
            due = min(due, self._reported + _REPORT_EVERY)
        waiting = self._log.size - self._sent
        if waiting >= _LOG_AT_ONCE:
            return 0.0
        if waiting > 0:
            due = min(due, self._log_due)
        return due - now

    def _send_log(self) -> None:
        waiting = self._log.size - self._sent
        now = time.monotonic()
        if waiting <= 0 or (now < self._log_due and waiting < _LOG_AT_ONCE and not self._closing):
            return
        data = self._log.read(self._sent, LONGEST_CHUNK)
        try:
            answer = self._talk.log(self._sent, data, self._abandoned)
        except AcaiError as error:
            self._sent = sys.maxsize  # it takes no more; that is no reason to end the program
            self.note(f"the server refused the log: {error.message}")
            return
        if answer.stop:
            raise Dismissed("the attempt no longer counts")
        if answer.size <= self._sent:
            time.sleep(_NO_PROGRESS)
        self._sent = min(answer.size, self._log.size)
        self._log_due = now + _LOG_EVERY

    def _send_report(self) -> None:
        now = time.monotonic()
        if not self._report_due(now):
            return
        phase = self._phases[0] if self._phases else self._phase
        notes, malformed = len(self.notes), self._malformed
        batch = self._journal.batch(_BATCH)
        report = Report(
            attempt=self._attempt,
            phase=phase,
            samples=batch.samples,
            tags=batch.tags,
            malformed_tags=malformed,
            notes=tuple(self.notes[self._notes_told : notes]),
        )
        answer = self._refusable(report)
        self._reported = now
        self._journal.settle(batch)
        self._malformed_told = malformed
        self._notes_told = notes
        if self._phases:
            self._phase = self._phases.popleft()
        if answer.stop:
            raise Dismissed("the attempt no longer counts")
        if answer.kill:
            self._on_kill()

    def _report_due(self, now: float) -> bool:
        if self._closing:
            return self._news()
        if self._phases and now >= self._phase_due:
            return True
        return now >= self._reported + (_REPORT_EVERY if self._news() else self._heartbeat)

    def _refusable(self, report: Report) -> ReportAnswer:
        try:
            return self._talk.report(report, self._abandoned)
        except AcaiError as error:
            if not report.notes:  # not again and again about the same thing
                self.note(f"the server refused a report: {error.message}")
            return ReportAnswer()
