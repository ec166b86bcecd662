"""Who may act: from the first start to the last sign-in that fails."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from acai import wiring
from acai.api.logs import JsonLines, Readable
from acai.identity.service import Identity
from acai.identity.tokens import new_token
from acai.model.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    InvalidInput,
    ProjectNotFound,
    RateLimited,
    Unauthenticated,
    UserNotFound,
)
from acai.model.identity import Role
from acai.settings import Settings, load
from acai.stores.records.database import Database
from servers.embedded import Embedded, embedded


def test_the_first_start_makes_an_admin_a_project_and_a_user(house: Embedded) -> None:
    admin = house.client(house.admin).whoami()
    assert (admin.name, admin.role, admin.project) == ("admin", Role.GLOBAL_ADMIN, None)
    user = house.client().whoami()
    assert (user.name, user.role, user.project) == ("dana", Role.ADMIN, "default")
    assert wiring.first_start(house.platform, "again", lambda _made: None) is None


def test_tokens_that_cannot_be_kept_are_never_made(database: Database) -> None:
    identity = Identity(database, failure_limit=20)

    def fail(_made: object) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        identity.bootstrap("dana", fail)
    kept: list[str] = []
    assert identity.bootstrap("dana", lambda made: kept.append(made.user.token)) is not None
    assert identity.authenticate(kept[0], "x", None).user.name == "dana"


def test_the_database_holds_no_token(house: Embedded) -> None:
    client = house.client()
    tokens = [house.admin, house.token, client.create_user("mei").token]
    tokens.append(client.rotate_token("mei").token)
    with house.platform.database.engine.connect() as connection:
        everything = json.dumps(
            [
                [str(value) for value in row]
                for table in ("users", "tokens", "platform")
                for row in connection.execute(text(f"SELECT * FROM {table}"))
            ]
        )
    for token in tokens:
        assert token not in everything
        assert token.rpartition("_")[2] not in everything


def test_projects_are_apart(house: Embedded) -> None:
    made = house.client(house.admin).create_project("vision", "mei")
    theirs, ours = house.client(made.admin.token), house.client()
    theirs.create_user("omar")
    assert [user.name for user in theirs.list_users()] == ["mei", "omar"]
    assert [user.name for user in ours.list_users()] == ["dana"]
    assert [project.name for project in ours.list_projects()] == ["default"]
    assert [project.name for project in theirs.list_projects()] == ["vision"]
    everything = house.client(house.admin).list_projects()
    assert [project.name for project in everything] == ["default", "vision"]
    with pytest.raises(UserNotFound):
        ours.remove_user("omar")
    with pytest.raises(ProjectNotFound, match="your token is for 'default'"):
        house.client(project="vision").whoami()


def test_the_global_admin_acts_in_any_project_it_names(house: Embedded) -> None:
    house.client(house.admin).create_project("vision", "mei")
    inside = house.client(house.admin, "vision")
    inside.create_user("omar")
    assert [user.name for user in inside.list_users()] == ["mei", "omar"]
    rotated = inside.rotate_token("mei").token
    assert house.client(rotated).whoami().project == "vision"
    with pytest.raises(ProjectNotFound):
        list(house.client(house.admin, "nowhere").list_users())
    with pytest.raises(InvalidInput, match="--project"):
        list(house.client(house.admin).list_users())
    with pytest.raises(ProjectNotFound, match="--project"):
        house.client(house.admin).rotate_token("mei")


def test_a_removed_user_is_out_at_once_and_the_name_is_free(house: Embedded) -> None:
    client = house.client()
    first = client.create_user("mei")
    assert client.remove_user("mei").id == first.user.id
    with pytest.raises(Unauthenticated, match="rotated or revoked"):
        house.client(first.token).whoami()
    with pytest.raises(UserNotFound):
        client.remove_user("mei")
    second = client.create_user("mei")
    assert second.user.id != first.user.id
    assert client.remove_user(second.user.id).name == "mei"


def test_a_rotated_token_replaces_the_old_one(house: Embedded) -> None:
    fresh = house.client().rotate_token().token
    with pytest.raises(Unauthenticated):
        house.client().whoami()
    assert house.client(fresh).whoami().name == "dana"
    mei = house.client(fresh).create_user("mei").token
    with pytest.raises(Forbidden, match="only an admin"):
        house.client(mei).rotate_token("dana")
    own = house.client(mei).rotate_token("mei").token
    assert house.client(own).whoami().name == "mei"


def test_a_project_keeps_an_admin(house: Embedded) -> None:
    client = house.client()
    with pytest.raises(Conflict, match="the only admin"):
        client.remove_user("dana")
    client.create_user("mei", admin=True)
    client.remove_user("dana")
    with pytest.raises(Unauthenticated):
        client.whoami()


def test_names_are_checked(house: Embedded) -> None:
    for name in ("", "a b", ".x", "-x", "a" * 64, "ü", "a/b", "a\n", "a\0"):
        with pytest.raises(InvalidInput, match="1 to 63"):
            house.client().create_user(name)
        with pytest.raises(InvalidInput, match="cannot name a project"):
            house.client(house.admin).create_project(name, "mei")
        with pytest.raises(InvalidInput, match="cannot name a user"):
            house.client(house.admin).create_project("fine", name)
    assert "fine" not in [p.name for p in house.client(house.admin).list_projects()]


def test_what_exists_is_not_made_twice(house: Embedded) -> None:
    with pytest.raises(AlreadyExists, match="'dana' exists"):
        house.client().create_user("dana")
    with pytest.raises(AlreadyExists, match="'default' exists"):
        house.client(house.admin).create_project("default", "x")


def test_nobody_becomes_global_admin_by_asking(house: Embedded) -> None:
    body = {"name": "mei", "role": "global_admin"}
    answer = house.call("POST", "/api/v1/users", token=house.token, json_body=body)
    assert (answer.status, answer.code) == (403, "forbidden")
    answer = house.call("POST", "/api/v1/users", token=house.admin, json_body=body)
    assert answer.status == 422


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Embedded]:
    """A platform that takes three failed sign-ins."""
    settings: Settings = load({"home": str(tmp_path / "strict"), "auth_failures": "3"}, {})
    settings.home.mkdir()
    with embedded(settings) as running:
        yield running


def test_guessing_is_slowed_down_and_good_users_are_not(
    strict: Embedded, caplog: pytest.LogCaptureFixture
) -> None:
    newcomer = strict.client().create_user("mei").token
    guesses = [new_token().text, "garbage", strict.token[:-1] + "2" + "x"]
    with caplog.at_level(logging.WARNING, "acai.identity"):
        for guess in guesses:
            with pytest.raises(Unauthenticated):
                strict.client(guess).whoami()
    with pytest.raises(RateLimited, match="too many failed sign-ins") as error:
        strict.client(new_token().text).whoami()
    assert 1 <= error.value.detail["retry_after"] <= 61
    answer = strict.call("GET", "/api/v1/users/me", token=guesses[0])
    assert answer.status == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 61
    assert strict.client().whoami().name == "dana"
    with pytest.raises(RateLimited):  # a good token that this server has not seen yet waits
        strict.client(newcomer).whoami()
    failed = [record for record in caplog.records if record.name == "acai.identity"]
    assert len(failed) == 3
    for record in failed:
        assert record.address == "127.0.0.1"  # type: ignore[attr-defined]
        for style in (JsonLines(), Readable()):
            written = style.format(record)
            assert "sign-in failed" in written
            assert not [guess for guess in guesses if guess.rpartition("_")[2] in written]


def test_no_token_at_all_is_no_guess(strict: Embedded) -> None:
    for _ in range(9):
        assert strict.call("GET", "/api/v1/users/me").status == 401
    assert strict.client(strict.client().create_user("mei").token).whoami().name == "mei"


def test_a_token_that_worked_is_limited_once_it_is_revoked(strict: Embedded) -> None:
    mei = strict.client().create_user("mei").token
    strict.client(mei).whoami()
    strict.client().remove_user("mei")
    for _ in range(3):
        with pytest.raises(Unauthenticated):
            strict.client(mei).whoami()
    with pytest.raises(RateLimited):
        strict.client(mei).whoami()
