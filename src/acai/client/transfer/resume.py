"""What makes two runs of a command the same upload, and keeps them from colliding."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

from acai.client.credentials import home_directory
from acai.client.transfer.sources import Source


def resume_key(sources: Sequence[Source]) -> str:
    """The same for the same local and lake paths on the same host.

    The server keeps the keys of each project and user apart.
    """
    pairs = sorted((source.local, source.remote) for source in sources)
    text = json.dumps([platform.node(), pairs])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@contextlib.contextmanager
def sole_use(key: str) -> Iterator[bool]:
    """Whether no other process of this home is at the same upload, while the block runs.

    Two that are would take each other's session for their own interrupted one.
    """
    try:
        directory = home_directory(os.environ) / "uploads"
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{key}.lock"
        descriptor = _lock(path)
    except OSError:
        yield True  # a home that cannot be written must not prevent an upload
        return
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(path: Path) -> int | None:
    """A lock on the file that has this name now; None if another process holds it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _same_file(descriptor, path):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last holder removed it just before we got the lock


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
