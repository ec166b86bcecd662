"""The calls of the API that transfers make. All of them may be repeated without harm."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from acai.client.decode import decode
from acai.client.transfer.packs import Piece
from acai.client.transfer.patience import Patience
from acai.client.transfer.targets import Wanted
from acai.client.transport import Session
from acai.model.files import ObjectSlot, SentPart, SignedCall, TransferLimits, Upload
from acai.model.ids import Sha256

_KEPT = 30.0  # seconds
_known: WeakKeyDictionary[Session, tuple[float, TransferLimits]] = WeakKeyDictionary()


class Readable(NamedTuple):
    """An object, where to read it, and the pieces of it that were asked for."""

    key: str
    size: int
    get: SignedCall
    pieces: list[Piece]


class TransferCalls:
    def __init__(self, session: Session, patience: Patience) -> None:
        self.session = session
        self.patience = patience

    def _call(
        self, method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        return self.patience.run(
            lambda: self.session.call(method, path, body, query=query, repeatable=True)
        )

    def limits(self) -> TransferLimits:
        """How to transfer. The first call: a server that is away is told at once.

        The answer is kept for a while, for callers that open file after file.
        """
        known = _known.get(self.session)
        if known is None or time.monotonic() - known[0] > _KEPT:
            answer = decode(TransferLimits, self.session.call("GET", "/transfer"))
            known = _known[self.session] = (time.monotonic(), answer)
        return known[1]

    def open(self, resume_key: str | None) -> Upload:
        return decode(Upload, self._call("POST", "/uploads", {"resume_key": resume_key}))

    def announce(self, upload: str, files: Sequence[Mapping[str, Any]]) -> set[Sha256]:
        """The blobs that are to be sent."""
        answer = self._call("POST", f"/uploads/{upload}/files", {"files": files})
        return set(answer["missing"])

    def add_object(self, upload: str, new: Mapping[str, Any], *, in_place: bool) -> ObjectSlot:
        """Where to send an object; `in_place` if the client writes it into the store itself."""
        body = {"objects": [new], "in_place": in_place}
        answer = self._call("POST", f"/uploads/{upload}/objects", body)
        return decode(ObjectSlot, answer["objects"][0])

    def sign_part(
        self, upload: str, object_id: int, *, number: int, size: int, sha256: Sha256
    ) -> SignedCall:
        body = {"parts": [{"number": number, "size": size, "sha256": sha256}]}
        answer = self._call("POST", f"/uploads/{upload}/objects/{object_id}/parts", body)
        return decode(SignedCall, answer["parts"][0])

    def sent_parts(self, upload: str, object_id: int) -> list[SentPart]:
        answer = self._call("GET", f"/uploads/{upload}/objects/{object_id}/parts")
        return decode(list[SentPart], answer["parts"])

    def complete(self, upload: str, object_id: int, parts: Sequence[SentPart] = ()) -> None:
        given = [
            {"number": one.number, "size": one.size, "etag": one.etag, "sha256": one.sha256}
            for one in parts
        ]
        body = {"objects": [{"id": object_id, "parts": given}]}
        self._call("POST", f"/uploads/{upload}/complete", body)

    def commit(self, upload: str, file_count: int) -> Upload:
        answer = self._call("POST", f"/uploads/{upload}/commit", {"file_count": file_count})
        return decode(Upload, answer)

    def abort(self, upload: str) -> None:
        self._call("POST", f"/uploads/{upload}/abort")

    def resolve(self, spec: str, cursor: str | None) -> tuple[list[Wanted], str | None]:
        """A page of what a reference names, and where the next one begins."""
        query = {"spec": spec, "cursor": cursor, "limit": 1000}
        call = self._call if cursor else self.session.call
        answer = call("GET", "/resolve", query=query)
        items = [Wanted(one["path"], one["size"], one["hash"]) for one in answer["items"]]
        return items, answer.get("next")

    def locate(self, hashes: Sequence[Sha256]) -> list[Readable]:
        """Where to read these blobs, by object."""
        answer = self._call("POST", "/blobs/locate", {"hashes": list(hashes)})
        found = {
            one["id"]: Readable(one["key"], one["size"], decode(SignedCall, one["get"]), [])
            for one in answer["objects"]
        }
        for blob in answer["blobs"]:
            piece = Piece(blob["sha256"], blob["start"], blob["size"])
            found[blob["object"]].pieces.append(piece)
        return list(found.values())
