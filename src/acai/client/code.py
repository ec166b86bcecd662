"""Local code, sent to the lake as a set: what changed of it, and nothing if nothing did."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from acai.client.ignoring import DEFAULTS, Ignored
from acai.model.errors import InvalidInput, NotFound
from acai.model.ids import Sha256
from acai.model.paths import validate_path
from acai.model.quantities import format_size
from acai.model.references import SET_NAME, DirectoryRef, FileRef, SetRef, escape_path
from acai.model.sets import ResolvedFile, SetVersion

if TYPE_CHECKING:
    from acai.client.sets import AnySet
    from acai.client.transfer.values import OnNote, OnProgress, Uploaded

MOST_FILES = 10_000
IGNORE_FILE = ".acaiignore"
_MUCH = 100 * 10**6
_LONGEST_NAME = 100
_SET = re.compile(rf"@?({SET_NAME})(:[0-9]+)?")


class Lake(Protocol):
    """What sending code needs of a client."""

    def get_set(self, which: AnySet) -> SetVersion: ...
    def set_files(self, which: AnySet) -> Iterator[ResolvedFile]: ...
    def create_file_set(self, name: str, specs: str | Sequence[str]) -> SetVersion: ...
    def upload(
        self,
        source: Mapping[str, str],
        *,
        list_up_to: int,
        on_progress: OnProgress | None,
        on_note: OnNote | None,
    ) -> Uploaded: ...


def find_code(lake: Lake, written: str) -> Path | str:
    """A local path, or the reference that is meant where nothing local has this name.

    Raises InvalidInput if it is neither.
    """
    local = Path(written).expanduser()
    if local.exists():
        return local
    named = _SET.fullmatch(written)
    if named is None and ("@" in written or written.startswith("/")):
        return written
    missing = f"there is no file or directory {written!r} here"
    if named is None:
        raise InvalidInput(f"{missing}; give code that exists, or a reference", code=written)
    try:
        return f"@{lake.get_set(written.removeprefix('@')).ref}"
    except NotFound as error:
        if written.startswith("@") or named[2]:
            raise
        raise InvalidInput(f"{missing}, and no set of that name", code=written) from error


def send_code(
    lake: Lake,
    local: Path,
    job_name: str | None,
    *,
    on_progress: OnProgress | None = None,
    on_note: OnNote | None = None,
) -> str:
    """The pinned reference of a set that holds this code, made unless its latest version does."""
    name = code_name(job_name, local)
    directory = f"/code/{name}/"
    files = {f"{directory}{below}": path for below, path in collect(local)}
    size = sum(path.stat().st_size for path in files.values())
    if on_note is not None and size > _MUCH:
        on_note(
            f"The code in {local} is {format_size(size)}; list what a job does not need in"
            f" {IGNORE_FILE}, and put data into a set."
        )
    hashes = _hashes(files)
    held = _latest(lake, f"{name}-code")
    if held is not None and {file.path: file.hash for file in held[1]} == hashes:
        return _reference(directory, held[0].ref)
    kept = [file for file in held[1] if hashes.get(file.path) == file.hash] if held else []
    unchanged = {file.path for file in kept}
    changed = {str(at): escape_path(path) for path, at in files.items() if path not in unchanged}
    specs = [FileRef(path=file.path, version=file.version) for file in kept]
    if changed:
        done = lake.upload(changed, list_up_to=MOST_FILES, on_progress=on_progress, on_note=on_note)
        specs += [FileRef(path=file.path, version=file.version) for file in done.files or ()]
    made = lake.create_file_set(f"{name}-code", [str(spec) for spec in specs])
    return _reference(directory, made.ref)


def _reference(directory: str, ref: SetRef) -> str:
    return str(DirectoryRef(directory=directory, set=ref))


def _latest(lake: Lake, name: str) -> tuple[SetVersion, list[ResolvedFile]] | None:
    try:
        latest = lake.get_set(name)
    except NotFound:
        return None
    return latest, list(lake.set_files(latest))


def _hashes(files: Mapping[str, Path]) -> dict[str, Sha256]:
    from acai.client.transfer.hashing import hash_file

    hashes = {}
    for path, local in files.items():
        try:
            hashes[path] = hash_file(str(local))
        except OSError as error:
            raise InvalidInput(f"{local} cannot be read: {error.strerror}") from error
    return hashes


def code_name(job_name: str | None, local: Path) -> str:
    """A name for the set and the directory of this code."""
    whole = local.resolve()
    base = job_name or (whole.name if whole.is_dir() else whole.stem)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", base).strip("-._")
    return name[:_LONGEST_NAME] or "code"


def collect(local: Path) -> list[tuple[str, Path]]:
    """The files of some code, with the path that each has below the working directory."""
    if local.is_file():
        return [(_usable(local.name, local), local)]
    if not local.is_dir():
        raise InvalidInput(f"{local} is neither a file nor a directory")
    patterns = [*DEFAULTS, *_own_patterns(local)]
    found: list[tuple[str, Path]] = []
    for below, path in _walk(local, Ignored(patterns)):
        found.append((_usable(below, path), path))
        if len(found) > MOST_FILES:
            raise InvalidInput(
                f"{local} holds more than {MOST_FILES:,} files; list what is no code in"
                f" {IGNORE_FILE}, and put data into a set"
            )
    if not found:
        raise InvalidInput(f"there is no code in {local}: it is empty, or all of it is ignored")
    return found


def _usable(below: str, path: Path) -> str:
    validate_path(f"/{below}")
    if not os.access(path, os.R_OK):
        raise InvalidInput(f"{path} cannot be read: permission denied")
    return below


def _own_patterns(local: Path) -> list[str]:
    try:
        return (local / IGNORE_FILE).read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InvalidInput(f"{local / IGNORE_FILE} cannot be read: {error.strerror}") from error


def _walk(root: Path, ignored: Ignored) -> Iterator[tuple[str, Path]]:
    """Files by path. Links are followed, but not back up to where they are."""
    pending: list[tuple[Path, str, frozenset[Path]]] = [(root, "", frozenset())]
    while pending:
        directory, below, above = pending.pop()
        real = directory.resolve()
        if real in above:
            continue
        try:
            entries = sorted(directory.iterdir())
        except OSError as error:
            raise InvalidInput(f"{directory} cannot be read: {error.strerror}") from error
        deeper = []
        for entry in entries:
            path = f"{below}{entry.name}"
            is_directory = entry.is_dir()
            if ignored.skips(path, is_directory=is_directory):
                continue
            if is_directory:
                deeper.append((entry, f"{path}/", above | {real}))
            elif entry.is_file():
                yield path, entry
        pending += reversed(deeper)
