"""`tell`, `correct`, `add` and `observe`: what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from allweather._utils.formatting import numbers, row
from allweather.cli.app import app, print_line
from allweather.cli.files import read_lines
from allweather.cli.options import SharedOptions, assigned, with_study_options
from allweather.errors import InvalidInput, require
from allweather.space.text import units_of
from allweather.space.variables import Context, Variable
from allweather.trials import Trial
from allweather.trials.additions import Added
from allweather.trials.suspicious import Suspicion
from allweather.trials.text import fields, in_terminal, outcome, still_missing, suspicion, suspicion_fields
from allweather.trials.trial import completed


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
FailedOutcomes = Annotated[
    list[str] | None,
    typer.Option("--failed-outcome", metavar="NAME", help="one of several outcomes failed alone (repeatable)"),
]
NEGATIVE_NUMBERS = {"ignore_unknown_options": True}
"""Makes typer read -1.5 as an outcome instead of an option."""


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
    realised = assigned(decision, variables, "--decision")
    told = log.tell(
        trial,
        read_values(values, names),
        sd=read_errors(sd, names),
        context=assigned(context, variables, "--context"),
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
    observed, realised = assigned(context, variables, "--context"), assigned(decision, variables, "--decision")
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
    file: Annotated[Path, typer.Argument(help="a CSV or .xlsx file with a column per variable, and `value`")],
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
    missing: Annotated[
        str, typer.Option(metavar="STATE", help="what a row with an empty context cell is: refuse, pending or drop")
    ] = "refuse",
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="leave out rows with mistakes, and say which and why")
    ] = False,
    decimal: Annotated[
        str, typer.Option(metavar="MARK", help="the decimal mark of numbers, . or , where the file leaves a doubt")
    ] = "",
    again: Annotated[bool, typer.Option("--again", help="add rows that are there already once more")] = False,
    occasion: Annotated[
        str | None, typer.Option(metavar="NAME", help="a name or date that all rows share, with their context")
    ] = None,
) -> None:
    """Add existing data from a table: all rows, or none; everything that is wrong is said at once.

    Columns `sd` and `occasion` are optional. Example: allweather add runs.csv --column "value=yield %" --blank failed
    """
    log = shared.log()
    reading: Any = {"blank": blank, "missing": missing, "invalid": "skip" if skip_invalid else "refuse"}
    reading["decimal"] = decimal
    try:
        added = log.add(
            read_lines(file), left or [], columns=_headers_of(column), again=again, occasion=occasion, **reading
        )
    except InvalidInput as error:
        raise error.at(error.where.removeprefix("Study.add(table=...)").strip()).within(file.name) from None
    document = {
        "trials": [fields(trial) for trial in added],
        "skipped": [str(each) for each in added.skipped],
        "suspicious": [suspicion_fields(each) for each in added.suspicious],
    }
    shared.print(document, lambda: _print_added(added, shared.again))


def _print_added(added: Added, options: str) -> None:
    print_line(added.summary)
    for each in added.skipped:
        print_line(f"left out: {each}")
    print_suspicious(added.suspicious, options)


def print_suspicious(found: Sequence[Suspicion], options: str) -> None:
    """Print what looks wrong, with the commands that correct it.

    Args:
        found: what looks wrong.
        options: that choose the study.
    """
    for each in found:
        print_line(f"looks wrong: {suspicion(each)}")
        print_line(f"  {in_terminal(each, options)}")


@app.command()
@with_study_options
def observe(
    shared: SharedOptions,
    file: Annotated[Path, typer.Argument(help="a CSV file with a column per context variable")],
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[=HEADER]", help="read this column, under the given header (repeatable)"),
    ] = None,
    decimal: Annotated[
        str, typer.Option(metavar="MARK", help="the decimal mark of numbers, . or , where the file leaves a doubt")
    ] = "",
    again: Annotated[bool, typer.Option("--again", help="take a table that was observed before once more")] = False,
) -> None:
    """Report contexts that occurred without a trial, from which their distribution is learned: all rows, or none.

    In studies of a simulator it is learned from these alone. Example: allweather observe loads.csv --column load=kN
    """
    log = shared.log()
    mark: Any = decimal
    try:
        observed = log.observe_contexts(read_lines(file), columns=_headers_of(column), decimal=mark, again=again)
    except InvalidInput as error:
        raise error.within(file.name) from None
    shared.print({"observed": observed}, lambda: print_line(f"{observed} contexts observed"))


def _headers_of(given: list[str] | None) -> dict[str, str] | None:
    """Return headers by the names they are read under."""
    pairs = [each.partition("=") for each in given or []]
    return {name.strip(): header.strip() or name.strip() for name, _, header in pairs} or None


def read_values(given: list[str] | None, outcomes: Sequence[str], where: str = "VALUE") -> Any:
    """Return the outcomes that were given: a list of numbers, or lists by name where there are several outcomes.

    Args:
        given: arguments such as `42.5`, or `yield=93.1`.
        outcomes: the names of several outcomes; empty where there is one.
        where: what errors call them.

    Example:
        >>> read_values(["42.5", "41"], [])
        [42.5, 41.0]
        >>> read_values(["yield=93.1", "purity=0.97"], ["yield", "purity"])
        {'yield': [93.1], 'purity': [0.97]}
    """
    if not outcomes:
        return numbers(given, where)
    found: dict[str, list[float]] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        named = bool(equals) and name in outcomes
        require(named, where, f"be NAME=VALUE with a name among {', '.join(outcomes)}", text)
        found.setdefault(name, []).extend(numbers([value], where) or [])
    return found or None


def read_errors(given: list[str] | None, outcomes: Sequence[str]) -> Any:
    """Return the standard errors, one for all repeated values or one each; by name where there are several outcomes.

    Args:
        given: arguments such as `0.1`, or `yield=0.1`.
        outcomes: the names of several outcomes; empty where there is one.
    """
    found = read_values(given, outcomes, "--sd")
    if isinstance(found, dict):
        return {name: each[0] if len(each) == 1 else each for name, each in found.items()}
    return found[0] if found is not None and len(found) == 1 else found


def _print_trial(shared: SharedOptions, trial: Trial, variables: Mapping[str, Variable]) -> None:
    units, known = units_of(variables), trial.context or trial.partial or {}
    context = f" with {row(known, units)}" if known else ""
    text = f"trial {trial.number} is {trial.state}: {row(trial.decision, units)} gave {outcome(trial)}{context}"
    if trial.state == "pending":
        uncertain = [name for name, each in variables.items() if isinstance(each, Context) or name in trial.left]
        text += f"; still missing: {', '.join(still_missing(trial, uncertain))}"
    shared.print({"trial": fields(trial)}, lambda: print_line(text))
