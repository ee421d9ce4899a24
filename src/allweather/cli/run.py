"""`run`: carry out trials with a command or a Python function, several at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from allweather._utils.formatting import row
from allweather.cli.app import FAILED, app, error_console, print_error, print_line
from allweather.cli.options import SharedOptions, with_study_options
from allweather.cli.subprocesses import TrialCommand
from allweather.errors import BudgetSpent, require
from allweather.trials import Trial
from allweather.trials.text import fields, outcome

if TYPE_CHECKING:
    from allweather.cli.stopping import GainRule

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


@app.command()
@with_study_options
def run(
    shared: SharedOptions,
    command: Annotated[str | None, typer.Argument(help="a shell command that is run for every trial")] = None,
    function: Annotated[str | None, typer.Option(metavar="MODULE:NAME", help="a Python function instead")] = None,
    trials: Annotated[int, typer.Option(min=1, help="number of trials, at most")] = 1,
    timeout: Annotated[float | None, typer.Option(min=0.001, help="seconds per attempt")] = None,
    retries: Annotated[int, typer.Option(min=0, help="further attempts after one that failed")] = 0,
    workers: Annotated[int, typer.Option(min=1, max=256, help="trials at the same time")] = 1,
    until_gain: Annotated[
        float | None, typer.Option(metavar="X", help="stop earlier, when at most X better is possible (95%)")
    ] = None,
    pending: Annotated[
        bool, typer.Option("--pending", help="carry out pending trials first (on one machine at a time)")
    ] = False,
) -> None:
    """Carry out trials with a command, or a Python function.

    The decision is in environment variables (AW_order) and, as JSON, on standard input, with the context where it is
    known or chosen; a function of two arguments takes decision and context. The last line of the output
    is the outcome: a number, or {"value": 3.5, "context": {"demand": 31}}. A trial whose attempts all fail is told as
    failed. Ctrl-C stops; the next run resumes the study. With --until-gain, the run stops before all trials are
    carried out as soon as no decision is better than the recommended one by more than X, with 95% probability.

    Example: allweather run "python simulate.py" --trials 40 --timeout 600 --retries 1 --workers 4
    """
    from allweather.cli.stopping import GainRule  # these need torch
    from allweather.cli.worker_pool import WorkerPool

    study = shared.study()
    trial_command = _trial_command(command, function, timeout, retries)
    rule = None if until_gain is None else GainRule(study, until_gain)
    waiting = [trial for trial in study.history.trials if pending and trial.state == "pending"]
    name = study.name
    done: list[Trial] = []
    with _progress(trials, quiet=shared.as_json) as bar:
        enough = None if rule is None else rule.reason
        pool = WorkerPool(study, name, trial_command, workers, _reporter(bar, done), enough)
        try:
            pool.run(trials, waiting)
        except KeyboardInterrupt:
            bar.stop()
            print_error(_interrupted(pool.unfinished))
            raise typer.Exit(INTERRUPTED) from None
    _print_result(shared, name, done, pool.stopped, rule)
    if done and all(trial.state == "failed" for trial in done):
        print_error(f"{name}: every trial failed")
        raise typer.Exit(FAILED)
    if pool.budget_spent:
        raise BudgetSpent(f"{name}: the remaining budget does not cover another trial")


def _print_result(shared: SharedOptions, name: str, done: list[Trial], stopped: str, rule: GainRule | None) -> None:
    states = Counter(trial.state for trial in done)
    counts = ", ".join(f"{count} {state}" for state, count in states.items()) or "no trials carried out"
    possible = None if rule is None else rule.possible
    document = {
        "trials": [fields(trial) for trial in done],
        "states": dict(states),
        "stopped": stopped or None,
        "possible_gain": possible,
    }

    def print_text() -> None:
        print_line(f"{name}: {counts}")
        if stopped:
            print_line(f"Stopped. {stopped}")
        elif rule is not None:
            now = "is not known yet" if possible is None else f"was {possible:.4g} at last"
            print_line(f"Not stopped early: the possible gain {now}; --until-gain is {rule.limit:g}.")

    shared.print(document, print_text)


def _trial_command(command: str | None, function: str | None, timeout: float | None, retries: int) -> TrialCommand:
    one = (command is None) != (function is None)
    require(one, "run", "have either a command or --function", "both" if command else "neither")
    require(command is None or bool(command.strip("\0 \t\n")), "run", "have a command that is not empty", command)
    require(timeout is None or math.isfinite(timeout), "run --timeout", "be a finite number of seconds", timeout)
    if function is not None:
        return TrialCommand.function(function, timeout, retries)
    return TrialCommand(command or "", timeout, retries)


def _reporter(bar: Progress, done: list[Trial]) -> Callable[[Trial, str], None]:
    """Return a function that collects finished trials and prints them above the progress bar."""

    def report(trial: Trial, failure: str) -> None:
        done.append(trial)
        if not bar.disable:
            bar.console.print(_line(trial, failure), markup=False, highlight=False, soft_wrap=True)
        bar.advance(bar.task_ids[0])

    return report


def _line(trial: Trial, failure: str) -> str:
    reason = f" ({failure})" if failure else ""
    return f"trial {trial.number} is {trial.state}: {row(trial.decision)} gave {outcome(trial)}{reason}"


def _interrupted(unfinished: list[int]) -> str:
    if not unfinished:
        return "Stopped; all results are stored."
    listed = ", ".join(map(str, sorted(unfinished)))
    return f"Stopped; all results are stored. Pending: {listed}; `run --pending` carries them out first."


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
    with Progress(*columns, console=error_console, disable=quiet) as bar:
        bar.add_task("trials", total=total)
        yield bar
