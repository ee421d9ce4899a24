"""The task queue: recommendations, figures and trials are computed in threads, one at a time per study and kind."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from starlette.requests import Request

from allweather.dashboard.filters import FigureChoice, ObjectiveChoice
from allweather.engine.recommendation import Recommendation
from allweather.plots import STUDY_FIGURES
from allweather.plots.labels import objective_label
from allweather.study import Study

Result = TypeVar("Result")
THREAD = "allweather-task"
CONCURRENCY = 2
"""Tasks of one kind that run at once over all studies; more would slow each other down."""
EXPECTATION = ObjectiveChoice(objective="expectation")


class Cancelled(Exception):
    """The client has disconnected, or the server is shutting down."""


class Slots:
    """Semaphores that limit how many tasks of each kind run at once over all studies."""

    def __init__(self) -> None:
        self.ask, self.recommend, self.draw = (asyncio.Semaphore(CONCURRENCY) for _ in range(3))


class TaskQueue:
    """Tasks on one study, run one after the other on a `Study` of their own.

    Args:
        load: loads the study when the first task needs it.
        slots: limits the tasks of this kind over all studies.
    """

    def __init__(self, load: Callable[[], Study], slots: asyncio.Semaphore) -> None:
        self._load, self._slots = load, slots
        self._turn, self._running, self._shut_down = asyncio.Lock(), threading.Lock(), False
        self._study: Study | None = None
        self._current: asyncio.Future[Any] | None = None

    async def run(self, task: Callable[[Study], Result], request: Request) -> Result:
        """Run a task in a thread and return its result.

        Args:
            task: computes something with the study; it may take long.
            request: the request that waits for it.

        Raises:
            Cancelled: the client disconnected before its turn, or the server is shutting down.
        """

        def compute() -> Result:
            with self._running:  # the task of a cancelled request may still run
                if self._study is None:
                    self._study = self._load()
                return task(self._study)

        async with self._turn, self._slots:
            # An unread request body is reported before the disconnect, so ask twice.
            if self._shut_down or await request.is_disconnected() or await request.is_disconnected():
                raise Cancelled
            self._current = result = _in_thread(compute)
            return await asyncio.shield(result)  # a started task finishes, and the next waits for it

    def cancel(self) -> None:
        """Release all waiting requests: the server is shutting down."""
        self._shut_down = True
        if self._current is not None and not self._current.done():
            self._current.set_exception(Cancelled())


def _in_thread(compute: Callable[[], Result]) -> asyncio.Future[Result]:
    """Run in a daemon thread, which does not delay shutdown; transactions are atomic, so nothing is half written."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def target() -> None:
        result, error = None, None
        try:
            result = compute()
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:  # the event loop was closed meanwhile
            return

    threading.Thread(target=target, daemon=True, name=THREAD).start()
    return future


class ResultCache:
    """The most recently used results.

    Args:
        size: how many results are kept.

    Example:
        >>> cache = ResultCache(size=1)
        >>> cache.put("a", 1), cache.put("b", 2)
        (1, 2)
        >>> cache.get("a"), cache.get("b")
        (None, 2)
    """

    def __init__(self, size: int) -> None:
        self._size, self._results, self._lock = size, OrderedDict[Hashable, Any](), threading.Lock()

    def get(self, key: Hashable) -> Any:
        """Return the result stored under a key, or None."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def put(self, key: Hashable, result: Result) -> Result:
        """Store a result, and drop the least recently used one."""
        with self._lock:
            self._results[key] = result
            self._results.move_to_end(key)
            while len(self._results) > self._size:
                self._results.popitem(last=False)
        return result


def is_computing() -> bool:
    """Return whether a task is running in this process."""
    return any(thread.name == THREAD for thread in threading.enumerate())


@dataclass(frozen=True, eq=False)
class Advice:
    """A recommendation, the one for the mean outcome to compare with, and the time both took."""

    best: Recommendation
    plain: Recommendation
    """The recommendation for the mean outcome."""
    objective: str
    """The objective, as text."""
    complete: int
    """Number of complete trials that the model was fitted to."""
    seconds: float


@dataclass(frozen=True)
class Figure:
    """A figure as Plotly JSON."""

    name: str
    title: str
    caption: str
    plotly: str
    seconds: float

    def to_json(self) -> str:
        """Return the figure with its title and caption as JSON."""
        head = json.dumps({"name": self.name, "title": self.title, "says": self.caption})
        return f'{head[:-1]}, "figure": {self.plotly}}}'


def recommend(study: Study, choice: ObjectiveChoice, complete: int) -> Advice:
    """Compute the recommendation for an objective, and the one for the mean outcome.

    Args:
        study: with at least one complete trial.
        choice: the objective.
        complete: the number of complete trials, which the page shows.
    """
    started = time.perf_counter()
    outlook = study.outlook(objective=choice.part())
    objective = objective_label(outlook.belief.objective) if choice.objective == "own" else choice.describe()
    best = outlook.recommendation()
    plain = best if choice.key == EXPECTATION.key else study.recommend(objective=EXPECTATION.part())
    return Advice(best, plain, objective, complete, time.perf_counter() - started)


def draw(study: Study, name: str, choice: FigureChoice) -> Figure:
    """Draw a figure of a study for an objective.

    Args:
        study: with at least one complete trial.
        name: one of `STUDY_FIGURES`.
        choice: the objective and the number of columns.
    """
    started = time.perf_counter()
    picture = replace(STUDY_FIGURES[name](study, objective=choice.part()), columns=choice.columns)
    return Figure(name, picture.title, picture.says, picture.plotly().to_json(), time.perf_counter() - started)
