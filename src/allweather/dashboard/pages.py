"""The HTML pages: routes that show studies and trials, and routes that ask, tell, correct and withdraw."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import RedirectResponse

from allweather._utils.formatting import brief
from allweather.dashboard.errors import page_message, page_problems, status_of
from allweather.dashboard.forms import Form, PostedForm, TrialForm, VariableField, context_fields
from allweather.dashboard.responses import (
    is_partial,
    journal_download,
    mark_changed,
    render,
    report_download,
    table_download,
)
from allweather.dashboard.schemas import (
    DISTANCES,
    EMPTY,
    OBJECTIVES,
    SLIDER_MAX,
    ObjectiveChoice,
    PolicyChoice,
    Text,
    own_choice,
)
from allweather.dashboard.studies import (
    STATES,
    CurrentStudy,
    OpenStudy,
    Snapshot,
    StudyCache,
    TrialNumber,
    cache_of,
    study_path,
)
from allweather.dashboard.table_form import TableForm
from allweather.dashboard.tasks import CAPTIONS
from allweather.errors import AllweatherError, InvalidInput, require
from allweather.plots.axes import is_numeric
from allweather.serialization.change_form import read_change
from allweather.serialization.drafts import draft_spec, drafted
from allweather.space.proposal import CALL, Proposal
from allweather.space.text import heading
from allweather.storage.memory import require_name
from allweather.storage.summary import find_study
from allweather.study import Spec, Study, StudyLog
from allweather.trials import Trial, read_csv

router = APIRouter(include_in_schema=False)
STUDIES_PER_PAGE = 50
"""Studies on a page."""
MAX_PENDING_FORMS = 20
"""Pending trials that are shown with a form."""
NEW_STUDY_VARIABLES = 8
"""Rows for variables in the form of a new study."""
TRIALS_PER_PAGE = 25
"""Rows of a page of the table of trials."""
Number = Annotated[float | None, EMPTY]


def from_query(kind: type[BaseModel]) -> Any:
    """Return the dependency that reads the query string of a page, of which unknown parts are ignored."""

    def read(request: Request) -> BaseModel:
        return kind.model_validate(dict(request.query_params))

    return Depends(read)


class TrialFilter(BaseModel):
    """Filter, order and page of the table of trials; an unknown state or column filters nothing out.

    Example:
        >>> trials = [Trial(0, {"order": 1.0}), Trial(1, {"order": 5.0})]
        >>> [trial.number for trial in TrialFilter(variable="order", low=2).apply(trials)]
        [1]
        >>> [trial.number for trial in TrialFilter(sort="order").apply(trials)]
        [0, 1]
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    state: Text = ""
    variable: Text = ""
    low: Number = None
    high: Number = None
    text: Text = ""
    sort: Text = "-trial"
    page: Annotated[int, Field(ge=1, le=10**6)] = 1

    def apply(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return the matching trials in the chosen order."""
        newest_first = list(reversed(trials))
        active = bool(self.state or self.text or self.variable)
        found = [trial for trial in newest_first if self._matches(trial)] if active else newest_first
        name = self.sort.removeprefix("-")
        if self.sort == "-trial":
            return found
        known = [trial for trial in found if cells(trial).get(name) is not None]
        known.sort(key=lambda trial: _sort_key(cells(trial)[name]), reverse=self.sort.startswith("-"))
        return known + [trial for trial in found if cells(trial).get(name) is None]

    def query(self, **changes: Any) -> str:
        """Return the filter as a query string, with some fields changed."""
        return urlencode({**self.model_dump(exclude_defaults=True, exclude_none=True), **changes})

    def _matches(self, trial: Trial) -> bool:
        if self.state and trial.state != self.state:
            return False
        row = cells(trial)
        if self.text and not any(self.text.lower() in brief(each).lower() for each in row.values()):
            return False
        if not self.variable or (self.low is None and self.high is None):
            return True
        found = row.get(self.variable)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return isinstance(found, int | float) and low <= found <= high


@dataclass(frozen=True)
class Page:
    """One page of the table of trials."""

    trials: Sequence[Trial]
    number: int
    pages: int
    total: int

    @classmethod
    def of(cls, trials: Sequence[Trial], chosen: TrialFilter) -> Page:
        """Return the chosen page, or the last one if there are fewer."""
        found = chosen.apply(trials)
        pages = max(-(-len(found) // TRIALS_PER_PAGE), 1)
        number = min(chosen.page, pages)
        return cls(found[(number - 1) * TRIALS_PER_PAGE : number * TRIALS_PER_PAGE], number, pages, len(found))


ChosenObjective = Annotated[ObjectiveChoice, from_query(ObjectiveChoice)]
ChosenPolicy = Annotated[PolicyChoice, from_query(PolicyChoice)]
ChosenTrials = Annotated[TrialFilter, from_query(TrialFilter)]


@router.get("/")
def studies(request: Request, page: Annotated[int, Query(ge=1, le=10**6)] = 1) -> Response:
    """List the studies of the database."""
    cache = cache_of(request)
    summaries, total = cache.page(STUDIES_PER_PAGE, STUDIES_PER_PAGE * (page - 1))
    pages = max(-(-total // STUDIES_PER_PAGE), 1)
    template = "_studies.html" if is_partial(request) else "studies.html"
    listed = [(each, cache.latest(each)) for each in summaries]
    values: dict[str, Any] = {"studies": listed, "total": total, "page": page, "pages": pages}
    return render(request, template, address=cache.database.address, **values)


@router.get("/new")
def new(request: Request) -> Response:
    """Show the form of a new study."""
    return render(request, "new.html", rows=NEW_STUDY_VARIABLES, entered={}, detail=None, proposal=None)


@router.post("/new/table")
async def propose(request: Request, form: PostedForm) -> Response:
    """Show the form of a new study, filled with what is proposed for a table."""
    values: dict[str, Any] = {"rows": NEW_STUDY_VARIABLES, "entered": form.fields, "proposal": None}
    try:
        proposal = await run_in_threadpool(lambda: _proposal(form))
    except InvalidInput as error:
        return render(request, "new.html", 422, detail=page_message(error), **values)
    entered = {**form.fields, **drafted(proposal), "outcome": proposal.outcome}
    values |= {"rows": max(len(proposal.variables) + 1, NEW_STUDY_VARIABLES), "entered": entered}
    return render(request, "new.html", detail=None, **{**values, "proposal": proposal})


@router.post("/new")
async def create(request: Request, form: PostedForm) -> Response:
    """Create a study."""
    try:
        name = await run_in_threadpool(lambda: _created(cache_of(request), form))
    except AllweatherError as error:
        values: dict[str, Any] = {"rows": _rows(form), "entered": form.fields, "detail": page_message(error)}
        proposal = await run_in_threadpool(lambda: _proposal(form)) if form.fields.get("table", "").strip() else None
        return render(request, "new.html", status_of(error), proposal=proposal, **values)
    if not form.fields.get("table", "").strip():
        return RedirectResponse(study_path(name), 303)
    log = cache_of(request).find(name).log
    chosen = {"table": form.fields["table"], "column:value": form.fields.get("outcome", "")}
    chosen["decimal"] = form.fields.get("decimal", "")
    table = await run_in_threadpool(lambda: TableForm.of(log.space, log.spec.outcome_names, chosen))
    return render(request, "columns.html", table=table, name=name, controlled=False)


@router.get("/studies/{name}")
def study(request: Request, study: CurrentStudy, choice: ChosenObjective, trials: ChosenTrials) -> Response:
    """Show a study."""
    snapshot = study.snapshot()
    return render(
        request,
        "study.html",
        captions=CAPTIONS,
        known=context_fields(study),
        **_objective(choice, snapshot) | _pending(snapshot) | table_values(snapshot, trials),
    )


@router.get("/studies/{name}/pulse")
def pulse(request: Request, study: CurrentStudy, seen: Annotated[int, Query(ge=0, le=10**12)]) -> Response:
    """Return nothing while the study is unchanged; otherwise its counts, and an event that refreshes the page."""
    if study.journal.last == seen:
        return Response(status_code=204)
    return mark_changed(render(request, "_changes.html", study=study.snapshot()))


@router.get("/studies/{name}/recommendation")
async def recommendation(request: Request, study: CurrentStudy, choice: ChosenObjective) -> Response:
    """Show the recommendation."""
    snapshot = await run_in_threadpool(study.snapshot)
    possible = snapshot.complete and not snapshot.why_not
    advice = await study.recommend(choice, request) if possible else None
    template = "_recommendation.html" if is_partial(request) else "recommendation.html"
    return render(request, template, study=snapshot, advice=advice, **_objective(choice, snapshot))


@router.get("/studies/{name}/policy")
async def policy(request: Request, study: CurrentStudy, choice: ChosenPolicy) -> Response:
    """Show the best decision for each of several values of a known context."""
    found = await study.policy(choice, request)
    template = "_policy.html" if is_partial(request) else "policy.html"
    return render(request, template, name=study.name, policy=found)


@router.get("/studies/{name}/add")
def upload(request: Request, study: CurrentStudy, first: int | None = None, last: int | None = None) -> Response:
    """Show the form that adds a table; after one was added, the numbers of its trials."""
    return render(request, "add.html", name=study.name, first=first, last=last, detail=None, skipped=[])


@router.post("/studies/{name}/add")
async def add(request: Request, study: CurrentStudy, form: PostedForm) -> Response:
    """Show the columns of a table, or add it once they are chosen."""
    values: dict[str, Any] = {"name": study.name, "controlled": study.log.spec.controlled}
    columns = study.log.space, study.log.spec.outcome_names
    try:
        table = await run_in_threadpool(lambda: TableForm.of(*columns, form.fields))
    except InvalidInput as error:
        return render(request, "add.html", 422, first=None, last=None, detail=page_message(error), skipped=[], **values)
    if "blank" not in form.fields:
        return render(request, "columns.html", table=table, **values)
    try:
        added = await study.add(table.lines, request, **table.options)
    except AllweatherError as error:
        table = TableForm.of(*columns, form.fields, page_message(error), page_problems(error))
        return render(request, "columns.html", status_of(error), table=table, **values)
    if added.skipped or not added:
        values |= {"first": added[0].number if added else None, "last": added[-1].number if added else None}
        return render(
            request, "add.html", detail=None, skipped=[page_message(each) for each in added.skipped], **values
        )
    return RedirectResponse(f"{study_path(study.name)}/add?first={added[0].number}&last={added[-1].number}", 303)


@router.get("/studies/{name}/pending")
def pending(request: Request, study: CurrentStudy) -> Response:
    """Show the pending trials with their forms."""
    return render(request, "_pending.html", **_pending(study.snapshot()))


@router.get("/studies/{name}/trials")
def trials(request: Request, study: CurrentStudy, chosen: ChosenTrials) -> Response:
    """Show the table of trials."""
    template = "_trials.html" if is_partial(request) else "trials.html"
    return render(request, template, **table_values(study.snapshot(), chosen))


@router.get("/studies/{name}/trials/{number}")
def trial(request: Request, study: CurrentStudy, number: TrialNumber) -> Response:
    """Show a trial, its events and its forms."""
    form = TrialForm.of(study.log, study.snapshot().find(number))
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
    return report_download(study.name, await study.report_page(choice, request))


@router.get("/studies/{name}/change")
def revise(request: Request, study: CurrentStudy) -> Response:
    """Show the form that changes a study."""
    snapshot = study.snapshot()
    fields = [VariableField.of("change", name, each, {}) for name, each in snapshot.log.space.variables.items()]
    return render(request, "change.html", fields=fields, study=snapshot, **_objective(ObjectiveChoice(), snapshot))


@router.post("/studies/{name}/change")
async def change(request: Request, study: CurrentStudy, form: PostedForm) -> Response:
    """Change a study."""
    await study.ask(lambda loaded: loaded.change(**read_change(form.fields, loaded.space.variables)), request)
    return RedirectResponse(study_path(study.name), 303)


@router.get("/api/docs")
def api_docs(request: Request) -> Response:
    """Show the operations of the REST API."""
    return render(request, "api.html", document=request.app.openapi())


@router.post("/studies/{name}/ask")
async def ask(request: Request, study: CurrentStudy, form: PostedForm) -> Response:
    """Ask for trials, and show their forms, the newest first."""

    def task(loaded: Study) -> list[Trial]:
        contexts = {} if study.log.spec.controlled else loaded.space.contexts
        together = bool(form.fields.get("same_context"))
        return loaded.ask(form.count(), context=form.row("context", contexts), same_context=together)

    trials = await study.ask(task, request)
    if not is_partial(request):
        return RedirectResponse(f"{study_path(study.name)}#trial-{trials[0].number}", 303)
    forms = [TrialForm.of(study.log, each) for each in reversed(trials)]
    return mark_changed(render(request, "_pending.html", name=study.name, forms=forms, further=0))


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
    return await _submit(request, study, number, form, lambda log, trial: log.withdraw(trial.number))


async def _submit(
    request: Request, study: OpenStudy, number: int, form: Form, change: Callable[[StudyLog, Trial], Trial]
) -> Response:
    """Change a trial and show it; after an error show the form as it was entered, with a message."""
    trial = await run_in_threadpool(lambda: study.snapshot().find(number))
    try:
        changed = await study.report(number, lambda log: change(log, trial), request)
    except AllweatherError as error:
        again, status = TrialForm.of(study.log, trial, form.fields, page_message(error, number)), status_of(error)
        if is_partial(request):
            return _card(request, study, again, status)
        return await run_in_threadpool(lambda: render(request, "trial.html", status, **_trial(study, again)))
    if not is_partial(request):
        return RedirectResponse(f"{study_path(study.name)}/trials/{number}", 303)
    if changed.state == "pending":
        return mark_changed(_card(request, study, TrialForm.of(study.log, changed)))
    return mark_changed(render(request, "_result.html", name=study.name, trial=changed))


def _card(request: Request, study: OpenStudy, form: TrialForm, status: int = 200) -> Response:
    return render(request, "_trial_card.html", status, name=study.name, form=form)


def _objective(choice: ObjectiveChoice, snapshot: Snapshot) -> dict[str, Any]:
    """Return template values of the form of the objective; if none was chosen, the study's own is on the sliders."""
    own = own_choice(snapshot.log.spec.fields)
    if own is not None and not choice.model_fields_set - {"tolerance"}:
        choice = own.model_copy(update={"objective": "own", "tolerance": choice.tolerance})
    return {"choice": choice, "objectives": OBJECTIVES, "distances": DISTANCES, "slider_max": SLIDER_MAX}


def _rows(form: Form) -> int:
    """How many variables a submitted form has room for."""
    places = [name.partition(":")[0] for name in form.fields if name.endswith(":name")]
    return max([NEW_STUDY_VARIABLES, *(int(place) + 1 for place in places if place.isdigit() and len(place) < 4)])


def _proposal(form: Form) -> Proposal:
    """Propose variables for the table of a form."""
    lines = read_csv(form.fields.get("table", "").removeprefix("\ufeff"))
    if not lines:
        raise InvalidInput("choose a file or paste a table: a line of headers, and a line for each trial")
    contexts = [name.strip() for name in form.fields.get("contexts", "").split(",") if name.strip()]
    decimal = form.fields.get("decimal", "")
    try:
        return Proposal.of(lines, contexts, form.fields.get("outcome", "").strip() or None, decimal)
    except InvalidInput as error:
        what = {CALL.format(name): name for name in ("outcome", "contexts", "decimal")}
        raise error.at(what.get(error.where, "table")) from None


def _created(cache: StudyCache, form: Form) -> str:
    """Create a study from a spec as text, or from the fields of the form, and return its name."""
    text = form.fields.get("spec", "")
    spec = Spec.from_toml(text, "spec") if text.strip() else Spec(draft_spec(form.fields, _rows(form)), "study")
    name = spec.name or ""
    require_name(name)
    require(find_study(cache.database, name) is None, "name", "be new in this database", name)
    Study.from_spec(spec)  # an invalid spec raises before anything is written
    return Study.from_spec(spec, cache.url, name).name


def _pending(snapshot: Snapshot) -> dict[str, Any]:
    """Return template values of the pending trials, newest first."""
    found = snapshot.by_state.get("pending", [])[::-1]
    forms = [TrialForm.of(snapshot.log, each) for each in found[:MAX_PENDING_FORMS]]
    return {"study": snapshot, "name": snapshot.name, "forms": forms, "further": len(found) - MAX_PENDING_FORMS}


def _trial(study: OpenStudy, form: TrialForm) -> dict[str, Any]:
    """Return template values of a trial's page."""
    return {"name": study.name, "form": form, "events": study.journal.read(trial=form.trial.number)}


def table_values(snapshot: Snapshot, chosen: TrialFilter) -> dict[str, Any]:
    """Return template values of a page of the table of trials."""
    variables = snapshot.log.space.variables
    found = snapshot.by_state.get(chosen.state, []) if chosen.state else snapshot.history.trials
    page = Page.of(found, chosen)
    outcomes = snapshot.log.spec.outcome_names or ("value",)
    columns = ["trial", *variables, *(["cost"] if snapshot.controlled else []), *outcomes]
    text = ["trial", *(name for name, each in variables.items() if not is_numeric(each))]
    return {
        "study": snapshot,
        "name": snapshot.name,
        "columns": {name: heading(name, variables.get(name)) for name in columns},
        "numeric": [each for each in columns if each not in text],
        "states": STATES,
        "chosen": chosen,
        "page": page,
        "rows": [(each, cells(each)) for each in page.trials],
    }


def cells(trial: Trial) -> Mapping[str, Any]:
    """Return the cells of a trial's row by column."""
    results = {name: _mean(each.values) for name, each in (trial.results or {}).items()}
    own = {"trial": trial.number, "value": _mean(trial.values), "cost": trial.cost, **results}
    return {**own, **(trial.context or {}), **trial.decision}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _sort_key(value: Any) -> tuple[int, Any]:
    """Sort numbers before text."""
    return (0, value) if isinstance(value, int | float) else (1, str(value))
