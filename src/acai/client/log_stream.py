"""A job's log as it grows: server-sent events, taken up again where they broke off."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from acai.client.transfer.patience import Patience
from acai.client.transfer.values import OnNote
from acai.client.transport import Reply, Session
from acai.model.errors import CorruptData, Unavailable, from_wire

PATIENCE = 600.0  # seconds that a server may be away while somebody watches a job
_CHUNK = 64 * 1024
_PAUSE = 0.2


@dataclass(frozen=True, kw_only=True)
class Event:
    """One server-sent event."""

    kind: str
    data: str
    id: str | None = None


def events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """The whole events in a stream of bytes that may be cut anywhere; comments are dropped."""
    kind: str = "message"
    data: list[str] = []
    last: str | None = None
    for line in _lines(chunks):
        if not line:
            if data:
                yield Event(kind=kind, data="\n".join(data), id=last)
            kind, data = "message", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "data":
            data.append(value)
        elif name == "id":
            last = value


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    pending = bytearray()
    for chunk in chunks:
        pending += chunk
        *whole, rest = pending.split(b"\n")
        pending = bytearray(rest)
        for line in whole:
            yield line.rstrip(b"\r").decode("utf-8", "replace")


class LogStream:
    """Iterates over the bytes of a job's log until the job has ended.

    A server that goes away is waited for, and nothing is skipped or told twice.
    """

    def __init__(
        self, session: Session, job: str, *, tail: int | None = None, on_note: OnNote | None = None
    ) -> None:
        self._session = session
        self._path = f"/jobs/{job}/logs"
        self._tail = tail
        self._place: str | None = None  # where the last event ended: attempt and offset
        self._note = on_note
        self.status: str | None = None  # how it ended, once it has

    def __iter__(self) -> Iterator[bytes]:
        stream = self._open()
        while self.status is None:
            try:
                event = next(stream, None)
            except Unavailable:
                event = None
            if event is None:  # it broke off, or the server ended it to restart
                stream = self._reopen()
            elif data := self._take(event):
                yield data

    def _take(self, event: Event) -> bytes:
        """The bytes that an event brings."""
        self._place = event.id or self._place
        try:
            content: Any = json.loads(event.data)
            if event.kind == "problem":
                raise from_wire(content["code"], content["message"], content.get("detail") or {})
            if event.kind == "end":
                self.status = str(content["status"])
            return base64.b64decode(content["data"]) if event.kind == "log" else b""
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptData(
                "the server's log is not one that this acai knows; upgrade the older of the two"
            ) from error

    def _open(self) -> Iterator[Event]:
        query = {"follow": 1, "tail": self._tail if self._place is None else None}
        headers = {} if self._place is None else {"last-event-id": self._place}
        return _closing(self._session.reply("GET", self._path, query=query, headers=headers))

    def _reopen(self) -> Iterator[Event]:
        time.sleep(_PAUSE)
        return Patience(PATIENCE, note=self._note).run(self._open)


def _closing(reply: Reply) -> Iterator[Event]:
    """Its events; a stream that is left early is closed, for the connection is of no more use."""
    try:
        yield from events(reply.stream(_CHUNK))
    finally:
        reply.close()
