"""What jobs print: taken from their agents, read by their users."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated

from fastapi import Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.routes.events import LastEventId
from acai.api.services import Services
from acai.api.streams import EventStream, Found, event
from acai.engine.hints import job_topic, log_topic
from acai.engine.log_lines import LineCutter
from acai.engine.log_reading import Complete, LogFollower, Printed, Retried
from acai.engine.logs import MOST
from acai.model.assignments import LogAnswer
from acai.model.errors import Forbidden, InvalidInput, TooLarge
from acai.model.identity import Principal

routes = Routes("logs")
_PLACE = re.compile(r"(?:(\d{1,9}):)?(\d{1,18})", re.ASCII)
_PACKED_MOST = MOST + 1024  # zlib adds some bytes to what it cannot pack
_LOOKS = 32  # pieces of a long line that are passed over before the reader hears of it

Start = Annotated[int | None, Query(ge=0, le=2**60, description="The first byte; 0 if not given.")]
Tail = Annotated[int | None, Query(ge=0, le=2**60, description="Only the last so many lines.")]
Attempt = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The latest if not given.")]
Follow = Annotated[bool, Query(description="Stay, and send what comes, as server-sent events.")]
Longest = Annotated[
    int | None,
    Query(ge=1, le=2**31 - 1, description="With `follow`: most bytes of a line; all if not given."),
]
Encoding = Annotated[str | None, Header(alias="x-acai-encoding", description="`zlib`, or none.")]


@routes.on(
    "GET",
    "/jobs/{job}/logs",
    Needs.PROJECT,
    response_class=StreamingResponse,
    responses={200: {"content": {"text/plain": {}, "text/event-stream": {}}}},
)
async def job_logs(
    job: str,
    request: Request,
    caller: Caller,
    platform: Platform,
    follow: Follow = False,
    start: Start = None,
    tail: Tail = None,
    attempt: Attempt = None,
    longest: Longest = None,
    last_event_id: LastEventId = None,
) -> StreamingResponse:
    """The bytes that a job has printed, as they are: all of them, from `start`, or the `tail`.

    With `follow`, events `log` with `{"attempt", "start", "data"}`, the data in base64, in order
    and complete; `attempt` when the job is tried again and its next log begins; `end` with
    `{"status"}` once the job has ended and everything was sent. An `id` is `ATTEMPT:OFFSET`, the
    place after the event: send it as `Last-Event-ID` to go on from there. With `longest`, the rest
    of a longer line is not sent: an event `cut` with `{"attempt", "start", "size"}` stands for it.
    """
    if start is not None and tail is not None:
        raise InvalidInput("give start or tail, not both")
    if follow:
        follower = await run_in_threadpool(
            _follower, platform, caller, job, start, tail, attempt, last_event_id
        )
        topics = (log_topic(follower.job), job_topic(follower.job))
        cutter = None if longest is None else LineCutter(longest)
        return EventStream(request, platform.hints, topics, lambda: _look(follower, cutter))
    return await run_in_threadpool(_plain, platform, caller, job, start, tail, attempt)


def _plain(
    platform: Services,
    caller: Principal,
    job: str,
    start: int | None,
    tail: int | None,
    attempt: int | None,
) -> StreamingResponse:
    logs, project = platform.logs, caller.project
    head = logs.head(project, job)
    latest = head.attempt if attempt is None else attempt
    begin = start or 0 if tail is None else logs.tail(project, head, latest, tail)
    pieces = logs.read(project, job, attempt=attempt, start=begin)
    first = next(pieces, b"")  # what cannot be read at all is an error, not half an answer
    return StreamingResponse(
        _joined(first, pieces),
        media_type="text/plain; charset=utf-8",
        headers={"cache-control": "no-store", "x-acai-attempt": str(latest)},
    )


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    return chain((first,), rest) if first else rest


def _follower(
    platform: Services,
    caller: Principal,
    job: str,
    start: int | None,
    tail: int | None,
    attempt: int | None,
    last_event_id: str | None,
) -> LogFollower:
    logs, project = platform.logs, caller.project
    head = logs.head(project, job)
    only = attempt is not None
    if last_event_id is not None:
        place = _PLACE.fullmatch(last_event_id)
        if place is None:
            raise InvalidInput("Last-Event-ID is not the id of an event of this log; leave it out")
        if place[1]:
            attempt = int(place[1]) or None
        start = int(place[2])
    elif tail is not None:
        attempt = head.attempt if attempt is None else attempt
        start = logs.tail(project, head, attempt, tail)
        attempt = attempt or None
    return logs.follow(project, head, attempt=attempt, start=start or 0, only=only)


def _look(follower: LogFollower, cutter: LineCutter | None) -> Found:
    events = bytearray()
    for _ in range(_LOOKS):
        found = follower.look()
        if found is None:
            return Found(events=bytes(events))
        if isinstance(found, Complete):
            events += event("end", {"status": found.status.value})
            return Found(events=bytes(events), last=True)
        if isinstance(found, Retried):
            if cutter is not None:
                cutter.new_log()
            events += event("attempt", {"attempt": found.attempt}, id=f"{found.attempt}:0")
            break
        pieces = [found.data] if cutter is None else list(cutter.cut(found.data))
        events += b"".join(_printed(found, pieces))
        if any(isinstance(piece, bytes) for piece in pieces):
            break
    return Found(events=bytes(events), more=True)


def _printed(found: Printed, pieces: Sequence[bytes | int]) -> Iterator[bytes]:
    start = found.start
    for piece in pieces:
        body: dict[str, object] = {"attempt": found.attempt, "start": start}
        if isinstance(piece, bytes):
            start += len(piece)
            body["data"] = base64.b64encode(piece).decode()
        else:
            start += piece
            body["size"] = piece
        name = "log" if "data" in body else "cut"
        yield event(name, body, id=f"{found.attempt}:{start}")


@routes.on("POST", "/agent/log", Needs.JOB)
async def append_log(
    request: Request,
    caller: Caller,
    platform: Platform,
    attempt: Annotated[int, Query(ge=1, le=2**31 - 1)],
    start: Annotated[int, Query(ge=0, le=2**60)],
    encoding: Encoding = None,
) -> LogAnswer:
    """Take the next bytes of a job's log from its agent: the body, at most 1 MiB of them."""
    if caller.job_id is None or attempt != caller.attempt:
        raise Forbidden(f"this token is not for attempt {attempt} of a job")
    body = await _body(request, _PACKED_MOST if encoding else MOST)
    data = _unpacked(body, encoding)
    return await run_in_threadpool(
        platform.logs.append,
        caller.project,
        caller.job_id,
        attempt=attempt,
        start=start,
        data=data,
    )


async def _body(request: Request, most: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise _too_large()
    return bytes(body)


def _unpacked(body: bytes, encoding: str | None) -> bytes:
    if encoding is None:
        return body
    if encoding != "zlib":
        raise InvalidInput(f"X-Acai-Encoding is {encoding!r}; send zlib, or leave it out")
    unzip = zlib.decompressobj()
    try:
        data = unzip.decompress(body, MOST + 1)  # no more than that, whatever it would become
    except zlib.error as error:
        raise InvalidInput("the body is not what zlib packs") from error
    if len(data) > MOST:
        raise _too_large()
    if not unzip.eof:
        raise InvalidInput("the body is not all that zlib packed; send it whole")
    return data


def _too_large() -> TooLarge:
    return TooLarge(f"a log grows by at most {MOST} bytes at once; send less", limit=MOST)
