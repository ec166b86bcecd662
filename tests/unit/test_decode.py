"""JSON into frozen values, by their hints."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from acai.cli.output import to_json
from acai.client.decode import decode
from acai.model.errors import Unavailable
from acai.model.identity import NewProject, NewUser, Project, Role, User


@dataclass(frozen=True, kw_only=True)
class Nested:
    users: tuple[User, ...]
    roles: list[Role]
    times: dict[str, datetime]
    note: str | None = None
    anything: Any = None


NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
USER = User(id="user-1", name="dana", role=Role.ADMIN, project=None, create_time=NOW)


@pytest.mark.parametrize(
    "value",
    [
        USER,
        NewUser(user=USER, token="t"),
        NewProject(project=Project(name="p", create_time=NOW), admin=NewUser(user=USER, token="t")),
        Nested(
            users=(USER, USER),
            roles=[Role.MEMBER],
            times={"a": NOW},
            note=None,
            anything={"x": [1, None]},
        ),
    ],
)
def test_what_is_printed_is_decoded(value: Any) -> None:
    assert decode(type(value), to_json(value)) == value


def test_fields_of_a_newer_server_are_passed_over() -> None:
    assert (
        decode(Project, {"name": "p", "create_time": NOW.isoformat(), "colour": "red"}).name == "p"
    )


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"name": "p"},
        "text",
        5,
        [],
        {"name": "p", "create_time": "yesterday"},
        {"name": "p", "create_time": 5},
    ],
)
def test_what_is_no_answer_of_ours_is_a_clear_error(answer: Any) -> None:
    with pytest.raises(Unavailable, match="not one that this acai knows"):
        decode(Project, answer)


def test_an_unknown_role_is_a_clear_error() -> None:
    with pytest.raises(Unavailable):
        decode(User, {**to_json(USER), "role": "emperor"})
