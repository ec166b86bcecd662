"""How bytes get to the server and back: one small protocol, and its HTTP implementation."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import urllib3

from acai.model.errors import (
    AcaiError,
    ServerUnreachable,
    Unauthenticated,
    Unavailable,
    from_wire,
)
from acai.model.identity import valid_name
from acai.version import __version__

_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_PASSING = frozenset({429, 502, 503, 504})
_ATTEMPTS = 5
_CONNECT, _READ = 5.0, 60.0
_LONGEST_PAUSE = 10.0
_TOKEN = re.compile(r"[!-~]+")  # what a header carries unharmed

Body = bytes | Iterable[bytes] | None


class Reply(Protocol):
    """An answer whose body may still be on its way. Close it, or read it to the end."""

    status: int
    headers: Mapping[str, str]

    def read(self) -> bytes: ...
    def stream(self, chunk: int) -> Iterator[bytes]: ...
    def close(self) -> None: ...


class Transport(Protocol):
    """Thread-safe. Raises ServerUnreachable when no answer came; any status is an answer."""

    def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: Body = None
    ) -> Reply: ...

    def close(self) -> None: ...


class _HttpReply:
    def __init__(self, raw: urllib3.BaseHTTPResponse, url: str) -> None:
        self._raw = raw
        self._url = url
        self.status = raw.status
        self.headers: Mapping[str, str] = raw.headers

    def read(self) -> bytes:
        try:
            return self._raw.read(decode_content=True)
        except urllib3.exceptions.HTTPError as error:
            raise _unreachable(self._url, error, sent=True) from error
        finally:
            self._raw.release_conn()

    def stream(self, chunk: int) -> Iterator[bytes]:
        try:
            yield from self._raw.stream(chunk, decode_content=True)
        except urllib3.exceptions.HTTPError as error:
            raise _unreachable(self._url, error, sent=True) from error
        finally:
            self._raw.release_conn()

    def close(self) -> None:
        self._raw.close()


class HttpTransport:
    def __init__(
        self, *, pool_size: int = 16, connect: float = _CONNECT, read: float = _READ
    ) -> None:
        self._pool = urllib3.PoolManager(
            maxsize=pool_size,
            block=False,
            retries=False,
            timeout=urllib3.Timeout(connect=connect, read=read),
        )

    def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: Body = None
    ) -> Reply:
        try:
            raw = self._pool.request(
                method,
                url,
                headers=dict(headers),
                body=body,
                preload_content=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            never_sent = isinstance(
                error,
                urllib3.exceptions.NewConnectionError
                | urllib3.exceptions.ConnectTimeoutError
                | urllib3.exceptions.LocationValueError,
            )
            raise _unreachable(url, error, sent=not never_sent) from error
        return _HttpReply(raw, url)

    def close(self) -> None:
        self._pool.clear()


def _unreachable(url: str, error: Exception, *, sent: bool) -> ServerUnreachable:
    server = "/".join(url.split("/")[:3])
    if isinstance(error, urllib3.exceptions.LocationValueError):
        reason = "that is no address; write http://HOST:PORT"
    elif isinstance(error, urllib3.exceptions.NameResolutionError):
        reason = "no such host; check the address"
    elif isinstance(error, urllib3.exceptions.NewConnectionError):
        reason = "nothing listens there; start it with `acai up`, or check the address"
    elif isinstance(error, urllib3.exceptions.TimeoutError):
        reason = "it did not answer in time"
    elif isinstance(error, urllib3.exceptions.SSLError):
        reason = "the secure connection failed; check the address and the certificate"
    else:
        reason = "the connection broke"
    return ServerUnreachable(f"cannot reach {server}: {reason}", server=server, sent=sent)


class Session:
    """Calls of the API: authentication, retries where they are safe, errors as exceptions."""

    def __init__(
        self,
        transport: Transport,
        server: str,
        *,
        token: str | None,
        project: str | None,
        patience: float = 1.0,
    ) -> None:
        self.transport = transport
        self.server = server
        self._patience = patience  # scales the pauses between attempts
        self._headers = {"user-agent": f"acai/{__version__}", "accept-encoding": "gzip"}
        if token:
            if not _TOKEN.fullmatch(token):
                raise Unauthenticated("the token is not one of acai's; copy it whole and alone")
            self._headers["authorization"] = f"Bearer {token}"
        if project:
            self._headers["x-acai-project"] = valid_name("project", project)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        repeatable: bool | None = None,
    ) -> Any:
        """The JSON that the server answers with.

        `repeatable` says that sending the call twice does no harm; by default the method
        decides. A call that is not is sent again only if it surely never arrived.
        """
        reply, data = self._exchange(method, path, body, query, repeatable, whole=True)
        try:
            return json.loads(data) if data else None
        except ValueError:
            raise _not_ours(reply.status) from None

    def reply(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool | None = None,
    ) -> Reply:
        """Like `call`, with the good answer's body left to stream."""
        return self._exchange(method, path, body, query, repeatable, headers, whole=False)[0]

    def _exchange(
        self,
        method: str,
        path: str,
        body: Any,
        query: Mapping[str, Any] | None,
        repeatable: bool | None,
        more: Mapping[str, str] | None = None,
        *,
        whole: bool,
    ) -> tuple[Reply, bytes]:
        headers = {**self._headers, **(more or {})}
        data: bytes | None = None
        if body is not None:
            data = json.dumps(body, separators=(",", ":")).encode()
            headers["content-type"] = "application/json"
        safe = method in _IDEMPOTENT if repeatable is None else repeatable
        url = self.server + "/api/v1" + path + _encode(query)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                reply = self.transport.send(method, url, headers=headers, body=data)
                if reply.status < 300:
                    return reply, reply.read() if whole else b""
                error = error_of(reply)
                again = safe and reply.status in _PASSING
            except ServerUnreachable as unreachable:
                error = unreachable
                # A refused connection will not mend itself while a person waits: one more try.
                again = safe if unreachable.detail["sent"] else attempt == 1
            pause = _pause(attempt, error)
            if not again or attempt == _ATTEMPTS or pause is None:
                raise error
            time.sleep(pause * self._patience)
        raise AssertionError("unreachable")


def _pause(attempt: int, error: AcaiError) -> float | None:
    """Seconds to wait before the next attempt; None if the server asks for more patience."""
    asked = error.detail.get("retry_after")
    if isinstance(asked, int | float):
        return float(asked) if asked <= _LONGEST_PAUSE else None
    return float(0.1 * 2**attempt * random.uniform(0.5, 1.0))  # noqa: S311


def _encode(query: Mapping[str, Any] | None) -> str:
    if not query:
        return ""
    from urllib.parse import urlencode

    given = {
        key: ("true" if value else "false") if isinstance(value, bool) else value
        for key, value in query.items()
        if value is not None
    }
    return "?" + urlencode(given, doseq=True) if given else ""


def error_of(reply: Reply) -> AcaiError:
    """The error that an answer other than 2xx describes, whoever wrote it."""
    data = reply.read()
    try:
        error = json.loads(data)["error"]
        return from_wire(error["code"], str(error["message"]), error.get("detail") or {})
    except (ValueError, KeyError, TypeError):
        return _not_ours(reply.status)


def _not_ours(status: int) -> Unavailable:
    return Unavailable(
        f"the server answered {status} with something that is not acai's;"
        " check the address, and the proxy if there is one",
        status=status,
    )
