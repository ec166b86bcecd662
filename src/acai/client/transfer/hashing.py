"""Reading local files once, with a proof that they stood still meanwhile."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from acai.client.transfer.scan import Found, reason_of
from acai.client.transfer.workers import Stopped
from acai.model.ids import Sha256

CHUNK = 1024 * 1024
_TRIES = 3
_FLAGS = os.O_RDONLY | os.O_CLOEXEC
KEEPS_CHANGING = "it keeps changing while it is read"


class FileChanged(Exception):
    """The file is no longer what was announced."""


class Read(NamedTuple):
    """A file with its checksum. `data` is its content, if it is small enough to be held."""

    found: Found
    size: int
    sha256: Sha256
    data: bytes | None
    parts: tuple[Sha256, ...] = ()  # checksums of the parts, if they were asked for


class Unreadable(NamedTuple):
    found: Found
    reason: str


def read_small(
    files: Sequence[Found], limit: int, stop: threading.Event
) -> list[Read | Unreadable]:
    """The contents of small files. One that has grown past `limit` is hashed, not held."""
    results: list[Read | Unreadable] = []
    for found in files:
        if stop.is_set():
            raise Stopped
        try:
            results.append(_read_whole(found, limit, stop))
        except OSError as error:
            results.append(Unreadable(found, reason_of(error)))
    return results


def _read_whole(found: Found, limit: int, stop: threading.Event) -> Read | Unreadable:
    for _ in range(_TRIES):
        descriptor = os.open(found.local, _FLAGS)
        try:
            before = os.fstat(descriptor)
            if before.st_size >= limit:
                return hash_large(found, None, stop)
            data = os.read(descriptor, before.st_size + 1)
            while 0 < len(data) < before.st_size and (more := os.read(descriptor, limit)):
                data += more  # some file systems give less than was asked for
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if len(data) == before.st_size == after.st_size and before.st_mtime_ns == after.st_mtime_ns:
            return Read(found, len(data), Sha256(hashlib.sha256(data).hexdigest()), data)
    return Unreadable(found, KEEPS_CHANGING)


def hash_large(found: Found, part_size: int | None, stop: threading.Event) -> Read | Unreadable:
    """The checksum of a large file, and those of its parts if a size for them is given."""
    try:
        for _ in range(_TRIES):
            descriptor = os.open(found.local, _FLAGS)
            try:
                before = os.fstat(descriptor)
                whole, parts, size = _hash(descriptor, part_size, stop)
                after = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            if size == before.st_size == after.st_size and before.st_mtime_ns == after.st_mtime_ns:
                return Read(found, size, whole, None, parts)
    except OSError as error:
        return Unreadable(found, reason_of(error))
    return Unreadable(found, KEEPS_CHANGING)


def _hash(
    descriptor: int, part_size: int | None, stop: threading.Event
) -> tuple[Sha256, tuple[Sha256, ...], int]:
    """One pass over a file; every part must be a multiple of a chunk, but for the last."""
    buffer = bytearray(CHUNK)
    view = memoryview(buffer)
    whole, part = hashlib.sha256(), hashlib.sha256()
    parts: list[Sha256] = []
    size = in_part = 0
    while length := os.readv(descriptor, [view]):
        if stop.is_set():
            raise Stopped
        whole.update(view[:length])
        size += length
        if part_size is None:
            continue
        start = 0
        while start < length:
            step = min(length - start, part_size - in_part)
            part.update(view[start : start + step])
            start += step
            in_part += step
            if in_part == part_size:
                parts.append(Sha256(part.hexdigest()))
                part, in_part = hashlib.sha256(), 0
    if in_part:
        parts.append(Sha256(part.hexdigest()))
    return Sha256(whole.hexdigest()), tuple(parts), size


def unreadable(found: Found) -> str | None:
    """Why a file cannot be read; None if it seems that it can."""
    try:
        descriptor = os.open(found.local, _FLAGS)
        try:
            os.read(descriptor, 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        return reason_of(error)
    return None


def hash_file(path: str, stop: threading.Event | None = None) -> Sha256:
    """The checksum of a file that nobody else writes. Raises OSError."""
    descriptor = os.open(path, _FLAGS)
    try:
        return _hash(descriptor, None, stop or threading.Event())[0]
    finally:
        os.close(descriptor)


def chunks_of(descriptor: int, start: int, length: int, stop: threading.Event) -> Iterator[bytes]:
    """Bytes of an open file as they are sent. Raises FileChanged if there are fewer."""
    end = start + length
    while start < end:
        if stop.is_set():
            raise Stopped
        chunk = os.pread(descriptor, min(CHUNK, end - start), start)
        if not chunk:
            raise FileChanged
        start += len(chunk)
        yield chunk
