"""The REST API: studies, trials, ask and tell for programs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from allweather.dashboard.errors import PROBLEM_MEDIA_TYPE
from allweather.dashboard.responses import journal_download, table_download
from allweather.dashboard.schemas import (
    AddedOut,
    AddIn,
    AskIn,
    ChangeIn,
    ContextsIn,
    ContextsOut,
    CorrectIn,
    FigureChoice,
    FigureOut,
    FiguresOut,
    ObjectiveChoice,
    PolicyChoice,
    PolicyOut,
    RecommendationOut,
    StudiesOut,
    StudyOut,
    StudySummaryOut,
    SuspicionOut,
    SuspiciousOut,
    TellIn,
    TrialOut,
    TrialsOut,
)
from allweather.dashboard.studies import CurrentStudy, TrialNumber, cache_of, encode_segment
from allweather.serialization.change_form import change_arguments

ROOT = "/api/v1"
ERRORS = {
    400: "the request is malformed",
    401: "the token is missing or invalid",
    403: "the request comes from another site",
    404: "the study, trial or figure does not exist",
    409: "another worker wrote first, or the budget is spent",
    413: "the body is too large",
    415: "the body is not JSON",
    421: "the host name is unknown",
    422: "the input is invalid; `detail` says why",
    429: "too many invalid tokens",
    408: "the body did not arrive in time",
    503: "the database is not available, too many requests wait, or the computation needs too much memory",
}


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of error responses: those of every operation, and further ones.

    Args:
        statuses: the further HTTP statuses.
    """
    content = {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
    every = (400, 401, 403, 408, 421, 422, 429, 503, *statuses)
    return {status: {"description": ERRORS[status], "content": content} for status in sorted(every)}


def links(status: int, *operations: str, **parameters: str) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of what may follow a response: operations, with where it says their parameters.

    Args:
        status: the response's HTTP status.
        operations: each as function, method and path below a study.
        parameters: of the path, as runtime expressions of OpenAPI.
    """
    found = {}
    for function, method, path in (each.split(" ") for each in operations):
        whole = f"{ROOT}/studies/{{name}}{path}".replace("/", "~1")
        found[function] = {"operationRef": f"#/paths/{whole}/{method}", "parameters": parameters}
    return {status: {"links": found}}


TRIAL = ("trial get /trials/{number}", "correct post /trials/{number}/correct", "withdraw delete /trials/{number}")
TELL = "tell post /trials/{number}/tell"
AFTER_ASK = links(201, TELL, *TRIAL, name="$request.path.name", number="$response.body#/trials/0/number")
AFTER_TELL = links(200, *TRIAL, name="$request.path.name", number="$request.path.number")
LISTED = ("study get ", "ask post /ask", "trials get /trials", "recommendation get /recommendation")
AFTER_LIST = links(200, *LISTED, name="$response.body#/studies/0/name")
router = APIRouter(prefix=ROOT, responses=error_responses())
one = APIRouter(prefix="/studies/{name}", responses=error_responses(404))
WRITES = error_responses(404, 409, 413, 415)


@router.get("/studies", tags=["studies"], responses=AFTER_LIST)
def studies(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> StudiesOut:
    """List the studies of the database by name."""
    summaries, total = cache_of(request).page(limit, offset)
    root = f"{request.app.state.config.prefix}{ROOT}"
    listed = [StudySummaryOut.of(each, f"{root}/studies/{encode_segment(each.name)}") for each in summaries]
    return StudiesOut(studies=listed, total=total)


@one.get("", tags=["studies"])
def study(study: CurrentStudy) -> StudyOut:
    """Return a study and the state of its trials; `last_event` grows with every change."""
    return StudyOut.of(study.snapshot())


@one.patch("", tags=["studies"], responses=WRITES)
async def change(request: Request, study: CurrentStudy, given: ChangeIn) -> dict[str, list[dict[str, Any]]]:
    """Change bounds, options, objective, radius, costs or budget from now on; all trials stay.

    Returns `changes`: name, value before and value after of each setting that is different, null for a default.
    """
    found = await study.ask(lambda loaded: loaded.change(**change_arguments(given.model_dump())), request)
    return {"changes": [each.to_dict() for each in found]}


@one.get("/trials", tags=["trials"])
def trials(
    study: CurrentStudy,
    state: Annotated[
        Literal["pending", "complete", "failed", "expired", "withdrawn"] | None,
        Query(description="only trials in this state"),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> TrialsOut:
    """List trials by number."""
    now = study.snapshot()
    found = now.history.trials if state is None else now.by_state.get(state, [])
    return TrialsOut(trials=[TrialOut.of(each) for each in found[offset : offset + limit]], total=len(found))


@one.get("/trials/{number}", tags=["trials"])
def trial(study: CurrentStudy, number: TrialNumber) -> TrialOut:
    """Return the current state of a trial."""
    return TrialOut.of(study.snapshot().find(number))


@one.post("/ask", status_code=201, tags=["ask and tell"], responses=WRITES | AFTER_ASK)
async def ask(request: Request, study: CurrentStudy, wanted: AskIn) -> TrialsOut:
    """Ask for the next trials."""
    asked = await study.ask(
        lambda loaded: loaded.ask(wanted.n, context=wanted.context, same_context=wanted.same_context), request
    )
    return TrialsOut(trials=[TrialOut.of(each) for each in asked], total=len(asked))


@one.post("/trials/{number}/tell", tags=["ask and tell"], responses=WRITES | AFTER_TELL)
async def tell(request: Request, study: CurrentStudy, number: TrialNumber, result: TellIn) -> TrialOut:
    """Report the result of a trial; repeating the same report changes nothing."""
    given = {name: getattr(result, name) for name in ("context", "decision", "failed", "sd", "occasion")}
    told = await study.report(number, lambda log: log.tell(number, result.values or None, **given), request)
    return TrialOut.of(told)


@one.post("/trials/{number}/correct", tags=["ask and tell"], responses=WRITES)
async def correct(request: Request, study: CurrentStudy, number: TrialNumber, result: CorrectIn) -> TrialOut:
    """Correct the result of a trial; the earlier report stays in the journal."""
    given = {name: getattr(result, name) for name in ("context", "decision", "sd", "occasion")}
    corrected = await study.report(number, lambda log: log.correct(number, result.values or None, **given), request)
    return TrialOut.of(corrected)


@one.delete("/trials/{number}", tags=["ask and tell"], responses=error_responses(404, 409))
async def withdraw(request: Request, study: CurrentStudy, number: TrialNumber) -> TrialOut:
    """Withdraw a trial: it is excluded from the model, and stays in the journal."""
    return TrialOut.of(await study.report(number, lambda log: log.withdraw(number), request))


@one.post("/trials", status_code=201, tags=["ask and tell"], responses=WRITES)
async def add(request: Request, study: CurrentStudy, table: AddIn) -> AddedOut:
    """Add past data, all rows or none: a value for every variable, and the outcome as `value`."""
    names = ("left", "columns", "blank", "missing", "invalid", "decimal", "again", "occasion")
    added = await study.add(
        [dict(row) for row in table.rows], request, **{name: getattr(table, name) for name in names}
    )
    return AddedOut(
        trials=[TrialOut.of(each) for each in added],
        total=len(added),
        skipped=[str(each) for each in added.skipped],
        suspicious=[SuspicionOut.of(each) for each in added.suspicious],
    )


@one.get("/suspicious", tags=["results"])
def suspicious(study: CurrentStudy) -> SuspiciousOut:
    """Return what looks wrong: outcomes far from all others, equal rows, contexts that disagree in an occasion."""
    return SuspiciousOut(suspicious=[SuspicionOut.of(each) for each in study.snapshot().history.suspicious])


@one.post("/contexts", status_code=201, tags=["ask and tell"], responses=WRITES)
async def observe_contexts(request: Request, study: CurrentStudy, table: ContextsIn) -> ContextsOut:
    """Report contexts that occurred without a trial, all rows or none; their distribution is learned from them."""
    return ContextsOut(observed=await study.observe([dict(row) for row in table.rows], table.again, request))


@one.get("/recommendation", tags=["results"], responses=error_responses(404, 409))
async def recommendation(
    request: Request, study: CurrentStudy, choice: Annotated[ObjectiveChoice, Query()]
) -> RecommendationOut:
    """Return the decision whose objective is best under the posterior: not the luckiest trial."""
    advice = await study.recommend(choice, request)
    return RecommendationOut.of(advice.best, advice.objective)


@one.get("/policy", tags=["results"], responses=error_responses(404, 409))
async def policy(request: Request, study: CurrentStudy, choice: Annotated[PolicyChoice, Query()]) -> PolicyOut:
    """Return the best decision for each of several values of a context variable that is known before it."""
    return PolicyOut(**(await study.policy(choice, request)).to_dict())


@one.get("/figures", tags=["results"])
def figures(study: CurrentStudy) -> FiguresOut:
    """List the figures that can be drawn of a study: some need several outcomes, all at least one."""
    now = study.snapshot()
    return FiguresOut(figures=[name for name, needed in now.figures.items() if now.outcomes >= needed])


@one.get("/figures/{figure}", tags=["results"], response_model=FigureOut, responses=error_responses(404, 409))
async def figure(
    request: Request, study: CurrentStudy, figure: str, choice: Annotated[FigureChoice, Query()]
) -> Response:
    """Draw a figure for an objective."""
    drawn = await study.draw(figure, choice, request)
    timing = {"server-timing": f"compute;dur={1000 * drawn.seconds:.0f}"}
    return Response(drawn.to_json(), headers=timing, media_type="application/json")


@one.get("/journal", tags=["results"], response_class=Response, responses={200: {"content": {"application/jsonl": {}}}})
def journal(study: CurrentStudy) -> Response:
    """Return the journal as JSON lines, which `allweather import` reads."""
    return journal_download(study.journal)


@one.get("/table", tags=["results"], response_class=Response, responses={200: {"content": {"text/csv": {}}}})
def table(study: CurrentStudy) -> Response:
    """Return the trials as CSV."""
    return table_download(study.name, study.snapshot().history)


router.include_router(one)
