"""Workers that carry out trials with a Python function: threads, or the workers of a joblib backend."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
from joblib.parallel import BatchedCalls, get_active_backend

from allweather.errors import InvalidInput, require
from allweather.study.worker_pool import Answer, NotCarriedOut, read_answer
from allweather.trials import Trial


def takes_context(function: Callable[..., Any]) -> bool:
    """Return whether a function takes the context, too: it has two parameters without default, or more.

    Example:
        >>> takes_context(lambda decision, context: 0.0), takes_context(lambda decision: 0.0)
        (True, False)
    """
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(each.default is each.empty and each.kind in (0, 1) for each in given) > 1


@dataclass(frozen=True)
class Call:
    """A call of a function for a trial, in a thread or another process."""

    function: Callable[..., Any]
    outcomes: tuple[str, ...] = ()
    """The names of several outcomes; empty where there is one."""
    timeout: float | None = None
    """Seconds per attempt; what takes longer cannot be stopped, and runs on without consequences."""
    retries: int = 0
    """Further attempts after one that failed."""

    def __call__(self, *arguments: Any) -> Answer:
        """Call the function, again after a failure if retries are left.

        Args:
            *arguments: the decision, and the context where the function takes it.
        """
        answer = Answer(None)
        for _ in range(self.retries + 1):
            answer = self._attempt(arguments)
            if answer.told is not None:
                break
        return answer

    def _attempt(self, arguments: Sequence[Any]) -> Answer:
        if self.timeout is None:
            return self._called(arguments)
        future = in_thread(self._called, arguments)
        try:
            return future.result(self.timeout)
        except TimeoutError:
            return Answer(None, f"took longer than {self.timeout:g} s")

    def _called(self, arguments: Sequence[Any]) -> Answer:
        try:
            found = self.function(*arguments)
        except (Exception, SystemExit) as error:
            return Answer(None, _described(error))
        return read_answer(found, self.outcomes, "the function's result")


def in_thread(function: Callable[..., Answer], *arguments: Any) -> Future[Answer]:
    """Call a function in a thread that does not keep the program from ending.

    Args:
        function: what is called.
        *arguments: its arguments.
    """
    future: Future[Answer] = Future()

    def work() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future


@dataclass(eq=False)
class FunctionWorkers:
    """Workers that call a function: threads, unless `joblib.parallel_config` sets a backend."""

    call: Call
    workers: int
    with_context: bool
    """Whether the function takes the context, too."""
    _parallel: Any = field(default=None, repr=False)

    def __enter__(self) -> FunctionWorkers:
        """Start the workers of the backend that is set."""
        backend, _ = get_active_backend(prefer="threads")
        if not getattr(backend, "uses_threads", False):
            self._parallel = joblib.Parallel(n_jobs=max(self.workers, 2)).__enter__()
            self._parallel._backend.start_call()
        return self

    def __exit__(self, *_: Any) -> None:
        """Let the workers of the backend go."""
        if self._parallel is not None:
            self._parallel._backend.stop_call()
            self._parallel.__exit__(None, None, None)
            self._parallel = None

    def start(self, trial: Trial) -> Future[Answer]:
        """Begin to carry out a trial.

        Args:
            trial: its decision, and its context as far as that is known or chosen, are given to the function.
        """
        context = trial.context if trial.partial is None else trial.partial
        arguments = [dict(trial.decision), *([None if context is None else dict(context)] if self.with_context else [])]
        return in_thread(self.call, *arguments) if self._parallel is None else self._submit(arguments)

    def stop(self) -> None:
        """End what runs, where the backend can; threads run on without consequences."""
        if self._parallel is not None:
            self._parallel._backend.abort_everything(ensure_ready=False)

    def _submit(self, arguments: Sequence[Any]) -> Future[Answer]:
        backend = self._parallel._backend
        future: Future[Answer] = Future()

        def finish(out: Any) -> None:
            try:
                (answer,) = backend.retrieve_result_callback(out)
            except BaseException as error:
                fail(error)
            else:
                future.set_result(answer)

        def fail(error: BaseException) -> None:
            problem = f"the worker did not finish: {_described(error)}"
            if not future.done():
                future.set_exception(NotCarriedOut(problem))

        task = backend.submit(BatchedCalls([(self.call, tuple(arguments), {})], backend.get_nested_backend()), finish)
        if hasattr(task, "add_done_callback"):  # dask calls back after a success only
            task.add_done_callback(lambda done: fail(done.exception()) if done.exception() else None)
        return future


def check_function(function: Any, chosen: bool) -> bool:
    """Return whether a function takes the context, too.

    Args:
        function: of the decision, or of decision and context.
        chosen: whether the study chooses contexts, so that the function must take them.
    """
    where = "Study.optimize(function=...)"
    require(callable(function), where, "be a function", function)
    found = takes_context(function)
    require(found or not chosen, where, "take the decision and the context, which this study chooses", function)
    return found


def _described(error: BaseException) -> str:
    """Return an error as one line: its kind, its message and where it was raised."""
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    if isinstance(error, InvalidInput):
        return text
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return text if trace is None else f"{text} ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
