"""What a route needs of its caller. Every route says so, or the application does not start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from enum import StrEnum
from hmac import compare_digest
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute

from acai.api.services import Services
from acai.identity.sessions import Session
from acai.model.errors import Forbidden, InvalidInput, Unauthenticated
from acai.model.identity import Principal, Role


class Needs(StrEnum):
    NOTHING = "nothing"
    SIGNED_URL = "signed_url"  # the URL itself is the proof; the route verifies it
    TOKEN = "token"  # noqa: S105  any user, also the global admin outside a project
    PROJECT = "project"  # a user acting in a project
    JOB = "job"  # the agent of a job, with the token of its attempt
    PROJECT_ADMIN = "project_admin"
    GLOBAL_ADMIN = "global_admin"


NEEDS_KEY = "x-acai-needs"
_SAFE = ("GET", "HEAD", "OPTIONS")


class UndeclaredRoute(AssertionError):
    """A route that anybody could call because nobody said who may: a mistake in our code."""


class GatedRoute(APIRoute):
    """Lets the caller in before the body is read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        declared = (self.openapi_extra or {}).get(NEEDS_KEY)
        if declared is None:
            raise UndeclaredRoute(f"{self.path} does not say what it needs; add it with Routes.on")
        self.needs = Needs(declared)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def gated(request: Request) -> Response:
            if self.needs not in (Needs.NOTHING, Needs.SIGNED_URL):
                request.state.principal = await run_in_threadpool(admit, request, self.needs)
            return await handle(request)

        return gated


class Routes(APIRouter):
    """A router whose every route states `needs` by the verb that adds it."""

    def __init__(self, tag: str) -> None:
        super().__init__(route_class=GatedRoute, tags=[tag])

    def on(
        self, method: str, path: str, needs: Needs, *, status_code: int = 200, **options: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        extra: dict[str, Any] = {NEEDS_KEY: needs.value}
        if needs not in (Needs.NOTHING, Needs.SIGNED_URL):
            extra["security"] = [{"token": []}]
        return self.api_route(
            path, methods=[method], status_code=status_code, openapi_extra=extra, **options
        )


def require_needs(routes: Sequence[BaseRoute], *, except_for: Collection[str]) -> None:
    """Raise UndeclaredRoute unless each route, mount and socket is gated or listed here."""
    for path, route in every_route(routes):
        if not isinstance(route, GatedRoute) and path not in except_for:
            raise UndeclaredRoute(f"{path} does not say what it needs; add it with Routes.on")


def every_route(routes: Sequence[BaseRoute], prefix: str = "") -> Iterator[tuple[str, BaseRoute]]:
    """Each route with its whole path, also those of routers inside routers."""
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is None:
            yield prefix + getattr(route, "path", f"<{type(route).__name__}>"), route
        else:
            context: Any = getattr(route, "include_context", None)
            yield from every_route(included.routes, prefix + context.prefix)


def admit(request: Request, needs: Needs) -> Principal:
    """The caller, if the request's token meets the need; raises otherwise."""
    principal = _authenticated(request, request.app.state.services)
    role = principal.user.role
    if needs is Needs.JOB and principal.job_id is None:
        raise Forbidden("only the agent of a running job may do this")
    if needs is Needs.GLOBAL_ADMIN and role is not Role.GLOBAL_ADMIN:
        raise Forbidden("only the global admin may do this")
    if needs is Needs.PROJECT_ADMIN and role is Role.MEMBER:
        raise Forbidden("only an admin of the project may do this")
    if needs in (Needs.PROJECT, Needs.PROJECT_ADMIN) and principal.project_id is None:
        raise InvalidInput("the global admin must name a project here: add --project NAME")
    return principal


def _authenticated(request: Request, services: Services) -> Principal:
    """The caller behind the token, or without one behind a browser's session."""
    project = request.headers.get("x-acai-project")
    if "authorization" in request.headers or services.sessions.cookie_name not in request.cookies:
        return services.identity.authenticate(bearer(request), client_address(request), project)
    session = session_of(request, services)
    if request.method not in _SAFE:
        same_origin(request)
        given = request.headers.get("x-acai-csrf", "")
        if not compare_digest(given.encode(), session.csrf.encode()):
            raise Forbidden("the request did not come from the dashboard; reload the page")
    return services.identity.principal_of(session.lookup, project)


def session_of(request: Request, services: Services) -> Session:
    """The session of the request's cookie; Unauthenticated without one that holds."""
    session = services.sessions.read(request.cookies.get(services.sessions.cookie_name, ""))
    if session is None:
        raise Unauthenticated("the session has ended; sign in again")
    return session


def same_origin(request: Request) -> None:
    """Refuse what a page of another site sends. Programs send no Origin, and have no cookie."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    services: Services = request.app.state.services
    ours = {request.headers.get("host", ""), urlsplit(services.settings.public_url).netloc}
    if not urlsplit(origin).netloc or urlsplit(origin).netloc not in ours:
        raise Forbidden(
            f"{origin} is not this server's own address; set public_url if a proxy stands in front"
        )


def bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def client_address(request: Request) -> str:
    return request.client.host if request.client else "local"


async def _caller(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Caller = Annotated[Principal, Depends(_caller)]
Platform = Annotated[Services, Depends(_services)]
