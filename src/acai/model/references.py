"""References: how a person names a file, a directory, a set, or one version of them.

    /data/train.json             FileRef        the latest version of a file
    /data/train.json:2           FileRef        version 2
    /data/train.json@HotpotQA:1  FileRef        the version that HotpotQA:1 refers to
    /data/                       DirectoryRef   latest versions of everything under /data/
    /data/@HotpotQA:1            DirectoryRef   everything under /data/ in that set
    /@HotpotQA, @HotpotQA        DirectoryRef   everything in the latest version of that set
    HotpotQA, HotpotQA:3         SetRef         where a set is expected

In a name, `@` is written `%40`, `%` is `%25`, and the colon of a name that ends like a
version (`:12`, `:-1`, or a lone `:`) is `%3A`. `str(ref)` writes them so, and the parser of
the same kind of reference reads back an equal value.

Malformed text raises InvalidReference, whose `detail` has `reference`, `position` (0-based
offset) and `expected`; a path that no file can have raises InvalidPath.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from acai.model.errors import InvalidReference
from acai.model.paths import validate_directory, validate_path

MAX_VERSION = 2**31 - 1
SET_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
URL_SCHEME = "acai://"

_SET_NAME = re.compile(SET_NAME)
_JOB_ID = re.compile(SET_NAME)
_PROJECT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_VERSION = re.compile(r"[1-9][0-9]{0,9}\Z")
_VERSION_LIKE = re.compile(r":([+-]?[0-9]*)\Z")
_ESCAPE = re.compile(r"%(.{0,2})", re.DOTALL)
_UNESCAPED = {"40": "@", "25": "%", "3a": ":"}
_SET_NAME_RULE = (
    "a set name: 1 to 128 letters, digits, '.', '_' or '-', starting with a letter or digit"
)


@dataclass(frozen=True, kw_only=True)
class SetRef:
    name: str
    version: int | None = None

    def __post_init__(self) -> None:
        validate_set_name(self.name)
        _validate_version(self.version)

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name}:{self.version}"


@dataclass(frozen=True, kw_only=True)
class FileRef:
    """A file: its latest version, one version, or the version that a set refers to."""

    path: str
    version: int | None = None
    set: SetRef | None = None

    def __post_init__(self) -> None:
        validate_path(self.path)
        _validate_version(self.version)
        if self.version is not None and self.set is not None:
            raise InvalidReference(
                f"{self.path!r} has both a version and a set; give one of them",
                reference=self.path,
            )

    def __str__(self) -> str:
        text = escape_path(self.path)
        if self.set is not None:
            return f"{text}@{self.set}"
        return text if self.version is None else f"{text}:{self.version}"


@dataclass(frozen=True, kw_only=True)
class DirectoryRef:
    """Everything under a directory: latest versions, or what a set holds there."""

    directory: str
    set: SetRef | None = None

    def __post_init__(self) -> None:
        validate_directory(self.directory)

    def __str__(self) -> str:
        text = escape_path(self.directory)
        return text if self.set is None else f"{text}@{self.set}"


@dataclass(frozen=True, kw_only=True)
class JobRef:
    id: str

    def __post_init__(self) -> None:
        if not _JOB_ID.fullmatch(self.id):
            raise InvalidReference(f"{self.id!r} is not a job id", reference=self.id)

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, kw_only=True)
class LakeUrl:
    """`acai://PROJECT/path[:v]` or `acai://PROJECT/path@set[:v]`, for programs that open URLs."""

    project: str
    target: FileRef | DirectoryRef

    def __post_init__(self) -> None:
        if not _PROJECT_NAME.fullmatch(self.project):
            raise InvalidReference(
                f"{self.project!r} is not a project name", reference=self.project
            )

    def __str__(self) -> str:
        return f"{URL_SCHEME}{self.project}{self.target}"


_ENTITY_PREFIX = {FileRef: "file", SetRef: "set", JobRef: "job"}


def validate_set_name(name: str) -> str:
    if not _SET_NAME.fullmatch(name):
        raise InvalidReference(
            f"{name!r} is not {_SET_NAME_RULE}", reference=name, expected=_SET_NAME_RULE
        )
    return name


def parse_spec(text: str) -> FileRef | DirectoryRef:
    """What a set is made from: a file, a directory, or either of them in a set."""
    return _parse_spec(text, text, 0)


def parse_file_reference(text: str) -> FileRef:
    ref = _parse_spec(text, text, 0)
    if isinstance(ref, DirectoryRef):
        raise _refuse(text, max(len(text) - 1, 0), "names a directory", "the path of one file")
    return ref


def parse_set_reference(text: str) -> SetRef:
    """`NAME` or `NAME:VERSION`; `@NAME` is understood too."""
    return _parse_set(text, 1 if text.startswith("@") else 0)


def parse_entity(text: str) -> FileRef | SetRef | JobRef:
    """`file:REF`, `set:REF` or `job:ID`: a thing that carries metadata."""
    kind, colon, rest = text.partition(":")
    start = len(kind) + 1
    if colon and kind == "file":
        ref = _parse_spec(rest, text, start)
        if isinstance(ref, FileRef):
            return ref
        raise _refuse(text, len(text) - 1, "names a directory", "the path of one file")
    if colon and kind == "set":
        return _parse_set(text, start + (1 if rest.startswith("@") else 0))
    if colon and kind == "job":
        if not _JOB_ID.fullmatch(rest):
            raise _refuse(text, start, "has no job id there", "a job id such as job-7kq2m9xw4t")
        return JobRef(id=rest)
    raise _refuse(text, 0, "is not an entity", "file:REF, set:REF or job:ID")


def format_entity(ref: FileRef | SetRef | JobRef) -> str:
    """The inverse of parse_entity."""
    return f"{_ENTITY_PREFIX[type(ref)]}:{ref}"


def parse_url(url: str) -> LakeUrl:
    """`acai://PROJECT` means the project's root directory."""
    if not url.startswith(URL_SCHEME):
        raise _refuse(url, 0, "is not a lake URL", f"{URL_SCHEME}PROJECT/path")
    start = len(URL_SCHEME)
    project = _PROJECT_NAME.match(url, start)
    if project is None or url[project.end() : project.end() + 1] not in {"", "/"}:
        position = start if project is None else project.end()
        raise _refuse(url, position, "has no project name", f"{URL_SCHEME}PROJECT/path")
    target = _parse_spec(url[project.end() :] or "/", url, project.end())
    return LakeUrl(project=project[0], target=target)


