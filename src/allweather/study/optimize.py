"""Optimize a study with a Python function: ask, call and tell, several trials at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from allweather.errors import require, require_count, require_number
from allweather.study.function_workers import Call, FunctionWorkers, check_function
from allweather.study.standing import Standing
from allweather.study.worker_pool import WorkerPool
from allweather.trials import Trial

if TYPE_CHECKING:
    from allweather.study.study import Study

WHERE = "Study.optimize({}=...)"
MAX_WORKERS = 256


@dataclass(frozen=True)
class Settings:
    """How trials are carried out, checked."""

    trials: int
    workers: int = 1
    until_gain: float | None = None
    timeout: float | None = None
    retries: int = 0

    def __post_init__(self) -> None:
        require_count(self.trials, WHERE.format("trials"), low=1)
        require_count(self.workers, WHERE.format("workers"), low=1, high=MAX_WORKERS)
        require_count(self.retries, WHERE.format("retries"))
        if self.timeout is not None:
            require_number(self.timeout, WHERE.format("timeout"), above=0)


def optimize(
    study: Study,
    function: Callable[..., Any],
    settings: Settings,
    callback: Callable[[Study, Trial], Any] | None = None,
    progress: bool = True,
) -> list[Trial]:
    """Carry out trials of a study with a function, and return them in the order in which they ended.

    Args:
        study: is asked and told.
        function: of the decision, and perhaps the context.
        settings: how trials are carried out.
        callback: called with study and trial after each trial was told.
        progress: whether to print a line for each trial, and a progress bar, on standard error.
    """
    with_context = check_function(function, "simulator" in study.spec.fields)
    require(callback is None or callable(callback), WHERE.format("callback"), "be a function", callback)
    standing = Standing(study, settings.until_gain, WHERE.format("until_gain"))
    call = Call(function, tuple(study.history.outcome_names), settings.timeout, settings.retries)
    done: list[Trial] = []
    with (
        progress_bar(settings.trials, Console(stderr=True), not progress) as bar,
        FunctionWorkers(call, settings.workers, with_context) as workers,
    ):

        def report(trial: Trial) -> None:
            done.append(trial)
            print_trial(bar, standing.line(trial))
            if callback is not None:
                callback(study, trial)

        enough = standing.reason if progress or settings.until_gain is not None else None
        pool = WorkerPool(study, workers.start, workers.stop, settings.workers, report, enough)
        with claimed_trials(study, pool.run_id) as pending:
            try:
                pool.run(settings.trials, pending)
            except KeyboardInterrupt:
                print_trial(bar, interrupted(pool.unfinished, "the next call"), advance=False)
                raise
        if pool.stopped:
            print_trial(bar, f"Stopped. {pool.stopped}", advance=False)
    return done


@contextmanager
def claimed_trials(study: Study, run: str) -> Iterator[list[Trial]]:
    """Hold the trials of a run, so that no other call takes them over, and those that ended runs left behind.

    Gives the latter: asked for by a call of `optimize` that has ended, and nothing told about them.

    Args:
        study: whose trials they are.
        run: identifies the run.
    """
    pending = [trial for trial in study.history.trials if trial.run and trial.state == "pending" and not told(trial)]
    claimed = {each: study.journal.claim(each) for each in dict.fromkeys([run, *(trial.run for trial in pending)])}
    try:
        yield [trial for trial in pending if claimed[trial.run] is not None and not told(study.trial(trial.number))]
    finally:
        for release in claimed.values():
            if release is not None:
                release()


def told(trial: Trial) -> bool:
    """Return whether an outcome or a failure of a trial was told."""
    return trial.failed or bool(trial.values) or any(each.resolved for each in (trial.results or {}).values())


def interrupted(unfinished: Sequence[int], who: str) -> str:
    """Return what a run that was interrupted leaves behind.

    Args:
        unfinished: numbers of the trials that were started and not told.
        who: carries them out first.

    Example:
        >>> interrupted([4, 3], "the next call")
        'Stopped; all results are stored. Pending: 3, 4; the next call carries them out first.'
    """
    if not unfinished:
        return "Stopped; all results are stored."
    return (
        f"Stopped; all results are stored. Pending: {', '.join(map(str, sorted(unfinished)))}; "
        f"{who} carries them out first."
    )


@contextmanager
def progress_bar(total: int, console: Console, quiet: bool) -> Iterator[Progress]:
    """Show how many trials are done.

    Args:
        total: number of trials.
        console: where it is shown.
        quiet: whether nothing is shown.
    """
    columns = (
        TextColumn("trials"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=quiet) as bar:
        bar.add_task("trials", total=total)
        yield bar


def print_trial(bar: Progress, line: str, advance: bool = True) -> None:
    """Print a line above a progress bar.

    Args:
        bar: which may be quiet.
        line: about a trial.
        advance: whether the trial is done.
    """
    if bar.disable:
        return
    bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
    if advance:
        bar.advance(bar.task_ids[0])
