"""The client's transport: retries only where they are safe, clear words for what goes wrong."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from acai.client.client import Client
from acai.client.transport import HttpTransport, Session, Transport
from acai.model.errors import (
    AcaiError,
    InvalidInput,
    RateLimited,
    ServerUnreachable,
    Unauthenticated,
    Unavailable,
    UserNotFound,
)
from acai.testing.inprocess import InProcessTransport
from servers.embedded import SERVER, Embedded

Act = Callable[[BaseHTTPRequestHandler, int], None]


class Counting(ThreadingHTTPServer):
    """A real HTTP server that does as it is told, and counts."""

    daemon_threads = True
    act: Act
    seen: list[tuple[str, dict[str, str], bytes]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Counting

    def handle_any(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.command + " " + self.path, headers, body))
        self.server.act(self, len(self.server.seen))

    do_GET = do_POST = do_PUT = do_DELETE = handle_any

    def log_message(self, *_args: Any) -> None:
        pass


@contextmanager
def serving(act: Act) -> Iterator[Counting]:
    with Counting(("127.0.0.1", 0), Handler) as server:
        server.act, server.seen = act, []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def answer(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "application/json"
) -> None:
    handler.send_response(status)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def error_body(code: str, message: str = "no", **detail: Any) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "detail": detail}}).encode()


def hang_up(handler: BaseHTTPRequestHandler, _count: int) -> None:
    handler.close_connection = True


def fail_first(times: int, status: int) -> Act:
    def act(handler: BaseHTTPRequestHandler, count: int) -> None:
        if count <= times:
            answer(handler, status, error_body("unavailable"))
        else:
            answer(handler, 200, b'{"ok": true}')

    return act


@pytest.fixture
def transport() -> Iterator[HttpTransport]:
    made = HttpTransport(read=5)
    yield made
    made.close()


def session(transport: Transport, server: str, token: str | None = "t") -> Session:
    return Session(transport, server, token=token, project=None, patience=0.01)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_what_may_be_repeated_is_tried_again(
    transport: HttpTransport, method: str, status: int
) -> None:
    with serving(fail_first(2, status)) as server:
        assert session(transport, server.url).call(method, "/x") == {"ok": True}
        assert len(server.seen) == 3


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_post_is_sent_once(transport: HttpTransport, status: int) -> None:
    with serving(fail_first(2, status)) as server:
        with pytest.raises(Unavailable):
            session(transport, server.url).call("POST", "/x", {"a": 1})
        assert len(server.seen) == 1


def test_a_post_that_is_said_to_be_repeatable_is_repeated(transport: HttpTransport) -> None:
    with serving(fail_first(1, 503)) as server:
        session(transport, server.url).call("POST", "/x", {"a": 1}, repeatable=True)
        assert [body for _, _, body in server.seen] == [b'{"a":1}'] * 2


def test_patience_ends(transport: HttpTransport) -> None:
    with serving(fail_first(99, 503)) as server:
        with pytest.raises(Unavailable):
            session(transport, server.url).call("GET", "/x")
        assert len(server.seen) == 5


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 500])
def test_an_answer_that_will_not_change_is_final(transport: HttpTransport, status: int) -> None:
    def act(handler: BaseHTTPRequestHandler, _count: int) -> None:
        answer(handler, status, error_body("user_not_found", "no such user", name="mei"))

    with serving(act) as server:
        with pytest.raises(UserNotFound, match="no such user") as error:
            session(transport, server.url).call("GET", "/x")
        assert error.value.detail == {"name": "mei"}
        assert len(server.seen) == 1


def test_a_long_wait_that_the_server_asks_for_is_left_to_the_user(transport: HttpTransport) -> None:
    def act(handler: BaseHTTPRequestHandler, _count: int) -> None:
        answer(handler, 429, error_body("rate_limited", retry_after=61))

    with serving(act) as server:
        with pytest.raises(RateLimited):
            session(transport, server.url).call("GET", "/x")
        assert len(server.seen) == 1


def test_a_broken_connection_is_repeated_only_if_safe(transport: HttpTransport) -> None:
    with serving(hang_up) as server:
        with pytest.raises(ServerUnreachable, match="connection broke"):
            session(transport, server.url).call("POST", "/x", {})
        assert len(server.seen) == 1
        with pytest.raises(ServerUnreachable):
            session(transport, server.url).call("GET", "/x")
        assert len(server.seen) == 6


def test_a_body_that_breaks_off_is_asked_for_again(transport: HttpTransport) -> None:
    def act(handler: BaseHTTPRequestHandler, count: int) -> None:
        if count == 1:
            handler.send_response(200)
            handler.send_header("content-length", "100")
            handler.end_headers()
            handler.wfile.write(b'{"half":')
            handler.close_connection = True
        else:
            answer(handler, 200, b'{"whole": 1}')

    with serving(act) as server:
        assert session(transport, server.url).call("GET", "/x") == {"whole": 1}
        assert len(server.seen) == 2


def test_where_nothing_listens_a_post_is_tried_once_more() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    sent: list[str] = []

    class Watched(HttpTransport):
        def send(self, method: str, url: str, **more: Any) -> Any:
            sent.append(url)
            return super().send(method, url, **more)

    watched = Watched()
    with pytest.raises(ServerUnreachable, match="nothing listens there; start it with `acai up`"):
        session(watched, url).call("POST", "/x", {})
    watched.close()
    assert len(sent) == 2


def test_a_server_that_is_silent_is_given_up() -> None:
    def act(_handler: BaseHTTPRequestHandler, _count: int) -> None:
        time.sleep(0.6)

    quick = HttpTransport(read=0.2)
    with serving(act) as server:
        began = time.perf_counter()
        with pytest.raises(ServerUnreachable, match="did not answer in time"):
            session(quick, server.url).call("POST", "/x", {})
        assert time.perf_counter() - began < 5
        assert len(server.seen) == 1
    quick.close()


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://no-such-host.invalid", "no such host"),
        ("http://127.0.0.1:99999", "no address"),
        ("http://[bad", "no address"),
    ],
)
def test_a_wrong_address_is_explained(transport: HttpTransport, address: str, says: str) -> None:
    with pytest.raises(ServerUnreachable, match=says):
        session(transport, address).call("GET", "/x")


def test_tls_spoken_to_a_plain_server_is_explained(transport: HttpTransport) -> None:
    with serving(hang_up) as server, pytest.raises(ServerUnreachable, match="secure connection"):
        session(transport, server.url.replace("http:", "https:")).call("POST", "/x")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (502, b"<html><h1>502 Bad Gateway</h1></html>"),
        (200, b"<html>Welcome to nginx!</html>"),
        (302, b""),
        (404, b'{"detail": "Not Found"}'),
        (400, b'{"error": "text"}'),
        (500, b'{"error": {"code": ["x"], "message": "y"}}'),
        (403, b"\xff\xfe"),
    ],
)
def test_an_answer_that_is_not_ours_is_explained(
    transport: HttpTransport, status: int, body: bytes
) -> None:
    with (
        serving(lambda handler, _count: answer(handler, status, body, "text/html")) as server,
        pytest.raises(Unavailable, match=f"answered {status} .*not acai's.*proxy"),
    ):
        session(transport, server.url).call("POST", "/x")


def test_the_wrong_kind_of_json_is_explained() -> None:
    with (
        serving(lambda handler, _count: answer(handler, 200, b'{"hello": 1}')) as server,
        Client(server.url, "t") as client,
        pytest.raises(Unavailable, match="not one that this acai knows"),
    ):
        client.whoami()


def test_connections_are_reused_and_gzip_is_understood(transport: HttpTransport) -> None:
    ports: set[int] = set()

    def act(handler: BaseHTTPRequestHandler, _count: int) -> None:
        ports.add(handler.client_address[1])
        body = gzip.compress(b'{"zipped": true}')
        handler.send_response(200)
        handler.send_header("content-encoding", "gzip")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with serving(act) as server:
        for _ in range(5):
            assert session(transport, server.url).call("GET", "/x") == {"zipped": True}
    assert len(ports) == 1


def test_headers_and_query_are_as_promised(transport: HttpTransport) -> None:
    with serving(lambda handler, _count: answer(handler, 200, b"")) as server:
        made = Session(transport, server.url, token="secret", project="vision")
        query = {"a": "ü&=", "yes": True, "no": False, "none": None, "many": [1, 2]}
        assert made.call("GET", "/x", query=query) is None
    line, headers, _ = server.seen[0]
    assert line == "GET /api/v1/x?a=%C3%BC%26%3D&yes=true&no=false&many=1&many=2"
    assert headers["authorization"] == "Bearer secret"
    assert headers["x-acai-project"] == "vision"
    assert headers["user-agent"].startswith("acai/")


@pytest.mark.parametrize("token", ["a b", "tok\nen", "tök", "x\r\nX-Evil: 1"])
def test_a_mangled_token_is_refused_without_being_shown(
    transport: HttpTransport, token: str
) -> None:
    with pytest.raises(Unauthenticated, match="copy it whole") as error:
        session(transport, "http://127.0.0.1:1", token)
    assert token not in error.value.message


def test_a_project_that_no_project_can_be_called_is_refused(transport: HttpTransport) -> None:
    with pytest.raises(InvalidInput, match="cannot name a project"):
        Session(transport, "http://127.0.0.1:1", token=None, project="a\r\nb")


def test_the_same_client_works_with_no_socket(small_house: Embedded) -> None:
    with small_house.client() as client:
        assert client.whoami().name == "dana"
        made = [client.create_user(f"user-{number:02}").user.name for number in range(30)]
        assert [user.name for user in client.list_users()] == ["dana", *made]
        with pytest.raises(UserNotFound):
            client.remove_user("nobody")


async def _echo(scope: Any, receive: Any, send: Any) -> None:
    """Sends back what it gets, piece by piece, and breaks off where it is told to."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    if scope["path"] == "/raise":
        raise RuntimeError("before the answer")
    await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Echo", b"1")]})
    while True:
        message = await receive()
        await send({"type": "http.response.body", "body": message["body"], "more_body": True})
        if scope["path"] == "/break":
            raise RuntimeError("in the middle")
        if not message["more_body"]:
            break
    await send({"type": "http.response.body"})


