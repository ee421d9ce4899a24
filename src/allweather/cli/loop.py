"""`ask`, `tell`, `correct`, `add` and `recommend`: the loop of a study."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any

import typer

from allweather._utils.formatting import brief, clean, numbers, row
from allweather.cli.app import app, speak
from allweather.cli.beginning import text_of
from allweather.cli.place import Place, studied
from allweather.engine.recommendation import Recommendation
from allweather.errors import InvalidInput, require
from allweather.space.text import assignments
from allweather.storage import Event
from allweather.trials import Trial, rows_of
from allweather.trials.text import fields, outcome

Number = Annotated[int, typer.Argument(metavar="NUMBER", help="the trial's number")]
Values = Annotated[list[str] | None, typer.Argument(metavar="VALUE...", help="the outcome, or several of one trial")]
Pairs = Annotated[list[str] | None, typer.Option("--context", metavar="NAME=VALUE", help="what happened (repeatable)")]
Done = Annotated[
    list[str] | None, typer.Option("--decision", metavar="NAME=VALUE", help="what was really done (repeatable)")
]
Before = Annotated[
    list[str] | None, typer.Option("--context", metavar="NAME=VALUE", help="the context, if it is known (repeatable)")
]
NEGATIVE = {"ignore_unknown_options": True}
"""Lets -1.5 be an outcome."""
BIGGEST = 100_000_000
"""Characters of a table that is added."""


@app.command()
@studied
def ask(
    place: Place,
    count: Annotated[int, typer.Option("-n", "--trials", min=1, max=1000, help="how many")] = 1,
    context: Before = None,
) -> None:
    """Say what to try next.

    Example: allweather ask -n 3
    """
    study = place.study()
    known = assignments(context or [], study.space.contexts, "--context") or None
    trials = study.ask(count, context=known)

    def aloud() -> None:
        for trial in trials:
            speak(f"trial {trial.number}: {row(trial.decision)}{_price(trial)}")
        missing = [name for name in [*trials[0].left, *study.space.contexts] if known is None]
        happened = "".join(f" --context {clean(name)}=..." for name in dict.fromkeys(missing))
        speak(f"Then: allweather tell {trials[0].number} VALUE{happened}")

    place.say({"trials": [fields(trial) for trial in trials]}, aloud)


@app.command(context_settings=NEGATIVE)
@studied
def tell(
    place: Place,
    trial: Number,
    values: Values = None,
    context: Pairs = None,
    decision: Done = None,
    failed: Annotated[bool, typer.Option("--failed", help="there will be no outcome")] = False,
) -> None:
    """Tell what became of a trial; what is not known yet can be told later.

    Example: allweather tell 7 42.5 --context demand=31
    """
    kept = place.kept()
    variables = kept.space.variables
    say = kept.validator.told(
        numbers(values),
        assignments(context or [], variables, "--context") or None,
        kept.done(trial, assignments(decision or [], variables, "--decision")),
        failed,
    )
    _report(place, kept.session.tell(trial, say))


@app.command(context_settings=NEGATIVE)
@studied
def correct(
    place: Place,
    trial: Number,
    values: Values = None,
    context: Pairs = None,
    decision: Done = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="take the trial out: it counts for nothing")] = False,
) -> None:
    """Put right what was told of a trial; what was told before stays in the journal.

    Example: allweather correct 7 24.5
    """
    kept = place.kept()
    variables = kept.space.variables
    told = numbers(values)
    happened = kept.happened(trial, assignments(context or [], variables, "--context"))
    done = kept.done(trial, assignments(decision or [], variables, "--decision"))
    if withdraw:
        require(not (told or happened or done), "correct --withdraw", "come alone", "a correction too")
        say: Any = lambda known: Event("corrected", {"withdrawn": True}, known.number)  # noqa: E731
    else:
        say = kept.validator.corrected(told, happened, done)
    _report(place, kept.session.tell(trial, say))


@app.command()
@studied
def add(
    place: Place,
    file: Annotated[Path, typer.Argument(help="a CSV file with a column per variable, and `value`")],
    left: Annotated[
        list[str] | None, typer.Option(help="with control sets: a variable left alone (repeatable)")
    ] = None,
) -> None:
    """Add data from before, all rows or none.

    Example: allweather add season2023.csv
    """
    kept = place.kept()
    text_of(file, BIGGEST)
    try:
        rows = rows_of(file)
    except csv.Error as problem:
        raise InvalidInput(f"`{file}` is no table: {problem}") from None
    require(len(rows) > 0, f"add {file}", "have rows below its header", "none")
    added = kept.session.decide(kept.validator.added(rows, left or []))
    place.say(
        {"trials": [fields(trial) for trial in added]},
        lambda: speak(f"{len(added)} trials added, numbers {added[0].number} to {added[-1].number}"),
    )


@app.command()
@studied
def recommend(place: Place, context: Before = None) -> None:
    """Say which decision is best, as far as the study knows.

    Example: allweather recommend
    """
    study = place.study()
    known = assignments(context or [], study.space.contexts, "--context") or None
    best = study.recommend(context=known)
    place.say(_described(best), lambda: _explain(best))


def _described(best: Recommendation) -> dict[str, Any]:
    said: dict[str, Any] = {
        "decision": best.decision,
        "value": best.value,
        "interval": best.interval,
        "expected": best.expected,
        "distance": best.distance,
        "radius": best.radius,
        "curve": best.curve.to_dict("records"),
    }
    if best.frontier is None:
        return said
    return {**said, "control": best.control, "cost": best.cost, "frontier": best.frontier.to_dict("records")}


def _explain(best: Recommendation) -> None:
    speak(str(best))
    if best.cost is not None:
        speak(f"Decide {', '.join(best.control)} at a cost of {brief(best.cost)}; leave the others alone.")


def _report(place: Place, trial: Trial) -> None:
    happened = f" when {row(trial.context)}" if trial.context else ""
    place.say(
        {"trial": fields(trial)},
        lambda: speak(f"trial {trial.number} is {trial.state}: {row(trial.decision)} gave {outcome(trial)}{happened}"),
    )


def _price(trial: Trial) -> str:
    if trial.cost is None:
        return ""
    return f" (cost {brief(trial.cost)}; leave alone: {', '.join(map(clean, trial.left)) or 'nothing'})"
