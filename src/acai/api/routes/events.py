"""Changes in the caller's project, as they happen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import Header, Request
from starlette.concurrency import run_in_threadpool

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.streams import EventStream, Found, event
from acai.engine.hints import news_topic, project_topic
from acai.model.errors import InvalidInput
from acai.stores.records.job_changes import JobChange

routes = Routes("events")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

LastEventId = Annotated[
    str | None,
    Header(alias="last-event-id", description="`id` of the last event that was received."),
]


@routes.on(
    "GET",
    "/events",
    Needs.PROJECT,
    response_class=EventStream,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def events(
    request: Request, caller: Caller, platform: Platform, last_event_id: LastEventId = None
) -> EventStream:
    """Server-sent events from now on: `job`, when a job of the project enters a state; and
    `changed` with `{"again"}`, what else has changed and may be read again: `files`, `sets`,
    `metadata/KIND`, `jobs/ID/usage`, `jobs/ID/series`, or `anything`.

    After a break, send the last `id` as `Last-Event-ID`: no `job` is missed, and those of the
    last few seconds may come once more. `changed` is a hint, about twice a second at most; what
    changed during a break is not told.
    """
    project = caller.project
    since = None if last_event_id is None else _moment(last_event_id)
    follower = await run_in_threadpool(platform.changes.follow, project, since)

    reached = follower.place

    def look() -> Found:
        nonlocal reached
        found = follower.look()
        lines = []
        for each in found.changes:
            reached = max(reached, each.time)
            lines.append(event("job", _body(each), id=str((reached - _EPOCH) // _MICROSECOND)))
        return Found(events=b"".join(lines), more=found.more)

    topics = (project_topic(project), news_topic(project))
    return EventStream(request, platform.hints, topics, look)


def _body(change: JobChange) -> dict[str, Any]:
    return {
        "id": change.id,
        "name": change.name,
        "status": change.status.value,
        "attempt": change.attempt,
        "time": change.time.isoformat().replace("+00:00", "Z"),
        "reason": change.reason,
    }


def _moment(event_id: str) -> datetime:
    # Seventeen digits reach beyond the year 5000, and no further than a datetime does.
    if not (event_id.isascii() and event_id.isdigit() and len(event_id) <= 17):
        raise InvalidInput("Last-Event-ID is not the id of an event of this stream; leave it out")
    return _EPOCH + int(event_id) * _MICROSECOND
