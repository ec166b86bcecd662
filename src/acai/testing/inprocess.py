"""Drive the HTTP application with no socket: the client's transport, straight into the app.

with InProcessTransport(platform.app()) as transport:
    client = Client("http://platform", token, transport=transport)
"""

from __future__ import annotations

import queue
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from anyio import Event, create_task_group, from_thread, to_thread

from acai.client.transport import Body
from acai.model.errors import ServerUnreachable

Message = MutableMapping[str, Any]
App = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[Message]],
        Callable[[Message], Awaitable[None]],
    ],
    Awaitable[None],
]
_BUFFERED = 16  # chunks of an answer that may wait for their reader
_END = b""


class InProcessTransport:
    """Runs the app, with its lifespan, in a loop of its own until closed. Thread-safe.

    Bodies stream both ways, as they would over a socket; answers are as the app gives them.
    """

    def __init__(self, app: App, *, address: str = "127.0.0.1") -> None:
        self._app = app
        self._address = address
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(from_thread.start_blocking_portal())
        self._lifespan = _Lifespan(app)
        self._stack.enter_context(self._portal.wrap_async_context_manager(self._lifespan))

    def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: Body = None
    ) -> _Reply:
        exchange = _Exchange(body)
        scope = _scope(method, url, headers, body, self._address)
        done: Future[None] = self._portal.start_task_soon(exchange.run, self._app, scope)
        done.add_done_callback(exchange.ended)
        status, answered = exchange.head.result()
        return _Reply(status, answered, exchange)

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Exchange:
    """One request and its answer, between the caller's thread and the app's loop."""

    def __init__(self, body: Body) -> None:
        self._pieces: Iterator[bytes] = iter([body] if isinstance(body, bytes) else body or ())
        self._sent_all = False
        self._chunks: queue.Queue[bytes | BaseException] = queue.Queue(_BUFFERED)
        self.head: Future[tuple[int, dict[str, str]]] = Future()
        self.abandoned = threading.Event()

    async def run(self, app: App, scope: MutableMapping[str, Any]) -> None:
        await app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        if self._sent_all:
            while not self.abandoned.is_set():
                await to_thread.run_sync(self.abandoned.wait, 0.05)
            return {"type": "http.disconnect"}
        piece = await to_thread.run_sync(next, self._pieces, None)
        self._sent_all = piece is None
        return {"type": "http.request", "body": piece or b"", "more_body": not self._sent_all}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            pairs = (
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in message["headers"]
            )
            self.head.set_result(
                (message["status"], {name.lower(): value for name, value in pairs})
            )
        elif message["type"] == "http.response.body":
            if message.get("body"):
                await self._put(bytes(message["body"]))
            if not message.get("more_body"):
                await self._put(_END)

    async def _put(self, chunk: bytes) -> None:
        while not self.abandoned.is_set():
            try:
                self._chunks.put_nowait(chunk)
                return
            except queue.Full:
                with suppress(queue.Full):
                    await to_thread.run_sync(_put_soon, self._chunks, chunk)
                    return
        raise OSError("the reader of the answer is gone")

    def ended(self, done: Future[None]) -> None:
        """The app has returned or raised; whoever still waits for it must not wait for ever."""
        error = done.exception() if not done.cancelled() else None
        broken = ServerUnreachable("the application broke off its answer", sent=True)
        broken.__cause__ = error
        if not self.head.done():
            self.head.set_exception(broken)
        elif error is not None and not self.abandoned.is_set():
            threading.Thread(target=self._chunks.put, args=(broken,), daemon=True).start()

    def chunks(self) -> Iterator[bytes]:
        while (chunk := self._chunks.get()) != _END:
            if isinstance(chunk, BaseException):
                raise chunk
            yield chunk


def _put_soon(chunks: queue.Queue[bytes | BaseException], chunk: bytes) -> None:
    chunks.put(chunk, timeout=0.1)


class _Reply:
    def __init__(self, status: int, headers: Mapping[str, str], exchange: _Exchange) -> None:
        self.status = status
        self.headers = headers
        self._exchange = exchange

    def read(self) -> bytes:
        return b"".join(self.stream(1 << 16))

    def stream(self, chunk: int) -> Iterator[bytes]:
        try:
            yield from _cut(_plain(self._exchange.chunks(), self.headers), chunk)
        finally:
            self.close()

    def close(self) -> None:
        self._exchange.abandoned.set()


def _plain(chunks: Iterable[bytes], headers: Mapping[str, str]) -> Iterator[bytes]:
    if headers.get("content-encoding") != "gzip":
        yield from chunks
        return
    unzip = zlib.decompressobj(16 + zlib.MAX_WBITS)
    for chunk in chunks:
        yield unzip.decompress(chunk)
    yield unzip.flush()


def _cut(chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), most):
            yield chunk[start : start + most]


def _scope(
    method: str, url: str, headers: Mapping[str, str], body: Body, address: str
) -> dict[str, Any]:
    parts = urlsplit(url)
    framing = {"host": parts.netloc}
    if isinstance(body, bytes):
        framing["content-length"] = str(len(body))
    elif body is not None:
        framing["transfer-encoding"] = "chunked"
    whole = {**framing, **{name.lower(): value for name, value in headers.items()}}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": parts.scheme,
        "path": unquote(parts.path),
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in whole.items()],
        "client": (address, 1),
        "server": (parts.hostname, parts.port or 80),
        "state": {},
    }


class _Lifespan:
    """The app's start-up and shut-down, as a server runs them."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._begun = False
        self._error: Exception | None = None

    async def __aenter__(self) -> None:
        self._started, self._stopping, self._stopped = Event(), Event(), Event()
        self._group = create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._run)
        await self._started.wait()
        if self._error is not None:
            await self._group.__aexit__(None, None, None)
            raise self._error

    async def __aexit__(self, *_error: object) -> None:
        self._stopping.set()
        await self._stopped.wait()
        await self._group.__aexit__(None, None, None)

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        try:
            await self._app(scope, self._receive, self._send)
        except Exception as error:
            self._error = error
        self._started.set()
        self._stopped.set()

    async def _receive(self) -> Message:
        if not self._begun:
            self._begun = True
            return {"type": "lifespan.startup"}
        await self._stopping.wait()
        return {"type": "lifespan.shutdown"}

    async def _send(self, message: Message) -> None:
        if message["type"].endswith(".failed"):
            raise RuntimeError(f"the application did not start or stop: {message.get('message')}")
        (self._started if "startup" in message["type"] else self._stopped).set()
