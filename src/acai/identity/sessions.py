"""Browser sessions: a signed cookie that stands for a token, and a link that opens one, once.

A cookie holds the lookup part of a token and when the session ends, signed by the platform;
nothing is stored. It proves no more than the token's row says at the moment: a token that is
rotated or revoked ends its sessions.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_COOKIE = re.compile(r"([a-z0-9]{12})\.([0-9]{1,12})\.([0-9a-f]{64})\Z")
_LIFETIME = timedelta(days=7)


@dataclass(frozen=True, kw_only=True)
class Session:
    lookup: str  # of the token it stands for
    expires_at: datetime
    cookie: str
    csrf: str  # what a page of ours must send along to change anything

    def __repr__(self) -> str:
        return f"Session(acai_{self.lookup}_… until {self.expires_at})"


class Sessions:
    """Opens and reads sessions. Links live in this process and end with it. Thread-safe."""

    def __init__(self, secret: bytes, clock: Callable[[], datetime]) -> None:
        self._secret = secret
        self._clock = clock
        self._lock = threading.Lock()
        self._links: dict[str, str] = {}
        # Cookies know no port: two platforms on one host must not overwrite each other's.
        self.cookie_name = f"acai_session_{self._mac('name')[:8]}"

    def open(self, lookup: str) -> Session:
        ends = int((self._clock() + _LIFETIME).timestamp())
        return self._session(lookup, ends)

    def read(self, cookie: str) -> Session | None:
        """The session a cookie stands for; None if it is not ours or has run out."""
        match = _COOKIE.match(cookie)
        if match is None:
            return None
        session = self._session(match[1], int(match[2]))
        if not hmac.compare_digest(session.cookie, cookie):
            return None
        return session if self._clock() < session.expires_at else None

    def offer_link(self, lookup: str) -> str:
        """A word that opens a session for this token, once."""
        word = secrets.token_urlsafe(24)
        with self._lock:
            self._links[word] = lookup
        return word

    def redeem_link(self, word: str) -> str | None:
        """The lookup that a link was offered for; None if it was used or never offered."""
        with self._lock:
            return self._links.pop(word, None)

    def _session(self, lookup: str, ends: int) -> Session:
        signed = f"{lookup}.{ends}"
        cookie = f"{signed}.{self._mac(f'session.{signed}')}"
        return Session(
            lookup=lookup,
            expires_at=datetime.fromtimestamp(ends, UTC),
            cookie=cookie,
            csrf=self._mac(f"csrf.{signed}"),
        )

    def _mac(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()
