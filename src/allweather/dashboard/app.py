"""The application: pages and REST interface behind one guard."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from allweather.dashboard import files, forms, login, pages, rest
from allweather.dashboard.aside import Gone
from allweather.dashboard.door import Door
from allweather.dashboard.guard import Guard
from allweather.dashboard.patience import Patience
from allweather.dashboard.problems import problem, sentence, status_of
from allweather.dashboard.render import trouble
from allweather.dashboard.schemas import ProblemOut
from allweather.dashboard.sessions import Sessions
from allweather.dashboard.shelf import Shelf
from allweather.dashboard.spoken import spoken
from allweather.errors import AllweatherError

ABOUT = """Remote ask and tell for the studies of one database.

Where the server was started with a token, every request carries it: `Authorization: Bearer <token>`.
Names of studies are percent-encoded in paths. What went wrong comes as `application/problem+json`.
"""


def create_app(storage: str, door: Door | None = None) -> FastAPI:
    """The live page of a database's studies, as an ASGI application.

    Args:
        storage: the database's address, such as `sqlite:///kiosk.db`.
        door: where it will answer, and the token; by default this machine only.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     app = create_app(f"sqlite:///{folder}/studies.db")
        ...     app.state.shelf.database.close()
        >>> app.title
        'allweather'
    """
    door, sessions, patience = door or Door(), Sessions(), Patience()
    app = FastAPI(
        title="allweather",
        version="1",
        description=ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.shelf, app.state.door = Shelf(storage), door
    app.state.sessions, app.state.patience = sessions, patience
    for part in (files, rest, login, pages, forms):
        app.include_router(part.router)
    app.add_exception_handler(AllweatherError, _mistaken)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(ValidationError, _misread)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Gone, _gone)
    app.add_middleware(Guard, door=door, sessions=sessions, patience=patience)
    app.openapi = lambda: _documented(app, door)  # type: ignore[method-assign]
    return app


def _answer(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    if request.scope["path"].startswith("/api/"):
        return problem(status, detail, headers)
    return trouble(request, status, detail)


async def _mistaken(request: Request, mistake: Exception) -> Response:
    assert isinstance(mistake, AllweatherError)
    program = request.scope["path"].startswith("/api/")
    return _answer(request, status_of(mistake), sentence(mistake) if program else spoken(mistake))


async def _misread(request: Request, mistake: Exception) -> Response:
    assert isinstance(mistake, RequestValidationError | ValidationError)
    first = mistake.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return _answer(request, 422, sentence(f"{ascii(where)[1:-1]}: {first['msg']}"))


async def _refused(request: Request, mistake: Exception) -> Response:
    assert isinstance(mistake, HTTPException)
    return _answer(request, mistake.status_code, str(mistake.detail), dict(mistake.headers or {}))


async def _gone(request: Request, mistake: Exception) -> Response:
    return _answer(request, 503, "the server is ending")


def _documented(app: FastAPI, door: Door) -> dict[str, Any]:
    if app.openapi_schema is None:
        said = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        parts = said.setdefault("components", {})
        parts["schemas"]["ProblemOut"] = ProblemOut.model_json_schema()
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        if door.token is not None:
            said["security"] = [{"token": []}]
        app.openapi_schema = said
    return app.openapi_schema
