"""The task queues: what takes time is done in threads, one at a time per study and kind, within a memory limit."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request

from allweather import plots
from allweather.dashboard.errors import Busy, TooLarge
from allweather.dashboard.schemas import FigureChoice, ObjectiveChoice, PolicyChoice
from allweather.engine.policy import Policy
from allweather.engine.recommendation import Recommendation
from allweather.plots.labels import objective_label
from allweather.storage.journal_cache import SIGNATURE
from allweather.study import Study

Opened = TypeVar("Opened")
Result = TypeVar("Result")
THREAD_NAME = "allweather-task"
MAX_WAITING_REQUESTS = 16
"""Requests that may wait for the tasks of one kind on one study; further ones are answered with 503."""
FIXED_MEMORY, PAIR_MEMORY, OUTCOME_MEMORY, EXACT_OUTCOMES = 200e6, 150.0, 1e5, 2000
"""Bytes that a computation needs, for each pair of outcomes while the model is exact, and for each beyond: with 2,000,
5,000 and 20,000 outcomes a whole process had peaks of 0.92, 1.1 and 2.3 GiB (`python -m benchmarks trials`)."""
MAX_SHORT_OUTCOMES = 500
"""Outcomes up to which computations are short: these do not wait for longer ones."""
EXPECTATION = ObjectiveChoice(objective="expectation")


class Cancelled(Exception):
    """The client has disconnected, or the server is shutting down."""


class Memory:
    """The memory that computations may use together: those that do not fit wait, and those that never will are refused.

    Args:
        limit: in bytes.
    """

    def __init__(self, limit: float) -> None:
        self.limit, self._used, self._changed = limit, 0.0, asyncio.Condition()

    @asynccontextmanager
    async def reserved(self, outcomes: int) -> AsyncIterator[None]:
        """Reserve what a computation on so many outcomes needs, once it is free."""
        needed = memory_needed(outcomes)
        if needed > self.limit:
            raise TooLarge(
                f"this needs about {needed / 1e9:.1f} GB for {outcomes} outcomes, and the server may use "
                f"{self.limit / 1e9:.1f} GB: start it with a larger --memory, or compute in Python"
            )
        async with self._changed:
            await self._changed.wait_for(lambda: self._used + needed <= self.limit)
            self._used += needed
        try:
            yield
        finally:
            async with self._changed:
                self._used -= needed
                self._changed.notify_all()


def memory_needed(outcomes: int) -> float:
    """Return an estimate of the bytes that a computation on so many outcomes needs.

    Example:
        >>> round(memory_needed(2000) / 1e9, 1)
        0.8
    """
    pairs, beyond = min(outcomes, EXACT_OUTCOMES) ** 2, max(outcomes - EXACT_OUTCOMES, 0)
    return FIXED_MEMORY + PAIR_MEMORY * pairs + OUTCOME_MEMORY * beyond


class KindSlots:
    """Limits how many tasks of one kind compute at once: so many short ones, and as many long ones."""

    def __init__(self, computations: int) -> None:
        self._short, self._long = (asyncio.Semaphore(computations) for _ in range(2))

    def of(self, outcomes: int) -> asyncio.Semaphore:
        """Return the slots of a task on so many outcomes."""
        return self._short if outcomes <= MAX_SHORT_OUTCOMES else self._long


class Slots:
    """Limits how many tasks of each kind compute at once over all studies; short ones do not wait for long ones.

    Args:
        computations: of each kind.
        memory: in bytes, that all computations may use together.
    """

    def __init__(self, computations: int, memory: float) -> None:
        # An ask takes its slot when it computes, not while it waits for another worker's turn.
        self.ask = threading.BoundedSemaphore(computations)
        self.recommend, self.draw = (KindSlots(computations) for _ in range(2))
        self.memory = Memory(memory)


class TaskQueue(Generic[Opened]):
    """Tasks on one study, run one after the other; those that wait take no thread.

    Args:
        load: opens the study when the first task needs it.
        slots: limits the tasks of this kind over all studies.
        memory: limits what they need together, with the number of outcomes that each is about.
    """

    def __init__(
        self,
        load: Callable[[], Opened],
        slots: KindSlots | None = None,
        memory: tuple[Memory, Callable[[], int]] | None = None,
    ) -> None:
        self._load, self._slots, self._memory = load, slots, memory
        self._turn, self._running, self._shut_down = asyncio.Lock(), threading.Lock(), False
        self._waiting = 0
        self._opened: Opened | None = None
        self._current: asyncio.Future[Any] | None = None

    async def run(self, task: Callable[[Opened], Result], request: Request) -> Result:
        """Run a task in a thread and return its result.

        Args:
            task: computes something with the study; it may take long.
            request: the request that waits for it.

        Raises:
            Busy: too many requests are waiting.
            Cancelled: the client disconnected before its turn, or the server is shutting down.
        """

        def compute() -> Result:
            SIGNATURE.set(getattr(request.state, "user", ""))  # of this thread, which runs one task
            with self._running:  # the task of a cancelled request may still run
                if self._opened is None:
                    self._opened = self._load()
                return task(self._opened)

        if self._waiting >= MAX_WAITING_REQUESTS:
            raise Busy(f"{self._waiting} requests wait for this study already: try again later")
        self._waiting += 1
        try:
            async with self._turn, self._reserved():
                # An unread request body is reported before the disconnect, so ask twice.
                if self._shut_down or await request.is_disconnected() or await request.is_disconnected():
                    raise Cancelled
                self._current = result = _in_thread(compute)
                return await asyncio.shield(result)  # a started task finishes, and the next waits for it
        finally:
            self._waiting -= 1

    @asynccontextmanager
    async def _reserved(self) -> AsyncIterator[None]:
        if self._memory is None:
            yield
            return
        memory, count = self._memory[0], await run_in_threadpool(self._memory[1])
        async with memory.reserved(count), self._slots.of(count) if self._slots else nullcontext():
            yield

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

    threading.Thread(target=target, daemon=True, name=THREAD_NAME).start()
    return future


def is_computing() -> bool:
    """Return whether a task is running in this process."""
    return any(thread.name == THREAD_NAME for thread in threading.enumerate())


CAPTIONS = {
    "robustness": "Mean outcome versus shift of the context distribution.",
    "contexts": "Context distribution of the model, and the worst case within the radius.",
    "profile": "Objective versus each decision variable.",
    "slices": "Posterior mean and credible band of the outcome.",
    "progress": "Objective of the recommendation versus number of trials.",
    "control_sets": "Objective versus cost.",
    "feasibility": "Probability that each limit is kept, versus each decision variable.",
    "limits": "How each limit holds under a shift of the context distribution.",
    "front": "Trade-offs between objectives.",
    "check": "Predictions of each outcome from all others, and the importance of the variables.",
    "policy": "The best decision where a context is known before it.",
}
"""Captions of the figures until they are drawn."""


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
    """Compute the recommendation for an objective, and the one for the mean outcome, from `complete` trials."""
    started = time.perf_counter()
    outlook = study.outlook(objective=choice.part())  # which the recommendation uses again
    objective = objective_label(outlook.belief.objective) if choice.objective == "own" else choice.describe()
    best = study.recommend(objective=choice.part(), tolerance=choice.tolerance)
    plain = best if choice.key == EXPECTATION.key else study.recommend(objective=EXPECTATION.part())
    return Advice(best, plain, objective, complete, time.perf_counter() - started)


def policy(study: Study, choice: PolicyChoice) -> Policy:
    """Compute the best decision for each of several values of the chosen context variable."""
    return study.policy(known_context(study, choice), objective=choice.part())


def known_context(study: Study, choice: PolicyChoice) -> str | None:
    """Return the context variable of a policy: the chosen one, or the first."""
    return choice.by or next(iter(study.space.contexts), None)


def draw(study: Study, name: str, choice: FigureChoice) -> Figure:
    """Draw a figure of a study for an objective: one of `STUDY_FIGURES`, or its policy."""
    started, objective = time.perf_counter(), choice.part()
    if name == "policy":
        picture = plots.policy(study, known_context(study, choice), objective)
    else:
        picture = plots.STUDY_FIGURES[name](study, objective=objective)
    drawn = picture.plotly(choice.width).to_json()
    return Figure(name, picture.title, picture.says, drawn, time.perf_counter() - started)
