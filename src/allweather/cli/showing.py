"""`show`: what a study is, and its trials."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from allweather._utils.formatting import brief, clean, row
from allweather.cli.app import app, console, speak
from allweather.cli.place import Place, studied
from allweather.space.text import described
from allweather.storage.stored_study import StoredStudy
from allweather.trials import Trial
from allweather.trials.text import fields, outcome

LAST = 20
"""Trials that are shown where not all are wanted."""


@app.command()
@studied
def show(
    place: Place, everything: Annotated[bool, typer.Option("--all", help=f"all trials, not the last {LAST}")] = False
) -> None:
    """Show a study: its variables, how far it is, and its trials.

    Example: allweather show --all
    """
    kept = place.kept()
    trials = kept.history.trials
    document = {
        "study": kept.journal.name,
        "direction": kept.direction,
        "variables": {name: described(variable) for name, variable in kept.space.variables.items()},
        "states": dict(Counter(trial.state for trial in trials)),
        "recipe": kept.spec,
        "trials": [fields(trial) for trial in trials],
    }
    place.say(document, lambda: _aloud(kept, trials if everything else trials[-LAST:]))


def _aloud(kept: StoredStudy, trials: tuple[Trial, ...]) -> None:
    everything = kept.history.trials
    counts = Counter(trial.state for trial in everything)
    said = ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no trials yet"
    speak(f"{kept.journal.name}: {kept.direction}, {said}")
    for name, variable in kept.space.variables.items():
        speak(f"  {name}: {described(variable)}")
    if not trials:
        return
    if len(trials) < len(everything):
        speak(f"The last {len(trials)} of {len(everything)} trials; --all shows them all.")
    names = list(kept.space.variables)
    paid = ["cost"] if kept.validator.controlled else []
    table = Table("trial", "state", *(escape(clean(name)) for name in names), *paid, "value")
    for trial in trials:
        happened = {**(trial.context or {}), **trial.decision}
        cells = [*(brief(happened.get(name)) for name in names), *(brief(trial.cost) for _ in paid)]
        table.add_row(*map(Text, [str(trial.number), trial.state, *cells, outcome(trial) if trial.values else ""]))
    console.print(table)
    pending = [trial for trial in everything if trial.state == "pending"]
    if pending:
        speak(f"Pending: {', '.join(f'{trial.number} ({row(trial.decision)})' for trial in pending[:5])}")
