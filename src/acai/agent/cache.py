"""Contents of files, kept on this host for the next job: one read-only file for each.

Agents share the directory without speaking to each other. A blob appears under its checksum by
a rename, complete and verified. To use it is to link it, which either works or does not, so
nothing has to be held while another agent evicts.

A program that may write to read-only files (root may) could change a blob through its link.
Therefore every blob carries the same time of modification: one with another is not used again.
The time of access is set with each use, and says what was used longest ago.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from acai.agent.talk import Interrupted
from acai.atomic import copy_atomically
from acai.model.ids import Sha256, random_word

_SEALED = 946_684_800_000_000_000  # nanoseconds: the beginning of 2000
_TRIM_TO = 0.8  # of the limit, so that not every job has to look for what to evict
_NO_LINK = frozenset({errno.EXDEV, errno.EMLINK, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP})
_RECOUNT_AFTER = 24 * 3600.0
_WAIT_STEP = 0.02


class BlobCache:
    """Raises OSError when its directory cannot be used."""

    def __init__(self, directory: Path, limit: int) -> None:
        self._root = str(directory)
        self._blobs = f"{directory}/blobs"
        self._limit = limit

    def take(self, sha256: Sha256, size: int, target: str) -> bool:
        """Make the blob appear at `target`, read-only; False if it is not here.

        Raises FileExistsError.
        """
        return self._place(self._path(sha256), size, target)

    def _place(self, blob: str, size: int, target: str) -> bool:
        try:
            os.link(blob, target)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            return self._copy(blob, size, target)
        if self._intact(target, size):
            os.utime(target, ns=(time.time_ns(), _SEALED))
            return True
        self._drop(target)
        self._drop(blob)
        return False

    def _copy(self, blob: str, size: int, target: str) -> bool:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        try:
            if not self._intact(blob, size):
                self._drop(blob)
                return False
            os.utime(blob, ns=(time.time_ns(), _SEALED))
            copy_atomically(Path(blob), Path(target), mode=0o444, durable=False)
        except FileNotFoundError:
            return False
        return True

    def holds(self, sha256: Sha256, file: str) -> bool:
        """Whether `file` is a link to this very blob."""
        try:
            return Path(self._path(sha256)).samefile(file)
        except OSError:
            return False

    def seal(self, staged: str) -> None:
        """Make a complete and verified file of a staging directory one that can be placed."""
        Path(staged).chmod(0o444)
        os.utime(staged, ns=(time.time_ns(), _SEALED))

    def place_staged(self, staged: str, size: int, target: str) -> None:
        """Like `take`, out of the staging directory: nobody can evict it from there."""
        self._place(staged, size, target)

    def add(self, sha256: Sha256, staged: str) -> None:
        """Take a sealed file over into the cache."""
        blob = Path(self._path(sha256))
        try:
            Path(staged).replace(blob)
        except FileNotFoundError:
            blob.parent.mkdir(parents=True, exist_ok=True)
            Path(staged).replace(blob)

    @contextlib.contextmanager
    def staging(self) -> Iterator[str]:
        """A directory to download into; it is removed afterwards, with what was not added."""
        directory = f"{self._root}/staging/{random_word(12)}"
        Path(directory).mkdir(parents=True)
        descriptor = os.open(f"{directory}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield directory
        finally:
            _remove_staging(directory)
            os.close(descriptor)

    @contextlib.contextmanager
    def alone(self, reference: str, interrupt: threading.Event) -> Iterator[None]:
        """Keep other agents from fetching the same thing at the same time."""
        Path(self._root, "locks").mkdir(parents=True, exist_ok=True)
        # A fixed number of files: a lock cannot be removed safely, and need not be exact.
        bucket = hashlib.sha256(reference.encode()).hexdigest()[:2]
        with locked(f"{self._root}/locks/{bucket}", interrupt):
            yield

    def trim(self, added: int) -> None:
        """Account for what was added, and evict what was used longest ago if it is too much."""
        Path(self._blobs).mkdir(parents=True, exist_ok=True)
        with locked(f"{self._root}/size.lock", threading.Event()) as descriptor:
            text = os.pread(descriptor, 100, 0).decode().split()
            used, counted = (int(text[0]), float(text[1])) if len(text) == 2 else (0, 0.0)
            used += added
            now = time.time()
            if used > self._limit or now - counted > _RECOUNT_AFTER:
                self._sweep_staging()
                used, counted = self._evict(), now
            data = f"{used} {counted}\n".encode()
            os.ftruncate(descriptor, os.pwrite(descriptor, data, 0))

    def _evict(self) -> int:
        """Bring the cache within its limit; returns its size then."""
        found: list[tuple[int, int, str]] = []
        total = 0
        for directory in _scan(self._blobs):
            for entry in _scan(directory.path):
                with contextlib.suppress(FileNotFoundError):
                    there = entry.stat(follow_symlinks=False)
                    total += there.st_size
                    if there.st_nlink == 1:  # one that a job uses would free nothing
                        found.append((there.st_atime_ns, there.st_size, entry.path))
        if total <= self._limit:
            return total
        for _, size, path in sorted(found):
            if total <= self._limit * _TRIM_TO:
                break
            self._drop(path)
            total -= size
        return total

    def _sweep_staging(self) -> None:
        """Remove what agents left that died while they downloaded."""
        for entry in _scan(f"{self._root}/staging"):
            if not entry.name.endswith(".lock"):
                continue
            with contextlib.suppress(OSError):
                descriptor = os.open(entry.path, os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove_staging(entry.path.removesuffix(".lock"))
                finally:
                    os.close(descriptor)

    def _path(self, sha256: Sha256) -> str:
        return f"{self._blobs}/{sha256[:2]}/{sha256}"

    @staticmethod
    def _intact(path: str, size: int) -> bool:
        there = os.stat(path)  # noqa: PTH116  once for every file
        return there.st_size == size and there.st_mtime_ns == _SEALED

    @staticmethod
    def _drop(path: str) -> None:
        Path(path).unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path: str, interrupt: threading.Event, *, shared: bool = False) -> Iterator[int]:
    """Hold a lock on a file until the block ends, however the process ends.

    Raises Interrupted if that comes first. Yields the file's descriptor.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        while True:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if interrupt.wait(_WAIT_STEP):
                    raise Interrupted from None
        yield descriptor
    finally:
        os.close(descriptor)


def _scan(directory: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except FileNotFoundError:
        return


def _remove_staging(directory: str) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    Path(f"{directory}.lock").unlink(missing_ok=True)
