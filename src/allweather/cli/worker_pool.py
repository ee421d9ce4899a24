"""A pool of workers that carry out trials in parallel, while one thread asks and tells."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from allweather.cli.subprocesses import CommandNotFound, CommandResult, TrialCommand
from allweather.errors import AllweatherError, BudgetSpent, InvalidInput, shown
from allweather.storage import StorageError
from allweather.study import Study
from allweather.trials import Trial

PAUSES = (1.0, 4.0, 15.0, 60.0)
"""Seconds between attempts to reach a database that does not respond."""
T = TypeVar("T")


@dataclass(eq=False)
class WorkerPool:
    """Workers that carry out the trials of a study with a command."""

    study: Study
    name: str
    """Of the study."""
    command: TrialCommand
    workers: int
    """Trials at the same time."""
    report: Callable[[Trial, str], None]
    """Called with each trial after it was told, and with the reason of its failure."""
    enough: Callable[[], str] | None = None
    """Returns why no more trials are needed, empty while they are; called at first and after each complete trial."""
    stopped: str = ""
    """Why `enough` ended the work; empty if it did not."""
    budget_spent: bool = False
    """Whether the budget ended the work."""
    _running: dict[Future[CommandResult], Trial] = field(default_factory=dict)
    _error: AllweatherError | None = None

    @property
    def unfinished(self) -> list[int]:
        """Numbers of the trials that were started and not told."""
        return [trial.number for trial in self._running.values()]

    def run(self, trials: int, pending: Sequence[Trial] = ()) -> None:
        """Carry out trials.

        An answer that the study rejects ends the work after the running trials were told; that trial stays pending.
        Once `enough` gives a reason, no further trial is started.

        Args:
            trials: how many.
            pending: carried out first.

        Raises:
            InvalidInput: if the command does not exist, or the study rejects an answer.
            StorageError: if the database does not respond.
        """
        queue, started = list(pending), 0
        self._consider_stopping()
        with ThreadPoolExecutor(self.workers) as executor, _sigterm_as_interrupt():
            try:
                while True:
                    while len(self._running) < self.workers and started < trials and self._continues:
                        trial = queue.pop(0) if queue else self._ask()
                        if trial is not None:
                            self._running[executor.submit(self.command, trial, self.name)] = trial
                            started += 1
                    if not self._running:
                        break
                    for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                        self._finish(future)
            except BaseException:
                self.command.stop()
                raise
        if self._error is not None:
            raise self._error

    @property
    def _continues(self) -> bool:
        return not self.budget_spent and not self.stopped and self._error is None

    def _ask(self) -> Trial | None:
        try:
            return retry_on_storage_error(self.study.ask)
        except BudgetSpent:
            self.budget_spent = True
            return None

    def _consider_stopping(self) -> None:
        if self.enough is None or not self._continues:
            return
        try:
            self.stopped = retry_on_storage_error(self.enough)
        except InvalidInput as error:
            self._error = error

    def _finish(self, future: Future[CommandResult]) -> None:
        """Tell the result of a trial."""
        trial, complete = self._running[future], False
        try:
            result = future.result()
            arguments: dict[str, Any] = {"failed": True} if result.answer is None else dict(result.answer)
            value = arguments.pop("value", None)  # outside of the lambda, which may run again
            told = retry_on_storage_error(lambda: self.study.tell(trial, value, **arguments))
            self.report(told, result.failure)
            complete = told.state == "complete"
        except CommandNotFound as error:
            self._error = error.suggest(f"trial {trial.number} stays pending, see `run --pending`")
        except (InvalidInput, TypeError) as error:
            rejected = error if isinstance(error, InvalidInput) else InvalidInput(str(error))
            answer = shown(future.result().answer)
            self._error = rejected.within(f"the study rejects {answer} of trial {trial.number}")
        except StorageError as error:
            answer = shown(future.result().answer, 1000)
            raise StorageError(f"the answer of trial {trial.number}, {answer}, could not be stored: {error}") from error
        del self._running[future]
        if complete:
            self._consider_stopping()


def retry_on_storage_error(act: Callable[[], T]) -> T:
    """Call `act` again after a `StorageError`: what was not acknowledged can be repeated."""
    for pause in PAUSES:
        try:
            return act()
        except StorageError:
            time.sleep(pause)
    return act()


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
