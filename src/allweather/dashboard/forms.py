"""What people do on the pages: ask, tell, correct and withdraw; also without a script in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import RedirectResponse

from allweather.dashboard.addresses import segment
from allweather.dashboard.inputs import Card, space_of
from allweather.dashboard.pages import about
from allweather.dashboard.posted import Posted, from_our_form
from allweather.dashboard.problems import status_of
from allweather.dashboard.render import partial, render
from allweather.dashboard.rest import Here, Number
from allweather.dashboard.shelf import Opened
from allweather.dashboard.spoken import spoken
from allweather.errors import AllweatherError
from allweather.study import Study
from allweather.trials import Trial

router = APIRouter(include_in_schema=False)
Form = Annotated[Posted, Depends(from_our_form)]


@router.post("/studies/{name}/ask")
async def ask(request: Request, opened: Here, posted: Form) -> Response:
    """A new trial, with the form that will tell what became of it."""

    def next_one(study: Study) -> Trial:
        contexts = {} if opened.kept.validator.controlled else study.space.contexts
        return study.ask(context=posted.row("context", contexts))

    trial = await opened.asked(next_one, request)
    if not partial(request):
        return RedirectResponse(f"{_home(opened)}#trial-{trial.number}", 303)
    return _news(render(request, "_card.html", name=opened.name, card=Card.of(opened, trial)))


@router.post("/studies/{name}/trials/{number}/tell")
def tell(request: Request, opened: Here, number: Number, posted: Form) -> Response:
    """What became of a trial."""

    def told(trial: Trial) -> Trial:
        space = space_of(opened, trial)
        decision = posted.row("decision", space.decisions)
        say = opened.kept.validator.told(
            posted.outcomes(),
            posted.row("context", space.contexts),
            opened.kept.done(number, decision or {}),
            posted.ticked("failed"),
        )
        return opened.tell(number, say)

    return _done(request, opened, number, posted, told)


@router.post("/studies/{name}/trials/{number}/correct")
def correct(request: Request, opened: Here, number: Number, posted: Form) -> Response:
    """Put right what was told."""

    def corrected(trial: Trial) -> Trial:
        space = space_of(opened, trial)
        context, decision = posted.row("context", space.contexts), posted.row("decision", space.decisions)
        say = opened.kept.validator.corrected(
            posted.outcomes(), opened.kept.happened(number, context or {}), opened.kept.done(number, decision or {})
        )
        return opened.tell(number, say)

    return _done(request, opened, number, posted, corrected)


@router.post("/studies/{name}/trials/{number}/withdraw")
def withdraw(request: Request, opened: Here, number: Number, posted: Form) -> Response:
    """Take a trial out."""
    return _done(request, opened, number, posted, lambda trial: opened.withdraw(number))


def _done(request: Request, opened: Opened, number: int, posted: Posted, change: Callable[[Trial], Trial]) -> Response:
    """The changed trial; where something does not fit, the form as it was typed and what is wrong with it."""
    trial = opened.find(number)
    try:
        changed = change(trial)
    except AllweatherError as mistake:
        card = Card.of(opened, trial, posted.fields, spoken(mistake))
        if partial(request):
            return render(request, "_card.html", status_of(mistake), name=opened.name, card=card)
        return render(request, "trial.html", status_of(mistake), **about(opened, card))
    if not partial(request):
        return RedirectResponse(f"{_home(opened)}/trials/{number}", 303)
    if changed.state == "pending":
        return _news(render(request, "_card.html", name=opened.name, card=Card.of(opened, changed)))
    return _news(render(request, "_done.html", name=opened.name, trial=changed))


def _home(opened: Opened) -> str:
    return f"/studies/{segment(opened.name)}"


def _news(answer: Response) -> Response:
    """Tells the page that something has happened."""
    answer.headers["hx-trigger"] = "news"
    return answer
