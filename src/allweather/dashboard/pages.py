"""The HTML pages: routes that show studies and trials, and routes that ask, tell, correct and withdraw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from allweather.dashboard.errors import page_message, status_of
from allweather.dashboard.filters import (
    DISTANCES,
    OBJECTIVES,
    SLIDER_MAX,
    ObjectiveChoice,
    Page,
    TrialFilter,
    cells,
    own_choice,
)
from allweather.dashboard.forms import Form, PostedForm, TrialForm, context_fields
from allweather.dashboard.responses import (
    encode_segment,
    is_partial,
    journal_download,
    render,
    report_download,
    table_download,
)
from allweather.dashboard.schemas import CurrentStudy, TrialNumber, cache_of
from allweather.dashboard.studies import STATES, OpenStudy, Snapshot
from allweather.errors import AllweatherError
from allweather.plots.axes import is_numeric
from allweather.storage.stored_study import StoredStudy
from allweather.study import Study
from allweather.trials import Trial
from allweather.trials.validation import Say

router = APIRouter(include_in_schema=False)
STUDIES = 50
"""Studies on a page."""
PENDING = 20
"""Pending trials that are shown with a form."""
CAPTIONS = {
    "robustness": "Mean outcome versus shift of the context distribution.",
    "contexts": "Context distribution of the model, and the worst case within the radius.",
    "profile": "Objective versus each decision variable.",
    "slices": "Posterior mean and credible band of the outcome.",
    "progress": "Objective of the recommendation versus number of trials.",
    "frontier": "Objective versus cost.",
    "check": "Predictions of each outcome from all others, and the importance of the variables.",
}
"""Captions of the figures until they are drawn."""


def chosen_objective(request: Request) -> ObjectiveChoice:
    """Return the objective of a query string."""
    return ObjectiveChoice.model_validate(dict(request.query_params))


def chosen_trials(request: Request) -> TrialFilter:
    """Return the trial filter of a query string."""
    return TrialFilter.model_validate(dict(request.query_params))


ChosenObjective = Annotated[ObjectiveChoice, Depends(chosen_objective)]
ChosenTrials = Annotated[TrialFilter, Depends(chosen_trials)]


@router.get("/")
def studies(request: Request, page: Annotated[int, Query(ge=1, le=10**6)] = 1) -> Response:
    """List the studies of the database."""
    cache = cache_of(request)
    summaries, total = cache.page(STUDIES, STUDIES * (page - 1))
    pages = max(-(-total // STUDIES), 1)
    template = "_studies.html" if is_partial(request) else "studies.html"
    values: dict[str, Any] = {"summaries": summaries, "total": total, "page": page, "pages": pages}
    return render(request, template, address=cache.database.address, **values)


@router.get("/studies/{name}")
def study(request: Request, study: CurrentStudy, choice: ChosenObjective, trials: ChosenTrials) -> Response:
    """Show a study."""
    snapshot = study.snapshot()
    return render(
        request,
        "study.html",
        choice=_initial_choice(choice, snapshot),
        objectives=OBJECTIVES,
        distances=DISTANCES,
        slider_max=SLIDER_MAX,
        captions=CAPTIONS,
        known=context_fields(study),
        **_pending(snapshot) | _table(snapshot, trials),
    )


@router.get("/studies/{name}/pulse")
def pulse(request: Request, study: CurrentStudy, seen: Annotated[int, Query(ge=0, le=10**12)]) -> Response:
    """Return nothing while the study is unchanged; otherwise its counts, and an event that refreshes the page."""
    if study.journal.last == seen:
        return Response(status_code=204)
    return _changed(render(request, "_changes.html", study=study.snapshot()))


@router.get("/studies/{name}/recommendation")
async def recommendation(request: Request, study: CurrentStudy, choice: ChosenObjective) -> Response:
    """Show the recommendation."""
    snapshot = await run_in_threadpool(study.snapshot)
    possible = snapshot.complete and not snapshot.why_not
    advice = await study.recommend(choice, request) if possible else None
    template = "_recommendation.html" if is_partial(request) else "recommendation.html"
    return render(request, template, study=snapshot, advice=advice)


@router.get("/studies/{name}/pending")
def pending(request: Request, study: CurrentStudy) -> Response:
    """Show the pending trials with their forms."""
    return render(request, "_pending.html", **_pending(study.snapshot()))


@router.get("/studies/{name}/trials")
def trials(request: Request, study: CurrentStudy, chosen: ChosenTrials) -> Response:
    """Show the table of trials."""
    template = "_trials.html" if is_partial(request) else "trials.html"
    return render(request, template, **_table(study.snapshot(), chosen))


@router.get("/studies/{name}/trials/{number}")
def trial(request: Request, study: CurrentStudy, number: TrialNumber) -> Response:
    """Show a trial, its events and its forms."""
    form = TrialForm.of(study.stored, study.snapshot().find(number))
    return render(request, "trial.html", **_trial(study, form))


@router.get("/studies/{name}/journal.jsonl")
def journal(study: CurrentStudy) -> Response:
    """Download the journal."""
    return journal_download(study.journal)


@router.get("/studies/{name}/table.csv")
def table(study: CurrentStudy) -> Response:
    """Download the trials as CSV."""
    return table_download(study.name, study.snapshot().history)


@router.get("/studies/{name}/report.html")
async def report(request: Request, study: CurrentStudy, choice: ChosenObjective) -> Response:
    """Download a report."""
    return report_download(study.name, await study.report(choice, request))


@router.get("/api/docs")
def api_docs(request: Request) -> Response:
    """Show the operations of the REST API."""
    return render(request, "api.html", document=request.app.openapi())


@router.post("/studies/{name}/ask")
async def ask(request: Request, study: CurrentStudy, form: PostedForm) -> Response:
    """Ask for a trial, and show its form."""

    def task(loaded: Study) -> Trial:
        contexts = {} if study.stored.validator.controlled else loaded.space.contexts
        return loaded.ask(context=form.row("context", contexts))

    trial = await study.ask(task, request)
    if not is_partial(request):
        return RedirectResponse(f"{_path(study)}#trial-{trial.number}", 303)
    return _changed(_card(request, study, TrialForm.of(study.stored, trial)))


@router.post("/studies/{name}/trials/{number}/tell")
async def tell(request: Request, study: CurrentStudy, number: TrialNumber, form: PostedForm) -> Response:
    """Report the result of a trial."""
    return await _submit(request, study, number, form, form.result)


@router.post("/studies/{name}/trials/{number}/correct")
async def correct(request: Request, study: CurrentStudy, number: TrialNumber, form: PostedForm) -> Response:
    """Correct the result of a trial."""
    return await _submit(request, study, number, form, form.correction)


@router.post("/studies/{name}/trials/{number}/withdraw")
async def withdraw(request: Request, study: CurrentStudy, number: TrialNumber, form: PostedForm) -> Response:
    """Withdraw a trial."""
    return await _submit(request, study, number, form, lambda stored, trial: stored.validator.withdrawn)


async def _submit(
    request: Request, study: OpenStudy, number: int, form: Form, change: Callable[[StoredStudy, Trial], Say]
) -> Response:
    """Change a trial and show it; after an error show the form as it was entered, with a message."""
    trial = await run_in_threadpool(lambda: study.snapshot().find(number))
    try:
        changed = await study.tell(number, lambda stored: change(stored, trial), request)
    except AllweatherError as error:
        again, status = TrialForm.of(study.stored, trial, form.fields, page_message(error, number)), status_of(error)
        if is_partial(request):
            return _card(request, study, again, status)
        return await run_in_threadpool(lambda: render(request, "trial.html", status, **_trial(study, again)))
    if not is_partial(request):
        return RedirectResponse(f"{_path(study)}/trials/{number}", 303)
    if changed.state == "pending":
        return _changed(_card(request, study, TrialForm.of(study.stored, changed)))
    return _changed(render(request, "_result.html", name=study.name, trial=changed))


def _card(request: Request, study: OpenStudy, form: TrialForm, status: int = 200) -> Response:
    return render(request, "_trial_card.html", status, name=study.name, form=form)


def _initial_choice(choice: ObjectiveChoice, snapshot: Snapshot) -> ObjectiveChoice:
    """Return the chosen objective; if none was chosen, the study's own with its radius or level on the sliders."""
    own = own_choice(snapshot.stored.spec)
    if choice.model_fields_set or own is None:
        return choice
    return own.model_copy(update={"objective": "own"})


