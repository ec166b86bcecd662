"""Speaking to the object store itself: by signed requests, or in its own directory."""

from __future__ import annotations

import errno
import re
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from acai.atomic import copy_atomically, make_directory, sync_directory, write_atomically
from acai.client.transfer.hashing import CHUNK, hash_file
from acai.client.transfer.workers import Stopped
from acai.client.transport import Reply, Session
from acai.model.errors import Forbidden, StorageFull, Unavailable
from acai.model.files import SharedDirectory, SignedCall
from acai.model.ids import Sha256, random_word
from acai.samehost import LocalGrant

_CODE = re.compile(rb"<Code>(\w+)</Code>|\"code\":\s*\"(\w+)\"")
_NOT_THESE_BYTES = frozenset(
    {
        "BadDigest",
        "InvalidDigest",
        "XAmzContentSHA256Mismatch",
        "XAmzContentChecksumMismatch",
        "checksum_mismatch",
    }
)
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_PASSING_CODES = frozenset({"RequestTimeout", "IncompleteBody", "SlowDown", "InternalError"})
_GONE = frozenset({403, 404, 410})


class Stale(Exception):
    """The signed request holds no longer, or its object is gone: ask for a fresh one."""


class WrongBytes(Exception):
    """The bytes that arrived are not the ones that were announced."""


class StoreCalls:
    """Signed requests. Thread-safe. A store that does not answer raises Unavailable."""

    def __init__(self, session: Session, stop: threading.Event) -> None:
        self._transport = session.transport
        self._server = session.server
        self._stop = stop

    def put(self, call: SignedCall, body: bytes | Iterable[bytes]) -> str:
        """Send what the call was signed for; returns the entity tag of it."""
        reply = self._transport.send(call.method, self._url(call), headers=call.headers, body=body)
        data = reply.read()
        if reply.status < 300:
            return reply.headers.get("etag", "")
        raise _refusal(reply.status, data)

    def get(self, call: SignedCall, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to before `end`, in chunks; fewer if the connection breaks."""
        headers = {
            **call.headers,
            "range": f"bytes={start}-{end - 1}",
            "accept-encoding": "identity",
        }
        reply = self._transport.send(call.method, self._url(call), headers=headers)
        if reply.status != 206 and not (reply.status == 200 and start == 0):
            raise _refusal(reply.status, reply.read())
        return self._stream(reply, end - start)

    def _stream(self, reply: Reply, wanted: int) -> Iterator[bytes]:
        try:
            for chunk in reply.stream(CHUNK):
                if self._stop.is_set():
                    raise Stopped
                yield chunk[:wanted] if len(chunk) > wanted else chunk
                wanted -= len(chunk)
                if wanted <= 0:
                    break
        finally:
            if wanted > 0:
                reply.close()

    def _url(self, call: SignedCall) -> str:
        return self._server + call.url if call.url.startswith("/") else call.url


def checks_content(call: SignedCall) -> bool:
    """Whether the store refuses other bytes than the call was signed for."""
    return call.url.startswith("/") or any("checksum" in name.lower() for name in call.headers)


def _refusal(status: int, body: bytes) -> Exception:
    found = _CODE.search(body)
    code = next((word.decode() for word in found.groups() if word), "") if found else ""
    if code in _NOT_THESE_BYTES:
        return WrongBytes(code)
    if status in _GONE:
        return Stale(code or str(status))
    named = f"{status} {code}".strip()
    if status in _PASSING or code in _PASSING_CODES:
        return Unavailable(f"the object store answers {named}", status=status)
    return Forbidden(f"the object store refused a signed request with {named}", status=status)


class SharedStore:
    """The store's own directory, on the same host. Errors are OSError's."""

    def __init__(self, grant: LocalGrant) -> None:
        self._grant = grant

    @staticmethod
    def find(offered: SharedDirectory | None, *, write: bool) -> SharedStore | None:
        """The directory that the server offers, if this process can really use it."""
        if offered is None:
            return None
        grant = LocalGrant(root=offered.root, word=offered.word)
        usable = grant.writable() if write else grant.readable()
        return SharedStore(grant) if usable else None

    def path(self, key: str) -> Path:
        return self._grant.path(key)

    def place(self, key: str, chunks: Iterable[bytes]) -> None:
        """Write an object, durably and at once, as the store itself does."""
        write_atomically(self._grant.path(key), chunks, scratch=self._grant.scratch)

    def place_file(self, key: str, source: str, sha256: Sha256, stop: threading.Event) -> None:
        """Copy a file in. Raises WrongBytes if it is not what was announced any more."""
        target = self._grant.path(key)
        copy = self._grant.scratch / f"{random_word(16)}.part"
        try:
            copy_atomically(Path(source), copy, scratch=self._grant.scratch)
            # The copy is checked, not the file: that one may change at any moment.
            if hash_file(str(copy), stop) != sha256:
                raise WrongBytes(source)
            make_directory(target.parent)
            copy.replace(target)
            sync_directory(target.parent)
        finally:
            copy.unlink(missing_ok=True)


def storage_error(error: OSError) -> Unavailable:
    """What to say when the shared directory fails under our hands."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StorageFull("the storage directory has no room left; free some space and try again")
    return Unavailable(f"the store's directory cannot be written: {error.strerror}")
