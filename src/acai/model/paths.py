"""Paths in the lake: absolute, `/`-separated, kept exactly as they were given.

A *file path* names a file: `/data/train.json`. A *directory* is a prefix that ends in `/`:
`/data/`, or `/` for everything. A path is never rewritten: what is not in normal form is
refused, so that one name has one spelling and no reader has to normalise again.
"""

from __future__ import annotations

import re

from acai.model.errors import InvalidPath

MAX_PATH_BYTES = 4096
MAX_COMPONENT_BYTES = 255

# The line and paragraph separators U+2028 and U+2029 are not control characters by name,
# but they end a line wherever a listing is read line by line.
_FORBIDDEN = "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_FORBIDDEN_CHARACTER = re.compile(f"[{_FORBIDDEN}]")
_DOTS = r"(?!\.\.?(?:/|\Z))"
# One match decides for nearly every path: where characters are bytes, and where the text is
# so short that it stays within the limits even at four bytes a character.
_ASCII_FILE = re.compile(rf"(?:/{_DOTS}[ -.0-~]{{1,{MAX_COMPONENT_BYTES}}}+)++\Z")
_SHORT_FILE = re.compile(rf"(?:/{_DOTS}[^/{_FORBIDDEN}]{{1,{MAX_COMPONENT_BYTES // 4}}}+)++\Z")


def validate_path(path: str) -> str:
    """`path` itself when it names a file, else InvalidPath with the reason and the remedy."""
    if len(path) <= MAX_PATH_BYTES and _ASCII_FILE.match(path):
        return path
    if len(path) <= MAX_PATH_BYTES // 4 and _SHORT_FILE.match(path):
        return path
    if path.endswith("/"):
        raise InvalidPath(
            f"{_shown(path)} names a directory; a file's path does not end in '/'",
            path=_escaped(path),
        )
    _check(path, path)
    return path


def validate_directory(directory: str) -> str:
    """`directory` itself when it is `/` or a path with a `/` at its end, else InvalidPath."""
    if directory == "/":
        return directory
    if not directory.endswith("/"):
        raise InvalidPath(
            f"{_shown(directory)} does not name a directory; end it with '/'",
            path=_escaped(directory),
        )
    if len(directory.encode(errors="replace")) > MAX_PATH_BYTES:
        raise _too_long(directory)
    _check(directory[:-1], directory)
    return directory


def name(path: str) -> str:
    """The last component of a valid file path."""
    return path[path.rindex("/") + 1 :]


def parent(path: str) -> str:
    """The directory that holds a valid file path or directory; `/` is its own parent."""
    return path[: path.rindex("/", 0, -1) + 1] if path != "/" else path


def ancestors(path: str) -> list[str]:
    """Every directory above a valid path, from `/` down: `/a/b/c` gives `/`, `/a/`, `/a/b/`."""
    return [path[: at + 1] for at in range(len(path) - 1) if path[at] == "/"]


def join(directory: str, relative: str) -> str:
    """The file path of `relative` below a valid directory; validates the result."""
    return validate_path(directory + relative)


def is_under(path: str, directory: str) -> bool:
    """Whether a valid path lies below a valid directory, at any depth."""
    return path.startswith(directory) and path != directory


def relative_to(path: str, directory: str) -> str:
    """What is left of a path below a directory, without a leading `/`."""
    if not is_under(path, directory):
        raise InvalidPath(f"{_shown(path)} does not lie under {_shown(directory)}", path=path)
    return path[len(directory) :]


def prefix_range(directory: str) -> tuple[str, str]:
    """Bounds (low, high) with low <= p < high for exactly the strings p under a directory.

    They hold for the order by code point, which is also the order of UTF-8 bytes.
    """
    return directory, directory[:-1] + chr(ord("/") + 1)


def _check(path: str, given: str) -> None:
    bad = _FORBIDDEN_CHARACTER.search(path)
    if bad:
        raise _bad_character(given, bad)
    if not path.startswith("/"):
        remedy = f"; write {_shown('/' + path)}" if path and not path.startswith(".") else ""
        raise InvalidPath(
            f"{_shown(given)} is not absolute: a path starts with '/'{remedy}", path=given
        )
    if len(path.encode()) > MAX_PATH_BYTES:
        raise _too_long(given)
    for component in path[1:].split("/"):
        if not component:
            raise InvalidPath(
                f"{_shown(given)} has an empty component; write one '/' between names",
                path=given,
                component=component,
            )
        if component in {".", ".."}:
            raise InvalidPath(
                f"{_shown(given)} has the component {component!r}; write the path without it",
                path=given,
                component=component,
            )
        if len(component.encode()) > MAX_COMPONENT_BYTES:
            raise InvalidPath(
                f"{_shown(given)} has the component {_shown(component)} of "
                f"{len(component.encode())} bytes; shorten it to {MAX_COMPONENT_BYTES}",
                path=given,
                component=component,
            )


def _bad_character(path: str, bad: re.Match[str]) -> InvalidPath:
    # Escaped, because neither a terminal nor JSON should carry such a character onward.
    path_shown = _escaped(path)
    component = _escaped(path[path.rfind("/", 0, bad.start()) + 1 :].split("/", 1)[0])
    if "\ud800" <= bad[0] <= "\udfff":
        reason = "that is not valid UTF-8; rename it (is it in another encoding?)"
    else:
        reason = f"with the control character U+{ord(bad[0]):04X}; rename it"
    return InvalidPath(
        f"'{_cut(path_shown)}' has the component '{_cut(component)}' {reason}",
        path=path_shown,
        component=component,
    )


def _too_long(path: str) -> InvalidPath:
    size = len(path.encode(errors="replace"))
    return InvalidPath(
        f"{_shown(path)} has {size} bytes; shorten it to {MAX_PATH_BYTES}", path=_escaped(path)
    )


def _escaped(text: str) -> str:
    return _FORBIDDEN_CHARACTER.sub(lambda bad: ascii(bad[0])[1:-1], text)


def _cut(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:80]}…{text[-30:]}"


def _shown(path: str) -> str:
    """A path for a one-line message: quoted, escaped, cut in the middle when very long."""
    return f"'{_cut(_escaped(path))}'"
