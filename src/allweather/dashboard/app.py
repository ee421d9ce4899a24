"""The application: routes, middleware, error handlers and the OpenAPI document."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from allweather._utils.logs import RequestLog
from allweather.dashboard import api, auth, pages, responses
from allweather.dashboard.auth import GuessLimit, Sessions
from allweather.dashboard.errors import (
    ProblemOut,
    error_fields,
    error_headers,
    one_line,
    page_message,
    problem,
    status_of,
)
from allweather.dashboard.middleware import SecurityMiddleware
from allweather.dashboard.server import ServerConfig
from allweather.dashboard.studies import StudyCache
from allweather.dashboard.tasks import Cancelled
from allweather.errors import AllweatherError

log = logging.getLogger("allweather")
DESCRIPTION = """Remote ask and tell for the studies of one database.

If the server was started with a token, every request must carry it: `Authorization: Bearer <token>`.
Names of studies are percent-encoded in paths. Errors are returned as `application/problem+json`.
"""


def create_app(storage: str, config: ServerConfig | None = None) -> FastAPI:
    """Create the ASGI application that shows the studies of a database.

    Args:
        storage: the database's address, such as `sqlite:///kiosk.db`.
        config: address, host names and token; by default local access without a token.

    Returns:
        The application.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     app = create_app(f"sqlite:///{folder}/studies.db")
        ...     app.state.studies.database.close()
        >>> app.title
        'allweather'
    """
    config, sessions, guess_limit = config or ServerConfig(), Sessions(), GuessLimit()
    app = FastAPI(
        title="allweather",
        version="1",
        description=DESCRIPTION,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.studies, app.state.config = StudyCache(storage, config.memory, config.computations), config
    app.state.sessions, app.state.guess_limit = sessions, guess_limit
    for router in (responses.static_router, api.router, auth.router, pages.router):
        app.include_router(router)
    app.add_api_route("/health", _health, include_in_schema=False)
    app.add_exception_handler(AllweatherError, _allweather_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(ValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Cancelled, _cancelled)
    app.add_middleware(SecurityMiddleware, config=config, sessions=sessions, guess_limit=guess_limit)
    app.add_middleware(RequestLog, lines=config.json_log)
    app.openapi = lambda: _openapi(app, config)  # type: ignore[method-assign]
    return app


def _health(request: Request) -> Response:
    """Answer supervisors: 200 while the database can be read, 503 while it cannot; without a token, and no details."""
    try:
        with request.app.state.studies.database.reading():
            return JSONResponse({"status": "ok"})
    except AllweatherError:
        return JSONResponse({"status": "the database is not available"}, 503)


async def _allweather_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AllweatherError)
    status = status_of(error)
    if status >= 500:
        log.warning("%s %s: %s", request.method, request.scope["path"], one_line(error))
    if _is_api(request):
        return problem(status, one_line(error), error_headers(error), **error_fields(error))
    page = responses.error_page(request, status, page_message(error))
    page.headers.update(error_headers(error))
    return page


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError | ValidationError)
    first = error.errors()[0]
    where = ascii(".".join(str(part) for part in first["loc"]))[1:-1]
    if _is_api(request):
        return problem(422, one_line(f"{where}: {first['msg']}"), where=where, requirement=first["msg"])
    return responses.error_page(request, 422, one_line(f"{where}: {first['msg']}"))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if _is_api(request):
        return problem(error.status_code, str(error.detail), headers)
    return responses.error_page(request, error.status_code, str(error.detail))


async def _cancelled(request: Request, error: Exception) -> Response:
    detail = "the server is shutting down"
    return problem(503, detail) if _is_api(request) else responses.error_page(request, 503, detail)


def _is_api(request: Request) -> bool:
    return bool(request.scope["path"].startswith("/api/"))


def _openapi(app: FastAPI, config: ServerConfig) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = document.setdefault("components", {})
        components["schemas"]["ProblemOut"] = ProblemOut.model_json_schema()
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        if config.prefix:
            document["servers"] = [{"url": config.prefix}]
        if config.guarded:
            document["security"] = [{"token": []}]
        app.openapi_schema = document
    return app.openapi_schema
