"""One shape for every error: {"error": {"code", "message", "detail"}}."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from acai.model.errors import AcaiError, InternalError, InvalidInput, NotFound, RateLimited

log = logging.getLogger("acai.api")


def install(app: FastAPI) -> None:
    app.add_exception_handler(AcaiError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def body(error: AcaiError) -> dict[str, Any]:
    return {"error": {"code": error.code, "message": error.message, "detail": error.detail}}


def response(error: AcaiError) -> JSONResponse:
    headers = {}
    if isinstance(error, RateLimited) and "retry_after" in error.detail:
        headers["retry-after"] = str(error.detail["retry_after"])
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(body(error), status_code=error.status, headers=headers)


async def _ours(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AcaiError)
    if error.status >= 500:
        log.error(error.message, extra={"code": error.code}, exc_info=error.__cause__)
    return response(error)


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = [{"field": _field(item), "problem": item["msg"]} for item in error.errors()]
    first = problems[0]
    return response(InvalidInput(f"{first['field']}: {first['problem']}", problems=problems))


def _field(problem: dict[str, Any]) -> str:
    where = () if problem["type"] == "json_invalid" else problem["loc"][1:]
    return ".".join(str(part) for part in where) or "body"


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return response(NotFound(f"there is nothing at {request.url.path}"))
    shaped = InvalidInput(f"{request.method} {request.url.path}: {error.detail}")
    return JSONResponse(body(shaped), status_code=error.status_code, headers=error.headers)


def unexpected(path: str, request_id: str, error: Exception) -> JSONResponse:
    """For what nobody foresaw: the reason goes to the log, its request id to the caller."""
    log.error("unexpected error", exc_info=error, extra={"path": path})
    return response(
        InternalError(
            "something went wrong on the server; its log has the reason under this request id",
            request_id=request_id,
        )
    )
