"""What every answer of the API has in common, whoever asks and whatever goes wrong."""

from __future__ import annotations

import gzip
import json
import logging
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from acai.api.logs import JsonLines, Readable
from acai.api.paging import encode_cursor
from acai.settings import load
from servers.embedded import SERVER, Embedded, embedded

USERS = "/api/v1/users"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    home = tmp_path_factory.mktemp("api")
    settings = load({"home": str(home), "body_limit": "10KB", "auth_failures": "100000"}, {})
    with embedded(settings) as running:
        yield running


@pytest.mark.parametrize("path", ["/nowhere", "/api/v1/nowhere", "/api/v2/users", "/api/v1/users/"])
def test_nothing_there(house: Embedded, path: str) -> None:
    answer = house.call("GET", path, token=house.token)
    assert (answer.status, answer.code) == (404, "not_found")
    assert path in answer.json["error"]["message"]


def test_wrong_method(house: Embedded) -> None:
    answer = house.call("PATCH", USERS, token=house.token)
    assert (answer.status, answer.code) == (405, "invalid_input")
    assert "PATCH /api/v1/users" in answer.json["error"]["message"]
    assert answer.headers["allow"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", "body"),
        (b"", "body"),
        (b"[]", "body"),
        (b"{}", "name"),
        (b'{"name": 5}', "name"),
        (b'{"name": "x", "role": "king"}', "role"),
        (b'\xff\xfe{"name"}', "body"),
    ],
)
def test_a_malformed_body_names_the_field(house: Embedded, body: bytes, field: str) -> None:
    headers = {"content-type": "application/json"}
    answer = house.call("POST", USERS, token=house.token, body=body, headers=headers)
    if answer.status != 400:  # bytes that are no text at all
        assert (answer.status, answer.code) == (422, "invalid_input")
        assert answer.json["error"]["message"].startswith(f"{field}: ")
        assert answer.json["error"]["detail"]["problems"][0]["field"] == field
    assert answer.code == "invalid_input"


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "x", ""])
def test_a_limit_out_of_range(house: Embedded, limit: str) -> None:
    answer = house.call("GET", f"{USERS}?limit={limit}", token=house.token)
    assert (answer.status, answer.code) == (422, "invalid_input")
    assert "limit" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    "cursor",
    ["garbage", "%00", "W10", encode_cursor(5), encode_cursor(["x"]), encode_cursor("a\0b"), "%ff"],
)
def test_a_cursor_that_nobody_gave(house: Embedded, cursor: str) -> None:
    answer = house.call("GET", f"{USERS}?cursor={cursor}", token=house.token)
    assert (answer.status, answer.code) == (422, "invalid_cursor")


def test_pages_hold_everything_once(house: Embedded) -> None:
    made = house.client(house.admin).create_project("paged", "admin")
    client = house.client(made.admin.token)
    names = sorted(client.create_user(f"u{number}").user.name for number in range(7))
    seen: list[str] = []
    path = f"{USERS}?limit=3"
    for _ in range(9):
        answer = house.call("GET", path, token=made.admin.token).json
        assert len(answer["items"]) <= 3
        seen += [user["name"] for user in answer["items"]]
        if answer["next"] is None:
            break
        path = f"{USERS}?limit=3&cursor={answer['next']}"
    assert seen == ["admin", *names]


