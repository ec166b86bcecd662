"""Projects, users and tokens, from Python."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from acai.client.base import Part
from acai.client.decode import decode
from acai.model.identity import NewProject, NewUser, Project, Role, User


class IdentityPart(Part):
    def whoami(self) -> User:
        """The user that this client speaks for."""
        return decode(User, self._session.call("GET", "/users/me"))

    def create_project(self, name: str, admin: str) -> NewProject:
        """Make a project and its first admin; needs the global admin's token."""
        body = {"name": name, "admin": admin}
        return decode(NewProject, self._session.call("POST", "/projects", body))

    def list_projects(self) -> Iterator[Project]:
        return self._pages(Project, "/projects")

    def create_user(self, name: str, *, admin: bool = False) -> NewUser:
        """Make a user in this project; the answer holds its token, shown this once."""
        role = Role.ADMIN if admin else Role.MEMBER
        body = {"name": name, "role": role.value}
        return decode(NewUser, self._session.call("POST", "/users", body))

    def list_users(self) -> Iterator[User]:
        return self._pages(User, "/users")

    def remove_user(self, name: str) -> User:
        return decode(User, self._session.call("DELETE", f"/users/{quote(name, safe='')}"))

    def rotate_token(self, user: str | None = None) -> NewUser:
        """A new token for yourself, or for a user of your project if you are its admin.

        A client keeps speaking with the token it was made with, so make a new one after.
        """
        return decode(NewUser, self._session.call("POST", "/tokens/rotate", {"user": user}))
