"""`ask`: the next decision to try."""

from __future__ import annotations

from typing import Annotated

import typer

from allweather._utils.formatting import brief, clean, row
from allweather.cli.app import app, print_line
from allweather.cli.options import Known, SharedOptions, assigned, with_study_options
from allweather.space.text import units_of
from allweather.trials import Trial
from allweather.trials.text import fields


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
    known = assigned(context, study.space.variables, "--context")
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


def _cost(trial: Trial) -> str:
    if trial.cost is None:
        return ""
    return f" (cost {brief(trial.cost)}; not controlled: {', '.join(map(clean, trial.left)) or 'none'})"
