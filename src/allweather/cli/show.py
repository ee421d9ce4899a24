"""`show`: the variables and trials of a study."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from allweather._utils.formatting import brief, clean, row
from allweather.cli.app import app, console, print_line
from allweather.cli.options import SharedOptions, with_study_options
from allweather.space.text import describe, heading, units_of
from allweather.trials import Trial
from allweather.trials.text import fields, outcome

if TYPE_CHECKING:
    from allweather.study import StudyLog

MAX_SHOWN_TRIALS = 20
"""Trials that are shown without `--all`."""


@app.command()
@with_study_options
def show(
    shared: SharedOptions,
    everything: Annotated[
        bool, typer.Option("--all", help=f"all trials instead of the last {MAX_SHOWN_TRIALS}")
    ] = False,
) -> None:
    """Show a study: its variables, the number of trials, and their results.

    Example: allweather show --all
    """
    log = shared.log()
    trials = log.history.trials
    document = {
        "study": log.name,
        "direction": log.direction,
        "variables": {name: describe(variable) for name, variable in log.space.variables.items()},
        "states": dict(Counter(trial.state for trial in trials)),
        "spec": log.spec.to_dict(),
        "trials": [fields(trial) for trial in trials],
    }
    shared.print(document, lambda: _print_study(log, trials if everything else trials[-MAX_SHOWN_TRIALS:]))


def _print_study(log: StudyLog, trials: tuple[Trial, ...]) -> None:
    everything = log.history.trials
    states = Counter(trial.state for trial in everything)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "no trials yet"
    several = log.spec.outcome_names and not log.spec.code
    print_line(f"{log.name}: {counts}" if several else f"{log.name}: {log.direction}, {counts}")
    for wanted in log.spec.wanted_texts if several else ():
        print_line(f"  {wanted}")
    for name, variable in log.space.variables.items():
        print_line(f"  {name}: {describe(variable)}")
    if not trials:
        return
    if len(trials) < len(everything):
        print_line(f"The last {len(trials)} of {len(everything)} trials; --all shows all.")
    console.print(_table(log, trials))
    pending = [trial for trial in everything if trial.state == "pending"]
    if pending:
        units = units_of(log.space.variables)
        print_line(f"Pending: {', '.join(f'{trial.number} ({row(trial.decision, units)})' for trial in pending[:5])}")


def _table(log: StudyLog, trials: tuple[Trial, ...]) -> Table:
    names = list(log.space.variables)
    cost = ["cost"] if log.spec.controlled else []
    headings = [escape(clean(heading(name, variable))) for name, variable in log.space.variables.items()]
    table = Table("trial", "state", *headings, *cost, "value")
    for trial in trials:
        values = {**(trial.context or {}), **trial.decision}
        cells = [*(brief(values.get(name)) for name in names), *(brief(trial.cost) for _ in cost)]
        told = outcome(trial) if trial.measured else ""
        table.add_row(*map(Text, [str(trial.number), trial.state, *cells, told]))
    return table
