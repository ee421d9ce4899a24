"""`run`: carry out trials with a command or a Python function, several at a time."""

from __future__ import annotations

import math
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allweather.cli.app import FAILED, app, error_console, print_error, print_line
from allweather.cli.options import SharedOptions, with_study_options
from allweather.cli.subprocesses import TrialCommand
from allweather.errors import BudgetSpent, require
from allweather.trials import Trial
from allweather.trials.text import fields

if TYPE_CHECKING:
    from allweather.study.standing import Standing
    from allweather.study.worker_pool import Answer

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
    from allweather.study.optimize import interrupted, print_trial, progress_bar  # these need torch
    from allweather.study.standing import Standing
    from allweather.study.worker_pool import WorkerPool

    study = shared.study()
    name, quiet = study.name, shared.as_json
    trial_command = _trial_command(command, function, timeout, retries, tuple(study.history.outcome_names))
    standing = Standing(study, until_gain, "run --until-gain")
    waiting = [trial for trial in study.history.trials if pending and trial.state == "pending"]
    done: list[Trial] = []
    with (
        progress_bar(trials, error_console, quiet) as bar,
        ThreadPoolExecutor(workers) as executor,
        _sigterm_as_interrupt(),
    ):

        def report(trial: Trial) -> None:
            done.append(trial)
            print_trial(bar, standing.line(trial))

        def start(trial: Trial) -> Future[Answer]:
            return executor.submit(trial_command, trial, name)

        enough = None if quiet and until_gain is None else standing.reason
        pool = WorkerPool(study, start, trial_command.stop, workers, report, enough)
        try:
            pool.run(trials, waiting)
        except KeyboardInterrupt:
            bar.stop()
            print_error(interrupted(pool.unfinished, "`run --pending`"))
            raise typer.Exit(INTERRUPTED) from None
    _print_result(shared, name, done, pool.stopped, standing)
    if done and all(trial.state == "failed" for trial in done):
        print_error(f"{name}: every trial failed")
        raise typer.Exit(FAILED)
    if pool.budget_spent:
        raise BudgetSpent(f"{name}: the remaining budget does not cover another trial")


def _print_result(shared: SharedOptions, name: str, done: list[Trial], stopped: str, standing: Standing) -> None:
    states = Counter(trial.state for trial in done)
    counts = ", ".join(f"{count} {state}" for state, count in states.items()) or "no trials carried out"
    possible = None if standing.until_gain is None else standing.possible
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
        elif standing.until_gain is not None:
            now = "is not known yet" if possible is None else f"was {possible:.4g} at last"
            print_line(f"Not stopped early: the possible gain {now}; --until-gain is {standing.until_gain:g}.")

    shared.print(document, print_text)


def _trial_command(
    command: str | None, function: str | None, timeout: float | None, retries: int, outcomes: tuple[str, ...]
) -> TrialCommand:
    one = (command is None) != (function is None)
    require(one, "run", "have either a command or --function", "both" if command else "neither")
    require(command is None or bool(command.strip("\0 \t\n")), "run", "have a command that is not empty", command)
    require(timeout is None or math.isfinite(timeout), "run --timeout", "be a finite number of seconds", timeout)
    if function is not None:
        return TrialCommand.function(function, timeout, retries, outcomes)
    return TrialCommand(command or "", timeout, retries, outcomes)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM, and the end of the terminal, like Ctrl-C, so that no command is left running."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    signals = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = [signal.signal(each, interrupt) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)
