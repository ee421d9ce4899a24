"""The REST interface: studies, trials, ask and tell for programs elsewhere."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from allweather._utils.formatting import plain
from allweather.dashboard.addresses import named, segment
from allweather.dashboard.choice import Choice, FigureChoice
from allweather.dashboard.downloads import journal_of, table_of
from allweather.dashboard.figures import advised, drawn, offered
from allweather.dashboard.outline import Outline
from allweather.dashboard.problems import PROBLEM
from allweather.dashboard.schemas import (
    AddIn,
    AskIn,
    CorrectIn,
    FigureOut,
    FiguresOut,
    GlanceOut,
    RecommendationOut,
    StudiesOut,
    StudyOut,
    TellIn,
    TrialOut,
    TrialsOut,
)
from allweather.dashboard.shelf import Opened, Shelf
from allweather.engine.recommendation import Recommendation

ROOT = "/api/v1"
WORDS = {
    400: "the request cannot be read",
    401: "no token, or a wrong one",
    403: "the request comes from another site",
    404: "no such study, trial or figure",
    409: "another worker was faster, or the budget is spent",
    413: "the body is too large",
    415: "the body is not JSON",
    421: "the server does not go by this name",
    422: "something does not fit; `detail` says what",
    429: "too many wrong tokens at once",
    503: "the database does not answer",
}


def said(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How the answers to mistakes are documented."""
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
    every = (400, 401, 403, 421, 422, 429, 503, *statuses)
    return {status: {"description": WORDS[status], "content": content} for status in sorted(every)}


def shelf_of(request: Request) -> Shelf:
    """The studies that this server shows."""
    shelf: Shelf = request.app.state.shelf
    return shelf


def study_of(
    request: Request, name: Annotated[str, Path(description="the study's name, percent-encoded", examples=["kiosk"])]
) -> Opened:
    """The study that an address names."""
    return shelf_of(request).find(named(name))


Here = Annotated[Opened, Depends(study_of)]
Number = Annotated[int, Path(ge=0, le=10**9, description="the trial's number")]
Wanted = Annotated[Choice, Query()]
router = APIRouter(prefix=ROOT, responses=said())
one = APIRouter(prefix="/studies/{name}", responses=said(404))
WRITES = said(404, 409, 413, 415)


@router.get("/studies", tags=["studies"])
def studies(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> StudiesOut:
    """The studies of the database, by name."""
    glances, total = shelf_of(request).page(limit, offset)
    listed = [GlanceOut.of(each, f"{ROOT}/studies/{segment(each.name)}") for each in glances]
    return StudiesOut(studies=listed, total=total)


@one.get("", tags=["studies"])
def study(opened: Here) -> StudyOut:
    """What a study is, and how far it has come; poll `last_event` to see whether something has happened."""
    return StudyOut.of(Outline.of(opened))


@one.get("/trials", tags=["trials"])
def trials(
    opened: Here,
    state: Annotated[
        Literal["pending", "complete", "failed", "expired", "withdrawn"] | None, Query(description="only these")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> TrialsOut:
    """Trials in the order of their numbers."""
    fitting = opened.history.trials if state is None else opened.by_state.get(state, [])
    return TrialsOut(trials=[TrialOut.of(each) for each in fitting[offset : offset + limit]], total=len(fitting))


@one.get("/trials/{number}", tags=["trials"])
def trial(opened: Here, number: Number) -> TrialOut:
    """One trial as it is now."""
    return TrialOut.of(opened.find(number))


@one.post("/ask", status_code=201, tags=["ask and tell"], responses=WRITES)
async def ask(request: Request, opened: Here, wanted: AskIn) -> TrialsOut:
    """The next decisions to try."""
    asked = await opened.asked(lambda study: study.ask(wanted.n, context=wanted.context), request)
    return TrialsOut(trials=[TrialOut.of(each) for each in asked], total=len(asked))


@one.post("/trials/{number}/tell", tags=["ask and tell"], responses=WRITES)
def tell(opened: Here, number: Number, told: TellIn) -> TrialOut:
    """What became of a trial; telling the same again is harmless."""
    say = opened.kept.validator.told(told.values or None, told.context, told.decision, told.failed)
    return TrialOut.of(opened.tell(number, say))


@one.post("/trials/{number}/correct", tags=["ask and tell"], responses=WRITES)
def correct(opened: Here, number: Number, told: CorrectIn) -> TrialOut:
    """Put right what was told of a trial; what it was before stays in the journal."""
    say = opened.kept.validator.corrected(told.values or None, told.context, told.decision)
    return TrialOut.of(opened.tell(number, say))


@one.delete("/trials/{number}", tags=["ask and tell"], responses=said(404, 409))
def withdraw(opened: Here, number: Number) -> TrialOut:
    """Take a trial out: it counts for nothing from now on, but stays in the journal."""
    return TrialOut.of(opened.withdraw(number))


@one.post("/trials", status_code=201, tags=["ask and tell"], responses=WRITES)
def add(opened: Here, table: AddIn) -> TrialsOut:
    """Data from before: a value for every variable, and `value`; all rows or none."""
    rows = [dict(row) for row in table.rows]
    added = opened.add(rows, table.left)
    return TrialsOut(trials=[TrialOut.of(each) for each in added], total=len(added))


@one.get("/recommendation", tags=["results"], responses=said(404, 409))
async def recommendation(request: Request, opened: Here, wanted: Wanted) -> RecommendationOut:
    """The decision whose objective is best under what the study knows: not the luckiest trial."""
    advice = await advised(opened, wanted, request)
    return described(advice.best, advice.wanted)


@one.get("/figures", tags=["results"])
def figures(opened: Here) -> FiguresOut:
    """The figures that can be drawn of this study."""
    return FiguresOut(figures=offered(opened))


@one.get("/figures/{figure}", tags=["results"], response_model=FigureOut, responses=said(404, 409))
async def figure(request: Request, opened: Here, figure: str, wanted: Annotated[FigureChoice, Query()]) -> Response:
    """A figure, computed for this objective."""
    found = await drawn(opened, figure, wanted, request)
    timing = {"server-timing": f"compute;dur={1000 * found.seconds:.0f}"}
    return Response(found.document(), headers=timing, media_type="application/json")


@one.get("/journal", tags=["results"], response_class=Response, responses={200: {"content": {"application/jsonl": {}}}})
def journal(opened: Here) -> Response:
    """The whole study as JSON lines, which `allweather import` reads."""
    return journal_of(opened)


@one.get("/table", tags=["results"], response_class=Response, responses={200: {"content": {"text/csv": {}}}})
def table(opened: Here) -> Response:
    """The trials as a table for a spreadsheet."""
    return table_of(opened)


def described(best: Recommendation, wanted: str) -> RecommendationOut:
    """A recommendation as it is sent."""
    frontier = None if best.frontier is None else plain(best.frontier.to_dict("records"))
    said = {name: plain(getattr(best, name)) for name in ("decision", "value", "interval", "expected", "cost")}
    return RecommendationOut(
        **said,
        objective=wanted,
        distance=best.distance,
        radius=best.radius,
        curve=plain(best.curve.to_dict("records")),
        control=list(best.control),
        frontier=frontier,
    )


router.include_router(one)
