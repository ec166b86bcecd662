"""Where downloaded files go: lake paths mirrored below a directory, and never outside it."""

from __future__ import annotations

import os
import stat
import threading
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from acai.client.transfer.hashing import hash_file
from acai.model.errors import Conflict, InvalidInput
from acai.model.ids import Sha256
from acai.model.references import DirectoryRef, FileRef


class Wanted(NamedTuple):
    """A file version that is to be here."""

    path: str
    size: int
    sha256: Sha256


class Here(Enum):
    """What is at a target now."""

    NOTHING = "nothing"
    SAME = "same"
    OTHER = "other"


class Target:
    """A directory below which paths are mirrored, or the name of one file. Thread-safe."""

    def __init__(self, ref: FileRef | DirectoryRef, local: str) -> None:
        path = Path(local).expanduser()
        as_directory = local.endswith("/") or isinstance(ref, DirectoryRef) or path.is_dir()
        absolute = path.absolute()
        self.shown = local
        self.root = str(absolute if as_directory else absolute.parent).rstrip("/")
        self._name = None if as_directory else absolute.name
        self._safe: set[str] = set()
        self._lock = threading.Lock()
        if as_directory and absolute.exists() and not absolute.is_dir():
            raise InvalidInput(f"{local} is a file; name a directory to download into")

    def fresh(self) -> bool:
        """Whether nothing can be in the way, because there is nothing yet."""
        if self._name is not None:
            return False
        try:
            with os.scandir(self.root) as entries:
                return next(entries, None) is None
        except FileNotFoundError:
            return True

    def local(self, wanted: Wanted) -> str:
        return f"{self.root}/{self._name}" if self._name else self.root + wanted.path

    def look(self, wanted: Wanted, stop: threading.Event) -> Here:
        """What is there now. Raises Conflict for what no download may replace."""
        local = self.local(wanted)
        self._check_directories(local[: local.rindex("/")], make=False)
        try:
            there = os.lstat(local)
        except FileNotFoundError:
            return Here.NOTHING
        if stat.S_ISDIR(there.st_mode):
            raise Conflict(f"{local} is a directory here, but a file in the lake; move it away")
        if not stat.S_ISREG(there.st_mode) or there.st_size != wanted.size:
            return Here.OTHER
        try:
            return Here.SAME if hash_file(local, stop) == wanted.sha256 else Here.OTHER
        except PermissionError:
            return Here.OTHER

    def prepare(self, wanted: Wanted) -> str:
        """The target's path, once the directory for it exists and is truly below the root."""
        local = self.local(wanted)
        self._check_directories(local[: local.rindex("/")], make=True)
        return local

    def _check_directories(self, directory: str, *, make: bool) -> None:
        """Follow no link below the root: it could lead anywhere."""
        with self._lock:
            if directory in self._safe:
                return
            if make:
                Path(self.root).mkdir(parents=True, exist_ok=True)
            path = self.root
            for name in directory[len(self.root) + 1 :].split("/"):
                if not name:
                    continue
                path = f"{path}/{name}"
                if path in self._safe:
                    continue
                if not self._is_directory(path, make=make):
                    return
                self._safe.add(path)

    @staticmethod
    def _is_directory(path: str, *, make: bool) -> bool:
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            if make:
                Path(path).mkdir(exist_ok=True)
            return make
        if stat.S_ISLNK(mode):
            raise Conflict(f"{path} is a link, and downloads follow none; remove it first")
        if not stat.S_ISDIR(mode):
            raise Conflict(f"{path} is a file here, but a directory in the lake; move it away")
        return True
