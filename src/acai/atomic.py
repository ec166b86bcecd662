"""Writing a file so that others see all of it or nothing.

The bytes go to a temporary name in the same file system, are flushed to the disk, and are
renamed into place; then the directory is flushed, so that the name survives a power cut.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from acai.model.ids import random_word

_FICLONE = 0x40049409  # Linux: share the extents of another file, copied on write
_COPY_STEP = 8 * 1024 * 1024
_NOT_HERE = {
    errno.EOPNOTSUPP,
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOSYS,
    errno.ENOTTY,
    errno.EPERM,
    errno.ETXTBSY,
}


class AtomicFile:
    """A file in the making. Leaving the `with` block without `commit` leaves nothing behind.

    `scratch` is a directory in the file system of `target`; both directories are made when
    missing. `mode` is what the file gets, less the process's umask. Errors are OSError's.
    Used by one thread at a time.
    """

    def __init__(
        self, target: Path, *, scratch: Path, mode: int = 0o444, durable: bool = True
    ) -> None:
        self.target = target
        self._durable = durable
        self._mode = mode
        scratch.mkdir(parents=True, exist_ok=True)
        self._temporary = scratch / f"{random_word(16)}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.fdopen(os.open(self._temporary, flags, mode | 0o200), "wb")

    def write(self, chunk: bytes | memoryview) -> None:
        self._file.write(chunk)

    def fileno(self) -> int:
        """The descriptor, for copies inside the kernel; do not mix with `write`."""
        return self._file.fileno()

    def commit(self) -> None:
        """Give the file its name, replacing what had it. Raises OSError; then nothing changed."""
        self._file.flush()
        os.fchmod(self._file.fileno(), os.fstat(self._file.fileno()).st_mode & self._mode)
        if self._durable:
            os.fsync(self._file.fileno())
        self._file.close()
        make_directory(self.target.parent, durable=self._durable)
        self._temporary.replace(self.target)
        if self._durable:
            sync_directory(self.target.parent)

    def discard(self) -> None:
        # Closing flushes what is buffered, which fails again when the disk is full.
        with contextlib.suppress(OSError):
            self._file.close()
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.discard()


def write_atomically(
    target: Path,
    chunks: Iterable[bytes | memoryview],
    *,
    scratch: Path | None = None,
    mode: int = 0o444,
    durable: bool = True,
) -> int:
    """Write `chunks` to `target` and return their length; see AtomicFile."""
    size = 0
    with AtomicFile(target, scratch=scratch or target.parent, mode=mode, durable=durable) as file:
        for chunk in chunks:
            file.write(chunk)
            size += len(chunk)
        file.commit()
    return size


def copy_atomically(
    source: Path,
    target: Path,
    *,
    scratch: Path | None = None,
    mode: int = 0o444,
    durable: bool = True,
) -> int:
    """Copy `source` to `target` the cheapest safe way there is, and return the length.

    A shared extent (reflink) where the file system has it, else a copy inside the kernel,
    else a plain one. Never a hard link: a later write through one name would change both.
    """
    with (
        source.open("rb", buffering=0) as origin,
        AtomicFile(target, scratch=scratch or target.parent, mode=mode, durable=durable) as file,
    ):
        _copy(origin.fileno(), file.fileno())
        size = os.fstat(file.fileno()).st_size
        file.commit()
    return size


def make_directory(directory: Path, *, durable: bool = True) -> None:
    """Make `directory` and its parents; flush the names of those that were missing."""
    missing = []
    while not directory.is_dir():
        missing.append(directory)
        directory = directory.parent
    for made in reversed(missing):
        made.mkdir(exist_ok=True)
        if durable:
            sync_directory(made.parent)


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy(source: int, target: int) -> None:
    try:
        fcntl.ioctl(target, _FICLONE, source)
        return
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
    try:
        while os.copy_file_range(source, target, _COPY_STEP * 16):
            pass
        return
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
    while chunk := os.read(source, _COPY_STEP):
        view = memoryview(chunk)
        while view:
            view = view[os.write(target, view) :]
