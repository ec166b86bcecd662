"""Every route of the application lets in whom it says, and nobody else.

The walk takes its routes from the application, so a new one is covered when it is added. A
new parameter needs a value in `plant`: something that belongs to another project.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from sqlalchemy import select
from starlette.routing import Mount, Route, WebSocketRoute

from acai.api.app import OPENAPI, build_app
from acai.api.needs import GatedRoute, Needs, Routes, UndeclaredRoute, every_route, require_needs
from acai.api.streams import EventStream
from acai.identity.tokens import new_token
from acai.model.identity import Role
from acai.settings import load
from acai.stores.records.database import PLATFORM
from acai.stores.records.tables import metadata, projects
from servers.embedded import SERVER, Answer, Embedded, embedded

OPEN = (Needs.NOTHING, Needs.SIGNED_URL)
FOREIGN = "other-project"
SECRET = b"only the other project may read this"
SHA = hashlib.sha256(SECRET).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Visit:
    method: str
    path: str
    route: GatedRoute

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, kw_only=True)
class World:
    """Two projects with an admin and a member each, and things of the second one."""

    house: Embedded
    admin: str
    member: str
    foreign_admin: str
    foreign: dict[str, str]  # path parameters and fields, by name
    document: dict[str, Any]  # OpenAPI

    def url(self, visit: Visit) -> str:
        def fill(match: re.Match[str]) -> str:
            return self.foreign.get(f"{match[1]}/{match[2]}") or self.foreign.get(match[2], "1")

        filled = re.sub(r"(\w+)/{(\w+)(?::\w+)?}", lambda m: f"{m[1]}/{fill(m)}", visit.path)
        return re.sub(r"{(\w+)}", lambda m: self.foreign.get(m[1], "1"), filled) + self.query(visit)

    def query(self, visit: Visit) -> str:
        """What the route requires; and one that would wait is told not to."""
        needed = [
            one
            for one in visit.route.dependant.query_params
            if one.field_info.is_required() or one.alias == "timeout"
        ]
        return "?" + urlencode({one.alias: self.foreign.get(one.alias, "1") for one in needed})

    def body(self, visit: Visit) -> Any:
        if visit.route.body_field is None:
            return None
        operation = self.document["paths"][visit.path][visit.method.lower()]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        return self.example(schema, "body")

    def example(self, schema: dict[str, Any], name: str) -> Any:
        """Something that the schema takes, of the other project where it names a thing."""
        if "$ref" in schema:
            known = self.document["components"]["schemas"]
            return self.example(known[schema["$ref"].rpartition("/")[2]], name)
        if "anyOf" in schema:
            return self.example(schema["anyOf"][0], name)
        if "enum" in schema:
            return schema["enum"][0]
        kind = schema.get("type")
        if kind == "object":
            fields = schema.get("properties", {})
            return {key: self.example(sub, key) for key, sub in fields.items()}
        if kind == "array":
            return [self.example(schema["items"], name)]
        if kind in ("integer", "number"):
            return int(self.foreign.get(name, "1"))
        if kind == "boolean":
            return False
        if name == "name":  # of something to make
            return "fresh"
        return self.foreign.get(name, "x")

    def call(self, visit: Visit, token: str | None, **headers: str) -> Any:
        if visit.route.response_class is EventStream:
            return self.begin(visit, token, **headers)
        return self.house.call(
            visit.method,
            self.url(visit),
            token=token,
            json_body=self.body(visit),
            headers=headers,
        )

    def begin(self, visit: Visit, token: str | None, **headers: str) -> Answer:
        """The beginning of a stream that would not end by itself."""
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        url = SERVER + self.url(visit)
        reply = self.house.transport.send(visit.method, url, headers=headers)
        with closing(reply.stream(1 << 16)) as chunks:
            body = next(chunks) if reply.status == 200 else b"".join(chunks)
        return Answer(status=reply.status, headers=reply.headers, body=body)

    def rows_of(self, project: str) -> dict[str, list[Any]]:
        """Everything that a project has, in every table."""
        with self.house.platform.database.read(PLATFORM) as tx:
            wanted = select(projects.c.id).where(projects.c.name == project).scalar_subquery()
            return {
                name: sorted(map(repr, tx.execute(select(t).where(t.c.project_id == wanted))))
                for name, t in metadata.tables.items()
                if "project_id" in t.c
            }


def visits(app: FastAPI) -> list[Visit]:
    return [
        Visit(method=method, path=path, route=route)
        for path, route in every_route(app.routes)
        if isinstance(route, GatedRoute)
        for method in sorted(route.methods)
    ]


def plant(house: Embedded, token: str) -> dict[str, str]:
    """Make one of each thing in the project of this token, and name them all."""

    def post(path: str, body: Any) -> Any:
        answer = house.call("POST", f"/api/v1{path}", token=token, json_body=body)
        assert answer.status < 300, answer
        return answer.json

    path = "/other-project/secret.txt"
    upload = post("/uploads", {})["id"]
    blob = {"sha256": SHA, "size": len(SECRET)}
    post(f"/uploads/{upload}/files", {"files": [{"path": path, **blob}]})
    whole = {**blob, "blobs": [{**blob, "start": 0}]}
    slot = post(f"/uploads/{upload}/objects", {"objects": [whole]})["objects"][0]
    put = slot["put"]
    sent = house.call(put["method"], put["url"], body=SECRET, headers=put["headers"])
    assert sent.status == 200, sent
    post(f"/uploads/{upload}/complete", {"objects": [{"id": slot["id"]}]})
    post(f"/uploads/{upload}/commit", {"file_count": 1})
    post("/sets", {"name": "their-set", "specs": [path]})
    post("/sets", {"name": "their-other-set", "specs": ["/@their-set"]})
    entity = f"file:{path}"
    post("/metadata", {"entities": [entity], "meta": {"their_key": 1}, "tags": ["their-tag"]})
    job = post("/jobs", {"command": "true", "input": ["their-set"], "name": "their-job"})["id"]
    post("/templates", {"template_name": "their-template", "command_template": "x {n: 1,2}"})
    pending = post("/uploads", {"resume_key": "theirs"})["id"]
    post(f"/uploads/{pending}/files", {"files": [{"path": "/other-project/next.txt", **blob}]})
    return {
        "name": "their-member",
        "user": "their-member",
        "upload": pending,
        "object_id": str(slot["id"]),
        "id": str(slot["id"]),
        "path": path,
        "spec": path,
        "specs": "/@their-set",
        "entity": entity,
        "entities": entity,
        "keys": "their_key",
        "tags": "their-tag",
        "sets/name": "their-set",
        "version": "1",
        "versions/version": "1",
        "before": "their-set",
        "after": "their-other-set",
        "one": "their-set",
        "other": "their-other-set",
        "file": path,
        "sha256": SHA,
        "hashes": SHA,
        "size": str(len(SECRET)),
        "kind": "set",
        "key": slot["key"],
        "resume_key": "theirs",
        "role": Role.MEMBER.value,
        "job": job,
        "template": "their-template",
        "template_name": "their-template",
        "input": "their-set",
        "attempt": "1",
        "start": "0",
        "timeout": "0",
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("routes")
    with embedded(load({"home": str(home), "auth_failures": "100000"}, {})) as house:
        member = house.client().create_user("member").token
        made = house.client(house.admin).create_project(FOREIGN, "their-admin")
        house.client(made.admin.token).create_user("their-member")
        foreign = plant(house, made.admin.token)
        yield World(
            house=house,
            admin=house.token,
            member=member,
            foreign_admin=made.admin.token,
            foreign=foreign,
            document=house.call("GET", OPENAPI).json,
        )


@pytest.fixture(scope="module")
def walk(world: World) -> list[Visit]:
    found = visits(world.house.platform.app())
    assert len(found) > 10
    return found


def test_every_parameter_has_a_value_of_another_project(world: World, walk: list[Visit]) -> None:
    unknown = {
        (str(visit), name)
        for visit in walk
        for name in (*visit.route.param_convertors, *parse_qs(world.query(visit)[1:]))
        if name not in world.foreign
    }
    assert not unknown, "teach `plant` about these"


def test_without_a_token_nobody_gets_in(world: World, walk: list[Visit]) -> None:
    for visit in walk:
        answer = world.call(visit, None)
        if visit.route.needs not in OPEN:
            assert (answer.status, answer.code) == (401, "unauthenticated"), visit
            assert answer.headers["www-authenticate"] == "Bearer"
        elif visit.route.needs is Needs.SIGNED_URL:
            assert (answer.status, answer.code) == (403, "forbidden"), visit


def test_a_token_in_the_wrong_shape_is_no_token(world: World, walk: list[Visit]) -> None:
    revoked = world.house.client().create_user("gone").token
    world.house.client().remove_user("gone")
    rotated = world.house.client().create_user("turned").token
    world.house.client().rotate_token("turned")
    good = world.admin
    mangled = [revoked, rotated, new_token().text, good[:-1], good + "x", good.upper(), "x" * 5000]
    for visit in walk:
        if visit.route.needs in OPEN:
            continue
        for token in mangled:
            assert world.call(visit, token).status == 401, visit
        for scheme in ("Basic", "Token", ""):
            answer = world.call(visit, None, authorization=f"{scheme} {good}")
            assert answer.status == 401, visit


def test_a_member_is_no_admin(world: World, walk: list[Visit]) -> None:
    for visit in walk:
        if visit.route.needs in (Needs.PROJECT_ADMIN, Needs.GLOBAL_ADMIN):
            answer = world.call(visit, world.member)
            assert (answer.status, answer.code) == (403, "forbidden"), visit


def test_a_project_admin_is_no_global_admin(world: World, walk: list[Visit]) -> None:
    for visit in walk:
        if visit.route.needs is Needs.GLOBAL_ADMIN:
            answer = world.call(visit, world.admin)
            assert (answer.status, answer.code) == (403, "forbidden"), visit


def test_the_global_admin_has_to_name_a_project(world: World, walk: list[Visit]) -> None:
    for visit in walk:
        if visit.route.needs in (Needs.PROJECT, Needs.PROJECT_ADMIN):
            answer = world.call(visit, world.house.admin)
            assert answer.status == 422, visit
            assert "--project" in answer.json["error"]["message"]


@pytest.mark.parametrize("project", [FOREIGN, "no-such-project", "../x", "ü", "' OR 1=1 --"])
def test_another_project_looks_like_none(world: World, walk: list[Visit], project: str) -> None:
    named = project.encode().decode("latin-1")
    for visit in walk:
        if visit.route.needs in OPEN:
            continue
        for token in (world.admin, world.member):
            answer = world.call(visit, token, **{"x-acai-project": named})
            assert (answer.status, answer.code) == (404, "project_not_found"), visit


def test_nothing_of_another_project_is_seen_or_changed(world: World, walk: list[Visit]) -> None:
    """The other project's own names and ids, used with a token of this one, everywhere."""
    before = world.rows_of(FOREIGN)
    assert sum(map(len, before.values())) > 5
    theirs = [world.foreign["upload"], world.foreign["key"], SECRET.decode()]
    theirs += ["their-admin", "their-set", "their-other-set", "their_key", "their-job"]
    for visit in walk:
        rotating = visit.path.endswith("/tokens/rotate")
        if visit.route.needs in (*OPEN, Needs.GLOBAL_ADMIN):
            continue
        for token in (world.member, world.admin):
            answer = world.call(visit, token)
            assert answer.status < 500, (visit, answer)
            if token == world.member and visit.route.needs is Needs.PROJECT_ADMIN:
                assert answer.status == 403, (visit, answer)
            elif visit.route.param_convertors or rotating:
                assert answer.status in (404, 422), (visit, answer)
            if answer.status < 400:
                shown = answer.body.decode()
                assert not [thing for thing in theirs if thing in shown], (visit, answer)
                assert FOREIGN not in shown.replace(world.foreign["path"], ""), (visit, answer)
    assert world.rows_of(FOREIGN) == before


