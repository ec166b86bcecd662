"""A platform whose jobs do what the test says, for what watches them over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, insert, select, update

from acai import wiring
from acai.api.app import build_app
from acai.client.log_stream import events
from acai.engine.hints import job_topic, project_topic
from acai.engine.logs import MOST
from acai.identity.tokens import new_token
from acai.model.ids import ProjectId, UserId, public_id
from acai.settings import Settings
from acai.stores.records.database import PLATFORM
from acai.stores.records.tables import tokens
from acai.stores.records.tables_jobs import job_transitions, jobs
from acai.testing.inprocess import InProcessTransport
from servers.embedded import SERVER, Answer, Embedded


class Newsroom:
    """A platform whose jobs do what the test says; nothing schedules or watches over them."""

    def __init__(self, house: Embedded) -> None:
        self.house = house
        self.services = house.platform.services
        self.database = house.platform.database
        self.caller = self.services.identity.authenticate(house.token, "here", None)

    def job(self, status: str = "running", attempt: int = 1) -> Job:
        return Job(self, self.caller.project, self.caller.user_id, status, attempt)

    def get(self, path: str, token: str | None = None) -> Answer:
        return self.house.call("GET", f"/api/v1{path}", token=token or self.house.token)

    def stream(self, path: str, token: str | None = None, after: str | None = None) -> Any:
        headers = {"authorization": f"Bearer {token or self.house.token}"}
        if after is not None:
            headers["last-event-id"] = after
        url = f"{SERVER}/api/v1{path}"
        reply = self.house.transport.send("GET", url, headers=headers)
        assert reply.status == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        return closing(events(reply.stream(1 << 16)))


class Job:
    def __init__(
        self, room: Newsroom, project: ProjectId, user: UserId, status: str, attempt: int
    ) -> None:
        self.room = room
        self.project = project
        self.name = public_id("job")
        self.attempt = attempt
        row = {
            "project_id": project,
            "public_id": self.name,
            "user_id": user,
            "status": status,
            "command": "true",
            "submitted_at": datetime.now(UTC),
            "attempt": attempt,
            "settled": True,
        }
        with room.database.write(PLATFORM) as tx:
            self.id: int = tx.execute(insert(jobs).values(row).returning(jobs.c.id)).scalar_one()

    def enters(self, status: str, *, hint: bool = True, at: datetime | None = None) -> None:
        with self.room.database.write(PLATFORM) as tx:
            tx.execute(update(jobs).where(jobs.c.id == self.id).values(status=status))
            count = select(func.count()).where(job_transitions.c.job_id == self.id)
            new = {
                "project_id": self.project,
                "job_id": self.id,
                "n": tx.execute(count).scalar_one() + 1,
                "status": status,
                "at": at or datetime.now(UTC),
                "attempt": self.attempt,
            }
            tx.execute(insert(job_transitions).values(new))
        if hint:
            self.room.services.hints.publish(project_topic(self.project), job_topic(self.id))

    def prints(self, data: bytes) -> None:
        logs = self.room.services.logs
        size = logs.append(self.project, self.id, attempt=self.attempt, start=0, data=b"").size
        for at in range(0, len(data), MOST):
            piece = data[at : at + MOST]
            size = logs.append(
                self.project, self.id, attempt=self.attempt, start=size, data=piece
            ).size

    def token(self, attempt: int) -> str:
        made = new_token()
        with self.room.database.write(PLATFORM) as tx:
            tx.execute(
                insert(tokens).values(
                    lookup=made.lookup,
                    hash=made.hash,
                    user_id=self.room.caller.user_id,
                    job_id=self.id,
                    attempt=attempt,
                    created_at=datetime.now(UTC),
                )
            )
        return made.text


@contextmanager
def running(settings: Settings) -> Iterator[Newsroom]:
    platform = wiring.build(settings)
    try:
        kept: list[Any] = []
        wiring.first_start(platform, "dana", kept.append)
        # Without the lifespan, and so without the loop that would take these jobs for lost.
        with InProcessTransport(build_app(platform.services)) as transport:
            try:
                yield Newsroom(
                    Embedded(
                        platform=platform,
                        transport=transport,
                        admin=kept[0].admin.token,
                        token=kept[0].user.token,
                    )
                )
            finally:
                platform.services.hints.close()
    finally:
        platform.close()


@contextmanager
def another(first: Newsroom, settings: Settings) -> Iterator[Newsroom]:
    """A second server of the first one's database."""
    platform = wiring.build(settings)
    try:
        with InProcessTransport(build_app(platform.services)) as transport:
            try:
                yield Newsroom(replace(first.house, platform=platform, transport=transport))
            finally:
                platform.services.hints.close()
    finally:
        platform.close()
