"""The agent's entry: one attempt of a job, in this process."""

from __future__ import annotations

import _thread
import contextlib
import json
import shutil
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from acai.agent.attempt import Attempt
from acai.agent.control import Cause, Control
from acai.agent.limits.choose import cgroup_rights
from acai.agent.settings import AgentSettings
from acai.agent.talk import Dismissed, GaveUp, Interrupted, Talk, to_wire
from acai.client.decode import decode
from acai.model.assignments import (
    Assignment,
    Ending,
    EndingAnswer,
    LogAnswer,
    Outcome,
    Report,
    ReportAnswer,
)
from acai.model.errors import AcaiError

DELIVERED, UNDELIVERED, DISMISSED = 0, 1, 3  # what `run` returns
EXIT_FILE, ENDING_FILE = "exit.json", "ending.json"


def run(settings: AgentSettings) -> int:
    """Run the attempt.

    Returns DELIVERED when the server has taken the job's end, whatever that was; UNDELIVERED
    when it was away for too long, in which case the end is kept in `ending.json` and outputs
    stay on disk; DISMISSED when it wants nothing more of this attempt. In each case `exit.json`
    says how it ended.
    """
    settings.run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    control = Control()
    talk = Talk(settings)
    attempt = Attempt(settings, talk, control)
    try:
        with _signals(control):
            return _run(settings, talk, attempt)
    finally:
        attempt.close()
        talk.close()
        control.close()


def warm() -> None:
    """Do once what every run in a forked process would do again. Starts nothing."""
    cgroup_rights()
    for kind in (Assignment, ReportAnswer, LogAnswer, EndingAnswer):
        with contextlib.suppress(AcaiError):
            decode(kind, {})  # what is kept are the type hints
    to_wire(Report(attempt=0, phase="running"))  # type: ignore[arg-type]


def _run(settings: AgentSettings, talk: Talk, attempt: Attempt) -> int:
    directory = settings.run_dir
    try:
        with contextlib.suppress(Interrupted):  # told to end before it began
            attempt.work(attempt.begin())
        attempt.settle()
        ending = attempt.ending
        _write(directory / ENDING_FILE, to_wire(ending))
        answer = _end(talk, ending)
    except Dismissed as error:
        _leave(directory, outcome="dismissed", reason=str(error))
        return DISMISSED
    except (GaveUp, AcaiError) as error:
        _write(directory / ENDING_FILE, to_wire(attempt.ending))
        _write(directory / EXIT_FILE, {"outcome": "undelivered", "reason": str(error)})
        return UNDELIVERED
    if attempt.output_unsent:
        _write(directory / EXIT_FILE, _summary(ending, answer))
    else:
        _leave(directory, **_summary(ending, answer))
    return DISMISSED if answer.stop else DELIVERED


def _end(talk: Talk, ending: Ending) -> EndingAnswer:
    try:
        return talk.end(ending)
    except AcaiError as error:
        if ending.outcome is not Outcome.SUCCEEDED:
            raise
        # It will not be published as it is; better a failed job than one that never ends.
        reason = f"the output could not be published: {error.message}"
        return talk.end(replace(ending, outcome=Outcome.FAILED, reason=reason, upload=None))


def _summary(ending: Ending, answer: EndingAnswer) -> dict[str, Any]:
    return {
        "outcome": ending.outcome.value,
        "reason": ending.reason,
        "exit_code": ending.exit_code,
        "status": answer.status,
    }


def _leave(directory: Path, **said: Any) -> None:
    """Keep nothing but a word on how it ended."""
    for name in ("work", "unused"):
        shutil.rmtree(directory / name, ignore_errors=True)
    for name in ("log", "journal", ENDING_FILE):
        (directory / name).unlink(missing_ok=True)
    _write(directory / EXIT_FILE, said)


def _write(file: Path, said: Any) -> None:
    part = file.with_suffix(".part")
    part.write_text(json.dumps(said), "utf-8")
    part.replace(file)


@contextlib.contextmanager
def _signals(control: Control) -> Iterator[None]:
    """SIGTERM ends the program and has the server told. A terminal that closes, or Ctrl-C meant
    for a server in the same terminal, is no reason to end. In other threads than the main one,
    where Python takes no signals, nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_number: int, _frame: FrameType | None) -> None:
        # Not here: the thread that was interrupted may hold a lock that `end` needs.
        _thread.start_new_thread(control.end, (Cause.TERMINATED,))

    def go_on(_number: int, _frame: FrameType | None) -> None:
        # A handler, and not SIG_IGN, which programs would inherit.
        pass

    before = {
        signal.SIGTERM: signal.signal(signal.SIGTERM, terminate),
        signal.SIGINT: signal.signal(signal.SIGINT, go_on),
        signal.SIGHUP: signal.signal(signal.SIGHUP, go_on),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
