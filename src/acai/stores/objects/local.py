"""Objects as files below a directory, and the URLs that the platform signs for them.

An object with key `a/b/c` is the file `a/b/c` below the root, so that a prefix is a
directory and an operator can look. Everything else lies under `.acai/`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from acai.atomic import AtomicFile, write_atomically
from acai.model.errors import ChecksumMismatch, Conflict, ObjectNotFound, StorageFull, Unavailable
from acai.model.ids import Sha256
from acai.model.keys import check_key, check_prefix
from acai.samehost import PRIVATE, LocalGrant
from acai.stores.objects.base import MIB, ObjectInfo, SignedRequest
from acai.stores.objects.permits import Permit, sign, verify

_CHUNK = MIB
_FULL = {errno.ENOSPC, errno.EDQUOT}


class Incoming(Protocol):
    """Bytes on their way in under a permit. Leaving the `with` block uncommitted drops them."""

    def write(self, chunk: bytes) -> None:
        """Take the next bytes. Raises ChecksumMismatch as soon as there are too many."""
        ...

    def commit(self) -> str:
        """Keep them if they are the permitted ones, else raise ChecksumMismatch.

        Returns the entity tag to answer with.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class LocalStore:
    """ObjectStore and Signer over a directory.

    `sign_secret` must outlive the URLs it signs, and all processes of one server share it.
    `public_base_url` is how clients reach the API; empty makes URLs relative to it.
    `durable=False` leaves out the flush to disk and so survives a crash of the process but
    not of the machine.
    """

    def __init__(
        self, root: Path, *, sign_secret: bytes, public_base_url: str = "", durable: bool = True
    ) -> None:
        self.root = root.absolute()
        self._secret = sign_secret
        self._base_url = public_base_url
        self._durable = durable
        self._private = self.root / PRIVATE
        self._scratch = self._private / "tmp"
        with storage_errors(str(self.root)):
            self._scratch.mkdir(parents=True, exist_ok=True)
        self._word = self._make_probe()

    def __repr__(self) -> str:
        return f"LocalStore({str(self.root)!r})"

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        chunks = (data,) if isinstance(data, bytes | bytearray | memoryview) else data
        # Only our own steps are translated: an OSError of the source is the caller's.
        with self._new_file(key) as file:
            for chunk in chunks:
                with storage_errors(key):
                    file.write(chunk)
            with storage_errors(key):
                file.commit()

    def get(self, key: str, *, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        chunks = self._read(self._path(key), key, offset, length)
        next(chunks)  # opens the file, so that a missing object is noticed here
        return chunks

    def head(self, key: str) -> ObjectInfo | None:
        with storage_errors(key):
            try:
                return _info(key, self._path(key).stat())
            except (FileNotFoundError, NotADirectoryError):
                return None

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            with storage_errors(key), contextlib.suppress(FileNotFoundError, NotADirectoryError):
                self._path(key).unlink()

    def list(self, prefix: str = "", *, start_after: str | None = None) -> Iterator[ObjectInfo]:
        with storage_errors(prefix):
            yield from _walk(self.root / check_prefix(prefix), prefix, start_after or "")

    def check(self) -> None:
        with storage_errors("check"):
            write_atomically(self._scratch / "check", (b"acai",), durable=False)

    def path(self, key: str) -> Path:
        """The file that holds an object, for a server that can send files by itself."""
        path = self._path(key)
        if not path.is_file():
            raise _missing(key)
        return path

    def grant(self) -> LocalGrant:
        """What a client needs to prove that it sees this directory, and to write there."""
        return LocalGrant(root=str(self.root), word=self._word)

    def sweep_temporary(self, older_than: timedelta) -> int:
        """Remove what writers that died have left; returns how many files."""
        limit = time.time() - older_than.total_seconds()
        swept = 0
        with storage_errors("sweep"):
            for entry in os.scandir(self._scratch):
                with contextlib.suppress(FileNotFoundError):
                    if entry.stat().st_mtime < limit:
                        Path(entry.path).unlink()
                        swept += 1
        return swept

    def sign_put(self, key: str, *, size: int, sha256: Sha256, expires: timedelta) -> SignedRequest:
        return self._sign("PUT", key, expires, size=size, sha256=sha256)

    def sign_get(self, key: str, *, expires: timedelta) -> SignedRequest:
        return self._sign("GET", key, expires)

    def verify(
        self, *, method: str, key: str, query: Mapping[str, str], content_length: int | None
    ) -> Permit:
        """What a request to our own object URL may do; raises Forbidden if nothing."""
        return verify(
            method=method,
            key=key,
            query=query,
            content_length=content_length,
            secret=self._secret,
            now=time.time(),
        )

    def incoming(self, permit: Permit) -> Incoming:
        """Begin to take the bytes of a verified PUT."""
        return _IncomingObject(permit.key, self._new_file(permit.key), Tally(permit))

    def receive(self, permit: Permit, chunks: Iterable[bytes]) -> str:
        """Take all bytes of a verified PUT; see Incoming for what it raises and returns."""
        with self.incoming(permit) as incoming:
            for chunk in chunks:
                incoming.write(chunk)
            return incoming.commit()

    def _sign(
        self,
        method: str,
        key: str,
        expires: timedelta,
        *,
        size: int | None = None,
        sha256: Sha256 | None = None,
        upload: str | None = None,
        part: int | None = None,
    ) -> SignedRequest:
        until = int(time.time() + expires.total_seconds())
        permit = Permit(
            method=method,
            key=check_key(key),
            expires=until,
            size=size,
            sha256=sha256,
            upload=upload,
            part=part,
        )
        return SignedRequest(
            method=method,
            url=sign(permit, secret=self._secret, base_url=self._base_url),
            headers={} if size is None else {"content-length": str(size)},
            expires_at=datetime.fromtimestamp(until, UTC),
        )

    def _path(self, key: str) -> Path:
        return self.root / check_key(key)

    def _new_file(self, key: str) -> AtomicFile:
        with storage_errors(key):
            return AtomicFile(self._path(key), scratch=self._scratch, durable=self._durable)

    def _read(
        self, path: Path, key: str, offset: int, length: int | None
    ) -> Generator[bytes, None, None]:
        with storage_errors(key):
            try:
                file = path.open("rb", buffering=0)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                raise _missing(key) from None
            with file:
                yield b""
                file.seek(offset)
                left = length if length is not None else os.fstat(file.fileno()).st_size
                while left > 0 and (chunk := file.read(min(left, _CHUNK))):
                    left -= len(chunk)
                    yield chunk

    def _make_probe(self) -> str:
        probe = LocalGrant(root=str(self.root), word="").probe
        with storage_errors("probe"):
            # Linked into place, so that of several processes the first one wins.
            mine = self._scratch / f"probe-{secrets.token_hex(8)}"
            write_atomically(
                mine, (secrets.token_hex(24).encode(),), mode=0o440, durable=self._durable
            )
            with contextlib.suppress(FileExistsError):
                probe.hardlink_to(mine)
            mine.unlink()
            return probe.read_text()


class Tally:
    """Counts and hashes what comes in, and knows what should."""

    def __init__(self, permit: Permit) -> None:
        self._permit = permit
        self._hash = hashlib.sha256()
        self._size = 0

    def add(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._permit.size is not None and self._size > self._permit.size:
            raise self._mismatch(f"more than the {self._permit.size} bytes announced")
        self._hash.update(chunk)

    def finish(self) -> Sha256:
        """The checksum of it all. Raises ChecksumMismatch if it is not the permitted one."""
        found = Sha256(self._hash.hexdigest())
        if self._permit.size is not None and self._size != self._permit.size:
            raise self._mismatch(f"{self._size} bytes instead of {self._permit.size}")
        if self._permit.sha256 is not None and found != self._permit.sha256:
            raise self._mismatch(f"SHA-256 {found} instead of {self._permit.sha256}")
        return found

    def _mismatch(self, what: str) -> ChecksumMismatch:
        return ChecksumMismatch(
            f"object {self._permit.key} arrived with {what}; send it again", key=self._permit.key
        )


class _IncomingObject:
    def __init__(self, key: str, file: AtomicFile, tally: Tally) -> None:
        self._key = key
        self._file = file
        self._tally = tally

    def write(self, chunk: bytes) -> None:
        self._tally.add(chunk)
        with storage_errors(self._key):
            self._file.write(chunk)

    def commit(self) -> str:
        sha256 = self._tally.finish()
        with storage_errors(self._key):
            self._file.commit()
        return f'"{sha256}"'

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.discard()


@contextlib.contextmanager
def storage_errors(key: str) -> Iterator[None]:
    """Translate what the file system says about `key`."""
    try:
        yield
    except (NotADirectoryError, IsADirectoryError, FileExistsError) as error:
        raise Conflict(f"object {key} and another one need the same directory name") from error
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull(
                "the storage directory has no room left; free some space and try again"
            ) from error
        raise Unavailable(
            f"the storage directory cannot be used ({error.strerror or type(error).__name__}); "
            "check that it is mounted and that the server may write to it"
        ) from error


def _walk(directory: Path, prefix: str, after: str) -> Iterator[ObjectInfo]:
    try:
        with os.scandir(directory) as entries:
            # A directory sorts as its name with the separator, as its keys do.
            found = sorted(
                (entry.name + "/" if entry.is_dir() else entry.name, entry)
                for entry in entries
                if not entry.name.startswith(".")
            )
    except (FileNotFoundError, NotADirectoryError):
        return
    for name, entry in found:
        key = prefix + name
        if name.endswith("/"):
            if key > after or after.startswith(key):
                yield from _walk(directory / entry.name, key, after)
        elif key > after:
            with contextlib.suppress(FileNotFoundError):
                yield _info(key, entry.stat())


def _info(key: str, status: os.stat_result) -> ObjectInfo:
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(key)
    return ObjectInfo(
        key=key,
        size=status.st_size,
        modified=datetime.fromtimestamp(status.st_mtime, UTC),
        etag=f'"{status.st_mtime_ns:x}-{status.st_size:x}"',
    )


def _missing(key: str) -> ObjectNotFound:
    return ObjectNotFound(f"there is no object {key} in the store", key=key)