def _pending(snapshot: Snapshot) -> dict[str, Any]:
    """Return template values of the pending trials, newest first."""
    found = snapshot.by_state.get("pending", [])[::-1]
    forms = [TrialForm.of(snapshot.stored, each) for each in found[:PENDING]]
    return {"study": snapshot, "name": snapshot.name, "forms": forms, "further": len(found) - PENDING}


def _table(snapshot: Snapshot, chosen: TrialFilter) -> dict[str, Any]:
    """Return template values of a page of the table of trials."""
    variables = snapshot.stored.space.variables
    state = snapshot.by_state.get(chosen.state, []) if chosen.state else snapshot.history.trials
    page = Page.of(state, chosen)
    outcomes = snapshot.stored.validator.outcomes or ("value",)
    columns = ["trial", *variables, *(["cost"] if snapshot.controlled else []), *outcomes]
    text = ["trial", *(name for name, each in variables.items() if not is_numeric(each))]
    return {
        "study": snapshot,
        "name": snapshot.name,
        "columns": columns,
        "numeric": [each for each in columns if each not in text],
        "states": STATES,
        "chosen": chosen,
        "page": page,
        "rows": [(each, cells(each)) for each in page.trials],
    }


def _trial(study: OpenStudy, form: TrialForm) -> dict[str, Any]:
    """Return template values of a trial's page."""
    return {"name": study.name, "form": form, "events": study.journal.read(trial=form.trial.number)}


def _path(study: OpenStudy) -> str:
    return f"/studies/{encode_segment(study.name)}"


def _changed(response: Response) -> Response:
    """Add the htmx event that refreshes the other parts of the page."""
    response.headers["hx-trigger"] = "study-changed"
    return response
