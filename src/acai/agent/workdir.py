"""The program's working directory: inputs at their lake paths, the code beside them.

Files are linked from the host's cache, read-only. What the cache lacks is downloaded into it
first, many files at a time, so that the next job on this host finds it there.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from acai.agent.cache import BlobCache
from acai.agent.control import Control
from acai.agent.talk import Talk
from acai.client.transfer.calls import TransferCalls
from acai.client.transfer.download import Downloading
from acai.client.transfer.hashing import hash_file
from acai.client.transfer.patience import Patience
from acai.client.transfer.progress import Meter
from acai.client.transfer.targets import Target, Wanted
from acai.model.assignments import Assignment
from acai.model.errors import InvalidInput, PathConflict
from acai.model.ids import Sha256
from acai.model.paths import validate_path
from acai.model.references import DirectoryRef, parse_set_reference

_EMPTY = Sha256(hashlib.sha256().hexdigest())
_FETCHED_TOGETHER = 20_000  # files
_WHOLE_LAKE = DirectoryRef(directory="/")


class Placed(NamedTuple):
    """A file that is to be in the working directory."""

    local: str  # absolute
    path: str  # as users know it
    size: int
    sha256: Sha256


@dataclass(frozen=True, kw_only=True)
class Filled:
    file_count: int
    size: int
    fetched: int  # bytes that were not on this host


def output_directory(work: Path, path: str) -> Path:
    """Where the output is to lie. Raises InvalidInput unless it is below the working directory."""
    relative = Path(path)
    if relative.is_absolute() or ".." in relative.parts or not relative.parts:
        raise InvalidInput(
            f"the output path {path!r} has to name a directory below the working directory"
        )
    return work / relative


class WorkingDirectory:
    """Fills a directory, of which nothing is left that was there before. Use it once."""

    def __init__(
        self, directory: Path, cache: BlobCache, talk: Talk, patience: float, control: Control
    ) -> None:
        self.directory = directory
        self._root = str(directory)
        self._cache = cache
        self._talk = talk
        self._patience = patience
        self._control = control
        self._made: set[str] = {self._root}
        self._missing: list[Placed] = []
        self._missing_of = ""  # the first reference with something missing
        self._file_count = self._size = self._fetched = 0

    def fill(self, assignment: Assignment) -> Filled:
        """Raises AcaiError for what cannot be had, Interrupted if the work is to end."""
        shutil.rmtree(self.directory, ignore_errors=True)  # of an agent that was started before
        self.directory.mkdir(parents=True, exist_ok=True)
        for spec in assignment.inputs:
            set_ = spec if spec.startswith(("@", "/")) else f"@{parse_set_reference(spec)}"
            self._place(set_, strip="/")
        if assignment.code is not None:
            self._place(assignment.code.spec, strip=assignment.code.strip)
        self._fetch_missing()
        if self._fetched:
            self._cache.trim(self._fetched)
        return Filled(file_count=self._file_count, size=self._size, fetched=self._fetched)

    def make_output(self, path: str) -> Path:
        """The output's directory, empty. Raises InvalidInput where an input lies there."""
        made = output_directory(self.directory, path)
        try:
            made.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"the output directory {path} is a file of the input; choose another output path"
            ) from error
        if any(made.iterdir()):
            raise InvalidInput(
                f"the input has files below {path}, which is the output directory;"
                " choose another output path"
            )
        return made

    def _place(self, spec: str, *, strip: str) -> None:
        for page in self._pages(spec):
            for wanted in page:
                placed = self._placed(wanted, strip)
                self._file_count += 1
                self._size += placed.size
                if not self._take(placed):
                    self._missing_of = self._missing_of or spec
                    self._missing.append(placed)
            if len(self._missing) >= _FETCHED_TOGETHER:
                self._fetch_missing()

    def _pages(self, spec: str) -> Iterator[Sequence[Wanted]]:
        cursor: str | None = None
        while True:
            with self._control.transfer() as stop:
                calls = TransferCalls(
                    self._talk.session, Patience(self._patience, note=None, stop=stop)
                )
                page, cursor = self._talk.persist(
                    lambda calls=calls, at=cursor: calls.resolve(spec, at),  # type: ignore[misc]
                    self._control.interrupt,
                )
            yield page
            if cursor is None:
                return

    def _placed(self, wanted: Wanted, strip: str) -> Placed:
        path = validate_path(wanted.path)
        if not path.startswith(strip):
            raise InvalidInput(f"{path} does not lie under {strip}, where the code is to be")
        local = f"{self._root}/{path[len(strip) :]}"
        directory = local[: local.rindex("/")]
        if directory not in self._made:
            try:
                Path(directory).mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError):
                raise PathConflict(
                    f"{path} needs a directory where there is a file of the same name;"
                    " inputs and code share the working directory",
                    path=path,
                ) from None
            self._made.add(directory)
        return Placed(local, path, wanted.size, wanted.sha256)

    def _take(self, placed: Placed) -> bool:
        try:
            if placed.sha256 == _EMPTY:
                Path(placed.local).touch(0o444, exist_ok=False)
                return True
            return self._cache.take(placed.sha256, placed.size, placed.local)
        except FileExistsError:
            self._check_same(placed)
            return True

    def _check_same(self, placed: Placed) -> None:
        """Two inputs may have a file in common, if they agree on it."""
        if self._cache.holds(placed.sha256, placed.local):
            return
        there = Path(placed.local)
        if there.is_file() and hash_file(placed.local) == placed.sha256:
            return
        raise PathConflict(
            f"{placed.path} is in more than one of the inputs and the code, with other content",
            path=placed.path,
        )

    def _fetch_missing(self) -> None:
        missing, self._missing = self._missing, []
        if not missing:
            return
        interrupt = self._control.interrupt
        reference, self._missing_of = self._missing_of, ""
        with self._cache.alone(reference, interrupt):
            # Another agent may have brought them while this one waited for its turn.
            left = [placed for placed in missing if not self._take(placed)]
            if left:
                self._talk.persist(lambda: self._fetch(left), interrupt)

    def _fetch(self, missing: Sequence[Placed]) -> None:
        users: dict[Sha256, list[Placed]] = {}
        for placed in missing:
            users.setdefault(placed.sha256, []).append(placed)
        wanted = [Wanted(f"/{sha256}", some[0].size, sha256) for sha256, some in users.items()]
        with self._cache.staging() as staging:
            with self._control.transfer() as stop:
                patience = Patience(self._patience, note=None, stop=stop)
                calls = TransferCalls(self._talk.session, patience)
                Downloading(
                    calls,
                    calls.limits(),
                    iter([wanted]),
                    Target(_WHOLE_LAKE, staging),
                    force=False,
                    meter=Meter(None),
                ).run()
            for sha256, some in users.items():
                self._adopt(f"{staging}/{sha256}", sha256, some)

    def _adopt(self, staged: str, sha256: Sha256, users: Sequence[Placed]) -> None:
        self._cache.seal(staged)
        for placed in users:
            try:
                self._cache.place_staged(staged, placed.size, placed.local)
            except FileExistsError:
                self._check_same(placed)
        self._cache.add(sha256, staged)
        self._fetched += users[0].size
