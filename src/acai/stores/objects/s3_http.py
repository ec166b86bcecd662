"""Requests to an S3 bucket that obstore has no call for, signed by ourselves."""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import urllib3

from acai.model.errors import StorageFull, Unavailable
from acai.stores.objects.sigv4 import (
    Credentials,
    Scope,
    authorize,
    encode_path,
    encode_query,
    presign,
)

log = logging.getLogger("acai.objects")
_TIMEOUT = urllib3.Timeout(connect=5, read=60)
_NO_ROOM = {"507", "InsufficientStorage", "QuotaExceeded", "XMinioStorageFull"}
_NO_RIGHT = {
    "401",
    "403",
    "AccessDenied",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "AuthorizationHeaderMalformed",
    "RequestTimeTooSkewed",
}
# Any page may ask, for asking is not enough: what is answered is what our URLs were signed for.
_CORS = (
    b"<CORSConfiguration><CORSRule><AllowedOrigin>*</AllowedOrigin>"
    b"<AllowedMethod>GET</AllowedMethod><AllowedMethod>PUT</AllowedMethod>"
    b"<AllowedHeader>*</AllowedHeader><ExposeHeader>ETag</ExposeHeader>"
    b"<MaxAgeSeconds>3600</MaxAgeSeconds></CORSRule></CORSConfiguration>"
)
_NO_CORS = ("NoSuchCORSConfiguration", "404")
_RETRIES = urllib3.Retry(
    total=3,
    backoff_factor=0.2,
    status_forcelist=(500, 502, 503, 504),
    allowed_methods=None,  # every request made here can be repeated
    raise_on_status=False,
)
_POOL = urllib3.PoolManager(maxsize=16, retries=_RETRIES)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`code` is the store's own word for what went wrong, or the status; empty if all is well."""

    headers: Mapping[str, str]
    data: bytes
    code: str


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket at an address, with the credentials to sign for it."""

    name: str
    origin: str  # scheme and host
    path: str  # "" where the host names the bucket, else "/bucket"
    region: str
    credentials: Credentials

    def presign(
        self,
        method: str,
        key: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        *,
        expires: timedelta,
        now: datetime,
    ) -> str:
        return presign(
            method=method,
            origin=self.origin,
            path=f"{self.path}/{key}",
            query=query,
            headers=headers,
            credentials=self.credentials,
            scope=Scope(moment=now, region=self.region),
            expires=max(1, int(expires.total_seconds())),
        )

    def request(
        self,
        method: str,
        key: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        allow: Collection[str] = (),
    ) -> Answer:
        """Make one small request of our own. A code that is not in `allow` raises Unavailable."""
        path = f"{self.path}/{key}"
        signed = authorize(
            method=method,
            origin=self.origin,
            path=path,
            query=query or {},
            headers=headers or {},
            body=body,
            credentials=self.credentials,
            scope=Scope(moment=datetime.now(UTC), region=self.region),
        )
        url = f"{self.origin}{encode_path(path)}?{encode_query(query or {})}"
        try:
            response = _POOL.request(method, url, headers=signed, body=body, timeout=_TIMEOUT)
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(
                f"the store at {self.origin} does not answer ({type(error).__name__}); check its "
                "address and that it runs"
            ) from error
        answer = Answer(
            headers=response.headers,
            data=response.data,
            code=_code(response.status, response.data),
        )
        if answer.code and answer.code not in allow:
            raise self._refused(answer.code)
        return answer

    def ensure(self) -> None:
        """Make the bucket if it does not exist and we may; raise Unavailable if it is not there."""
        if not self.request("HEAD", "", allow=("404",)).code:
            return
        body = b""
        if self.region != "us-east-1":
            body = (
                "<CreateBucketConfiguration><LocationConstraint>"
                f"{self.region}</LocationConstraint></CreateBucketConfiguration>"
            ).encode()
        # Another process may have made it between the two requests.
        self.request("PUT", "", body=body, allow=("BucketAlreadyOwnedByYou",))

    def let_browsers_in(self) -> None:
        """Give the bucket a CORS rule, unless it has some of its own or we may not.

        Without one a browser keeps what a signed URL answers from the dashboard's pages.
        """
        try:
            if self.request("GET", "", query={"cors": ""}, allow=_NO_CORS).code:
                digest = base64.b64encode(hashlib.md5(_CORS, usedforsecurity=False).digest())
                headers = {"content-md5": digest.decode()}
                self.request("PUT", "", query={"cors": ""}, headers=headers, body=_CORS)
        except Unavailable as error:
            # Some stores know no such rules and let everybody in; `acai doctor` tries it.
            log.info("the bucket's CORS rules were left alone", extra={"reason": error.message})

    def _refused(self, code: str) -> Unavailable:
        if code in _NO_ROOM:
            return StorageFull(f"bucket {self.name} at {self.origin} has no room left")
        if code in _NO_RIGHT:
            return Unavailable(
                f"the store at {self.origin} refused the server's credentials for bucket "
                f"{self.name} ({code}); check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, the "
                "region and their rights"
            )
        return Unavailable(f"bucket {self.name} at {self.origin} refused a request ({code})")


def document(data: bytes) -> ElementTree.Element:
    """The XML of an answer, with the namespaces taken off. It comes from our own store."""
    root = ElementTree.fromstring(data)  # noqa: S314
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def _code(status: int, data: bytes) -> str:
    # Completing an upload can fail after the status 200 was sent; then the body says so.
    if status < 400 and b"<Error" not in data[:300]:
        return ""
    try:
        return document(data).findtext("Code") or str(status)
    except ElementTree.ParseError:
        return str(status)
