"""URLs that the platform signs for its own directory store. Pure: no clock, no I/O."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from acai.model.errors import Forbidden
from acai.model.ids import Sha256
from acai.model.keys import check_key

ROUTE = "/api/v1/objects/"
_PURPOSE = b"acai object url v1"
_FIELDS = ("expires", "size", "sha256", "upload", "part")


@dataclass(frozen=True, kw_only=True)
class Permit:
    """What a signed URL allows: one method on one object, for these bytes, until `expires`."""

    method: str
    key: str
    expires: int  # seconds of the Unix clock
    size: int | None = None
    sha256: Sha256 | None = None
    upload: str | None = None
    part: int | None = None

    def fields(self) -> dict[str, str]:
        """The fields that travel in the URL's query."""
        values = {name: getattr(self, name) for name in _FIELDS}
        return {name: str(value) for name, value in values.items() if value is not None}


def sign(permit: Permit, *, secret: bytes, base_url: str = "") -> str:
    """The URL that carries `permit`; without a `base_url` it is relative to the server."""
    query = {**permit.fields(), "sig": _proof(permit.method, permit.key, permit.fields(), secret)}
    return f"{base_url.rstrip('/')}{ROUTE}{quote(permit.key, safe='/')}?{urlencode(query)}"


def verify(
    *,
    method: str,
    key: str,
    query: Mapping[str, str],
    content_length: int | None,
    secret: bytes,
    now: float,
) -> Permit:
    """The permit that a request holds, or Forbidden with the reason.

    `content_length` is what the request announces; for a permit with a size it has to be
    that size. Nothing of an unproven query is believed.
    """
    fields = {name: value for name, value in query.items() if name in _FIELDS and value}
    proof = _proof(method, key, fields, secret)
    if not hmac.compare_digest(
        proof.encode(), query.get("sig", "").encode("utf-8", "surrogatepass")
    ):
        raise Forbidden(
            "this object URL was not signed by this server for this request; ask for a new one",
            key=key[:200],
        )
    permit = Permit(
        method=method,
        key=check_key(key),
        expires=int(fields["expires"]),
        size=int(fields["size"]) if "size" in fields else None,
        sha256=Sha256(fields["sha256"]) if "sha256" in fields else None,
        upload=fields.get("upload"),
        part=int(fields["part"]) if "part" in fields else None,
    )
    if now >= permit.expires:
        raise Forbidden("this object URL has expired; ask for a new one", key=key)
    if permit.size is not None and content_length != permit.size:
        raise Forbidden(
            f"this object URL is good for {permit.size} bytes, and the request announces "
            f"{'no length' if content_length is None else content_length}",
            key=key,
            size=permit.size,
        )
    return permit


def _proof(method: str, key: str, fields: Mapping[str, str], secret: bytes) -> str:
    # No signed field has a line break, so a forged one that has it makes more lines than
    # were ever signed.
    lines = [method, key, *(f"{name}={fields.get(name, '')}" for name in _FIELDS)]
    signing_key = hmac.digest(secret, _PURPOSE, "sha256")
    return hmac.digest(
        signing_key, "\n".join(lines).encode("utf-8", "surrogatepass"), "sha256"
    ).hex()
