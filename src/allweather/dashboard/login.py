"""Logging in with the token, and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from allweather.dashboard.guard import cookie
from allweather.dashboard.posted import Posted, fields_of, from_our_form
from allweather.dashboard.render import render

router = APIRouter(include_in_schema=False)


@router.get("/login")
def form(request: Request, then: Annotated[str, Query(max_length=2000)] = "/") -> Response:
    """The form that takes the token."""
    return render(request, "login.html", then=then, detail=None)


@router.post("/login")
async def enter(request: Request) -> Response:
    """A session for whoever knows the token."""
    given = await fields_of(request, 10)
    token, then = given.get("token", ""), given.get("then", "/")
    door, sessions = request.app.state.door, request.app.state.sessions
    if not door.opens(token.strip()):
        if not await request.app.state.patience.wait():
            return render(request, "login.html", 429, then=then, detail="Too many wrong tokens; wait a little.")
        return render(request, "login.html", 401, then=then, detail="This is not the token.")
    return _moved(request, _inside(then), sessions.open())


@router.post("/logout")
def leave(request: Request, posted: Annotated[Posted, Depends(from_our_form)]) -> Response:
    """End the session."""
    request.app.state.sessions.end(request.state.session)
    return _moved(request, "/login", "")


def _moved(request: Request, to: str, session: str) -> Response:
    header = cookie(request.app.state.door.cookie, session, request.url.scheme == "https")
    return RedirectResponse(to, 303, {"set-cookie": header})


def _inside(then: str) -> str:
    """A place on this server; anything else becomes the front page."""
    plain = then.startswith("/") and not then.startswith(("//", "/\\")) and then.isprintable()
    return then if plain else "/"
