"""Upload sessions. Bytes do not pass here: they go to the store by the URLs handed out."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from fastapi import Query, Request
from pydantic import BaseModel, Field

from acai.api.needs import Caller, Needs, Platform, Routes, client_address
from acai.api.paging import Cursor, Limit, Page, decode_cursor, page
from acai.lake.uploads import BATCH
from acai.model.files import (
    FileVersion,
    NewFile,
    NewObject,
    ObjectSlot,
    PartToSend,
    SentPart,
    SignedCall,
    TransferLimits,
    Upload,
    UploadState,
)
from acai.model.ids import Sha256

routes = Routes("uploads")
_NEWEST = 2**62


class UploadToOpen(BaseModel):
    resume_key: str | None = None


class FilesToAdd(BaseModel):
    files: list[NewFile] = Field(max_length=BATCH)


class MissingBlobs(BaseModel):
    missing: list[Sha256]


class ObjectsToAdd(BaseModel):
    objects: list[NewObject] = Field(max_length=64)
    in_place: bool = Field(
        default=False, description="The client writes them into the shared directory itself."
    )


class ObjectSlots(BaseModel):
    objects: list[ObjectSlot]


class PartsToSign(BaseModel):
    parts: list[PartToSend] = Field(max_length=1000)


class SignedParts(BaseModel):
    parts: list[SignedCall]


class SentParts(BaseModel):
    parts: list[SentPart]


class CompleteObject(BaseModel):
    id: int
    parts: list[SentPart] = []


class ObjectsToComplete(BaseModel):
    objects: list[CompleteObject] = Field(max_length=64)


class UploadToCommit(BaseModel):
    file_count: int = Field(ge=0)


@routes.on("GET", "/transfer", Needs.PROJECT)
def transfer_limits(request: Request, platform: Platform) -> TransferLimits:
    """How the store wants to be spoken to."""
    return platform.uploads.limits(same_host=_same_host(request))


def _same_host(request: Request) -> bool:
    """Whether the caller's address is this host's own and no proxy stands between."""
    if "x-forwarded-for" in request.headers:
        return False
    try:
        return ipaddress.ip_address(client_address(request)).is_loopback
    except ValueError:
        return False


@routes.on("POST", "/uploads", Needs.PROJECT, status_code=201)
def open_upload(body: UploadToOpen, caller: Caller, platform: Platform) -> Upload:
    """Open a session, or go on with the pending one that has the same resume key."""
    return platform.uploads.open(caller, body.resume_key)


@routes.on("GET", "/uploads", Needs.PROJECT)
def list_uploads(
    caller: Caller,
    platform: Platform,
    state: Annotated[UploadState | None, Query()] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Upload]:
    """Sessions, newest first: one's own, or everyone's for an admin."""
    before = decode_cursor(cursor, _NEWEST)
    found = platform.uploads.list(caller, state=state, before=before, limit=limit + 1)
    whole = page(found, limit, lambda pair: pair[0])
    return Page(items=[upload for _, upload in whole.items], next=whole.next)


@routes.on("GET", "/uploads/{upload}", Needs.PROJECT)
def get_upload(upload: str, caller: Caller, platform: Platform) -> Upload:
    return platform.uploads.find(caller, upload)


@routes.on("POST", "/uploads/{upload}/files", Needs.PROJECT)
def add_upload_files(
    upload: str, body: FilesToAdd, caller: Caller, platform: Platform
) -> MissingBlobs:
    """Announce files; the answer names the blobs that must be sent. Can be repeated."""
    return MissingBlobs(missing=list(platform.uploads.add_files(caller, upload, body.files)))


@routes.on("POST", "/uploads/{upload}/objects", Needs.PROJECT)
def add_upload_objects(
    upload: str, body: ObjectsToAdd, caller: Caller, platform: Platform
) -> ObjectSlots:
    """Say which objects will be sent; the answer says where to."""
    slots = platform.uploads.add_objects(caller, upload, body.objects, in_place=body.in_place)
    return ObjectSlots(objects=list(slots))


@routes.on("POST", "/uploads/{upload}/objects/{object_id}/parts", Needs.PROJECT)
def sign_upload_parts(
    upload: str, object_id: int, body: PartsToSign, caller: Caller, platform: Platform
) -> SignedParts:
    """Where to send parts of a large object; asking again gives fresh URLs."""
    return SignedParts(
        parts=list(platform.uploads.sign_parts(caller, upload, object_id, body.parts))
    )


@routes.on("GET", "/uploads/{upload}/objects/{object_id}/parts", Needs.PROJECT)
def list_upload_parts(upload: str, object_id: int, caller: Caller, platform: Platform) -> SentParts:
    """The parts that have arrived."""
    return SentParts(parts=list(platform.uploads.sent_parts(caller, upload, object_id)))


@routes.on("POST", "/uploads/{upload}/complete", Needs.PROJECT)
def complete_upload_objects(
    upload: str, body: ObjectsToComplete, caller: Caller, platform: Platform
) -> dict[str, int]:
    """Say that objects were sent; they are checked. Can be repeated."""
    platform.uploads.complete_objects(caller, upload, {one.id: one.parts for one in body.objects})
    return {"completed": len(body.objects)}


@routes.on("POST", "/uploads/{upload}/commit", Needs.PROJECT)
def commit_upload(upload: str, body: UploadToCommit, caller: Caller, platform: Platform) -> Upload:
    """Make all files of the session visible at once. Can be repeated."""
    return platform.uploads.commit(caller, upload, body.file_count)


@routes.on("POST", "/uploads/{upload}/abort", Needs.PROJECT)
def abort_upload(upload: str, caller: Caller, platform: Platform) -> Upload:
    """End the session and drop what it sent. Can be repeated."""
    return platform.uploads.abort(caller, upload)


@routes.on("GET", "/uploads/{upload}/files", Needs.PROJECT)
def list_upload_files(
    upload: str, caller: Caller, platform: Platform, limit: Limit = 1000, cursor: Cursor = None
) -> Page[FileVersion]:
    """The file versions that a committed session made."""
    after = decode_cursor(cursor, 0)
    found = platform.uploads.files(caller, upload, after=after, limit=limit + 1)
    whole = page(found, limit, lambda pair: pair[0])
    return Page(items=[file for _, file in whole.items], next=whole.next)
