"""The dashboard: one page and its assets, built into the package. The page asks the API."""

from __future__ import annotations

import gzip
import mimetypes
import re
from datetime import timedelta
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.responses import FileResponse, HTMLResponse

from acai.api.needs import Needs, Platform, Routes
from acai.api.services import Services
from acai.model.errors import NotFound

routes = Routes("dashboard")

_BUILT = Path(str(files("acai").joinpath("dashboard_files")))
_WELCOME = files("acai.api").joinpath("welcome.html").read_text("utf-8")
_ASSET = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*\Z")
_PACKED = {"text/javascript", "application/javascript", "text/css", "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"  # an asset's name changes with its content

# Paths that the page itself interprets; a path that is nobody's stays an error.
_PAGES = ("jobs", "compare", "submit", "data", "sets", "provenance", "provisioning", "admin")


def _policy(services: Services) -> str:
    """No inline script, nothing from elsewhere but the object store's bytes.

    Styles may be inline: the component library writes its variables so.
    """
    signed = services.objects.sign_get("origin", expires=timedelta(seconds=1)).url
    parts = urlsplit(signed)
    store = f" {parts.scheme}://{parts.netloc}" if parts.netloc else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';"
        f" img-src 'self' blob: data:; font-src 'self'; connect-src 'self'{store};"
        " worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _page(platform: Services) -> Response:
    headers = {
        "content-security-policy": _policy(platform),
        "cache-control": "no-cache",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
    }
    index = _BUILT / "index.html"
    if not index.is_file():
        return HTMLResponse(_WELCOME, headers=headers)
    return HTMLResponse(index.read_text("utf-8"), headers=headers)


@routes.on("GET", "/", Needs.NOTHING, include_in_schema=False)
def dashboard(platform: Platform) -> Response:
    return _page(platform)


for _name in _PAGES:

    @routes.on("GET", f"/{_name}", Needs.NOTHING, include_in_schema=False, name=f"{_name}_page")
    def page(platform: Platform) -> Response:
        return _page(platform)

    @routes.on(
        "GET",
        f"/{_name}/{{path:path}}",
        Needs.NOTHING,
        include_in_schema=False,
        name=f"{_name}_below_page",
    )
    def page_below(path: str, platform: Platform) -> Response:
        return _page(platform)


@routes.on("GET", "/assets/{name}", Needs.NOTHING, include_in_schema=False)
def asset(name: str, request: Request) -> Response:
    return _file(request, _BUILT / "assets" / name, _FOR_EVER)


@routes.on("GET", "/favicon.svg", Needs.NOTHING, include_in_schema=False)
def favicon(request: Request) -> Response:
    return _file(request, _BUILT / "favicon.svg", "public, max-age=3600")


def _file(request: Request, file: Path, caching: str) -> Response:
    if not _ASSET.match(file.name) or not file.is_file():
        raise NotFound(f"there is nothing at {request.url.path}")
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    headers = {"cache-control": caching, "vary": "accept-encoding"}
    if kind not in _PACKED or "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(file, media_type=kind, headers=headers)
    packed = _packed(file, file.stat().st_mtime_ns)
    return Response(packed, media_type=kind, headers={**headers, "content-encoding": "gzip"})


@lru_cache(maxsize=128)  # all of them together are some 600 KB
def _packed(file: Path, _changed: int) -> bytes:
    return gzip.compress(file.read_bytes(), compresslevel=9, mtime=0)
