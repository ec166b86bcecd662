"""Contract suites for stores that sign URLs and that take objects in parts, over real HTTP."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest
import urllib3

from acai.model.errors import UploadIncomplete, UploadNotFound
from acai.model.ids import Sha256
from acai.stores.objects.base import MIB, Multipart, Part, SignedRequest, Signer, SigningStore

_MINUTE = timedelta(minutes=1)
_SMALLEST_PART = 5 * MIB  # what S3 takes for all parts but the last


def sha256(data: bytes) -> Sha256:
    return Sha256(hashlib.sha256(data).hexdigest())


def send(
    request: SignedRequest,
    body: bytes | None = None,
    *,
    method: str | None = None,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> urllib3.BaseHTTPResponse:
    """Use a signed request as its holder would, or with something about it changed."""
    sent = dict(request.headers if headers is None else headers)
    with urllib3.PoolManager(retries=False, timeout=30) as pool:
        return pool.request(method or request.method, url or request.url, body=body, headers=sent)


class SignerContract:
    """What every Signer does, seen by someone who has only the URL."""

    binds_content: ClassVar[bool] = True  # False: a URL is good for any bytes (GCS, Azure)

    def test_a_signed_put_stores_and_a_signed_get_reads(self, store: SigningStore) -> None:
        data = b"straight to the store" * 1000
        put = store.sign_put("up/a=b+c", size=len(data), sha256=sha256(data), expires=_MINUTE)
        assert send(put, data).status in (200, 201)
        assert b"".join(store.get("up/a=b+c")) == data
        get = store.sign_get("up/a=b+c", expires=_MINUTE)
        assert send(get).data == data
        part = send(get, headers={**get.headers, "Range": "bytes=9-11"})
        assert (part.status, part.data) == (206, b"to ")

    def test_head_tells_no_other_checksum_than_the_right_one(self, store: SigningStore) -> None:
        data = b"checked"
        put = store.sign_put("sum", size=len(data), sha256=sha256(data), expires=_MINUTE)
        assert send(put, data).status in (200, 201)
        info = store.head("sum")
        assert info is not None
        assert info.size == len(data)
        assert info.sha256 in (None, sha256(data))

    def test_reading_what_is_not_there_is_404(self, store: Signer) -> None:
        assert send(store.sign_get("nothing", expires=_MINUTE)).status == 404

    def test_other_bytes_are_refused(self, store: SigningStore) -> None:
        if not self.binds_content:
            pytest.skip("this store's URLs do not bind the bytes")
        data = b"right"
        put = store.sign_put("bound", size=5, sha256=sha256(data), expires=_MINUTE)
        assert 400 <= send(put, b"wrong").status < 500
        assert store.head("bound") is None

    def test_another_length_is_refused(self, store: SigningStore) -> None:
        if not self.binds_content:
            pytest.skip("this store's URLs do not bind the bytes")
        put = store.sign_put("bound", size=5, sha256=sha256(b"right"), expires=_MINUTE)
        for body in (b"right and more", b"rig"):
            headers = {**put.headers, "content-length": str(len(body))}
            assert 400 <= send(put, body, headers=headers).status < 500
        assert store.head("bound") is None

    def test_a_url_is_good_for_one_key_only(self, store: SigningStore) -> None:
        store.put("mine", b"mine")
        store.put("your", b"your")
        get = store.sign_get("mine", expires=_MINUTE)
        other = get.url.replace("/mine?", "/your?")
        assert other != get.url
        assert send(get, url=other).status == 403

    def test_a_url_is_good_for_one_method_only(self, store: SigningStore) -> None:
        store.put("mine", b"mine")
        get = store.sign_get("mine", expires=_MINUTE)
        put = store.sign_put("mine", size=4, sha256=sha256(b"evil"), expires=_MINUTE)
        assert send(get, b"evil", method="PUT", headers=put.headers).status == 403
        assert send(put, method="GET", headers={}).status == 403
        assert send(get, method="DELETE").status in (403, 405, 501)
        assert b"".join(store.get("mine")) == b"mine"

    def test_a_changed_url_is_refused(self, store: SigningStore) -> None:
        store.put("mine", b"mine")
        get = store.sign_get("mine", expires=_MINUTE)
        address, _, query = get.url.partition("?")
        changed = []
        for pair in query.split("&"):
            name, _, value = pair.partition("=")
            if "sig" in name.lower() or name.lower() in ("expires", "x-amz-expires", "se"):
                other = "1" if value[-1] != "1" else "2"
                changed.append(query.replace(pair, f"{name}={value[:-1]}{other}"))
        assert len(changed) >= 2
        for forged in [*changed, ""]:
            assert send(get, url=f"{address}?{forged}").status in (400, 403, 404, 409)

    def test_a_url_expires(self, store: SigningStore) -> None:
        store.put("mine", b"mine")
        get = store.sign_get("mine", expires=timedelta(seconds=1))
        assert datetime.now(UTC) - _MINUTE < get.expires_at < datetime.now(UTC) + _MINUTE
        time.sleep(2.1)
        assert send(get).status == 403

    def test_a_url_is_in_no_repr(self, store: Signer) -> None:
        get = store.sign_get("mine", expires=_MINUTE)
        assert get.url not in repr(get)


class MultipartContract:
    """What every Multipart does, with several parts at once."""

    @pytest.fixture
    def multipart(self, store: SigningStore) -> Multipart:
        assert isinstance(store, Multipart)
        return store

    @pytest.fixture
    def pieces(self) -> list[bytes]:
        first = bytes(range(256)) * (_SMALLEST_PART // 256)
        return [first, first[::-1], b"the last one is short"]

    def _start(self, multipart: Multipart, key: str, pieces: list[bytes]) -> str:
        size = sum(map(len, pieces))
        return multipart.start_multipart(key, size=size, part_size=len(pieces[0]))

    def _sign(
        self, multipart: Multipart, key: str, upload_id: str, number: int, piece: bytes
    ) -> SignedRequest:
        return multipart.sign_part(
            key, upload_id, number=number, size=len(piece), sha256=sha256(piece), expires=_MINUTE
        )

    def _send(
        self, multipart: Multipart, key: str, upload_id: str, number: int, piece: bytes
    ) -> Part:
        answer = send(self._sign(multipart, key, upload_id, number, piece), piece)
        assert answer.status == 200, answer.data
        return Part(
            number=number, size=len(piece), etag=answer.headers["etag"], sha256=sha256(piece)
        )

    def test_parts_arrive_in_parallel_and_out_of_order(
        self, store: SigningStore, multipart: Multipart, pieces: list[bytes]
    ) -> None:
        upload_id = self._start(multipart, "big/one", pieces)
        with ThreadPoolExecutor(3) as threads:
            sent = [
                threads.submit(
                    self._send, multipart, "big/one", upload_id, number, pieces[number - 1]
                )
                for number in (3, 1, 2)
            ]
            parts = [each.result() for each in sent]
        assert store.head("big/one") is None
        info = multipart.complete_multipart("big/one", upload_id, parts)
        assert info.size == sum(map(len, pieces))
        assert b"".join(store.get("big/one")) == b"".join(pieces)
        again = multipart.complete_multipart("big/one", upload_id, parts)
        assert again.size == info.size
        assert [info.key for info in store.list()] == ["big/one"]

    def test_an_upload_can_be_resumed(
        self, store: SigningStore, multipart: Multipart, pieces: list[bytes]
    ) -> None:
        upload_id = self._start(multipart, "big/two", pieces)
        assert multipart.list_parts("big/two", upload_id) == []
        self._send(multipart, "big/two", upload_id, 3, pieces[2])
        self._send(multipart, "big/two", upload_id, 1, pieces[0])
        arrived = multipart.list_parts("big/two", upload_id)
        assert [(part.number, part.size) for part in arrived] == [
            (1, len(pieces[0])),
            (3, len(pieces[2])),
        ]
        second = self._send(multipart, "big/two", upload_id, 2, pieces[1])
        parts = [replace(each, sha256=sha256(pieces[each.number - 1])) for each in arrived]
        multipart.complete_multipart("big/two", upload_id, [*parts, second])
        assert b"".join(store.get("big/two")) == b"".join(pieces)

    def test_a_part_with_other_bytes_is_refused(
        self, store: SigningStore, multipart: Multipart, pieces: list[bytes]
    ) -> None:
        upload_id = self._start(multipart, "big/three", pieces)
        request = self._sign(multipart, "big/three", upload_id, 1, pieces[0])
        assert 400 <= send(request, pieces[1]).status < 500
        short = {**request.headers, "content-length": "3"}
        assert 400 <= send(request, b"abc", headers=short).status < 500
        assert multipart.list_parts("big/three", upload_id) == []
        multipart.abort_multipart("big/three", upload_id)

    def test_a_part_can_be_sent_again(
        self, store: SigningStore, multipart: Multipart, pieces: list[bytes]
    ) -> None:
        upload_id = self._start(multipart, "big/again", pieces)
        self._send(multipart, "big/again", upload_id, 1, pieces[1])
        parts = [
            self._send(multipart, "big/again", upload_id, number, piece)
            for number, piece in enumerate(pieces, 1)
        ]
        multipart.complete_multipart("big/again", upload_id, parts)
        assert b"".join(store.get("big/again")) == b"".join(pieces)

    def test_a_stated_part_that_never_came_is_noticed(
        self, store: SigningStore, multipart: Multipart, pieces: list[bytes]
    ) -> None:
        upload_id = self._start(multipart, "big/four", pieces)
        first = self._send(multipart, "big/four", upload_id, 1, pieces[0])
        invented = replace(first, number=2, etag='"00000000000000000000000000000000"')
        with pytest.raises(UploadIncomplete):
            multipart.complete_multipart("big/four", upload_id, [first, invented])
        assert store.head("big/four") is None
        multipart.abort_multipart("big/four", upload_id)

    def test_an_aborted_upload_leaves_nothing(
        self, store: SigningStore, multipart: Multipart, pieces: list[bytes]
    ) -> None:
        upload_id = self._start(multipart, "big/five", pieces)
        part = self._send(multipart, "big/five", upload_id, 1, pieces[0])
        later = datetime.now(UTC) + _MINUTE
        stale = list(multipart.stale_multiparts(started_before=later))
        assert [(each.key, each.upload_id) for each in stale] == [("big/five", upload_id)]
        earlier = datetime.now(UTC) - _MINUTE
        assert list(multipart.stale_multiparts(started_before=earlier)) == []
        multipart.abort_multipart("big/five", upload_id)
        multipart.abort_multipart("big/five", upload_id)
        assert list(multipart.stale_multiparts(started_before=later)) == []
        assert list(store.list()) == []
        assert store.head("big/five") is None
        with pytest.raises(UploadNotFound):
            multipart.list_parts("big/five", upload_id)
        with pytest.raises((UploadNotFound, UploadIncomplete)):
            multipart.complete_multipart("big/five", upload_id, [part])

    def test_a_signed_part_is_good_for_its_number_only(
        self, multipart: Multipart, pieces: list[bytes]
    ) -> None:
        upload_id = self._start(multipart, "big/six", pieces)
        request = self._sign(multipart, "big/six", upload_id, 1, pieces[0])
        for name in ("partNumber=1", "part=1"):
            if name in request.url:
                forged = request.url.replace(name, name[:-1] + "2")
                assert send(request, pieces[0], url=forged).status == 403
                break
        else:
            pytest.fail("the signed URL does not name its part")
        assert multipart.list_parts("big/six", upload_id) == []
        multipart.abort_multipart("big/six", upload_id)
