"""Who may act: projects, users, and the tokens that prove them."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from acai.identity.limiter import FailureLimiter
from acai.identity.tokens import new_token, parse_token, same_hash
from acai.model.errors import (
    Conflict,
    Forbidden,
    ProjectNotFound,
    RateLimited,
    Unauthenticated,
    UserNotFound,
)
from acai.model.identity import (
    NewProject,
    NewUser,
    Principal,
    Project,
    Role,
    User,
    is_name,
    valid_name,
)
from acai.model.ids import ProjectId, UserId
from acai.stores.records import identity as records
from acai.stores.records.database import PLATFORM, Database, Transaction

log = logging.getLogger("acai.identity")

_NO_TOKEN = "this needs a token; run `acai login URL --token TOKEN`, or set ACAI_TOKEN"  # noqa: S105
_BAD_TOKEN = "the token is not valid: mistyped, rotated or revoked; ask an admin for a new one"  # noqa: S105


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class FirstStart:
    """What the first start of a platform made."""

    admin: NewUser
    user: NewUser


class Identity:
    def __init__(
        self,
        database: Database,
        *,
        failure_limit: int,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._database = database
        self._clock = clock
        self._limiter = FailureLimiter(failure_limit)

    def bootstrap(self, user_name: str, keep: Callable[[FirstStart], None]) -> FirstStart | None:
        """Make the global admin, the project `default` and its first user; None if they exist.

        `keep` puts the tokens away, before they become valid: were it after, a crash between
        the two would leave a platform that nobody can sign in to.
        """
        with self._database.write(PLATFORM) as tx:
            records.lock_platform(tx)
            if records.platform_value(tx, "started") is not None:
                return None
            records.set_platform_value(tx, "started", self._clock().isoformat())
            admin = self._new_user(tx, None, "admin", Role.GLOBAL_ADMIN)
            project, _ = records.add_project(tx, "default", self._clock())
            user = self._new_user(tx, project, user_name, Role.ADMIN)
            first = FirstStart(admin=admin, user=user)
            keep(first)
        return first

    def platform_secret(self, name: str) -> bytes:
        """A random secret of this platform, the same on every server and after every restart."""
        with self._database.write(PLATFORM) as tx:
            records.lock_platform(tx)
            found = records.platform_value(tx, name)
            if found is None:
                found = secrets.token_hex(32)
                records.set_platform_value(tx, name, found)
        return bytes.fromhex(found)

    def authenticate(self, text: str | None, address: str, project: str | None) -> Principal:
        """The caller behind a token. `project` is the one asked for, if the caller named one.

        Raises Unauthenticated, RateLimited, or ProjectNotFound for a project that does not
        exist or that the caller does not belong to: the two look alike on purpose.
        """
        if not text:
            raise Unauthenticated(_NO_TOKEN)
        token = parse_token(text)
        token_hash = token.hash if token else "malformed"
        wait = self._limiter.wait(address, token_hash)
        if wait > 0:
            raise RateLimited(
                f"too many failed sign-ins from this address; try again in {wait:.0f} s",
                retry_after=round(wait) + 1,
            )
        stored = None
        with self._database.read(PLATFORM) as tx:
            if token is not None:
                stored = records.token_by_lookup(tx, token.lookup)
            if stored is None or token is None or not same_hash(token.hash, stored.hash):
                self._limiter.failed(address, token_hash)
                known = token.lookup if token is not None else "malformed"
                log.warning("sign-in failed", extra={"address": address, "token_lookup": known})
                raise Unauthenticated(_BAD_TOKEN)
            self._limiter.succeeded(token.hash)
            return self._behind(tx, stored, project)

    def principal_of(self, lookup: str, project: str | None) -> Principal:
        """The caller behind a session, which names its token; Unauthenticated once that ended."""
        with self._database.read(PLATFORM) as tx:
            stored = records.token_by_lookup(tx, lookup)
            if stored is None:
                raise Unauthenticated("the session has ended with its token; sign in again")
            return self._behind(tx, stored, project)

    def _behind(
        self, tx: Transaction, stored: records.StoredToken, project: str | None
    ) -> Principal:
        """Whoever a token is for, in their own project or in the one they ask for."""
        if stored.job_id is not None:
            return _job(stored)
        project_id = stored.project_id
        if project is not None and project != stored.user.project:
            project_id = self._foreign_project(tx, stored.user, project)
        return Principal(user_id=stored.user_id, user=stored.user, project_id=project_id)

    def _foreign_project(self, tx: Transaction, user: User, project: str) -> ProjectId:
        visible = user.role is Role.GLOBAL_ADMIN and is_name(project)
        found = records.project_named(tx, project) if visible else None
        if found is None:
            own = f"; your token is for {user.project!r}" if user.project else ""
            raise ProjectNotFound(f"there is no project {project!r} for this token{own}")
        return found[0]

    def acting_for(self, project: ProjectId, user: UserId) -> Principal | None:
        """Somebody for whom the platform does something by itself; None once they are gone."""
        with self._database.read(PLATFORM) as tx:
            found = records.user_with_id(tx, user)
        return None if found is None else Principal(user_id=user, user=found, project_id=project)

    def create_project(self, name: str, admin_name: str) -> NewProject:
        """A project with its first admin, whose token is shown this once."""
        valid_name("project", name)
        valid_name("user", admin_name)
        with self._database.write(PLATFORM) as tx:
            project_id, project = records.add_project(tx, name, self._clock())
            admin = self._new_user(tx, project_id, admin_name, Role.ADMIN)
        return NewProject(project=project, admin=admin)

    def projects(self, caller: Principal, *, after: str, limit: int) -> list[Project]:
        """All projects for the global admin; for anyone else just their own."""
        with self._database.read(PLATFORM) as tx:
            if caller.user.role is Role.GLOBAL_ADMIN:
                return records.list_projects(tx, after=after, limit=limit)
            found = records.project_named(tx, caller.user.project or "")
        return [found[1]] if found is not None and found[1].name > after else []

    def create_user(self, caller: Principal, name: str, role: Role) -> NewUser:
        valid_name("user", name)
        if role is Role.GLOBAL_ADMIN:
            raise Forbidden("there is one global admin, made by the first start")
        with self._database.write(PLATFORM) as tx:
            return self._new_user(tx, caller.project, name, role)

    def users(self, caller: Principal, *, after: str, limit: int) -> list[User]:
        with self._database.read(PLATFORM) as tx:
            return records.list_users(tx, caller.project, after=after, limit=limit)

    def remove_user(self, caller: Principal, name: str) -> User:
        """Revoke a user's token and free the name; what the user made stays."""
        with self._database.write(PLATFORM) as tx:
            records.lock_project(tx, caller.project)
            user_id, user = self._user(tx, caller, name)
            if user.role is Role.ADMIN and records.count_admins(tx, caller.project) == 1:
                raise Conflict(
                    f"{user.name!r} is the only admin of the project; make another admin first"
                )
            records.remove_user(tx, user_id, self._clock())
        return user

    def rotate_token(self, caller: Principal, name: str | None) -> NewUser:
        """A new token in place of the old one, which stops working at once."""
        if caller.job_id is not None:
            raise Forbidden("a job's token cannot rotate tokens; use your own")
        with self._database.write(PLATFORM) as tx:
            if name is None:
                user_id, user = caller.user_id, caller.user
            else:
                user_id, user = self._user(tx, caller, name)
            if user_id != caller.user_id and caller.user.role is Role.MEMBER:
                raise Forbidden("only an admin of the project may rotate another user's token")
            records.lock_user(tx, user_id)
            token = new_token()
            records.revoke_tokens(tx, user_id, self._clock())
            records.add_token(tx, user_id, token.lookup, token.hash, self._clock())
        return NewUser(user=user, token=token.text)

    def _user(self, tx: Transaction, caller: Principal, name: str) -> tuple[UserId, User]:
        if caller.project_id is None:
            raise ProjectNotFound("name the project of that user with --project")
        found = records.user_named(tx, caller.project, name) if is_name(name) else None
        if found is None:
            raise UserNotFound(f"there is no user {name!r} in this project; see `acai user ls`")
        return found

    def _new_user(
        self, tx: Transaction, project: ProjectId | None, name: str, role: Role
    ) -> NewUser:
        user_id, user = records.add_user(
            tx, project=project, name=name, role=role, now=self._clock()
        )
        token = new_token()
        records.add_token(tx, user_id, token.lookup, token.hash, self._clock())
        return NewUser(user=user, token=token.text)


def _job(stored: records.StoredToken) -> Principal:
    """Whoever holds a job's token acts for its user in its project, with no further rights."""
    return Principal(
        user_id=stored.user_id,
        user=replace(stored.user, role=Role.MEMBER),
        project_id=stored.project_id,
        job_id=stored.job_id,
        attempt=stored.attempt,
    )
