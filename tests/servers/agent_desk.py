"""The server's side of the conversation with an agent, for tests of the agent alone.

It speaks the four routes with the platform's own message types, keeps what it was told, and can
be away, slow or short of words. What concerns files goes to a real platform, if it has one.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from acai.agent.settings import AgentSettings
from acai.agent.talk import to_wire
from acai.client.decode import decode
from acai.model.assignments import (
    Assignment,
    Ending,
    EndingAnswer,
    LogAnswer,
    PrintedTag,
    Report,
    ReportAnswer,
    Sample,
)
from acai.model.ids import public_id
from acai.model.jobs import Environment
from servers.embedded import SERVER, Embedded

# Its own in each process: programs are confined by this name, and tests run beside each other.
JOB, ATTEMPT = public_id("job"), 1


def assignment(command: str, **more: Any) -> Assignment:
    base = Assignment(
        job=JOB,
        attempt=ATTEMPT,
        project="default",
        command=command,
        args={},
        inputs=(),
        code=None,
        environment=Environment(),
        environment_digest="",
        output=None,
        cpu=1.0,
        memory=512 * 10**6,
        gpu=0.0,
        timeout=None,
        env={},
        grace=0.5,
        heartbeat=2.0,
    )
    return replace(base, **more)


class Desk:
    def __init__(self, given: Assignment, platform: Embedded | None = None) -> None:
        self.assignment = given
        self.platform = platform
        self.lock = threading.Lock()
        self.requests: list[str] = []
        self.forwarded: list[str] = []  # what concerned files
        self.reports: list[Report] = []
        self.endings: list[Ending] = []
        self.log = bytearray()
        self.log_times: list[float] = []
        self.compressed = 0  # chunks
        self.kill = self.stop = False
        self.revoked = False
        self.log_delay = 0.0
        self.away = threading.Event()
        self.knocks = 0  # while it was away
        self.ended = threading.Event()
        self._serve()

    def _serve(self) -> None:
        desk = self
        handler = type("Handler", (_Handler,), {"desk": desk})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def move(self) -> None:
        """Listen on another port from now on; the old one answers nobody."""
        self.close()
        self._serve()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def settings(self, directory: Path, **more: Any) -> AgentSettings:
        given: dict[str, Any] = {
            "server": self.url,
            "token": self.platform.token if self.platform else "acai_token",
            "job": JOB,
            "attempt": ATTEMPT,
            "project": "default",
            "run_dir": directory / "run",
            "cache_dir": directory / "cache",
        }
        return AgentSettings(**{**given, **more})

    @property
    def ending(self) -> Ending:
        assert self.endings, "the agent said nothing of its end"
        assert all(one == self.endings[0] for one in self.endings)
        return self.endings[0]

    @property
    def tags(self) -> list[PrintedTag]:
        found = {tag.n: tag for report in self.reports for tag in report.tags}
        return [found[n] for n in sorted(found)]

    @property
    def samples(self) -> list[Sample]:
        return [sample for report in self.reports for sample in report.samples]

    @property
    def phases(self) -> list[str]:
        seen: list[str] = []
        for report in self.reports:
            if seen[-1:] != [report.phase.value]:
                seen.append(report.phase.value)
        return seen

    def answer(self, path: str, query: dict[str, list[str]], body: bytes) -> Any:
        with self.lock:
            self.requests.append(path.rpartition("/")[2])
            if path.endswith("/begin"):
                assert json.loads(body)["attempt"] == ATTEMPT
                return replace(self.assignment, stop=self.stop)
            if path.endswith("/report"):
                self.reports.append(decode(Report, json.loads(body)))
                return ReportAnswer(kill=self.kill, stop=self.stop)
            if path.endswith("/log"):
                return self._take_log(int(query["start"][0]), body)
            self.endings.append(decode(Ending, json.loads(body)))
            self.ended.set()
            return EndingAnswer(status="finished", stop=self.stop)

    def _take_log(self, start: int, body: bytes) -> LogAnswer:
        time.sleep(self.log_delay)
        assert len(body) <= 1024 * 1024
        if start == len(self.log):
            self.log += body
            self.log_times.append(time.monotonic())
        return LogAnswer(size=len(self.log), stop=self.stop)


class _Handler(BaseHTTPRequestHandler):
    desk: Desk
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_method(self) -> None:
        body = self._body()
        desk = self.desk
        if desk.away.is_set():
            desk.knocks += 1
            self.close_connection = True
            return
        parts = urlsplit(self.path)
        if not parts.path.startswith("/api/v1/agent/"):
            self._forward(body)
        elif desk.revoked:
            said = {"error": {"code": "unauthenticated", "message": "revoked", "detail": {}}}
            self._answer(401, {}, json.dumps(said).encode())
        else:
            if self.headers.get("x-acai-encoding") == "zlib":
                body = zlib.decompress(body)
                desk.compressed += 1
            value = desk.answer(parts.path, parse_qs(parts.query), body)
            if desk.away.is_set():
                self.close_connection = True  # it was heard, and no answer came
                return
            self._answer(200, {}, json.dumps(to_wire(value)).encode())

    do_GET = do_POST = do_PUT = handle_method

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _forward(self, body: bytes) -> None:
        assert self.desk.platform is not None
        self.desk.forwarded.append(urlsplit(self.path).path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        headers.pop("transfer-encoding", None)
        reply = self.desk.platform.transport.send(
            self.command, SERVER + self.path, headers=headers, body=body
        )
        kept = {name: value for name, value in reply.headers.items() if name == "content-type"}
        self._answer(reply.status, kept, reply.read())

    def _answer(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def desk_for(given: Assignment, platform: Embedded | None = None) -> Iterator[Desk]:
    desk = Desk(given, platform)
    try:
        yield desk
    finally:
        desk.close()
