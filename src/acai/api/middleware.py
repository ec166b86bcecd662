"""What happens to every request: an id, a limit on its body, a line in the log, a metric."""

from __future__ import annotations

import logging
import re
import time
from contextvars import ContextVar

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acai.api import errors
from acai.model.errors import TooLarge
from acai.model.ids import random_word
from acai.model.quantities import format_size

log = logging.getLogger("acai.access")
request_id_of: ContextVar[str | None] = ContextVar("request_id", default=None)
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{8,64}\Z")
_QUIET = ("/healthz", "/readyz", "/metrics")


class Metrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "acai_http_requests", "Requests.", ["method", "route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "acai_http_request_seconds", "Time to answer.", ["method", "route"], registry=registry
        )


class Observe:
    """Outermost: gives the request its id, then logs and counts how it ended."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        request_id = given if _GIVEN_ID.match(given) else f"req-{random_word(12)}"
        scope.setdefault("state", {})["request_id"] = request_id
        request_id_of.set(request_id)
        status: int | None = None
        started = time.perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", []),
                    (b"x-request-id", request_id.encode()),
                    (b"x-content-type-options", b"nosniff"),
                ]
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        except Exception as error:
            answer = errors.unexpected(scope["path"], request_id, error)
            if status is not None:
                raise  # half an answer is on its way; the server must break the connection
            await answer(scope, receive, send_with_id)
        finally:
            self._record(scope, status or 500, time.perf_counter() - started)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope["app"].state.paths.get(id(scope.get("route")), "other")
        self.metrics.requests.labels(scope["method"], route, str(status)).inc()
        self.metrics.seconds.labels(scope["method"], route).observe(seconds)
        if scope["path"] in _QUIET:
            return
        principal = scope.get("state", {}).get("principal")
        log.info(
            "request",
            extra={
                "method": scope["method"],
                "path": scope["path"],  # never the query: it may carry a signature
                "status": status,
                "ms": round(seconds * 1000, 1),
                "address": (scope.get("client") or ("local",))[0],
                "user": principal.user.name if principal else None,
                "project": principal.user.project if principal else None,
            },
        )


class Compress(GZipMiddleware):
    """Gzip for answers that are worth it; the bytes of files travel as they are."""

    def __init__(self, app: ASGIApp, exempt: str) -> None:
        super().__init__(app, minimum_size=1024, compresslevel=5)
        self.exempt = exempt

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(self.exempt):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class LimitBody:
    """Refuses a body over the limit, by its announced length or as it arrives.

    Paths under `exempt` carry files' bytes; their routes check the exact size they were
    signed for.
    """

    def __init__(self, app: ASGIApp, limit: int, exempt: str) -> None:
        self.app = app
        self.limit = limit
        self.exempt = exempt

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(self.exempt):
            await self.app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self.limit:
            await errors.response(self._too_large())(scope, receive, send)
            return
        seen = 0
        answering = False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:
                raise self._too_large()
            return message

        async def send_unless_over(message: Message) -> None:
            # Whatever the route makes of the failed read, the caller hears the reason.
            nonlocal answering
            if seen > self.limit and not answering:
                return
            answering = True
            await send(message)

        try:
            await self.app(scope, counted, send_unless_over)
        except Exception:
            if seen <= self.limit or answering:
                raise
        if seen > self.limit and not answering:
            await errors.response(self._too_large())(scope, receive, send)

    def _too_large(self) -> TooLarge:
        return TooLarge(
            f"the request's body is over {format_size(self.limit)}; send smaller batches",
            limit=self.limit,
        )
