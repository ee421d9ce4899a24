"""Workers that carry out a study's trials, several at a time, while one thread asks and tells."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from allweather.cli.calls import Answer, Caller, NoCommand
from allweather.errors import AllweatherError, BudgetSpent, InvalidInput, shown
from allweather.storage import StorageError
from allweather.study import Study
from allweather.trials import Trial

PAUSES = (1.0, 4.0, 15.0, 60.0)
"""Seconds to wait for a database that does not answer, before giving up."""
T = TypeVar("T")


@dataclass(eq=False)
class Crew:
    """A study, and the command that carries out its trials."""

    study: Study
    name: str
    call: Caller
    workers: int
    report: Callable[[Trial, str], None]
    """Called with each trial once it is told, and with why it failed."""
    spent: bool = False
    """Whether the budget ended the work."""
    _running: dict[Future[Answer], Trial] = field(default_factory=dict)
    _refused: AllweatherError | None = None

    @property
    def unfinished(self) -> list[int]:
        """Trials that were begun and not told."""
        return [trial.number for trial in self._running.values()]

    def work(self, trials: int, waiting: Sequence[Trial] = ()) -> None:
        """Carry out so many trials, those that wait first.

        An answer that the study refuses ends the work once what runs has been told; that trial stays pending.
        """
        left, begun = list(waiting), 0
        with ThreadPoolExecutor(self.workers) as pool, _ended_gently():
            try:
                while True:
                    while len(self._running) < self.workers and begun < trials and self._goes_on:
                        trial = left.pop(0) if left else self._asked()
                        if trial is not None:
                            self._running[pool.submit(self.call, trial, self.name)] = trial
                            begun += 1
                    if not self._running:
                        break
                    for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                        self._finish(future)
            except BaseException:
                self.call.stop()
                raise
        if self._refused is not None:
            raise self._refused

    @property
    def _goes_on(self) -> bool:
        return not self.spent and self._refused is None

    def _asked(self) -> Trial | None:
        try:
            return patiently(self.study.ask)
        except BudgetSpent:
            self.spent = True
            return None

    def _finish(self, future: Future[Answer]) -> None:
        trial = self._running[future]
        try:
            answer = future.result()
            told: dict[str, Any] = {"failed": True} if answer.found is None else dict(answer.found)
            value = told.pop("value", None)  # once: the call may be repeated
            after = patiently(lambda: self.study.tell(trial, value, **told))
            self.report(after, answer.trouble)
        except NoCommand as mistake:
            self._refused = InvalidInput(f"{mistake}; trial {trial.number} stays pending, for `run --pending`")
        except (InvalidInput, TypeError) as mistake:
            found = shown(future.result().found)
            self._refused = InvalidInput(f"trial {trial.number} answered {found}, which the study refuses: {mistake}")
        except StorageError as lost:
            found = shown(future.result().found, 1000)
            raise StorageError(f"trial {trial.number} answered {found}, which could not be kept: {lost}") from lost
        del self._running[future]


def patiently(act: Callable[[], T]) -> T:
    """Do it again for a while where the storage fails: what was not acknowledged can be repeated."""
    for pause in PAUSES:
        try:
            return act()
        except StorageError:
            time.sleep(pause)
    return act()


@contextmanager
def _ended_gently() -> Iterator[None]:
    """Let a request to end be like Ctrl-C, so that no command is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
