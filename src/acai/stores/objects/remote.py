"""The plain port over S3, Google Cloud Storage and Azure, through obstore.

obstore signs a method and a path, and neither headers nor a query. That is enough for a
PUT or a GET at GCS and Azure; S3 signs by itself (see s3.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import obstore
from obstore import exceptions

from acai.model.errors import ObjectNotFound, StorageFull, Unavailable
from acai.model.ids import Sha256
from acai.model.keys import check_key, check_prefix
from acai.stores.objects.base import MIB, ObjectInfo, SignedRequest

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import AzureStore, ClientConfig, GCSStore, RetryConfig, S3Store

_CHUNK = MIB
_PART = 16 * MIB
_PARTS_AT_ONCE = 3
_CHECK_KEY = "acai-check"
_NO_ROOM = ("InsufficientStorage", "StorageFull", "QuotaExceeded", "507 ")
# A missing object is Python's own FileNotFoundError, a bad range a ValueError.
_FOREIGN = (exceptions.BaseError, OSError, ValueError)

# obstore's own defaults give a whole request 30 seconds, which cuts long streams, and go
# on trying for three minutes, which makes a dead store look like a slow one.
CLIENT: ClientConfig = {
    "connect_timeout": timedelta(seconds=5),
    "read_timeout": timedelta(seconds=60),
    "timeout": timedelta(hours=12),
    "allow_http": True,
}
RETRY: RetryConfig = {"max_retries": 3, "retry_timeout": timedelta(seconds=15)}


class RemoteStore:
    """ObjectStore over one bucket (or container), below an optional prefix."""

    def __init__(self, name: str, bucket: S3Store | GCSStore | AzureStore) -> None:
        self._name = name  # shown in messages, such as s3://bucket/prefix
        self._bucket = bucket

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        check_key(key)
        if isinstance(data, bytes | bytearray | memoryview):
            with self._errors(key):
                obstore.put(
                    self._bucket, key, data, chunk_size=_PART, max_concurrency=_PARTS_AT_ONCE
                )
            return
        # obstore wraps what a source raises in an error of its own: remember the first one.
        source = _Source(data)
        try:
            with self._errors(key):
                obstore.put(
                    self._bucket,
                    key,
                    iter(source),
                    use_multipart=True,
                    chunk_size=_PART,
                    max_concurrency=_PARTS_AT_ONCE,
                )
        except Exception:
            if source.failure is not None:
                raise source.failure from None
            raise

    def get(self, key: str, *, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        check_key(key)
        with self._errors(key):
            if length is not None and length <= 0:
                return self._nothing(key)
            try:
                if length is None:
                    answer = obstore.get(
                        self._bucket, key, options={"range": {"offset": offset}} if offset else {}
                    )
                else:
                    answer = obstore.get(
                        self._bucket, key, options={"range": (offset, offset + length)}
                    )
            except FileNotFoundError:
                raise
            except _FOREIGN:
                # Stores refuse a range that begins past the end; the port does not.
                info = self.head(key) if offset or length is not None else None
                if info is not None and offset >= info.size:
                    return iter(())
                raise
            return self._chunks(key, answer.stream(min_chunk_size=_CHUNK))

    def head(self, key: str) -> ObjectInfo | None:
        check_key(key)
        with self._errors(key):
            try:
                return _info(obstore.head(self._bucket, key))
            except FileNotFoundError:
                return None

    def delete(self, keys: Iterable[str]) -> None:
        wanted = [check_key(key) for key in keys]
        if not wanted:
            return
        with self._errors(wanted[0]):
            try:
                obstore.delete(self._bucket, wanted)
            except _FOREIGN:
                # GCS and Azure mind a missing object, and do not say which one.
                for key in wanted:
                    with contextlib.suppress(FileNotFoundError):
                        obstore.delete(self._bucket, key)

    def list(self, prefix: str = "", *, start_after: str | None = None) -> Iterator[ObjectInfo]:
        check_prefix(prefix)
        with self._errors(prefix):
            pages = obstore.list(self._bucket, prefix or None, offset=start_after, chunk_size=1000)
            for page in pages:
                for meta in page:
                    yield _info(meta)

    def check(self) -> None:
        with self._errors(_CHECK_KEY):
            obstore.put(self._bucket, _CHECK_KEY, b"acai", use_multipart=False)
            obstore.delete(self._bucket, _CHECK_KEY)

    def _nothing(self, key: str) -> Iterator[bytes]:
        if self.head(key) is None:
            raise self._missing(key)
        return iter(())

    def _chunks(self, key: str, stream: Iterable[bytes]) -> Iterator[bytes]:
        with self._errors(key):
            for chunk in stream:
                yield bytes(chunk)

    def _missing(self, key: str) -> ObjectNotFound:
        return ObjectNotFound(f"there is no object {key} in {self._name}", key=key)

    @contextlib.contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        """Translate what obstore says about `key`."""
        try:
            yield
        except FileNotFoundError as error:
            raise self._missing(key) from error
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise Unavailable(
                f"{self._name} refused the server's credentials; check them and their rights"
            ) from error
        except _FOREIGN as error:
            if any(word in str(error) for word in _NO_ROOM):
                raise StorageFull(f"{self._name} has no room left") from error
            raise Unavailable(
                f"{self._name} does not answer as it should; check its address and that it runs"
            ) from error


class CloudStore(RemoteStore):
    """A RemoteStore whose URLs obstore signs: GCS and Azure.

    These URLs do not bind the bytes: what arrived is checked by size when an upload is
    committed, and by checksum whenever it is read.
    """

    def __init__(
        self, name: str, bucket: GCSStore | AzureStore, *, put_headers: Mapping[str, str]
    ) -> None:
        super().__init__(name, bucket)
        self._cloud = bucket
        self._put_headers = put_headers

    def list(self, prefix: str = "", *, start_after: str | None = None) -> Iterator[ObjectInfo]:
        # obstore's own offset gives too much on Azure; both stores list in order of bytes.
        for info in super().list(prefix):
            if start_after is None or info.key > start_after:
                yield info

    def sign_put(self, key: str, *, size: int, sha256: Sha256, expires: timedelta) -> SignedRequest:
        headers = {"content-length": str(size), **self._put_headers}
        return self._sign("PUT", key, expires, headers)

    def sign_get(self, key: str, *, expires: timedelta) -> SignedRequest:
        return self._sign("GET", key, expires, {})

    def _sign(
        self, method: str, key: str, expires: timedelta, headers: Mapping[str, str]
    ) -> SignedRequest:
        check_key(key)
        until = datetime.now(UTC) + expires
        with self._errors(key):
            url = obstore.sign(self._cloud, "PUT" if method == "PUT" else "GET", key, expires)
        return SignedRequest(method=method, url=url, headers=headers, expires_at=until)


class _Source:
    """An iterable that remembers what it raised."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._chunks
        except Exception as error:
            self.failure = error
            raise


def _info(meta: ObjectMeta) -> ObjectInfo:
    return ObjectInfo(
        key=meta["path"],
        size=meta["size"],
        modified=meta["last_modified"],
        etag=meta["e_tag"],
    )
