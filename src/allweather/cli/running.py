"""`run`: trials carried out by a command or a Python function, several at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from allweather._utils.formatting import row
from allweather.cli.app import app, complain, speak, trouble
from allweather.cli.calls import Caller
from allweather.cli.crew import Crew
from allweather.cli.place import Place, studied
from allweather.errors import BudgetSpent, require
from allweather.trials import Trial
from allweather.trials.text import fields, outcome

STOPPED = 130
"""Exit code after Ctrl-C, as of any program."""


@app.command()
@studied
def run(
    place: Place,
    command: Annotated[str | None, typer.Argument(help="a line for the shell, called for every trial")] = None,
    function: Annotated[str | None, typer.Option(metavar="MODULE:NAME", help="a Python function instead")] = None,
    trials: Annotated[int, typer.Option(min=1, help="how many to carry out")] = 1,
    timeout: Annotated[float | None, typer.Option(min=0.001, help="seconds that an attempt may take")] = None,
    retries: Annotated[int, typer.Option(min=0, help="further attempts after one that failed")] = 0,
    workers: Annotated[int, typer.Option(min=1, max=256, help="trials at a time")] = 1,
    pending: Annotated[
        bool, typer.Option("--pending", help="first the trials left pending (on one machine at a time)")
    ] = False,
) -> None:
    """Carry out trials with a command, or a Python function.

    The decision is in environment variables (AW_order) and, as JSON, on standard input. The last line of the output
    is the outcome: a number, or {"value": 3.5, "context": {"demand": 31}}. What fails after its retries is told as
    failed. Ctrl-C stops; the study goes on with the next run.

    Example: allweather run "python simulate.py" --trials 40 --timeout 600 --retries 1 --workers 4
    """
    study, kept = place.study(), place.kept()
    call = _caller(command, function, timeout, retries)
    waiting = [trial for trial in kept.history.trials if pending and trial.state == "pending"]
    with _progress(trials, quiet=place.as_json) as bar:
        done: list[Trial] = []
        crew = Crew(study, kept.journal.name, call, workers, _reporter(bar, done))
        try:
            crew.work(trials, waiting)
        except KeyboardInterrupt:
            bar.stop()
            complain(_stopped(crew.unfinished))
            raise typer.Exit(STOPPED) from None
    states = Counter(trial.state for trial in done)
    said = ", ".join(f"{count} {state}" for state, count in states.items()) or "nothing done"
    document = {"trials": [fields(trial) for trial in done], "states": dict(states)}
    place.say(document, lambda: speak(f"{kept.journal.name}: {said}"))
    if crew.spent:
        raise BudgetSpent(f"{kept.journal.name}: nothing that could be asked for can be paid for any more")


def _caller(command: str | None, function: str | None, timeout: float | None, retries: int) -> Caller:
    one = (command is None) != (function is None)
    require(one, "run", "have either a command or --function", "both" if command else "neither")
    require(command is None or bool(command.strip("\0 \t\n")), "run", "have a command that is not empty", command)
    require(timeout is None or math.isfinite(timeout), "run --timeout", "be a finite number of seconds", timeout)
    if function is not None:
        return Caller.function(function, timeout, retries)
    return Caller(command or "", timeout, retries)


def _reporter(bar: Progress, done: list[Trial]) -> Callable[[Trial, str], None]:
    """Writes down what is done, and says it above the bar."""

    def report(trial: Trial, why: str) -> None:
        done.append(trial)
        if not bar.disable:
            bar.console.print(_line(trial, why), markup=False, highlight=False, soft_wrap=True)
        bar.advance(bar.task_ids[0])

    return report


def _line(trial: Trial, why: str) -> str:
    return f"trial {trial.number} is {trial.state}: {row(trial.decision)} gave {outcome(trial)}{why and f' ({why})'}"


def _stopped(unfinished: list[int]) -> str:
    if not unfinished:
        return "Stopped; everything told is kept."
    listed = ", ".join(map(str, sorted(unfinished)))
    return f"Stopped; everything told is kept. Pending: {listed}; `run --pending` carries them out first."


@contextmanager
def _progress(total: int, quiet: bool) -> Iterator[Progress]:
    columns = (
        TextColumn("trials"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=trouble, disable=quiet) as bar:
        bar.add_task("trials", total=total)
        yield bar
