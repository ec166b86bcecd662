"""Tokens: one for each user, replaced by rotating it."""

from __future__ import annotations

from pydantic import BaseModel

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.model.identity import NewUser

routes = Routes("tokens")


class TokenToRotate(BaseModel):
    user: str | None = None


@routes.on("POST", "/tokens/rotate", Needs.TOKEN)
def rotate_token(body: TokenToRotate, caller: Caller, platform: Platform) -> NewUser:
    """A new token for the caller, or by an admin for a user; the old one stops at once."""
    return platform.identity.rotate_token(caller, body.user)
