"""The four calls that an agent makes, repeated for as long as the server is away."""

from __future__ import annotations

import dataclasses
import encodings.idna  # noqa: F401  the first connection loads it; forked agents have it so
import json
import random
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from acai.agent.settings import AgentSettings
from acai.client.decode import decode
from acai.client.transport import Body, HttpTransport, Reply, Session, Transport, error_of
from acai.model.assignments import (
    Assignment,
    Ending,
    EndingAnswer,
    LogAnswer,
    Report,
    ReportAnswer,
)
from acai.model.errors import (
    CorruptData,
    Forbidden,
    InternalError,
    NotFound,
    RateLimited,
    ServerUnreachable,
    Unauthenticated,
    Unavailable,
)
from acai.version import __version__

T = TypeVar("T")
LONGEST_CHUNK = 1024 * 1024
_WORTH_COMPRESSING = 1024
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 3.0
_LOOPBACK = ("127.", "localhost", "::1")


class Dismissed(Exception):
    """The server wants nothing more of this attempt: end the program and go."""


class GaveUp(Exception):
    """The server was away for longer than the agent's patience."""


class Interrupted(Exception):
    """What was waited for is no longer wanted."""


class Talk:
    """Speaks for one attempt. Thread-safe. Every call may be repeated, and is.

    A call raises Dismissed when the server does not know this attempt any more, GaveUp when it
    was silent for too long, and another AcaiError when it refuses what was said.
    """

    def __init__(self, settings: AgentSettings, transport: Transport | None = None) -> None:
        self._roaming = Roaming(
            transport or HttpTransport(pool_size=8), settings.server, settings.server_file
        )
        self._server = settings.server
        self._attempt = settings.attempt
        self._patience = settings.patience
        host = urlsplit(settings.server).hostname or ""
        self._compress = not host.startswith(_LOOPBACK)
        self._headers = {
            "user-agent": f"acai-agent/{__version__}",
            "authorization": f"Bearer {settings.token}",
            "x-acai-project": settings.project,
        }
        # For inputs and outputs, which travel as a user's would.
        self.session = Session(
            self._roaming, settings.server, token=settings.token, project=settings.project
        )

    def begin(self, host: str, interrupt: threading.Event) -> Assignment:
        said = {"attempt": self._attempt, "host": host}
        answer = self.persist(lambda: self._post("/agent/begin", said), interrupt)
        return decode(Assignment, answer)

    def report(self, report: Report, interrupt: threading.Event) -> ReportAnswer:
        said = to_wire(report)
        answer = self.persist(lambda: self._post("/agent/report", said), interrupt)
        return decode(ReportAnswer, answer)

    def log(self, start: int, data: bytes, interrupt: threading.Event) -> LogAnswer:
        path = f"/agent/log?attempt={self._attempt}&start={start}"
        headers = {"content-type": "application/octet-stream"}
        if self._compress and len(data) > _WORTH_COMPRESSING:
            data = zlib.compress(data, 1)
            headers["x-acai-encoding"] = "zlib"
        return decode(LogAnswer, self.persist(lambda: self._send(path, data, headers), interrupt))

    def end(self, ending: Ending) -> EndingAnswer:
        said = to_wire(ending)
        answer = self.persist(lambda: self._post("/agent/end", said), threading.Event())
        return decode(EndingAnswer, answer)

    def persist(self, act: Callable[[], T], interrupt: threading.Event) -> T:
        """The result of `act`, tried again for as long as the server is away.

        Raises Interrupted once `interrupt` is set.
        """
        since: float | None = None
        pause = _FIRST_PAUSE
        while True:
            if interrupt.is_set():
                raise Interrupted
            try:
                return act()
            except CorruptData:
                raise
            except (Unavailable, RateLimited, InternalError) as error:
                now = time.monotonic()
                since = since if since is not None else now
                if now - since >= self._patience:
                    raise GaveUp(error.message) from error
            interrupt.wait(pause * random.uniform(0.5, 1.0))  # noqa: S311
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _post(self, path: str, said: Mapping[str, Any]) -> Any:
        data = json.dumps(said, separators=(",", ":")).encode()
        return self._send(path, data, {"content-type": "application/json"})

    def _send(self, path: str, data: bytes, headers: Mapping[str, str]) -> Any:
        reply = self._roaming.send(
            "POST", f"{self._server}/api/v1{path}", headers={**self._headers, **headers}, body=data
        )
        if reply.status >= 300:
            error = error_of(reply)
            if not isinstance(error, Unauthenticated | Forbidden | NotFound):
                raise error
            # Another server may have taken the port of ours, which has another one now.
            if self._roaming.refresh():
                raise Unavailable(error.message)
            raise Dismissed(error.message)
        try:
            return json.loads(reply.read())
        except ValueError as error:
            raise Unavailable("the server's answer is not one that this agent knows") from error

    def close(self) -> None:
        self._roaming.close()


class Roaming:
    """A transport to a server whose address may change when it is started again.

    Callers go on using the first address. Once the server cannot be reached there, the file is
    read that names its present one.
    """

    def __init__(self, transport: Transport, server: str, file: Path | None) -> None:
        self._transport = transport
        self._first = self._now = server
        self._file = file
        host = urlsplit(server).hostname or ""
        self._field = "local" if host.startswith(_LOOPBACK) else "url"

    def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: Body = None
    ) -> Reply:
        if self._now != self._first and url.startswith(f"{self._first}/"):
            url = self._now + url[len(self._first) :]
        try:
            return self._transport.send(method, url, headers=headers, body=body)
        except ServerUnreachable:
            self.refresh()
            raise

    def refresh(self) -> bool:
        """Read where the server is now; True if that is elsewhere than before."""
        if self._file is None:
            return False
        try:
            found = str(json.loads(self._file.read_text("utf-8"))[self._field]).rstrip("/")
        except (OSError, ValueError, KeyError, TypeError):
            return False  # it is down, or about to write the file
        if not found or found == self._now:
            return False
        self._now = found
        return True

    def close(self) -> None:
        self._transport.close()


def to_wire(value: Any) -> Any:
    """A frozen value as JSON says it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_wire(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple | list):
        return [to_wire(one) for one in value]
    if isinstance(value, Mapping):
        return {key: to_wire(one) for key, one in value.items()}
    return value
