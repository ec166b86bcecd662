"""Browser sessions: what a cookie may do, and what it may not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from acai.settings import load
from servers.embedded import Answer, Embedded, embedded

SESSION = "/api/v1/session"
USERS = "/api/v1/users"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    home = tmp_path_factory.mktemp("sessions")
    with embedded(load({"home": str(home), "auth_failures": "1000"}, {})) as running:
        yield running


def signed_in(house: Embedded, token: str | None = None) -> tuple[dict[str, str], str]:
    """The headers of a signed-in browser, and the word that changes need."""
    answer = house.call("POST", SESSION, json_body={"token": token or house.token})
    assert answer.status == 201
    return {"cookie": cookie_of(answer)}, answer.json["csrf"]


def cookie_of(answer: Answer) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


def test_a_token_becomes_a_cookie_that_scripts_cannot_read(house: Embedded) -> None:
    answer = house.call("POST", SESSION, json_body={"token": house.token})
    attributes = answer.headers["set-cookie"].lower()
    assert "httponly" in attributes
    assert "samesite=strict" in attributes
    assert house.token not in attributes
    assert answer.json["user"]["name"] == "dana"
    browser = {"cookie": cookie_of(answer)}
    assert house.call("GET", USERS, headers=browser).status == 200
    assert house.call("GET", SESSION, headers=browser).json["session"]["user"]["name"] == "dana"


@pytest.mark.parametrize(
    "body", [{}, {"token": ""}, {"token": "acai_x"}, {"link": "never-offered"}]
)
def test_what_signs_nobody_in(house: Embedded, body: dict[str, str]) -> None:
    answer = house.call("POST", SESSION, json_body=body)
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert "set-cookie" not in answer.headers


def test_nobody_is_signed_in_without_an_error(house: Embedded) -> None:
    for headers in ({}, {"cookie": f"{house.platform.services.sessions.cookie_name}=nonsense"}):
        answer = house.call("GET", SESSION, headers=headers)
        assert (answer.status, answer.json) == (200, {"session": None})


def test_a_change_needs_the_word_and_the_origin(house: Embedded) -> None:
    browser, word = signed_in(house)
    user = {"name": "made-by-page"}
    refused = [
        {},
        {"x-acai-csrf": "wrong"},
        {"x-acai-csrf": "é"},
        {"x-acai-csrf": word, "origin": "http://evil.example"},
        {"x-acai-csrf": word, "origin": "null"},
    ]
    for headers in refused:
        answer = house.call("POST", USERS, json_body=user, headers={**browser, **headers})
        assert (answer.status, answer.code) == (403, "forbidden"), headers
    good = {**browser, "x-acai-csrf": word, "origin": "http://platform"}
    assert house.call("POST", USERS, json_body=user, headers=good).status == 201


def test_another_site_cannot_sign_a_browser_in(house: Embedded) -> None:
    answer = house.call(
        "POST", SESSION, json_body={"token": house.token}, headers={"origin": "http://evil.example"}
    )
    assert answer.status == 403


def test_the_word_of_another_session_does_not_do(house: Embedded) -> None:
    browser, _ = signed_in(house)
    other = house.client().create_user("other").token
    _, their_word = signed_in(house, other)
    answer = house.call(
        "POST", USERS, json_body={"name": "x"}, headers={**browser, "x-acai-csrf": their_word}
    )
    assert answer.status == 403


def test_a_forged_or_stretched_cookie(house: Embedded) -> None:
    browser, _ = signed_in(house)
    name, _, value = browser["cookie"].partition("=")
    lookup, ends, mac = value.split(".")
    forged = [
        f"{lookup}.{int(ends) + 1}.{mac}",
        f"{lookup[::-1]}.{ends}.{mac}",
        f"{lookup}.{ends}.{'0' * 64}",
        f"{lookup}.{ends}",
        "x" * 5000,
        "",
    ]
    for one in forged:
        answer = house.call("GET", USERS, headers={"cookie": f"{name}={one}"})
        assert (answer.status, answer.code) == (401, "unauthenticated"), one


def test_a_session_runs_out(house: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = house.platform.services.sessions
    browser, _ = signed_in(house)
    value = browser["cookie"].partition("=")[2]
    session = sessions.read(value)
    assert session is not None
    monkeypatch.setattr(sessions, "_clock", lambda: session.expires_at)
    assert sessions.read(value) is None
    assert house.call("GET", USERS, headers=browser).status == 401


def test_a_session_ends_with_its_token(house: Embedded) -> None:
    made = house.client().create_user("brief")
    browser, _ = signed_in(house, made.token)
    assert house.call("GET", USERS, headers=browser).status == 200
    house.client().rotate_token("brief")
    answer = house.call("GET", USERS, headers=browser)
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert house.call("GET", SESSION, headers=browser).json == {"session": None}


def test_signing_out_takes_the_cookie_away(house: Embedded) -> None:
    browser, _ = signed_in(house)
    answer = house.call("DELETE", SESSION, headers=browser)
    assert "max-age=0" in answer.headers["set-cookie"].lower()


def test_a_token_beside_the_cookie_is_what_counts(house: Embedded) -> None:
    browser, _ = signed_in(house)
    assert house.call("GET", USERS, token="acai_wrong", headers=browser).status == 401
    member = house.client().create_user("both").token
    seen = house.call("GET", "/api/v1/users/me", token=member, headers=browser)
    assert seen.json["name"] == "both"


def test_a_link_is_good_once_and_only_here(house: Embedded) -> None:
    sessions = house.platform.services.sessions
    lookup = house.token.split("_")[1]
    word = sessions.offer_link(lookup)
    through = {"x-forwarded-for": "203.0.113.9"}
    assert house.call("POST", SESSION, json_body={"link": word}, headers=through).status == 401
    assert house.call("POST", SESSION, json_body={"link": word}).status == 201
    assert house.call("POST", SESSION, json_body={"link": word}).status == 401


def test_pages_are_one_document_with_a_strict_policy(house: Embedded) -> None:
    for path in ("/", "/jobs", "/jobs/job-x", "/sets/a", "/admin"):
        answer = house.call("GET", path)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/html")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert not re.search(r"script-src[^;]*(unsafe|\*|data:)", policy)
        assert answer.headers["cache-control"] == "no-cache"
        assert "<script>" not in answer.body.decode()


@pytest.mark.parametrize(
    "path", ["/assets/nothing.js", "/assets/..%2findex.html", "/assets/%2e%2e", "/assets/", "/job"]
)
def test_what_is_no_page_and_no_asset(house: Embedded, path: str) -> None:
    assert house.call("GET", path).status == 404
