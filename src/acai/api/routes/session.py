"""Sign-in of a browser: a token, or the link that `acai up` printed, becomes a cookie."""

from __future__ import annotations

import ipaddress
from datetime import datetime

from fastapi import Request, Response
from pydantic import BaseModel, Field

from acai.api.needs import Needs, Platform, Routes, client_address, same_origin, session_of
from acai.api.services import Services
from acai.identity.sessions import Session
from acai.identity.tokens import parse_token
from acai.model.errors import Unauthenticated
from acai.model.identity import User

routes = Routes("session")


class SessionToOpen(BaseModel):
    token: str | None = Field(default=None, description="A user's token.")
    link: str | None = Field(default=None, description="The word of a link, good once.")


class BrowserSession(BaseModel):
    user: User
    csrf: str = Field(description="Send it as X-Acai-Csrf with whatever changes something.")
    expires_at: datetime


class SessionState(BaseModel):
    session: BrowserSession | None


@routes.on("POST", "/session", Needs.NOTHING, status_code=201)
def open_session(
    body: SessionToOpen, request: Request, response: Response, platform: Platform
) -> BrowserSession:
    """Sign in. The answer sets an HttpOnly cookie that stands for the token."""
    same_origin(request)
    if body.link is not None:
        user, lookup = _by_link(request, platform, body.link)
    else:
        user, lookup = _by_token(request, platform, (body.token or "").strip())
    session = platform.sessions.open(lookup)
    response.set_cookie(
        platform.sessions.cookie_name,
        session.cookie,
        expires=session.expires_at,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return _shown(user, session)


@routes.on("GET", "/session", Needs.NOTHING)
def get_session(request: Request, response: Response, platform: Platform) -> SessionState:
    """Who is signed in by the cookie, if anyone is."""
    response.headers["cache-control"] = "no-store"
    try:
        session = session_of(request, platform)
        user = platform.identity.principal_of(session.lookup, None).user
    except Unauthenticated:
        return SessionState(session=None)
    return SessionState(session=_shown(user, session))


@routes.on("DELETE", "/session", Needs.NOTHING)
def close_session(request: Request, response: Response, platform: Platform) -> SessionState:
    """Sign out: the cookie is taken away. Rotating the token ends all of its sessions."""
    same_origin(request)
    response.delete_cookie(platform.sessions.cookie_name, httponly=True, samesite="strict")
    return SessionState(session=None)


def _by_token(request: Request, platform: Services, text: str) -> tuple[User, str]:
    principal = platform.identity.authenticate(text, client_address(request), None)
    token = parse_token(text)
    if token is None:
        raise Unauthenticated("sign in with a user's token")
    return principal.user, token.lookup


def _by_link(request: Request, platform: Services, word: str) -> tuple[User, str]:
    lookup = platform.sessions.redeem_link(word) if _on_this_host(request) else None
    if lookup is None:
        raise Unauthenticated(
            "the link has been used, or is from an earlier start; sign in with your token,"
            " or start `acai up` again for a new link"
        )
    return platform.identity.principal_of(lookup, None).user, lookup


def _on_this_host(request: Request) -> bool:
    if "x-forwarded-for" in request.headers:
        return False
    try:
        return ipaddress.ip_address(client_address(request)).is_loopback
    except ValueError:
        return False


def _shown(user: User, session: Session) -> BrowserSession:
    return BrowserSession(user=user, csrf=session.csrf, expires_at=session.expires_at)
