"""`ask`, `tell`, `correct`, `add` and `recommend`: the loop of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allweather._utils.formatting import brief, clean, row
from allweather.cli.app import app, print_line
from allweather.cli.files import read_file
from allweather.cli.objective_options import (
    DistanceOption,
    LevelOption,
    ObjectiveOption,
    RadiusOption,
    read_objective,
)
from allweather.cli.options import SharedOptions, with_study_options
from allweather.cli.outcome_options import FailedOutcomes, read_errors, read_values
from allweather.errors import InvalidInput, require
from allweather.space.text import assignments, units_of
from allweather.space.variables import Context, Variable
from allweather.trials import Row, Trial, read_csv
from allweather.trials.text import fields, outcome, still_missing
from allweather.trials.trial import completed

if TYPE_CHECKING:
    from allweather.engine.recommendation import Recommendation


def _whole(text: str) -> int:
    """Parse the number of a trial, which is written in digits only."""
    if not (text.removeprefix("-").isdigit() and text.isascii() and len(text) <= 20):
        raise typer.BadParameter(f"{text[:100]!r} is not a whole number")
    return int(text)


Number = Annotated[int, typer.Argument(metavar="NUMBER", help="number of the trial", parser=_whole)]
Values = Annotated[
    list[str] | None,
    typer.Argument(metavar="VALUE...", help="the outcome, or several; NAME=VALUE of several outcomes"),
]
Observed = Annotated[
    list[str] | None, typer.Option("--context", metavar="NAME=VALUE", help="the observed context (repeatable)")
]
Realised = Annotated[
    list[str] | None,
    typer.Option("--decision", metavar="NAME=VALUE", help="the decision as carried out, if not as asked (repeatable)"),
]
StandardErrors = Annotated[
    list[str] | None,
    typer.Option("--sd", metavar="SD", help="the standard error, of each of several values or NAME=SD (repeatable)"),
]
Occasion = Annotated[
    str | None, typer.Option(metavar="NAME", help="a name or date that trials with the same context share")
]
Known = Annotated[
    list[str] | None, typer.Option("--context", metavar="NAME=VALUE", help="the context, if it is known (repeatable)")
]
NEGATIVE_NUMBERS = {"ignore_unknown_options": True}
"""Makes typer read -1.5 as an outcome instead of an option."""
MAX_TABLE = 100_000_000
"""Characters of a table that is added."""


@app.command()
@with_study_options
def ask(
    shared: SharedOptions,
    count: Annotated[int, typer.Option("-n", "--trials", min=1, max=1000, help="number of trials")] = 1,
    context: Known = None,
    same_context: Annotated[
        bool, typer.Option("--same-context", help="the trials will share their context, as the runs of one day do")
    ] = False,
) -> None:
    """Print the next decision to try.

    Example: allweather ask -n 3
    """
    study = shared.study()
    known = _assigned(context, study.space.contexts, "--context")
    trials = study.ask(count, context=known, same_context=same_context)

    def print_text() -> None:
        units = units_of(study.space.variables)
        for trial in trials:
            chosen = trial.context or trial.partial or {}  # by a simulator's study, or known before
            within = f" with {row(chosen, units)}" if chosen and chosen != known else ""
            print_line(f"trial {trial.number}: {row(trial.decision, units)}{within}{_cost(trial)}")
        decided = trials[0].context or trials[0].partial or {}
        missing = [name for name in [*trials[0].left, *study.space.contexts] if name not in decided]
        options = "".join(f" --context {clean(name)}=..." for name in dict.fromkeys(missing))
        values = " ".join(f"{name}=..." for name in trials[0].results or ()) or "VALUE"
        print_line(f"Then: allweather tell {trials[0].number} {values}{options}{shared.again}")

    shared.print({"trials": [fields(trial) for trial in trials]}, print_text)


@app.command(context_settings=NEGATIVE_NUMBERS)
@with_study_options
def tell(
    shared: SharedOptions,
    trial: Number,
    values: Values = None,
    context: Observed = None,
    decision: Realised = None,
    failed: Annotated[bool, typer.Option("--failed", help="the trial failed and has no outcome")] = False,
    sd: StandardErrors = None,
    occasion: Occasion = None,
    failed_outcome: FailedOutcomes = None,
) -> None:
    """Report the result of a trial; context and outcome, or several outcomes, may be told separately.

    Example: allweather tell 7 42.5 --context demand=31
    """
    log = shared.log()
    variables, names = log.space_of(trial).variables, log.spec.outcome_names
    realised = _assigned(decision, variables, "--decision")
    told = log.tell(
        trial,
        read_values(values, names),
        sd=read_errors(sd, names),
        context=_assigned(context, variables, "--context"),
        decision=realised and completed(realised, log.trial(trial).decision),
        failed=failed_outcome or failed,
        occasion=occasion,
    )
    _print_trial(shared, told, variables)


@app.command(context_settings=NEGATIVE_NUMBERS)
@with_study_options
def correct(
    shared: SharedOptions,
    trial: Number,
    values: Values = None,
    context: Observed = None,
    decision: Realised = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="exclude the trial from the model")] = False,
    sd: StandardErrors = None,
    occasion: Occasion = None,
) -> None:
    """Correct the result of a trial; the journal keeps what was told before.

    Example: allweather correct 7 24.5
    """
    log = shared.log()
    variables, names = log.space_of(trial).variables, log.spec.outcome_names
    told = read_values(values, names)
    observed, realised = _assigned(context, variables, "--context"), _assigned(decision, variables, "--decision")
    if withdraw:
        alone = not (told or observed or realised or sd or occasion)
        require(alone, "correct --withdraw", "be given alone", "a correction too")
        corrected = log.withdraw(trial)
    else:
        known = log.trial(trial)
        corrected = log.correct(
            trial,
            told,
            sd=read_errors(sd, names),
            context=completed(observed, known.context),
            decision=completed(realised, known.decision),
            occasion=occasion,
        )
    _print_trial(shared, corrected, variables)


@app.command()
@with_study_options
def add(
    shared: SharedOptions,
    file: Annotated[
        Path, typer.Argument(help="a CSV file (commas, semicolons or tabs) with a column per variable, and `value`")
    ],
    left: Annotated[
        list[str] | None, typer.Option(help="with control sets: a variable that was not controlled (repeatable)")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=HEADER]",
            help="read this column, under the given header; columns not needed are then ignored (repeatable)",
        ),
    ] = None,
    blank: Annotated[
        str, typer.Option(metavar="STATE", help="what a row without outcome is: refuse, failed or pending")
    ] = "refuse",
    occasion: Annotated[
        str | None, typer.Option(metavar="NAME", help="a name or date that all rows share, with their context")
    ] = None,
) -> None:
    """Add existing data from a table: all rows, or none if one is invalid.

    Columns `sd` and `occasion` are optional. Example: allweather add runs.csv --column "value=yield %" --blank failed
    """
    log = shared.log()
    try:
        lines = read_csv(read_file(file, MAX_TABLE))
        require(len(lines) > 0, f"add {file}", "have rows below its header", "no rows")
        added = log.add(lines, left or [], columns=headers_of(column), blank=blank, occasion=occasion)  # type: ignore[arg-type]
    except InvalidInput as error:
        raise error.at(error.where.removeprefix("Study.add(table=...) ")).within(file.name) from None
    shared.print(
        {"trials": [fields(trial) for trial in added]},
        lambda: print_line(_said_added([trial.number for trial in added])),
    )


@app.command()
@with_study_options
def recommend(
    shared: SharedOptions,
    context: Known = None,
    objective: ObjectiveOption = None,
    distance: DistanceOption = None,
    radius: RadiusOption = None,
    level: LevelOption = None,
    tolerance: Annotated[
        float | None,
        typer.Option(metavar="X", help="also print how far each variable may be changed to lose at most X"),
    ] = None,
) -> None:
    """Print the decision with the best objective under the current model.

    The study's own objective, unless another one is given: by name (expectation, worst-case, ...), by the radius of a
    worst shift of the contexts, by the level of a tail, or as a table with all settings, as in a spec:
    --objective "{ name = 'mean-variance', penalty = 0.5 }".

    Example: allweather recommend --radius 0.2
    """
    study = shared.study()
    chosen = read_objective(study.spec.fields, objective, distance, radius, level)
    known = _assigned(context, study.space.contexts, "--context")
    best = study.recommend(objective=chosen, context=known, tolerance=tolerance)
    shared.print(best.to_dict(), lambda: _print_recommendation(best))


def headers_of(given: list[str] | None) -> dict[str, str] | None:
    """Return headers by the names they are read under."""
    pairs = [each.partition("=") for each in given or []]
    return {name.strip(): header.strip() or name.strip() for name, _, header in pairs} or None


def _assigned(pairs: list[str] | None, variables: Mapping[str, Variable], option: str) -> Row | None:
    return assignments(pairs or [], variables, option) or None


def _print_recommendation(best: Recommendation) -> None:
    print_line(str(best))
    if best.cost is not None:
        print_line(f"Control {', '.join(best.control)} at a cost of {brief(best.cost)}; do not control the others.")


def _print_trial(shared: SharedOptions, trial: Trial, variables: Mapping[str, Variable]) -> None:
    units, known = units_of(variables), trial.context or trial.partial or {}
    context = f" with {row(known, units)}" if known else ""
    text = f"trial {trial.number} is {trial.state}: {row(trial.decision, units)} gave {outcome(trial)}{context}"
    if trial.state == "pending":
        uncertain = [name for name, each in variables.items() if isinstance(each, Context) or name in trial.left]
        text += f"; still missing: {', '.join(still_missing(trial, uncertain))}"
    shared.print({"trial": fields(trial)}, lambda: print_line(text))


def _cost(trial: Trial) -> str:
    if trial.cost is None:
        return ""
    return f" (cost {brief(trial.cost)}; not controlled: {', '.join(map(clean, trial.left)) or 'none'})"


def _said_added(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"1 trial added, number {numbers[0]}"
    return f"{len(numbers)} trials added, numbers {numbers[0]} to {numbers[-1]}"