@pytest.mark.parametrize("length", [9_000, 10_001, 50_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit(house: Embedded, length: int, chunked: bool) -> None:
    body = json.dumps({"name": "x" * (length - 12)}).encode()
    pieces: Any = (body[start : start + 1000] for start in range(0, len(body), 1000))
    headers = {"content-type": "application/json"}
    answer = house.call(
        "POST", USERS, token=house.token, body=pieces if chunked else body, headers=headers
    )
    if length <= 10_000:
        assert answer.status == 422
    else:
        assert (answer.status, answer.code) == (413, "too_large")
        assert answer.json["error"]["detail"] == {"limit": 10_000}
        assert "10.0 KB" in answer.json["error"]["message"]


def test_a_body_without_a_token_is_not_read(house: Embedded) -> None:
    taken: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(9):
            taken.append(number)
            yield b"x" * 1000

    assert house.call("POST", USERS, body=pieces()).status == 401
    assert taken == []


def test_the_unforeseen(
    house: Embedded, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def explode(*_args: Any, **_more: Any) -> None:
        raise ZeroDivisionError("a reason for the log only")

    monkeypatch.setattr(house.platform.services.identity, "users", explode)
    answer = house.call("GET", USERS, token=house.token)
    assert (answer.status, answer.code) == (500, "internal")
    assert b"reason for the log" not in answer.body
    assert answer.json["error"]["detail"]["request_id"] == answer.headers["x-request-id"]
    unexpected = [record for record in caplog.records if record.exc_info]
    assert len(unexpected) == 1
    assert "a reason for the log only" in JsonLines().format(unexpected[0])


def test_request_ids(house: Embedded) -> None:
    first, second = house.call("GET", "/healthz"), house.call("GET", "/nowhere")
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    given = house.call("GET", "/healthz", headers={"x-request-id": "trace-0123.abc"})
    assert given.headers["x-request-id"] == "trace-0123.abc"
    for odd in ("short", "x" * 65, "with space", "a/b/c/d/e", "<script>1"):
        answer = house.call("GET", "/healthz", headers={"x-request-id": odd})
        assert re.fullmatch(r"req-\w{12}", answer.headers["x-request-id"])


def _access_lines(caplog: pytest.LogCaptureFixture, count: int) -> list[Any]:
    """The lines of so many requests; the last is written when its answer is already read."""
    for _ in range(100):
        found = [record for record in caplog.records if record.name == "acai.access"]
        if len(found) >= count:
            break
        time.sleep(0.02)
    return found


def test_each_request_is_logged_once_and_holds_no_secret(
    house: Embedded, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        made = house.client().create_user("logged")
        house.call("GET", f"{USERS}?sig=s3cr3t&cursor=x", token=made.token)
        house.call("GET", f"/api/v1/objects/a/{made.token}?sig=s3cr3t")
        house.call("DELETE", f"{USERS}/{made.token}", token=house.token)
        house.call("GET", USERS, token=made.token + "x")
        access = _access_lines(caplog, 5)
    assert [record.status for record in access] == [201, 422, 403, 404, 401]
    assert [record.user for record in access] == [
        "dana",
        "logged",
        None,
        "dana",
        None,
    ]
    for style in (JsonLines(), Readable()):
        written = "\n".join(style.format(record) for record in caplog.records)
        for secret in (made.token, house.token, "s3cr3t"):
            assert secret.rpartition("_")[2] not in written


def test_probes_are_not_logged(house: Embedded, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "acai.access"):
        for path in ("/healthz", "/readyz", "/metrics"):
            assert house.call("GET", path).status == 200
    assert not caplog.records


def test_long_answers_are_zipped_if_the_caller_likes(house: Embedded) -> None:
    plain = house.transport.send("GET", f"{SERVER}/api/openapi.json", headers={})
    assert "content-encoding" not in plain.headers
    zipped = house.transport.send(
        "GET", f"{SERVER}/api/openapi.json", headers={"accept-encoding": "gzip"}
    )
    assert zipped.headers["content-encoding"] == "gzip"
    raw = b"".join(zipped._exchange.chunks())
    assert len(raw) < int(plain.headers["content-length"]) / 3
    assert gzip.decompress(raw) == plain.read()
    short = house.transport.send("GET", f"{SERVER}/healthz", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in short.headers


def test_the_document_describes_the_api(house: Embedded) -> None:
    document = house.call("GET", "/api/openapi.json").json
    assert document["openapi"].startswith("3.1")
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    names = []
    for path, operations in document["paths"].items():
        for operation in operations.values():
            names.append(operation["operationId"])
            declared = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path))
            assert any(code.startswith("2") for code in operation["responses"])
    assert len(names) == len(set(names))
    text = json.dumps(document)
    for name in set(re.findall(r'"#/components/schemas/([^"]+)"', text)):
        assert name in document["components"]["schemas"]


def test_version_and_welcome(house: Embedded) -> None:
    assert house.call("GET", "/version").json["name"] == "acai"
    page = house.call("GET", "/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"


def test_metrics_count_by_route_and_status(house: Embedded) -> None:
    def counted() -> dict[tuple[str, str, str], float]:
        time.sleep(0.05)  # requests are counted when their answers are already read
        text = house.call("GET", "/metrics").body.decode()
        return {
            (s.labels["method"], s.labels["route"], s.labels["status"]): s.value
            for family in text_string_to_metric_families(text)
            for s in family.samples
            if s.name == "acai_http_requests_total"
        }

    house.call("GET", USERS, token=house.token)
    before = counted()
    house.call("GET", USERS, token=house.token)
    house.call("DELETE", f"{USERS}/nobody-1", token=house.token)
    house.call("DELETE", f"{USERS}/nobody-2", token=house.token)
    house.call("GET", "/made/up/1")
    after = counted()
    grown = {key: after[key] - before.get(key, 0) for key in after if key[1] != "/metrics"}
    assert grown[("GET", "/api/v1/users", "200")] == 1
    assert grown[("DELETE", "/api/v1/users/{name}", "404")] == 2
    assert not [route for _, route, _ in after if "nobody" in route or "made" in route]


def test_ready_names_the_part_that_is_not(house: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    assert house.call("GET", "/readyz").json == {
        "ready": True,
        "checks": {"database": "ok", "objects": "ok"},
    }

    def broken() -> None:
        raise OSError("a path that callers need not know")

    monkeypatch.setitem(house.platform.services.checks, "objects", broken)
    answer = house.call("GET", "/readyz")
    assert answer.status == 503
    assert answer.json["checks"] == {"database": "ok", "objects": "OSError"}
    assert b"need not know" not in answer.body
    assert house.call("GET", "/healthz").status == 200


def test_names_that_no_database_path_or_header_likes(house: Embedded) -> None:
    for name in ("%00", "%ff", "%0a", "..%2f..", "a" * 5000, "%F0%9F%92%A9", "%27%20OR%201%3D1"):
        answer = house.call("DELETE", f"{USERS}/{name}", token=house.token)
        assert answer.status == 404, name
        assert answer.code in ("user_not_found", "not_found")
