"""A pool of workers that carry out trials in parallel, while one thread asks and tells."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from allweather._utils.formatting import clean
from allweather._utils.registry import unknown
from allweather.errors import AllweatherError, BudgetSpent, InvalidInput, is_number, shown
from allweather.storage import StorageError
from allweather.trials import Trial

if TYPE_CHECKING:
    from allweather.study.study import Study

PAUSES = (1.0, 4.0, 15.0, 60.0)
"""Seconds between attempts to reach a database that does not respond."""
ANSWER_KEYS = ("value", "context", "decision", "failed", "sd", "reason")
T = TypeVar("T")


class Answer(NamedTuple):
    """What a worker found out about a trial."""

    told: Mapping[str, Any] | None
    """The arguments of `Study.tell`; None if every attempt failed."""
    failure: str = ""
    """Why the last attempt failed."""


def read_answer(found: Any, outcomes: Sequence[str] = (), where: str = "the result") -> Answer:
    """Read what a command or a function returned: a number, outcomes by name, or the arguments of `tell`.

    Numbers that are not finite are failures.

    Args:
        found: what was returned.
        outcomes: the names of several outcomes; empty where there is one.
        where: what messages call it.

    Example:
        >>> read_answer(3.5).told
        {'value': 3.5}
        >>> read_answer({"yield": 93.1, "purity": 0.97}, ["yield", "purity"]).told
        {'value': {'yield': 93.1, 'purity': 0.97}}
        >>> read_answer(float("nan")).failure
        'the result is nan'
        >>> read_answer({"valeu": 3.5}).failure
        "`the result` knows no 'valeu'; did you mean 'value'?"
    """
    found = found.tolist() if hasattr(found, "tolist") else found
    if is_number(found):
        return Answer({"value": found}) if math.isfinite(found) else Answer(None, f"{where} is {found}")
    if not isinstance(found, Mapping):
        return Answer(None, f"{where} is no number and has no names: {clean(shown(found))}")
    if found and outcomes and all(name in outcomes for name in found):
        found = {"value": dict(found)}
    for key in found:
        if key not in ANSWER_KEYS:
            return Answer(None, str(unknown(where, str(key)[:100], [*ANSWER_KEYS, *outcomes])))
    value = found.get("value")
    if is_number(value) and not math.isfinite(value):
        return Answer({**_without(found, "value"), "failed": True, "reason": f"{where} is {value}"})
    return Answer(dict(found))


def _without(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: each for key, each in found.items() if key != name}


@dataclass(eq=False)
class WorkerPool:
    """Workers that carry out the trials of a study."""

    study: Study
    start: Callable[[Trial], Future[Answer]]
    """Begins to carry out a trial."""
    stop: Callable[[], None]
    """Ends what was begun, where that is possible; called once the work is interrupted."""
    workers: int
    """Trials at the same time."""
    report: Callable[[Trial], None]
    """Called with each trial after it was told."""
    enough: Callable[[], str] | None = None
    """Returns why no more trials are needed, empty while they are; called at first and after each complete trial."""
    stopped: str = ""
    """Why `enough` ended the work; empty if it did not."""
    budget_spent: bool = False
    """Whether the budget ended the work."""
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Identifies this work in the journal."""
    _running: dict[Future[Answer], Trial] = field(default_factory=dict)
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
            InvalidInput: if trials cannot be carried out at all, or the study rejects an answer.
            StorageError: if the database does not respond.
        """
        queue, started = list(pending), 0
        self._consider_stopping()
        try:
            while True:
                while len(self._running) < self.workers and started < trials and self._continues:
                    trial = queue.pop(0) if queue else self._ask()
                    if trial is not None:
                        self._running[self.start(trial)] = trial
                        started += 1
                if not self._running:
                    break
                for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                    self._finish(future)
        except BaseException:
            self.stop()
            raise
        if self._error is not None:
            raise self._error

    @property
    def _continues(self) -> bool:
        return not self.budget_spent and not self.stopped and self._error is None

    def _ask(self) -> Trial | None:
        try:
            (trial,) = retry_on_storage_error(lambda: self.study._ask(run=self.run_id))
        except BudgetSpent:
            self.budget_spent = True
            return None
        return trial

    def _consider_stopping(self) -> None:
        if self.enough is None:
            return
        try:
            reason = retry_on_storage_error(self.enough)
        except InvalidInput as error:
            self._error = self._error or error
        else:
            self.stopped = self.stopped or reason

    def _finish(self, future: Future[Answer]) -> None:
        """Tell the result of a trial."""
        trial = self._running[future]
        try:
            answer = future.result()
            arguments: dict[str, Any] = (
                {"failed": True, "reason": answer.failure} if answer.told is None else dict(answer.told)
            )
            value = arguments.pop("value", None)  # outside of the lambda, which may run again
            told = retry_on_storage_error(lambda: self.study.tell(trial, value, **arguments))
        except NotCarriedOut as error:
            self._error = error.suggest(f"trial {trial.number} stays pending")
        except (InvalidInput, TypeError) as error:
            rejected = error if isinstance(error, InvalidInput) else InvalidInput(str(error))
            given = shown(future.result().told)
            self._error = rejected.within(f"the study rejects {given} of trial {trial.number}")
        except StorageError as error:
            given = shown(future.result().told, 1000)
            raise StorageError(f"the answer of trial {trial.number}, {given}, could not be stored: {error}") from error
        else:
            if told.state == "complete":
                self._consider_stopping()
            del self._running[future]
            self.report(told)
            return
        del self._running[future]


class NotCarriedOut(InvalidInput):
    """Trials cannot be carried out at all, so none has failed."""


def retry_on_storage_error(act: Callable[[], T]) -> T:
    """Call `act` again after a `StorageError`: what was not acknowledged can be repeated."""
    for pause in PAUSES:
        try:
            return act()
        except StorageError:
            time.sleep(pause)
    return act()
