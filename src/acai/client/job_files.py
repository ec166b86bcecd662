"""Job files: YAML in, options out. What is wrong is told with its line and its key.

Plain scalars are read as metadata is: a number, true or false, else a text. So `3.10` stays
3.10 where a text is wanted, `no` is a text, and `1e-3` is a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml

from acai.client.job_options import (
    JobOptions,
    argument_name,
    argument_of,
    memory_of,
    output_of,
    priority_of,
    seconds_of,
)
from acai.model.errors import InvalidInput
from acai.model.jobs import ArgumentValue
from acai.model.metadata import (
    EntityKind,
    MetadataValue,
    parse_number,
    parse_value,
    validate_tag,
    validate_user_key,
)

T = TypeVar("T")
_LARGEST = 1024 * 1024
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_PYTHON = re.compile(r"3\.\d{1,2}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def load_job_file(path: str | Path) -> JobOptions:
    """The options in a file. Local paths in it are relative to the file."""
    file = Path(path).expanduser()
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise InvalidInput(f"{path} is too large for a job file: more than 1 MiB")
    try:
        options = parse_job_file(data.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text, at byte {error.start}") from error
    beside = file.absolute().parent
    code, requirements = options.code, options.requirements
    if code is not None and _may_be_local(code, beside):
        code = str(beside / code)
    if requirements is not None:
        requirements = str(beside / Path(requirements).expanduser())
    return replace(options, code=code, requirements=requirements)


def _may_be_local(code: str, beside: Path) -> bool:
    if code.startswith(("/", "~")):
        return False
    return code.startswith(("./", "../")) or code == "." or (beside / code).exists()


def parse_job_file(text: str, file: str = "job.yaml") -> JobOptions:
    """The options that a YAML text writes; raises InvalidInput that names line and key."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        column = f", column {mark.column + 1}" if mark else ""
        problem = error.problem or error.context or "it is not YAML"
        raise InvalidInput(
            f"{file} line {line}{column}: {problem}", file=file, line=line
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidInput(
            f"{file} is not YAML: {str(error).splitlines()[0]}", file=file
        ) from error
    if node is None:
        raise InvalidInput(f"{file} is empty; it needs at least a command", file=file)
    found: dict[str, Any] = {}
    for value in _Value(file=file, key="", name="", node=node).entries(_KEYS):
        found.update(_KEYS[value.name](value))
    return JobOptions(**found)


@dataclass(frozen=True, kw_only=True)
class _Value:
    """A value in the file, the key it stands under (`resources.cpu`), and its line."""

    file: str
    key: str
    name: str  # the key without those above it
    node: yaml.Node

    def fail(self, problem: str, node: yaml.Node | None = None) -> NoReturn:
        line = (node or self.node).start_mark.line + 1
        raise InvalidInput(
            f"{self.file} line {line}: {problem}", file=self.file, line=line, key=self.key
        )

    def wrong(self, expected: str) -> NoReturn:
        if isinstance(self.node, yaml.MappingNode):
            shown = "a mapping"
        elif isinstance(self.node, yaml.SequenceNode):
            shown = "a list"
        elif self.is_null:
            shown = "empty"
        else:
            shown = repr(str(self.node.value)[:60])
        self.fail(f"{self.key or 'the file'} is {shown}; it must be {expected}")

    def checked(self, read: Callable[[str], T], text: str) -> T:
        """`read(text)`, with what it complains of put at this line and key."""
        try:
            return read(text)
        except InvalidInput as error:
            self.fail(f"{self.key}: {error.message}")

    @property
    def is_null(self) -> bool:
        return self._plain and self.node.value in _NULLS

    @property
    def _plain(self) -> bool:
        return isinstance(self.node, yaml.ScalarNode) and self.node.style is None

    def text(self, expected: str = "a text") -> str:
        if not isinstance(self.node, yaml.ScalarNode) or self.is_null:
            self.wrong(expected)
        return str(self.node.value)

    def some_text(self, expected: str = "a text") -> str:
        text = self.text(expected)
        if not text.strip():
            self.wrong(expected)
        return text

    def number(self, expected: str) -> float:
        number = self.checked(parse_number, self.text(expected)) if self._plain else None
        if number is None:
            self.wrong(expected)
        return number

    def integer(self, expected: str) -> int:
        number = self.number(expected)
        if not isinstance(number, int):
            self.wrong(expected)
        return number

    def boolean(self) -> bool:
        text = self.text("true or false").lower()
        if not self._plain or text not in {"true", "false"}:
            self.wrong("true or false")
        return text == "true"

    def texts(self, expected: str) -> tuple[str, ...]:
        if not isinstance(self.node, yaml.SequenceNode):
            return (self.some_text(expected),)
        items = (replace(self, node=each) for each in self.node.value)
        return tuple(item.some_text(expected) for item in items)

    def argument(self) -> ArgumentValue:
        text = self.text("a number, true, false or a text")
        return argument_of(text) if self._plain else text

    def metadata(self) -> MetadataValue:
        text = self.text("a number, true, false, a time or a text")
        return self.checked(parse_value, text) if self._plain else text

    def entries(self, known: Mapping[str, Any] | None = None) -> list[_Value]:
        """The values of a mapping, each under its key; a key not in `known` is refused."""
        if not isinstance(self.node, yaml.MappingNode):
            self.wrong("a mapping, such as 'key: value'")
        entries: dict[str, _Value] = {}
        for key, value in self.node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.fail("a key must be a plain word", key)
            name = str(key.value)
            whole = f"{self.key}.{name}" if self.key else name
            entry = _Value(file=self.file, key=whole, name=name, node=value)
            if known is not None and name not in known:
                entry.fail(_unknown(name, self.key, known), key)
            if name in entries:
                entry.fail(f"{whole} is given twice", key)
            entries[name] = entry
        return list(entries.values())


def _unknown(name: str, above: str, known: Mapping[str, Any]) -> str:
    of = f"a key of {above}" if above else "a key of a job"
    home = next((key for key, inner in _NESTED.items() if name in inner), None)
    near = get_close_matches(name, known, 1)
    if not above and home is not None:
        return f"{name!r} is not {of}; it belongs under {home!r}"
    if near:
        return f"{name!r} is not {of}; did you mean {near[0]!r}?"
    return f"{name!r} is not {of}; there are {', '.join(known)}"


def _code(value: _Value) -> dict[str, Any]:
    return {"code": value.some_text("a local file or directory, or a reference")}


def _input(value: _Value) -> dict[str, Any]:
    return {"input": value.texts("a set such as mnist:2, or a list of sets")}


def _args(value: _Value) -> dict[str, Any]:
    args: dict[str, ArgumentValue] = {}
    for entry in value.entries():
        args[entry.checked(argument_name, entry.name)] = entry.argument()
    return {"args": args}


def _env(value: _Value) -> dict[str, Any]:
    env: dict[str, str] = {}
    for entry in value.entries():
        if not _VARIABLE.fullmatch(entry.name):
            entry.fail(f"{entry.name!r} is not the name of an environment variable")
        env[entry.name] = entry.text("a text; quote it if it is empty")
    return {"env": env}


def _environment(value: _Value) -> dict[str, Any]:
    entries = {entry.name: entry for entry in value.entries(_NESTED["environment"])}
    if "image" in entries and len(entries) > 1:
        entries["image"].fail("environment has an image and more; give the image alone")
    found = {name: entry.some_text() for name, entry in entries.items()}
    if "python" in found and not _PYTHON.fullmatch(found["python"]):
        entries["python"].wrong("a version of Python such as 3.11")
    return found


def _output(value: _Value) -> dict[str, Any]:
    if isinstance(value.node, yaml.ScalarNode):
        return dict(value.checked(output_of, value.some_text("a name, or {name: …, path: …}")))
    entries = {entry.name: entry for entry in value.entries(_NESTED["output"])}
    if "name" not in entries:
        value.fail("output has no name; write {name: NAME, path: out/}")
    found = {"output": entries["name"].some_text("the name of a set")}
    if "path" in entries:
        found["output_path"] = _inside(entries["path"])
    if "to" in entries:
        found["output_to"] = entries["to"].some_text("a directory in the lake, such as /models/")
    return found


def _inside(value: _Value) -> str:
    path = value.some_text("a directory, such as out/")
    if path.startswith("/") or ".." in path.split("/"):
        value.fail(f"{value.key} is {path!r}, outside the working directory; write out/")
    return path


def _resources(value: _Value) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in value.entries(_NESTED["resources"]):
        if entry.name == "memory":
            found["memory"] = entry.checked(memory_of, entry.text("a size such as 2048MB"))
            continue
        found[entry.name] = entry.number("a number such as 2 or 0.5")
        if found[entry.name] < 0 or (entry.name == "cpu" and found[entry.name] == 0):
            entry.wrong("more than nothing")
    return found


def _retries(value: _Value) -> dict[str, Any]:
    count = value.integer("a whole number, 0 or more")
    if count < 0:
        value.wrong("a whole number, 0 or more")
    return {"retries": count}


def _timeout(value: _Value) -> dict[str, Any]:
    return {"timeout": value.checked(seconds_of, value.text("a duration such as 2h"))}


def _priority(value: _Value) -> dict[str, Any]:
    return {"priority": value.checked(priority_of, value.text("batch or interactive"))}


def _tags(value: _Value) -> dict[str, Any]:
    return {"tags": tuple(value.checked(validate_tag, tag) for tag in value.texts("a tag"))}


def _meta(value: _Value) -> dict[str, Any]:
    meta: dict[str, MetadataValue] = {}
    for entry in value.entries():
        entry.checked(lambda key: validate_user_key(EntityKind.JOB, key), entry.name)
        meta[entry.name] = entry.metadata()
    return {"meta": meta}


_NESTED: dict[str, dict[str, None]] = {
    "environment": dict.fromkeys(("requirements", "python", "image")),
    "output": dict.fromkeys(("name", "path", "to")),
    "resources": dict.fromkeys(("cpu", "memory", "gpu")),
}
_KEYS: dict[str, Callable[[_Value], dict[str, Any]]] = {
    "name": lambda value: {"name": value.some_text("a name")},
    "input": _input,
    "code": _code,
    "command": lambda value: {"command": value.some_text("a command")},
    "args": _args,
    "environment": _environment,
    "output": _output,
    "resources": _resources,
    "timeout": _timeout,
    "priority": _priority,
    "cache": lambda value: {"cache": value.boolean()},
    "retries": _retries,
    "env": _env,
    "description": lambda value: {"description": value.text()},
    "tags": _tags,
    "meta": _meta,
}
