"""The ports to bytes: a small store, and two abilities that a store may have besides.

Obligations of every implementation:

- Thread-safe: one instance serves all threads of a process, without outside locks.
- An object appears at once and whole, or not at all. Overwriting is atomic as well; who
  reads meanwhile gets the old bytes or the new ones, never a mixture.
- Keys and prefixes are checked (`acai.model.keys`); a bad one raises InvalidInput.
- A store that does not answer, or refuses our credentials, raises Unavailable; one that
  has no room raises StorageFull. Foreign errors never come through.
- Secrets and signed URLs are in no repr and in no message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from acai.model.errors import InvalidInput
from acai.model.ids import Sha256

MIB = 1024 * 1024
MAX_PARTS = 10_000
_SMALLEST_PART = 32 * MIB


@dataclass(frozen=True, kw_only=True)
class ObjectInfo:
    """What a store says of an object without reading it."""

    key: str
    size: int
    modified: datetime
    etag: str | None = None
    sha256: Sha256 | None = None  # only where the store itself verified it and remembers


@dataclass(frozen=True, kw_only=True)
class SignedRequest:
    """One request that its holder may make until `expires_at`, sending exactly `headers`.

    A `url` that begins with `/` is relative to the address of the acai server.
    """

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str]
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of a multipart upload that has arrived, counted from 1."""

    number: int
    size: int
    etag: str
    sha256: Sha256 | None = None  # not every store tells it when it lists parts


@dataclass(frozen=True, kw_only=True)
class MultipartUpload:
    key: str
    upload_id: str
    started: datetime


class ObjectStore(Protocol):
    """Immutable-minded storage of bytes under keys."""

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        """Store `data` under `key`, replacing what was there.

        An iterable is streamed in memory that does not grow with it. If it raises, that
        error comes through and nothing is stored.
        """
        ...

    def get(self, key: str, *, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The bytes from `offset`, `length` of them or up to the end, as a stream.

        What lies past the end is left out, so the stream may be shorter or empty. Raises
        ObjectNotFound at the call, not at the first chunk. A connection that breaks
        half-way raises Unavailable from the iterator. Dropping the iterator closes it.
        """
        ...

    def head(self, key: str) -> ObjectInfo | None:
        """What the store knows of an object; None if there is none."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects. One that is not there is no error, so it can be repeated."""
        ...

    def list(self, prefix: str = "", *, start_after: str | None = None) -> Iterator[ObjectInfo]:
        """Every object whose key begins with `prefix` (empty, or ending in `/`).

        The order is the store's own and stays the same: `start_after` is a key of an earlier
        listing, and gives what comes after it. (Keys of one directory come in ascending
        order everywhere; across directories some stores sort by tree, not by byte.) Read
        in pages: objects that come or go meanwhile may or may not be seen, all others are
        seen once.
        """
        ...

    def check(self) -> None:
        """Return if the store can be reached and written to; raise Unavailable if not. Cheap."""
        ...


class Signer(Protocol):
    """The ability to let someone else make one request, without our credentials."""

    def sign_put(self, key: str, *, size: int, sha256: Sha256, expires: timedelta) -> SignedRequest:
        """Allow one object to be stored: these very bytes, where the store can check that.

        The store refuses another length or checksum (all stores but GCS and Azure, see
        design/objects.md), and then stores nothing.
        """
        ...

    def sign_get(self, key: str, *, expires: timedelta) -> SignedRequest:
        """Allow an object to be read. A Range header may be sent with it."""
        ...


@runtime_checkable
class Multipart(Protocol):
    """The ability to take a large object in parts: several at once, resumable.

    A store without it takes a single signed PUT. An unknown upload raises UploadNotFound.
    """

    def start_multipart(self, key: str, *, size: int, part_size: int) -> str:
        """Begin; returns the upload's id. All parts but the last have `part_size` bytes."""
        ...

    def sign_part(
        self,
        key: str,
        upload_id: str,
        *,
        number: int,
        size: int,
        sha256: Sha256,
        expires: timedelta,
    ) -> SignedRequest:
        """Allow one part to be sent; the answer to it carries an ETag header.

        Sending a part again replaces it. Another length or checksum is refused.
        """
        ...

    def list_parts(self, key: str, upload_id: str) -> list[Part]:
        """The parts that have arrived, by number; what is not here is to be sent."""
        ...

    def complete_multipart(self, key: str, upload_id: str, parts: Sequence[Part]) -> ObjectInfo:
        """Make the object out of `parts`. Can be repeated after it succeeded.

        Raises UploadIncomplete if a part is missing or is not the one that arrived.
        """
        ...

    def abort_multipart(self, key: str, upload_id: str) -> None:
        """Forget the upload and its parts. An unknown one is no error."""
        ...

    def stale_multiparts(self, *, started_before: datetime) -> Iterator[MultipartUpload]:
        """Uploads begun before that time and neither completed nor aborted."""
        ...


class SigningStore(ObjectStore, Signer, Protocol):
    """What the platform is given: a store that signs. Ask `isinstance(store, Multipart)`."""


def check_parts(size: int, part_size: int) -> None:
    """Raise InvalidInput unless `size` bytes make 1 to 10,000 parts of `part_size`."""
    if size < 1 or part_size < 1 or -(-size // part_size) > MAX_PARTS:
        raise InvalidInput(f"{size} bytes in parts of {part_size} is not 1 to {MAX_PARTS} parts")


def part_size_for(size: int) -> int:
    """A part size that keeps several parts in flight and stays below 10,000 of them."""
    part = _SMALLEST_PART
    while part * MAX_PARTS < size:
        part *= 2
    return part
