"""S3 and what speaks its protocol: obstore for the plain port, our own signatures beside it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from acai.model.errors import UploadIncomplete, UploadNotFound
from acai.model.ids import Sha256
from acai.model.keys import check_key
from acai.stores.objects.base import MultipartUpload, ObjectInfo, Part, SignedRequest, check_parts
from acai.stores.objects.remote import RemoteStore
from acai.stores.objects.s3_http import Bucket, document

if TYPE_CHECKING:
    import obstore.store

_SHA256 = "x-amz-checksum-sha256"
_ABSENT = ("404", "NoSuchKey", "NoSuchUpload")
_BAD_PARTS = ("InvalidPart", "InvalidPartOrder", "BadDigest", "EntityTooSmall", "InvalidRequest")


class S3Store(RemoteStore):
    """ObjectStore, Signer and Multipart over an S3 bucket.

    `inside` is the bucket as the server reaches it, `outside` as clients do. Objects lie
    below `prefix`, which is empty or ends in `/`.
    """

    def __init__(
        self,
        plain: obstore.store.S3Store,
        *,
        inside: Bucket,
        outside: Bucket,
        prefix: str,
    ) -> None:
        super().__init__(f"s3://{inside.name}/{prefix}".rstrip("/"), plain)
        self._inside = inside
        self._outside = outside
        self._prefix = prefix

    def head(self, key: str) -> ObjectInfo | None:
        """As the port says; with the SHA-256 of an object that came by a single signed PUT."""
        answer = self._inside.request(
            "HEAD", self._full(key), headers={"x-amz-checksum-mode": "ENABLED"}, allow=_ABSENT
        )
        if answer.code:
            return None
        return ObjectInfo(
            key=key,
            size=int(answer.headers["content-length"]),
            modified=datetime.strptime(
                answer.headers["last-modified"], "%a, %d %b %Y %H:%M:%S %Z"
            ).replace(tzinfo=UTC),
            etag=answer.headers.get("etag"),
            sha256=_from_header(answer.headers.get(_SHA256)),
        )

    def sign_put(self, key: str, *, size: int, sha256: Sha256, expires: timedelta) -> SignedRequest:
        return self._sign("PUT", key, {}, _content(size, sha256), expires)

    def sign_get(self, key: str, *, expires: timedelta) -> SignedRequest:
        return self._sign("GET", key, {}, {}, expires)

    def start_multipart(self, key: str, *, size: int, part_size: int) -> str:
        check_parts(size, part_size)
        answer = self._inside.request(
            "POST",
            self._full(key),
            query={"uploads": ""},
            headers={"x-amz-checksum-algorithm": "SHA256"},
        )
        return document(answer.data).findtext("UploadId", "")

    def sign_part(
        self,
        key: str,
        upload_id: str,
        *,
        number: int,
        size: int,
        sha256: Sha256,
        expires: timedelta,
    ) -> SignedRequest:
        query = {"partNumber": str(number), "uploadId": upload_id}
        return self._sign("PUT", key, query, _content(size, sha256), expires)

    def list_parts(self, key: str, upload_id: str) -> list[Part]:
        found: list[Part] = []
        while True:
            after = str(found[-1].number) if found else "0"
            answer = self._inside.request(
                "GET",
                self._full(key),
                query={"uploadId": upload_id, "part-number-marker": after},
                allow=_ABSENT,
            )
            if answer.code:
                raise _unknown(key, upload_id)
            page = document(answer.data)
            for part in page.iter("Part"):
                found.append(
                    Part(
                        number=int(part.findtext("PartNumber", "")),
                        size=int(part.findtext("Size", "")),
                        etag=part.findtext("ETag", ""),
                        sha256=_from_header(part.findtext("ChecksumSHA256")),
                    )
                )
            if page.findtext("IsTruncated") != "true":
                return found

    def complete_multipart(self, key: str, upload_id: str, parts: Sequence[Part]) -> ObjectInfo:
        answer = self._inside.request(
            "POST",
            self._full(key),
            query={"uploadId": upload_id},
            body=_completion(parts),
            allow=(*_ABSENT, *_BAD_PARTS),
        )
        if answer.code in _BAD_PARTS:
            raise UploadIncomplete(
                f"{self._name} does not have the parts of object {key} as stated "
                f"({answer.code}); send them and complete it again",
                key=key,
            )
        # An upload that is unknown may have been completed before: then the object is there.
        done = self.head(key)
        if done is None or (answer.code and done.size != sum(part.size for part in parts)):
            raise _unknown(key, upload_id)
        return done

    def abort_multipart(self, key: str, upload_id: str) -> None:
        query = {"uploadId": upload_id}
        self._inside.request("DELETE", self._full(key), query=query, allow=_ABSENT)

    def stale_multiparts(self, *, started_before: datetime) -> Iterator[MultipartUpload]:
        marker = {"key-marker": "", "upload-id-marker": ""}
        while True:
            answer = self._inside.request(
                "GET", "", query={"uploads": "", "prefix": self._prefix, **marker}
            )
            page = document(answer.data)
            for upload in page.iter("Upload"):
                started = datetime.fromisoformat(upload.findtext("Initiated", ""))
                key = upload.findtext("Key", "")
                if key.startswith(self._prefix) and started < started_before:
                    yield MultipartUpload(
                        key=key[len(self._prefix) :],
                        upload_id=upload.findtext("UploadId", ""),
                        started=started,
                    )
            if page.findtext("IsTruncated") != "true":
                return
            marker = {
                "key-marker": page.findtext("NextKeyMarker", ""),
                "upload-id-marker": page.findtext("NextUploadIdMarker", ""),
            }

    def _full(self, key: str) -> str:
        return self._prefix + check_key(key)

    def _sign(
        self,
        method: str,
        key: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        expires: timedelta,
    ) -> SignedRequest:
        now = datetime.now(UTC)
        return SignedRequest(
            method=method,
            url=self._outside.presign(
                method, self._full(key), query, headers, expires=expires, now=now
            ),
            headers=headers,
            expires_at=now + expires,
        )


def _content(size: int, sha256: Sha256) -> dict[str, str]:
    """The headers that bind a signed URL to its bytes."""
    checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
    return {"content-length": str(size), _SHA256: checksum}


def _from_header(value: str | None) -> Sha256 | None:
    # An object that was made of parts has a checksum of checksums, marked with their count.
    if not value or "-" in value:
        return None
    return Sha256(base64.b64decode(value).hex())


def _completion(parts: Sequence[Part]) -> bytes:
    lines = []
    for part in sorted(parts, key=lambda part: part.number):
        checksum = ""
        if part.sha256 is not None:
            encoded = base64.b64encode(bytes.fromhex(part.sha256)).decode()
            checksum = f"<ChecksumSHA256>{encoded}</ChecksumSHA256>"
        etag = part.etag.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        lines.append(
            f"<Part><PartNumber>{part.number}</PartNumber><ETag>{etag}</ETag>{checksum}</Part>"
        )
    return f"<CompleteMultipartUpload>{''.join(lines)}</CompleteMultipartUpload>".encode()


def _unknown(key: str, upload_id: str) -> UploadNotFound:
    return UploadNotFound(
        f"there is no multipart upload {upload_id} of object {key}; start a new one", key=key
    )
