"""Users of a project."""

from __future__ import annotations

from pydantic import BaseModel

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.paging import Cursor, Limit, Page, decode_cursor, page
from acai.model.identity import NewUser, Role, User

routes = Routes("users")


class UserToCreate(BaseModel):
    name: str
    role: Role = Role.MEMBER


@routes.on("GET", "/users/me", Needs.TOKEN)
def whoami(caller: Caller) -> User:
    """The caller."""
    return caller.user


@routes.on("POST", "/users", Needs.PROJECT_ADMIN, status_code=201)
def create_user(body: UserToCreate, caller: Caller, platform: Platform) -> NewUser:
    """Make a user, whose token is in the answer and nowhere else."""
    return platform.identity.create_user(caller, body.name, body.role)


@routes.on("GET", "/users", Needs.PROJECT)
def list_users(
    caller: Caller, platform: Platform, limit: Limit = 100, cursor: Cursor = None
) -> Page[User]:
    """The project's users, by name."""
    after = decode_cursor(cursor, "")
    found = platform.identity.users(caller, after=after, limit=limit + 1)
    return page(found, limit, lambda user: user.name)


@routes.on("DELETE", "/users/{name}", Needs.PROJECT_ADMIN)
def remove_user(name: str, caller: Caller, platform: Platform) -> User:
    """Remove a user, by name or id. What the user made stays."""
    return platform.identity.remove_user(caller, name)