def escape_path(path: str) -> str:
    """A bare path as it is written in a reference."""
    text = path.replace("%", "%25").replace("@", "%40")
    colon = _VERSION_LIKE.search(text)
    return text if colon is None else f"{text[: colon.start()]}%3A{colon[1]}"


def _parse_spec(spec: str, whole: str, start: int) -> FileRef | DirectoryRef:
    """Parse `spec`, which is `whole` from offset `start` on; errors speak of `whole`."""
    written, at, _ = spec.partition("@")
    if not written and not at:
        raise _refuse(whole, start, "is empty", "a path such as /data/train.json, or @SET")
    if not written:
        written = "/"
    elif not written.startswith("/"):
        remedy = f"a path that starts with '/', or @SET; did you mean '/{written}'"
        if _SET_NAME.match(written):
            remedy += f" or '@{written}'"
        raise _refuse(whole, start, "is not absolute", remedy)
    origin = _parse_set(whole, start + spec.index("@") + 1) if at else None
    if written.endswith("/"):
        return DirectoryRef(directory=_unescape(written, whole, start), set=origin)
    colon = _VERSION_LIKE.search(written)
    if colon is None:
        return FileRef(path=_unescape(written, whole, start), set=origin)
    position = start + colon.start()
    name = written[: colon.start()]
    if name.endswith("/") and _VERSION.match(colon[1]):
        raise _refuse(whole, position, "gives a directory a version", "a directory without one")
    version = _parse_version(colon[1], whole, position, escapable=True)
    if at:
        raise _refuse(
            whole, position, "has both a version and a set", "one of them (a literal ':' is %3A)"
        )
    return FileRef(path=_unescape(name, whole, start), version=version)


def _parse_set(whole: str, start: int) -> SetRef:
    """Parse `NAME[:VERSION]`, which is `whole` from offset `start` on."""
    text = whole[start:]
    if "@" in text:
        raise _refuse(whole, start + text.index("@"), "has a second '@'", "%40 for a literal '@'")
    name, colon, version = text.partition(":")
    match = _SET_NAME.match(name)
    if match is None or match.end() != len(name):
        bad = start if match is None else start + match.end()
        raise _refuse(whole, bad, f"has {name!r} for a set name", _SET_NAME_RULE)
    if not colon:
        return SetRef(name=name)
    number = _parse_version(version, whole, start + len(name), escapable=False)
    return SetRef(name=name, version=number)


def _parse_version(text: str, whole: str, colon: int, *, escapable: bool) -> int:
    if _VERSION.match(text) and int(text) <= MAX_VERSION:
        return int(text)
    expected = "a version such as :1 or :12"
    if _VERSION.match(text) or re.fullmatch("[1-9][0-9]+", text):
        expected = f"a version up to {MAX_VERSION}"
    if escapable:
        expected += ", or %3A for a ':' that belongs to the name"
    raise _refuse(whole, colon + 1, f"has no version after ':' but {text!r}", expected)


def _unescape(written: str, whole: str, start: int) -> str:
    if "%" not in written:
        return written

    def literal(escape: re.Match[str]) -> str:
        character = _UNESCAPED.get(escape[1].lower())
        if character is None:
            raise _refuse(
                whole,
                start + escape.start(),
                f"has the unknown escape {escape[0]!r}",
                "%25 for a literal '%', %40 for '@' or %3A for ':'",
            )
        return character

    return _ESCAPE.sub(literal, written)


def _validate_version(version: int | None) -> None:
    if version is not None and not 1 <= version <= MAX_VERSION:
        raise InvalidReference(
            f"{version} is not a version; versions go from 1 to {MAX_VERSION}",
            reference=str(version),
        )


def _refuse(reference: str, position: int, problem: str, expected: str) -> InvalidReference:
    shown = reference if len(reference) <= 200 else f"{reference[:150]}…{reference[-40:]}"
    return InvalidReference(
        f"{shown!r} {problem} at column {position + 1}; expected {expected}",
        reference=reference.encode("utf-8", "backslashreplace").decode(),
        position=position,
        expected=expected,
    )
