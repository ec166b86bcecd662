"""AWS Signature Version 4: presigned URLs for others, signed headers for ourselves.

A presigned URL carries its own permission. Every header that is signed must be sent by
whoever uses the URL, with the very value that was signed: that is how a URL is made good
for one content length and one checksum only.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote, urlsplit

UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
_ALGORITHM = "AWS4-HMAC-SHA256"
_UNRESERVED = "-_.~"


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """Who signs. Only the access key may be shown."""

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What a signature is good for: a day, a region and a service."""

    moment: datetime  # in UTC
    region: str
    service: str = "s3"

    @property
    def timestamp(self) -> str:
        return self.moment.strftime("%Y%m%dT%H%M%SZ")

    def __str__(self) -> str:
        return f"{self.timestamp[:8]}/{self.region}/{self.service}/aws4_request"


def encode_path(path: str) -> str:
    return quote(path, safe="/" + _UNRESERVED)


def encode_query(query: Mapping[str, str]) -> str:
    """The query in the one order and spelling that both sides sign."""
    pairs = sorted(
        (quote(k, safe=_UNRESERVED), quote(v, safe=_UNRESERVED)) for k, v in query.items()
    )
    return "&".join(f"{name}={value}" for name, value in pairs)


def signature(
    *,
    method: str,
    path: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    payload: str,
    scope: Scope,
    secret_key: str,
) -> str:
    """The hexadecimal signature over a request; `path` is not yet percent-encoded."""
    named = sorted((name.lower(), " ".join(value.split())) for name, value in headers.items())
    canonical = "\n".join(
        [
            method,
            encode_path(path),
            encode_query(query),
            *(f"{name}:{value}" for name, value in named),
            "",
            ";".join(name for name, _ in named),
            payload,
        ]
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = "\n".join([_ALGORITHM, scope.timestamp, str(scope), digest])
    key = b"AWS4" + secret_key.encode()
    for step in str(scope).split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    return hmac.digest(key, to_sign.encode(), "sha256").hex()


def presign(
    *,
    method: str,
    origin: str,
    path: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    credentials: Credentials,
    scope: Scope,
    expires: int,
) -> str:
    """A URL at `origin` (scheme and host) that allows one request for `expires` seconds.

    `headers` are signed in addition to Host; the user of the URL has to send them as they are.
    """
    signed = {"host": urlsplit(origin).netloc, **{k.lower(): v for k, v in headers.items()}}
    parameters = {
        **query,
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key}/{scope}",
        "X-Amz-Date": scope.timestamp,
        "X-Amz-Expires": str(expires),
        "X-Amz-SignedHeaders": ";".join(sorted(signed)),
    }
    if credentials.session_token is not None:
        parameters["X-Amz-Security-Token"] = credentials.session_token
    proof = signature(
        method=method,
        path=path,
        query=parameters,
        headers=signed,
        payload=UNSIGNED_PAYLOAD,
        scope=scope,
        secret_key=credentials.secret_key,
    )
    return f"{origin}{encode_path(path)}?{encode_query(parameters)}&X-Amz-Signature={proof}"


def authorize(
    *,
    method: str,
    origin: str,
    path: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    body: bytes,
    credentials: Credentials,
    scope: Scope,
) -> dict[str, str]:
    """The headers of a request that we make ourselves, so that no URL in a log is a key."""
    payload = hashlib.sha256(body).hexdigest()
    signed = {
        **{name.lower(): value for name, value in headers.items()},
        "host": urlsplit(origin).netloc,
        "x-amz-content-sha256": payload,
        "x-amz-date": scope.timestamp,
    }
    if credentials.session_token is not None:
        signed["x-amz-security-token"] = credentials.session_token
    proof = signature(
        method=method,
        path=path,
        query=query,
        headers=signed,
        payload=payload,
        scope=scope,
        secret_key=credentials.secret_key,
    )
    names = ";".join(sorted(signed))
    signed["authorization"] = (
        f"{_ALGORITHM} Credential={credentials.access_key}/{scope}, "
        f"SignedHeaders={names}, Signature={proof}"
    )
    return signed