def test_in_process_bodies_stream_both_ways() -> None:
    taken: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(200):
            taken.append(number)
            yield bytes([number]) * 1000

    with InProcessTransport(_echo) as inside:
        reply = inside.send("PUT", f"{SERVER}/x", headers={}, body=pieces())
        assert reply.headers["x-echo"] == "1"
        stream = reply.stream(300)
        assert next(stream) == b"\0" * 300
        assert len(taken) < 200  # the reader holds the sender back
        assert b"\0" * 300 + b"".join(stream) == b"".join(bytes([n]) * 1000 for n in range(200))


def test_in_process_failures_look_like_a_servers() -> None:
    with InProcessTransport(_echo) as inside:
        with pytest.raises(ServerUnreachable):
            inside.send("GET", f"{SERVER}/raise", headers={})
        with pytest.raises(ServerUnreachable):
            inside.send("PUT", f"{SERVER}/break", headers={}, body=b"abc").read()
        abandoned = inside.send("PUT", f"{SERVER}/x", headers={}, body=(b"x" for _ in range(100)))
        abandoned.close()
        assert inside.send("PUT", f"{SERVER}/x", headers={}, body=b"after").read() == b"after"


def test_in_process_start_up_failures_are_raised() -> None:
    async def broken(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(RuntimeError, match="no database"):
        InProcessTransport(broken)


def test_every_transport_error_is_one_of_ours(transport: HttpTransport) -> None:
    def nonsense(handler: BaseHTTPRequestHandler, _count: int) -> None:
        handler.wfile.write(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
        handler.close_connection = True

    with serving(nonsense) as server, pytest.raises(AcaiError):
        session(transport, server.url).call("POST", "/x")
