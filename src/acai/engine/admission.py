"""What a job may ask for: checks that need nothing but the request and what there is."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import replace

from acai.model.assignments import Pinned
from acai.model.commands import ARGUMENT_NAME, render
from acai.model.errors import InvalidInput
from acai.model.jobs import Capacity, Environment, JobRequest, OutputSpec, Resources
from acai.model.metadata import EntityKind, validate_tag, validate_user_key, value_from_json
from acai.model.paths import validate_directory
from acai.model.quantities import format_size
from acai.model.references import validate_set_name

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,127}\Z")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MOST_INPUTS = 100
_LONGEST_COMMAND = 65_536
_LONGEST_REQUIREMENTS = 262_144
_MOST_RETRIES = 10
_LEAST_CPU, _LEAST_MEMORY = 0.05, 16 * 1024 * 1024


def check(request: JobRequest, capacity: Capacity) -> JobRequest:
    """The request in its normal form, or InvalidInput that names what is wrong with it."""
    _check_command(request)
    _check_words(request)
    _check_environment(request.environment, capacity)
    check_resources(request.resources, capacity)
    if request.timeout is not None and not 0 < request.timeout < math.inf:
        raise InvalidInput("a timeout is a positive time, such as 2h", timeout=request.timeout)
    if not 0 <= request.retries <= _MOST_RETRIES:
        raise InvalidInput(f"retries is a number from 0 to {_MOST_RETRIES}")
    if len(request.input) > _MOST_INPUTS:
        raise InvalidInput(f"a job reads at most {_MOST_INPUTS} sets; merge some into one set")
    if request.output is None:
        return request
    return replace(request, output=_checked_output(request.output))


def _check_command(request: JobRequest) -> None:
    if not request.command.strip():
        raise InvalidInput("the command is empty; say what to run, such as `python train.py`")
    if len(request.command) > _LONGEST_COMMAND or "\0" in request.command:
        raise InvalidInput("the command is too long or holds a NUL; put it into a script")
    for name, value in request.args.items():
        if not ARGUMENT_NAME.match(name):
            raise InvalidInput(
                f"{name!r} is not the name of an argument: use letters, digits, '_' and '-'"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidInput(f"the argument {name} is {value}; give a number or a text")
    render(request.command, request.args)


def _check_words(request: JobRequest) -> None:
    if request.name is not None and not _NAME.match(request.name):
        raise InvalidInput(
            f"{request.name!r} cannot name a job: use up to 128 letters, digits, spaces,"
            " '.', '_' or '-', beginning with a letter or digit"
        )
    for name, value in request.env.items():
        if not _ENV_NAME.match(name) or "\0" in value:
            raise InvalidInput(f"{name!r} cannot be a variable of the environment")
        if name.startswith("ACAI_"):
            raise InvalidInput(f"{name} is set by the platform; choose another name")
    for tag in request.tags:
        validate_tag(tag)
    for key, value in request.meta.items():
        validate_user_key(EntityKind.JOB, key)
        value_from_json(value, key=key)


def _check_environment(environment: Environment, capacity: Capacity) -> None:
    given = [
        name
        for name in ("requirements", "python", "image")
        if getattr(environment, name) is not None
    ]
    if environment.image is not None:
        if not capacity.images:
            raise InvalidInput(
                "this platform runs jobs without a container runtime, so an image cannot be"
                " used; give requirements instead"
            )
        if len(given) > 1:
            raise InvalidInput("give an image or requirements, not both")
    if environment.python is not None and not re.fullmatch(r"3\.\d{1,2}", environment.python):
        raise InvalidInput(f"{environment.python!r} is not a Python version such as 3.11")
    if len(environment.requirements or "") > _LONGEST_REQUIREMENTS:
        raise InvalidInput("the requirements are longer than 256 KB")


def check_resources(wanted: Resources, capacity: Capacity) -> None:
    """Refuse what can never fit, with the limits."""
    most_cpu = min(capacity.cpu, capacity.job_cpu or capacity.cpu)
    most_memory = min(capacity.memory, capacity.job_memory or capacity.memory)
    if not _LEAST_CPU <= wanted.cpu < math.inf:
        raise InvalidInput(f"a job needs at least {_LEAST_CPU} CPU, not {wanted.cpu:g}")
    if wanted.memory < _LEAST_MEMORY:
        raise InvalidInput(f"a job needs at least {format_size(_LEAST_MEMORY)} of memory")
    if wanted.cpu > most_cpu:
        raise InvalidInput(
            f"the job asks for {wanted.cpu:g} CPU, but there are {most_cpu:g} here at most",
            cpu=most_cpu,
        )
    if wanted.memory > most_memory:
        raise InvalidInput(
            f"the job asks for {format_size(wanted.memory)} of memory, but there are"
            f" {format_size(most_memory)} here at most",
            memory=most_memory,
        )
    if not 0 <= wanted.gpu <= capacity.gpu:
        raise InvalidInput(
            f"the job asks for {wanted.gpu:g} GPU, but there are {capacity.gpu:g} here",
            gpu=capacity.gpu,
        )


def _checked_output(output: OutputSpec) -> OutputSpec:
    validate_set_name(output.name)
    parts = [part for part in output.path.split("/") if part not in {"", "."}]
    if output.path.startswith("/") or ".." in parts or "\0" in output.path or not parts:
        raise InvalidInput(
            f"the output path {output.path!r} lies outside the working directory;"
            " give a directory inside it, such as out/"
        )
    to = output.to or f"/{output.name}/"
    if not to.endswith("/"):
        to += "/"
    validate_directory(to)
    return replace(output, path="/".join(parts) + "/", to=to)


def environment_digest(environment: Environment) -> str:
    """Equal for environments in which a program finds the same."""
    python = environment.python or f"{sys.version_info.major}.{sys.version_info.minor}"
    lines = [line.strip() for line in (environment.requirements or "").splitlines()]
    kept = sorted(line for line in lines if line and not line.startswith("#"))
    return _digest({"image": environment.image, "python": python, "requirements": kept})


def cache_key(request: JobRequest, pinned: Pinned, digest: str) -> bytes:
    """Equal for jobs that read the same bytes and do the same with them."""
    assert request.output is not None
    code = pinned.code
    return bytes.fromhex(
        _digest(
            {
                "inputs": sorted(one.content for one in pinned.inputs),
                "code": None if code is None else [code.content, code.place.strip],
                "command": render(request.command, request.args),
                "args": {key: [type(v).__name__, v] for key, v in request.args.items()},
                "env": dict(request.env),
                "environment": digest,
                "output": [request.output.name, request.output.path, request.output.to],
            }
        )
    )


def _digest(value: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
