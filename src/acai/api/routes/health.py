"""For load balancers, monitors and curious people: is it up, is it ready, what is it."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from acai.api.needs import Needs, Platform, Routes
from acai.version import __version__

routes = Routes("health")


class Version(BaseModel):
    name: str = "acai"
    version: str = __version__
    api: str = "v1"


class Readiness(BaseModel):
    ready: bool
    checks: dict[str, str]


@routes.on("GET", "/healthz", Needs.NOTHING)
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@routes.on("GET", "/readyz", Needs.NOTHING, response_model=Readiness)
def readyz(platform: Platform) -> JSONResponse:
    """The parts that it needs answer too; 503 names the one that does not."""
    found = {}
    for name, check in platform.checks.items():
        try:
            check()
            found[name] = "ok"
        except Exception as error:
            found[name] = type(error).__name__
    ready = all(state == "ok" for state in found.values())
    return JSONResponse({"ready": ready, "checks": found}, status_code=200 if ready else 503)


@routes.on("GET", "/metrics", Needs.NOTHING)
def metrics(request: Request) -> Response:
    """Prometheus: counts and times of requests, nothing of any project's."""
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)


@routes.on("GET", "/version", Needs.NOTHING)
async def version() -> Version:
    return Version()
