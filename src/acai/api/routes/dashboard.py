"""The page at `/`: says that the platform is up, and how to reach it."""

from __future__ import annotations

from importlib.resources import files

from fastapi.responses import HTMLResponse

from acai.api.needs import Needs, Routes

routes = Routes("dashboard")

_PAGE = files("acai.api").joinpath("welcome.html").read_text("utf-8")
_POLICY = "default-src 'none'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"


@routes.on("GET", "/", Needs.NOTHING, include_in_schema=False)
async def welcome() -> HTMLResponse:
    return HTMLResponse(_PAGE, headers={"content-security-policy": _POLICY})
