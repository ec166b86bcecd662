"""Bytes, for a platform whose store is a directory: the URLs it signed lead here."""

from __future__ import annotations

import asyncio

from fastapi import Request, Response
from fastapi.responses import FileResponse

from acai.api.needs import Needs, Platform, Routes
from acai.api.services import Services
from acai.model.errors import NotFound
from acai.stores.objects.local import LocalStore
from acai.stores.objects.permits import Permit

routes = Routes("objects")
_CHUNK = 1024 * 1024


def _permitted(request: Request, platform: Services, key: str) -> tuple[LocalStore, Permit]:
    store = platform.objects
    if not isinstance(store, LocalStore):
        raise NotFound("this platform's objects are not served here, but by its object store")
    length = request.headers.get("content-length")
    permit = store.verify(
        method=request.method,
        key=key,
        query=request.query_params,
        content_length=int(length) if length and length.isdigit() else None,
    )
    return store, permit


@routes.on("PUT", "/objects/{key:path}", Needs.SIGNED_URL, include_in_schema=False)
async def put_object(key: str, request: Request, platform: Platform) -> Response:
    """Take the bytes that the URL was signed for, and no others."""
    store, permit = _permitted(request, platform, key)
    buffer = bytearray()
    with await asyncio.to_thread(store.incoming, permit) as incoming:
        async for chunk in request.stream():
            buffer += chunk
            if len(buffer) >= _CHUNK:
                await asyncio.to_thread(incoming.write, bytes(buffer))
                buffer.clear()
        if buffer:
            await asyncio.to_thread(incoming.write, bytes(buffer))
        tag = await asyncio.to_thread(incoming.commit)
    return Response(status_code=200, headers={"etag": tag})


@routes.on("GET", "/objects/{key:path}", Needs.SIGNED_URL, include_in_schema=False)
def get_object(key: str, request: Request, platform: Platform) -> FileResponse:
    """The bytes of an object; a Range header is honoured."""
    store, permit = _permitted(request, platform, key)
    answer = FileResponse(
        store.path(permit.key),
        media_type="application/octet-stream",
        headers={"content-encoding": "identity", "cache-control": "private, immutable"},
    )
    answer.chunk_size = _CHUNK
    return answer
