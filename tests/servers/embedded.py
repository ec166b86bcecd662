"""A platform inside the test's own process, and a caller that sees its bare answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from acai import wiring
from acai.client.client import Client
from acai.client.transport import Body
from acai.identity.service import FirstStart
from acai.settings import Settings
from acai.testing.inprocess import InProcessTransport
from acai.wiring import Platform

SERVER = "http://platform"


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The error's code, once its whole shape has been checked."""
        error = self.json["error"]
        assert set(self.json) == {"error"}
        assert set(error) == {"code", "message", "detail"}
        assert isinstance(error["message"], str) and error["message"]
        assert isinstance(error["detail"], dict)
        return str(error["code"])


@dataclass(frozen=True, kw_only=True)
class Embedded:
    platform: Platform
    transport: InProcessTransport
    admin: str  # the global admin's token
    token: str  # of `dana`, the admin of the project `default`

    def client(self, token: str | None = None, project: str | None = None) -> Client:
        return Client(SERVER, token or self.token, project, transport=self.transport)

    def call(
        self,
        method: str,
        path: str,
        *,
        token: str | None = None,
        json_body: Any = None,
        body: Body = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        given = dict(headers or {})
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        if json_body is not None:
            body = json.dumps(json_body).encode()
            given.setdefault("content-type", "application/json")
        reply = self.transport.send(method, SERVER + path, headers=given, body=body)
        return Answer(status=reply.status, headers=reply.headers, body=reply.read())


@contextmanager
def embedded(settings: Settings) -> Iterator[Embedded]:
    """The whole platform over these settings, first start done, until the block ends."""
    platform = wiring.build(settings)
    try:
        kept: list[FirstStart] = []
        wiring.first_start(platform, "dana", kept.append)
        with InProcessTransport(platform.app()) as transport:
            yield Embedded(
                platform=platform,
                transport=transport,
                admin=kept[0].admin.token,
                token=kept[0].user.token,
            )
    finally:
        platform.close()
