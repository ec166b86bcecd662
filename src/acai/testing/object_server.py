"""A small HTTP server for the URLs that a directory store signs, so that suites can use them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

from acai.model.errors import AcaiError
from acai.stores.objects.base import MIB
from acai.stores.objects.local import LocalStore
from acai.stores.objects.permits import ROUTE, Permit


@contextmanager
def serve_objects(make_store: Callable[[str], LocalStore]) -> Iterator[LocalStore]:
    """Serve the store that `make_store` gives for the server's base URL, until the block ends."""

    class Handler(_ObjectHandler):
        @property
        def store(self) -> LocalStore:
            return store

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    store = make_store(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _ObjectHandler(BaseHTTPRequestHandler):
    @property
    def store(self) -> LocalStore:
        raise NotImplementedError

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_PUT(self) -> None:
        self._answer(self._put)

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self, act: Callable[[Permit], None]) -> None:
        parts = urlsplit(self.path)
        length = self.headers.get("content-length")
        self.close_connection = True
        try:
            permit = self.store.verify(
                method=self.command,
                key=unquote(parts.path).removeprefix(ROUTE),
                query=dict(parse_qsl(parts.query)),
                content_length=None if length is None else int(length),
            )
            act(permit)
        except AcaiError as error:
            # A body that was not read would reset the connection before the answer arrives.
            self.rfile.read(int(length or 0)) if error.status == 403 else None
            self._send(error.status, error.message.encode(), {})

    def _get(self, permit: Permit) -> None:
        wanted = self.headers.get("range", "").removeprefix("bytes=")
        first, _, last = wanted.partition("-")
        span = int(last) - int(first) + 1 if last else None
        body = b"".join(self.store.get(permit.key, offset=int(first or 0), length=span))
        self._send(206 if wanted else 200, body, {})

    def _put(self, permit: Permit) -> None:
        with self.store.incoming(permit) as incoming:
            left = permit.size or 0
            while left and (chunk := self.rfile.read(min(left, MIB))):
                left -= len(chunk)
                incoming.write(chunk)
            etag = incoming.commit()
        self._send(200, b"", {"ETag": etag})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
