"""Walking through what is to be uploaded, with memory that does not grow with it.

Links to files are taken as the files; links to directories are followed, unless they lead
back up to where they are. What is neither file nor directory is left out and told.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from acai.client.transfer.sources import Source
from acai.model.errors import InvalidPath
from acai.model.paths import validate_path

_BLOCK = 10_000  # entries that are sorted together, so that neighbours travel together
_PARTIAL = re.compile(r"\.acai-[0-9a-z]+\.part\Z")  # what an interrupted download leaves
_KINDS = (
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class Found(NamedTuple):
    local: str
    remote: str
    size: int


Tell = Callable[[str, str], None]
_Chain = tuple[tuple[int, int], ...]  # device and number of every directory above


class Scan:
    """`skip(path, reason)` hears what has no content to upload; `fail(path, reason)` what
    should have been uploaded and cannot be."""

    def __init__(self, sources: Sequence[Source], *, skip: Tell, fail: Tell) -> None:
        self._sources = sources
        self._skip = skip
        self._fail = fail
        self.empty_directories = 0

    def files(self) -> Iterator[Found]:
        seen: set[str] | None = set() if len(self._sources) > 1 else None
        for source in self._sources:
            found = self._below(source.local, source.remote) if source.is_directory else None
            for file in found if found is not None else self._single(source):
                if seen is not None:
                    if file.remote in seen:
                        self._fail(file.local, f"another file also becomes {file.remote}")
                        continue
                    seen.add(file.remote)
                yield file

    def _single(self, source: Source) -> Iterator[Found]:
        try:
            size = os.stat(source.local).st_size  # noqa: PTH116  strings all the way, for speed
        except OSError as error:
            self._fail(source.local, reason_of(error))
        else:
            yield Found(source.local, validate_path(source.remote), size)

    def _below(self, root: str, remote: str) -> Iterator[Found]:
        pending: list[tuple[str, str, _Chain]] = [(root, remote, ())]
        while pending:
            directory, below, above = pending.pop()
            deeper: list[str] = []
            try:
                here = os.stat(directory)  # noqa: PTH116
                if (here.st_dev, here.st_ino) in above:
                    self._skip(directory, "it is a link to a directory that it lies in")
                    continue
                yield from self._directory(directory, below, deeper)
            except OSError as error:
                self._fail(directory, reason_of(error))
                continue
            chain = (*above, (here.st_dev, here.st_ino))
            base = directory.rstrip("/")
            pending += [(f"{base}/{name}", f"{below}{name}/", chain) for name in reversed(deeper)]

    def _directory(self, directory: str, remote: str, deeper: list[str]) -> Iterator[Found]:
        empty = True
        with os.scandir(directory) as entries:
            while block := list(islice(entries, _BLOCK)):
                empty = False
                block.sort(key=_name)
                for entry in block:
                    found = self._entry(entry, remote, deeper)
                    if found is not None:
                        yield found
        self.empty_directories += empty

    def _entry(self, entry: os.DirEntry[str], remote: str, deeper: list[str]) -> Found | None:
        try:
            if entry.is_file():
                if _PARTIAL.match(entry.name):
                    self._skip(entry.path, "it is part of an unfinished download")
                    return None
                path = validate_path(f"{remote}{entry.name}")
                return Found(entry.path, path, entry.stat().st_size)
            if entry.is_dir():
                validate_path(f"{remote}{entry.name}")
                deeper.append(entry.name)
            else:
                self._skip(entry.path, _kind(entry))
        except InvalidPath as error:
            self._fail(entry.path, f"its name cannot be used in the lake: {error.message}")
        except OSError as error:
            self._fail(entry.path, reason_of(error))
        return None


def count(sources: Sequence[Source], stop: Callable[[], bool]) -> tuple[int, int] | None:
    """How many files and bytes a scan would find; None when it was told to stop."""

    def ignore(_path: str, _reason: str) -> None:
        pass

    files = size = 0
    for file in Scan(sources, skip=ignore, fail=ignore).files():
        files += 1
        size += file.size
        if stop():
            return None
    return files, size


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        mode = entry.stat().st_mode
    except FileNotFoundError:
        return "it is a link that leads nowhere"
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "it is a link that leads to itself"
        return reason_of(error)
    return next((f"it is {name}" for test, name in _KINDS if test(mode)), "it is no file")


def reason_of(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "it cannot be read: permission denied"
    if isinstance(error, FileNotFoundError):
        return "it vanished meanwhile"
    return f"it cannot be read: {error.strerror}"