def test_the_owner_sees_them(world: World) -> None:
    """The same requests are worth something: whom they belong to gets answers."""
    seen = 0
    for visit in visits(world.house.platform.app()):
        if visit.method == "GET" and visit.route.needs is Needs.PROJECT:
            seen += world.call(visit, world.foreign_admin).status == 200
    assert seen >= 5


def test_each_route_says_in_the_document_what_it_needs(world: World, walk: list[Visit]) -> None:
    paths = world.house.call("GET", OPENAPI).json["paths"]
    for visit in walk:
        if visit.route.include_in_schema:
            operation = paths[re.sub(r":\w+}", "}", visit.path)][visit.method.lower()]
            assert operation["x-acai-needs"] == visit.route.needs.value
            assert ("security" in operation) is (visit.route.needs not in OPEN)


def test_a_route_without_needs_fails_as_it_is_added() -> None:
    routes = Routes("new")
    with pytest.raises(UndeclaredRoute, match="/forgotten"):

        @routes.get("/forgotten")
        def forgotten() -> None: ...


async def _nothing(*_args: Any) -> None: ...


@pytest.mark.parametrize(
    "stray",
    [
        APIRoute("/stray", _nothing),
        Route("/stray", _nothing),
        WebSocketRoute("/stray", _nothing),
        Mount("/stray", _nothing),
    ],
    ids=lambda stray: type(stray).__name__,
)
def test_a_route_that_slips_past_the_gate_stops_the_application(world: World, stray: Any) -> None:
    app = build_app(world.house.platform.services)
    app.router.routes.append(stray)
    with pytest.raises(UndeclaredRoute, match="/stray"):
        require_needs(app.routes, except_for=(OPENAPI,))
