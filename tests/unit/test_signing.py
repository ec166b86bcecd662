"""Signatures: ours against the published examples of AWS, and our own URLs against forgery."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.model.errors import Forbidden
from acai.model.ids import Sha256
from acai.stores.objects.permits import ROUTE, Permit, sign, verify
from acai.stores.objects.sigv4 import Credentials, Scope, authorize, presign

# The example of the S3 documentation; it is published and opens nothing.
EXAMPLE = Credentials(
    access_key="AKIAIOSFODNN7EXAMPLE", secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)
SCOPE = Scope(moment=datetime(2013, 5, 24, tzinfo=UTC), region="us-east-1")

SECRET = b"0123456789abcdef0123456789abcdef"
PERMIT = Permit(method="PUT", key="a/b=c", expires=1000, size=5, sha256=Sha256("ab" * 32))


def test_the_published_presigned_url() -> None:
    url = presign(
        method="GET",
        origin="https://examplebucket.s3.amazonaws.com",
        path="/test.txt",
        query={},
        headers={},
        credentials=EXAMPLE,
        scope=SCOPE,
        expires=86400,
    )
    query = dict(parse_qsl(urlsplit(url).query))
    assert query["X-Amz-Signature"] == (
        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )
    assert query["X-Amz-Credential"] == "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"
    assert query["X-Amz-SignedHeaders"] == "host"


@pytest.mark.parametrize(
    ("method", "path", "query", "headers", "body", "expected"),
    [
        (
            "GET",
            "/test.txt",
            {},
            {"Range": "bytes=0-9"},
            b"",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT",
            "/test$file.text",
            {},
            {
                "Date": "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-storage-class": "REDUCED_REDUNDANCY",
            },
            b"Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            "GET",
            "/",
            {"lifecycle": ""},
            {},
            b"",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "GET",
            "/",
            {"prefix": "J", "max-keys": "2"},
            {},
            b"",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
    ids=["range", "put", "lifecycle", "list"],
)
def test_the_published_signed_headers(
    method: str,
    path: str,
    query: dict[str, str],
    headers: dict[str, str],
    body: bytes,
    expected: str,
) -> None:
    found = authorize(
        method=method,
        origin="https://examplebucket.s3.amazonaws.com",
        path=path,
        query=query,
        headers=headers,
        body=body,
        credentials=EXAMPLE,
        scope=SCOPE,
    )
    assert found["authorization"].endswith(f", Signature={expected}")
    assert found["x-amz-date"] == "20130524T000000Z"


def test_a_session_token_travels_in_the_url_and_secrets_in_no_repr() -> None:
    temporary = Credentials(access_key="id", secret_key="s3cr3t", session_token="t0ken/+=")
    url = presign(
        method="GET",
        origin="http://127.0.0.1:1",
        path="/b/k",
        query={"partNumber": "1"},
        headers={"Content-Length": "5"},
        credentials=temporary,
        scope=SCOPE,
        expires=60,
    )
    query = dict(parse_qsl(urlsplit(url).query))
    assert query["X-Amz-Security-Token"] == "t0ken/+="
    assert query["X-Amz-SignedHeaders"] == "content-length;host"
    assert "s3cr3t" not in url
    assert "s3cr3t" not in repr(temporary)
    assert "t0ken" not in repr(temporary)


def _check(
    url: str,
    *,
    method: str = "PUT",
    length: int | None = 5,
    now: float = 999,
    secret: bytes = SECRET,
    **changes: str,
) -> Permit:
    parts = urlsplit(url)
    return verify(
        method=method,
        key=unquote(parts.path).removeprefix(ROUTE),
        query={**dict(parse_qsl(parts.query)), **changes},
        content_length=length,
        secret=secret,
        now=now,
    )


def test_our_own_url_comes_back_as_the_permit_it_was() -> None:
    part = Permit(method="PUT", key="a/b", expires=1000, size=5, upload="up", part=3)
    get = Permit(method="GET", key="a+b@c,d/e", expires=1000)
    assert _check(sign(PERMIT, secret=SECRET)) == PERMIT
    assert _check(sign(part, secret=SECRET, base_url="http://host:7650/")) == part
    assert _check(sign(get, secret=SECRET), method="GET", length=None) == get


@pytest.mark.parametrize(
    "change",
    [
        {"method": "GET"},
        {"secret": b"another secret"},
        {"expires": "2000"},
        {"size": "6"},
        {"size": ""},
        {"sha256": "cd" * 32},
        {"upload": "x"},
        {"part": "1"},
        {"sig": ""},
        {"sig": "é"},
        {"expires": "1000\nsize=5"},
    ],
)
def test_a_changed_url_is_forbidden(change: dict[str, str]) -> None:
    with pytest.raises(Forbidden, match="not signed"):
        _check(sign(PERMIT, secret=SECRET), **change)  # type: ignore[arg-type]


def test_another_key_is_forbidden() -> None:
    url = sign(PERMIT, secret=SECRET).replace("/a/b", "/a/x")
    with pytest.raises(Forbidden, match="not signed"):
        _check(url)


def test_an_expired_url_is_forbidden() -> None:
    with pytest.raises(Forbidden, match="expired"):
        _check(sign(PERMIT, secret=SECRET), now=1000)


@pytest.mark.parametrize("length", [None, 4, 6])
def test_another_length_is_forbidden(length: int | None) -> None:
    with pytest.raises(Forbidden, match="5 bytes"):
        _check(sign(PERMIT, secret=SECRET), length=length)


def test_a_field_that_was_not_signed_is_not_believed() -> None:
    get = Permit(method="GET", key="k", expires=1000)
    found = _check(sign(get, secret=SECRET), method="GET", length=None, size="", other="1")
    assert found == get


@given(
    query=st.dictionaries(
        st.sampled_from(["expires", "size", "sha256", "upload", "part", "sig"]), st.text()
    ),
    key=st.text(),
)
def test_nothing_unsigned_gets_in_and_nothing_crashes(query: dict[str, str], key: str) -> None:
    with pytest.raises(Forbidden):
        verify(method="PUT", key=key, query=query, content_length=1, secret=SECRET, now=0)
