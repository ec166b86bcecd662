"""Projects, users, and who is asking."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from acai.model.errors import InvalidInput
from acai.model.ids import ProjectId, UserId

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")


class Role(StrEnum):
    MEMBER = "member"
    ADMIN = "admin"  # of one project: makes and removes its users
    GLOBAL_ADMIN = "global_admin"  # of the platform: makes projects; belongs to none


@dataclass(frozen=True, kw_only=True)
class Project:
    name: str
    create_time: datetime


@dataclass(frozen=True, kw_only=True)
class User:
    id: str
    name: str
    role: Role
    project: str | None
    create_time: datetime


@dataclass(frozen=True, kw_only=True)
class NewUser:
    """A user with the token that is shown this once."""

    user: User
    token: str


@dataclass(frozen=True, kw_only=True)
class NewProject:
    project: Project
    admin: NewUser


@dataclass(frozen=True, kw_only=True)
class Principal:
    """The authenticated caller of one request, inside the server."""

    user_id: UserId
    user: User
    project_id: ProjectId | None
    job_id: int | None = None  # the job whose token this is, and the attempt it belongs to
    attempt: int | None = None

    @property
    def project(self) -> ProjectId:
        """The project that the request acts in; routes that need one are refused without."""
        assert self.project_id is not None
        return self.project_id


def is_name(text: str) -> bool:
    return _NAME.match(text) is not None


def valid_name(what: str, name: str) -> str:
    """A project's or user's name, or InvalidInput that says what a name looks like."""
    if not is_name(name):
        raise InvalidInput(
            f"{name!r} cannot name a {what}: use 1 to 63 letters, digits, '.', '_' or '-',"
            " beginning with a letter or digit",
            name=name,
        )
    return name
