"""A job as a person writes it: in a file, on a command line, or in a call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any

from acai.model.commands import ARGUMENT_NAME, argument_text
from acai.model.errors import InvalidInput
from acai.model.jobs import (
    ArgumentValue,
    Environment,
    JobRequest,
    OutputSpec,
    Priority,
    Resources,
)
from acai.model.metadata import parse_number
from acai.model.quantities import parse_duration, parse_size

PRIORITIES = (Priority.BATCH, Priority.INTERACTIVE)
_LEAST_MEMORY = 10**6  # below this, somebody forgot the unit
_ENDS_IN_ZERO = re.compile(r"\.[0-9]*0(?![0-9.])")


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """What was said of a job. None, or an empty mapping, is what was not."""

    command: str | None = None  # with {name} where an argument goes
    name: str | None = None
    input: tuple[str, ...] | None = None
    code: str | None = None  # a local file or directory, or a reference
    args: Mapping[str, ArgumentValue] = field(default_factory=dict)
    requirements: str | None = None  # a local file
    python: str | None = None
    image: str | None = None
    output: str | None = None
    output_path: str | None = None
    output_to: str | None = None
    cpu: float | None = None
    memory: int | None = None
    gpu: float | None = None
    timeout: float | None = None
    priority: Priority | None = None
    cache: bool | None = None
    retries: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    description: str | None = None
    tags: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def over(self, base: JobOptions) -> JobOptions:
        """These, and what only `base` says. Arguments, variables and metadata are merged by
        name, tags are added; an image replaces what would prepare one, and the reverse."""
        dropped: tuple[str, ...] = ()
        if self.image is not None:
            dropped = ("requirements", "python")
        elif self.requirements is not None or self.python is not None:
            dropped = ("image",)
        merged: dict[str, Any] = {}
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(base, each.name)
            if each.name in {"args", "env", "meta"}:
                merged[each.name] = {**theirs, **mine}
            elif each.name == "tags":
                merged[each.name] = tuple(dict.fromkeys((*theirs, *mine)))
            elif each.name in dropped:
                merged[each.name] = mine
            else:
                merged[each.name] = theirs if mine is None else mine
        return JobOptions(**merged)

    def request(self, *, code: str | None, requirements: str | None) -> JobRequest:
        """What is sent: with the code as a reference, and the requirements as their text."""
        if self.command is None or not self.command.strip():
            raise InvalidInput("a job needs a command, such as 'python train.py'")
        if self.image is not None and (self.requirements or self.python):
            raise InvalidInput("give an image, or requirements and a Python version, not both")
        if self.output is None and (self.output_path or self.output_to):
            raise InvalidInput("the output has a path but no name; give it a name")
        return JobRequest(
            command=self.command,
            name=self.name,
            input=self.input or (),
            code=code,
            args=self.args,
            environment=Environment(
                requirements=requirements, python=self.python, image=self.image
            ),
            output=self._output(),
            resources=Resources(**_said(cpu=self.cpu, memory=self.memory, gpu=self.gpu)),
            timeout=self.timeout,
            env=self.env,
            description=self.description,
            tags=self.tags,
            meta=self.meta,
            **_said(priority=self.priority, cache=self.cache, retries=self.retries),
        )

    def _output(self) -> OutputSpec | None:
        if self.output is None:
            return None
        where = _said(path=self.output_path, to=self.output_to)
        return OutputSpec(name=self.output, **where)


def _said(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def memory_of(value: str | int) -> int:
    """Bytes, of 2GB or a number of bytes."""
    size = parse_size(value) if isinstance(value, str) else value
    if size < _LEAST_MEMORY:
        raise InvalidInput(f"a memory of {size} bytes runs nothing; write a unit, as in 512MB")
    return size


def seconds_of(value: str | float | timedelta) -> float:
    """Seconds, of 2h or a number of seconds."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    seconds = parse_duration(value) if isinstance(value, str) else float(value)
    if not 0 < seconds < float("inf"):
        raise InvalidInput(f"a time limit of {value} is none; write for example 90s, 15m or 2h")
    return seconds


def priority_of(value: str) -> Priority:
    if value not in PRIORITIES:
        raise InvalidInput(f"{value!r} is not a priority; write batch or interactive")
    return Priority(value)


def argument_name(name: str) -> str:
    if not ARGUMENT_NAME.match(name):
        raise InvalidInput(
            f"{name!r} is not the name of an argument; use letters, digits, '_' and '-'", key=name
        )
    return name


def argument_of(text: str) -> ArgumentValue:
    """An argument as it is written: a number, true, false, or a text.

    What would not be written the same again (3.10, a number of thirty digits) stays a text, for
    the command gets the argument back as a text.
    """
    if text in {"true", "false"}:
        return text == "true"
    try:
        number = parse_number(text)
    except InvalidInput:
        return text
    if number is None or (_ENDS_IN_ZERO.search(text) and argument_text(number) != text):
        return text
    return number


def output_of(value: str | OutputSpec | None) -> dict[str, str | None]:
    """The options that `NAME` or `NAME=PATH` stands for."""
    if value is None:
        return {}
    if isinstance(value, OutputSpec):
        return {"output": value.name, "output_path": value.path, "output_to": value.to}
    name, equals, path = value.partition("=")
    if equals and not path:
        raise InvalidInput(f"{value!r} has no path after '='; write NAME or NAME=PATH")
    return {"output": name, "output_path": path or None}


def inputs_of(value: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(value)
