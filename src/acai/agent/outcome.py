"""How an attempt ended, in words that help: pure."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from datetime import datetime

from acai.agent.control import Cause
from acai.model.assignments import Outcome
from acai.model.quantities import format_duration

_SHELL_SIGNALS = 128  # a shell says so much more than the number of the signal
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"))
_NICE_WITHIN = 0.05
_DEADLY = frozenset(
    {
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGKILL,
        signal.SIGSEGV,
        signal.SIGTERM,
    }
)
_BINARY_UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What is known of a program that ended."""

    returncode: int  # negative: the signal that ended it
    started: datetime
    ended: datetime
    cpu_seconds: float
    peak_memory: int
    oom_kills: int = 0
    timed_out: bool = False
    cause: Cause | None = None  # why it was ended, if it was


@dataclass(frozen=True, kw_only=True)
class Verdict:
    outcome: Outcome
    exit_code: int | None = None
    reason: str | None = None


def judge(ended: Ended, *, memory: int, timeout: float | None) -> Verdict:
    """Being ended by us comes first: whatever the program made of it is no failure of its own.

    A shell may exit with 0 after what it ran was killed for want of memory; that counts all the
    same, since what was to be done was not.
    """
    code = ended.returncode if ended.returncode >= 0 else _SHELL_SIGNALS - ended.returncode
    if ended.cause is not None:
        return Verdict(outcome=Outcome.KILLED, exit_code=code, reason="killed")
    if ended.timed_out:
        reason = f"timed out after {format_duration(timeout or 0.0)}; try a longer --timeout"
        return Verdict(outcome=Outcome.TIMED_OUT, exit_code=code, reason=reason)
    if ended.oom_kills:
        code = code or _SHELL_SIGNALS + signal.SIGKILL
        return Verdict(outcome=Outcome.OUT_OF_MEMORY, exit_code=code, reason=out_of_memory(memory))
    if code == 0:
        return Verdict(outcome=Outcome.SUCCEEDED, exit_code=0)
    return Verdict(outcome=Outcome.FAILED, exit_code=code, reason=failure(ended.returncode))


def failure(returncode: int) -> str:
    """Such as `exit code 3`, or `ended by SIGSEGV`, also where a shell only passes it on."""
    number = -returncode if returncode < 0 else returncode - _SHELL_SIGNALS
    if returncode > 0 and number not in _DEADLY:
        return f"exit code {returncode}"
    try:
        return f"ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended by signal {number}"


def out_of_memory(memory: int) -> str:
    shown = format_memory(memory)
    return f"out of memory: used {shown} of {shown}; try --memory {more_memory(memory)}"


def format_memory(memory: int) -> str:
    unit, name = _unit(memory)
    return f"{round(memory / unit, 1):g} {name}"


def more_memory(memory: int) -> str:
    """About twice as much, in a number that people write."""
    unit, name = _unit(2 * memory)
    count = 2 * memory / unit
    nice = round(count) if abs(count - round(count)) <= count * _NICE_WITHIN else round(count, 1)
    return f"{nice:g}{name}"


def _unit(size: int) -> tuple[int, str]:
    binary = size % 2**20 == 0 and size % 10**6 != 0
    units = _BINARY_UNITS if binary else _UNITS
    return next((each for each in units if size >= each[0]), (1, "B"))
