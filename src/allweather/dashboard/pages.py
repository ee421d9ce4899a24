"""The pages that people read, and their parts that change while they do."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from allweather.dashboard.choice import DISTANCES, LARGEST, OBJECTIVES, Choice, own
from allweather.dashboard.downloads import journal_of, report_of, table_of
from allweather.dashboard.figures import ABOUT, advised, offered
from allweather.dashboard.inputs import Card, Input
from allweather.dashboard.outline import STATES, Outline
from allweather.dashboard.render import partial, render
from allweather.dashboard.rest import Here, Number, shelf_of
from allweather.dashboard.shelf import Opened
from allweather.dashboard.sieve import Page, Sieve, cells
from allweather.plots.axes import is_numeric

router = APIRouter(include_in_schema=False)
LISTED = 50
"""Studies on a page."""
WAITING = 20
"""Trials that wait for their outcome, with a form each."""


def chosen(request: Request) -> Choice:
    """The objective that an address names."""
    return Choice.model_validate(dict(request.query_params))


def begun(choice: Choice, opened: Opened) -> Choice:
    """What the sliders begin with: the study's own radius or level, until somebody chooses."""
    like = own(opened.kept.spec)
    if choice.model_fields_set or like is None:
        return choice
    return like.model_copy(update={"objective": "own"})


def sifted(request: Request) -> Sieve:
    """The trials that an address wants to see."""
    return Sieve.model_validate(dict(request.query_params))


Chosen = Annotated[Choice, Depends(chosen)]
Sifted = Annotated[Sieve, Depends(sifted)]


@router.get("/")
def studies(request: Request, page: Annotated[int, Query(ge=1, le=10**6)] = 1) -> Response:
    """The studies of the database."""
    shelf = shelf_of(request)
    glances, total = shelf.page(LISTED, LISTED * (page - 1))
    pages = max(-(-total // LISTED), 1)
    said: dict[str, Any] = {"glances": glances, "total": total, "page": page, "pages": pages}
    template = "_studies.html" if partial(request) else "studies.html"
    return render(request, template, address=shelf.database.address, **said)


@router.get("/studies/{name}")
def study(request: Request, opened: Here, wanted: Chosen, sieve: Sifted) -> Response:
    """One study."""
    return render(request, "study.html", **everything(opened, wanted, sieve))


@router.get("/studies/{name}/pulse")
def pulse(request: Request, opened: Here, seen: Annotated[int, Query(ge=0, le=10**12)]) -> Response:
    """Nothing as long as nothing has happened; then the counts, and the news that the rest of the page waits for."""
    if opened.journal.last == seen:
        return Response(status_code=204)
    answer = render(request, "_pulse.html", outline=Outline.of(opened))
    answer.headers["hx-trigger"] = "news"
    return answer


@router.get("/studies/{name}/recommendation")
async def recommendation(request: Request, opened: Here, wanted: Chosen) -> Response:
    """What to decide, in words."""
    outline = await run_in_threadpool(Outline.of, opened)
    possible = outline.complete and not outline.why_not
    advice = await advised(opened, wanted, request) if possible else None
    template = "_recommendation.html" if partial(request) else "recommendation.html"
    return render(request, template, outline=outline, advice=advice)


@router.get("/studies/{name}/pending")
def pending(request: Request, opened: Here) -> Response:
    """The trials that wait for their outcome, with a form each."""
    return render(request, "_pending.html", name=opened.name, **waiting(opened))


@router.get("/studies/{name}/trials")
def trials(request: Request, opened: Here, sieve: Sifted) -> Response:
    """The table of trials."""
    template = "_trials.html" if partial(request) else "trials.html"
    return render(request, template, outline=Outline.of(opened), **tabled(opened, sieve))


@router.get("/studies/{name}/trials/{number}")
def trial(request: Request, opened: Here, number: Number) -> Response:
    """One trial: what is known of it, how that came about, and what can be done about it."""
    return render(request, "trial.html", **about(opened, Card.of(opened, opened.find(number))))


@router.get("/studies/{name}/journal.jsonl")
def journal(opened: Here) -> Response:
    """The whole study, as a file."""
    return journal_of(opened)


@router.get("/studies/{name}/table.csv")
def table(opened: Here) -> Response:
    """The trials, as a file for a spreadsheet."""
    return table_of(opened)


@router.get("/studies/{name}/report.html")
async def report(request: Request, opened: Here, wanted: Chosen) -> Response:
    """The study in one file, to send to somebody."""
    return await report_of(opened, wanted, request)


@router.get("/api/docs")
def interface(request: Request) -> Response:
    """The REST interface, operation by operation."""
    return render(request, "interface.html", document=request.app.openapi())


def everything(opened: Opened, choice: Choice, sieve: Sieve) -> dict[str, Any]:
    """What a study's page shows."""
    contexts = [] if opened.kept.validator.controlled else opened.kept.space.contexts.items()
    return {
        "outline": Outline.of(opened),
        "choice": begun(choice, opened),
        "objectives": OBJECTIVES,
        "distances": DISTANCES,
        "largest": LARGEST,
        "figures": {name: ABOUT[name] for name in offered(opened)},
        "known": [Input.of("context", name, variable, {}) for name, variable in contexts],
        **waiting(opened),
        **tabled(opened, sieve),
    }


def waiting(opened: Opened) -> dict[str, Any]:
    """The trials that wait for their outcome, the newest first."""
    found = opened.by_state.get("pending", [])[::-1]
    return {"cards": [Card.of(opened, each) for each in found[:WAITING]], "further": len(found) - WAITING}


def tabled(opened: Opened, sieve: Sieve) -> dict[str, Any]:
    """A page of the table of trials."""
    variables = list(opened.kept.space.variables)
    paid = ["cost"] if opened.kept.validator.controlled else []
    found = Page.of(opened.by_state.get(sieve.state, []) if sieve.state else opened.history.trials, sieve)
    words = [name for name, each in opened.kept.space.variables.items() if not is_numeric(each)]
    columns = ["trial", *variables, *paid, "value"]
    return {
        "name": opened.name,
        "columns": columns,
        "numeric": [each for each in columns if each not in ("trial", *words)],
        "variables": variables,
        "states": STATES,
        "sieve": sieve,
        "page": found,
        "rows": [(each, cells(each)) for each in found.trials],
    }


def about(opened: Opened, card: Card) -> dict[str, Any]:
    """What a trial's page shows."""
    events = opened.journal.read(trial=card.trial.number)
    return {"name": opened.name, "card": card, "events": events, "outline": Outline.of(opened)}
