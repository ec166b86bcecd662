"""What was run and what came of it: the trials that teach the models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from acai.model.jobs import Resources

Value = float | str  # a template value: a number, or the word of a choice
MIB = 2**20


class Outcome(StrEnum):
    FINISHED = "finished"
    OUT_OF_MEMORY = "out_of_memory"  # killed at its limit: it needs more than that
    CUT = "cut"  # stopped by us while it ran: it takes longer than that
    FAILED = "failed"  # the program's own failure: teaches nothing about time


@dataclass(frozen=True, kw_only=True, order=True)
class Configuration:
    """What a job is given. A megabyte is 2**20 bytes here, as in the grid of configurations."""

    cpu: float
    memory_mb: float
    gpu: float = 0.0

    @classmethod
    def of(cls, resources: Resources) -> Configuration:
        return cls(cpu=resources.cpu, memory_mb=resources.memory / MIB, gpu=resources.gpu)

    def resources(self) -> Resources:
        return Resources(cpu=self.cpu, memory=int(self.memory_mb * MIB), gpu=self.gpu)

    def __str__(self) -> str:
        gpus = f", {self.gpu:g} GPU" if self.gpu else ""
        return f"{self.cpu:g} vCPU, {self.memory_mb:.0f} MB{gpus}"


@dataclass(frozen=True, kw_only=True)
class Passed:
    """A shorter run that a longer one contains: what it passed on its way."""

    values: Mapping[str, Value]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run of a template, profiled or not.

    `seconds` is the run time of the command, also of a run that was cut or killed.
    `peak_memory_mb` is None where it was not measured. `passed` come in ascending order.
    """

    configuration: Configuration
    values: Mapping[str, Value]
    seconds: float
    outcome: Outcome = Outcome.FINISHED
    peak_memory_mb: float | None = None
    profiled: bool = True
    passed: tuple[Passed, ...] = ()

    @property
    def shown(self) -> tuple[Passed, ...]:
        """The shorter runs that it contains, and itself."""
        return (*self.passed, Passed(values=self.values, seconds=self.seconds))


def finished(trials: Iterable[Trial]) -> list[Trial]:
    return [one for one in trials if one.outcome is Outcome.FINISHED and one.seconds > 0]


def said_values(values: Mapping[str, Value]) -> str:
    """`epoch=3 opt=adam`, for messages."""
    return " ".join(f"{name}={_said(value)}" for name, value in values.items()) or "no values"


def _said(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"
