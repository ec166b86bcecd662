"""The HTTP application: middleware, routes, errors, and the OpenAPI document."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from acai.api import errors
from acai.api.middleware import Compress, LimitBody, Metrics, Observe
from acai.api.needs import every_route, require_needs
from acai.api.routes import (
    agent,
    dashboard,
    events,
    files,
    health,
    jobs,
    logs,
    metadata,
    objects,
    projects,
    provenance,
    resolve,
    session,
    sets,
    templates,
    tokens,
    uploads,
    users,
)
from acai.api.services import Services
from acai.version import __version__

OBJECTS = "/api/v1/objects/"
OPENAPI = "/api/openapi.json"


def build_app(services: Services, lifespan: Any = None) -> FastAPI:
    """The application over these services. `lifespan` runs the background loop beside it."""
    app = FastAPI(
        title="acai",
        version=__version__,
        summary="Versioned data, jobs, provenance and provisioning.",
        openapi_url=OPENAPI,
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # a path is right or it is not there
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    registry = CollectorRegistry()
    app.state.services = services
    app.state.registry = registry
    app.add_middleware(Compress, exempt=OBJECTS)
    app.add_middleware(
        LimitBody,
        limit=services.settings.body_limit,
        exempt=OBJECTS,
    )
    app.add_middleware(Observe, metrics=Metrics(registry))
    errors.install(app)
    for noun in (
        session,
        projects,
        users,
        tokens,
        uploads,
        files,
        resolve,
        sets,
        provenance,
        metadata,
        jobs,
        templates,
        logs,
        events,
        agent,
        objects,
    ):
        app.include_router(noun.routes, prefix="/api/v1")
    app.include_router(health.routes)
    app.include_router(dashboard.routes)
    require_needs(app.routes, except_for=(OPENAPI,))
    app.state.paths = {id(route): path for path, route in every_route(app.routes)}
    _declare_token(app)
    return app


def _declare_token(app: FastAPI) -> None:
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["token"] = {"type": "http", "scheme": "bearer"}
        return document

    app.openapi = openapi  # type: ignore[method-assign]
