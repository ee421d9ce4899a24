"""Study: ask, tell, recommend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import torch
from torch import Tensor

from allweather._utils.timing import threads as limit_threads
from allweather.acquisition import Acquisition, ContextRule
from allweather.contexts import ContextModel
from allweather.engine import Check, Engine, Outlook, Recommendation, Situation
from allweather.engine.front import front_of, hypervolume_of, weigh
from allweather.engine.policy import Policy, make_policy, near_best, policy_contexts
from allweather.engine.recommendation import checked_radii
from allweather.errors import InvalidInput, require, require_count
from allweather.methods.composition import Composition
from allweather.methods.control import Control
from allweather.objectives import Objective, Outcome
from allweather.serialization.checks import explained
from allweather.space import LinearConstraint, Space
from allweather.space.text import units_of
from allweather.storage import Storage
from allweather.study.changes import check_change
from allweather.study.log import StudyLog
from allweather.study.opening import Kept, Opened, open_study
from allweather.study.spec import Spec
from allweather.surrogates import Surrogate
from allweather.trials import Event, History, Row, Trial
from allweather.trials.suspicious import Suspicion

if TYPE_CHECKING:
    import pandas as pd
    from botorch.models.model import Model


class Study(StudyLog):
    """A search for the decision that is best under uncertain contexts.

    Example:
        >>> from allweather import Context, Real
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> for demand in (0.2, 0.3, 0.25, 0.4, 0.2, 0.3):
        ...     trial = study.ask()
        ...     order = trial.decision["order"]
        ...     _ = study.tell(trial, context={"demand": demand}, value=9 * min(order, demand) - 5 * order)
        >>> 0 < study.recommend().decision["order"] < 0.5
        True
    """

    _threads: int = 1
    _device: str = "cpu"
    _built: tuple[Spec, Engine] | None = None
    """The spec that the engine was built from last, and that engine."""

    def __init__(
        self,
        space: Space,
        *,
        method: str | Composition | None = None,
        context: ContextModel | None = None,
        objective: Objective | None = None,
        acquisition: Acquisition | None = None,
        surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None,
        goal: Literal["every-trial", "recommendation", "simulation"] | None = None,
        simulator: bool | Sequence[str] | ContextRule | None = None,
        outcomes: Mapping[str, Outcome] | None = None,
        cautious: float | None = None,
        direction: Literal["maximize", "minimize"] = "maximize",
        constraints: LinearConstraint | Sequence[LinearConstraint] = (),
        candidates: Any = None,
        control: Control | None = None,
        initial: int | None = None,
        seed: int = 0,
        threads: int = 1,
        device: str = "cpu",
        storage: str | Storage | None = None,
        name: str = "study",
        existing: Kept = None,
    ) -> None:
        """Create a study, or resume the one that is stored under this name.

        Args:
            space: the variables; those wrapped in `Context` are not controlled, the others are decided.
            method: a published method by name (see `aw.methods()`), or a composition; parts below replace its own.
            context: the context model; by default learned from the contexts seen.
            objective: what makes a decision good; by default its mean outcome.
            acquisition: how the next decision is chosen; by default an upper confidence bound of the objective, under
                limits with `goal="recommendation"` expected improvement.
            surrogate: a `GP(...)` by default; or a function `(X, Y) -> BoTorch model`, or a BoTorch model class.
            goal: `"every-trial"` if all trials count (the default), `"recommendation"` if only the last decision does,
                `"simulation"` (the default of simulators) if trials are runs of one.
            simulator: whether trials are runs of a simulator, whose context is chosen too (`trial.context`): True, the
                names of those contexts that are chosen, or a rule such as `LargestDeviation()`.
            outcomes: what is wanted of each of several outcomes, by name: `Maximize(objective)`, `Minimize(objective)`,
                `AtLeast(threshold, ...)` or `AtMost(threshold, ...)`; in place of an objective and a direction.
            cautious: with limits, the probability with which every decision asked for keeps all of them.
            direction: whether larger or smaller outcomes are better.
            constraints: linear inequalities that decisions must meet.
            candidates: the only decisions that may be chosen (a DataFrame or rows), if not all.
            control: sets of variables that can be controlled at a cost, and a budget.
            initial: how many decisions are spread over the space before the surrogate is used.
            seed: the same seed and the same outcomes give the same study.
            threads: of torch, while the study computes. Other values can change results by rounding.
            device: Torch device, such as `"cuda"`; not stored.
            storage: the database, such as `sqlite:///kiosk.db`; without it, the study ends with the program.
            name: of the study in the database; an existing study is resumed.
            existing: what to keep where an existing study has other parameters than those given: `"stored"`, or
                `"given"`, which changes it; without it such a study is refused, and the error names the differences.
        """
        spec = Spec.of(
            space,
            method=method,
            context=context,
            objective=objective,
            acquisition=acquisition,
            surrogate=surrogate,
            goal=goal,
            simulator=simulator,
            outcomes=outcomes,
            cautious=cautious,
            direction=direction,
            constraints=constraints,
            candidates=candidates,
            control=control,
            initial=initial,
            seed=seed,
        )
        self._begin(spec, storage, name, existing, threads, device)

    @classmethod
    def from_spec(
        cls,
        spec: Spec,
        storage: str | Storage | None = None,
        name: str | None = None,
        existing: Kept = None,
        *,
        threads: int = 1,
        device: str = "cpu",
    ) -> Self:
        """Create the study that a spec describes, or resume the one that is stored under this name.

        Args:
            spec: what the study is, such as `Spec.from_toml(text)`.
            storage: the database or its address; without one the study ends with the program.
            name: of the study, if not the spec's.
            existing: what to keep where an existing study differs from the spec, as in `Study`.
            threads: of torch, as in `Study`.
            device: Torch device; not stored.
        """
        study = cls.__new__(cls)
        if isinstance(storage, str) and spec.expire is not None:
            storage = Storage(storage, spec.expire)
        with explained(spec.where):
            study._begin(spec, storage, name or spec.name or "study", existing, threads, device)
        return study

    @classmethod
    def load(cls, storage: str | Storage, name: str = "study") -> Self:
        """Resume a stored study with the parts it was made with.

        Args:
            storage: the database or its address.
            name: of the study there.
        """
        return cls.open(storage, name)

    def _begin(
        self, spec: Spec, storage: str | Storage | None, name: str, existing: Kept, threads: int, device: str
    ) -> None:
        """Create or resume a study; what does not fit is refused before anything is stored."""
        require_count(threads, "Study(threads=...)", low=1)
        _check_device(device)
        self._threads, self._device = threads, device
        self._built = spec, Engine.of(spec, device)
        self._follow(open_study(spec, storage, name, existing))

    def _follow(self, opened: Opened) -> None:
        super()._follow(opened)
        if self.why_not and not self.spec.given.keys() - {"space"}:
            raise InvalidInput(self.why_not)
        _ = self._engine

    def _check_change(self, before: Spec, fields: Mapping[str, Any], history: History) -> None:
        after = before.changed(fields)
        try:
            Engine.of(after, self._device)
        except InvalidInput as error:
            raise error.within("Study.change(...)") from None
        check_change(after, history, history.changed(fields))

    @overload
    def ask(self, n: None = None, *, context: Row | None = None, forecast: ContextModel | None = None) -> Trial: ...
    @overload
    def ask(
        self,
        n: int,
        *,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        same_context: bool = False,
    ) -> list[Trial]: ...

    def ask(
        self,
        n: int | None = None,
        *,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        same_context: bool = False,
    ) -> Trial | list[Trial]:
        """Return the next decision to try, or the next `n`.

        Pending trials are taken into account, so no two trials of a batch or of several workers try the same.

        Args:
            n: how many trials to return as a list; a single trial if not given.
            context: the context, or some of its variables, if they are known before the decision.
            forecast: the context's distribution for this decision only, e.g. `Finite(...)` or `Known(...)`.
            same_context: whether the trials will share their context, as the runs of one day do: they are one
                occasion, which counts once in the context's law, and whose context is told once.
        """
        require_count(1 if n is None else n, "Study.ask(n=...)", low=1)
        require(isinstance(same_context, bool), "Study.ask(same_context=...)", "be True or False", same_context)
        trials = self._ask(n or 1, context, forecast, same_context)
        return trials[0] if n is None else trials

    def _ask(
        self,
        n: int = 1,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        same_context: bool = False,
        run: str = "",
    ) -> list[Trial]:
        _ = self._situation(self._writes.replayed, context, forecast, "Study.ask")

        def choose(history: History) -> list[Event]:  # all are written, or none if something goes wrong
            engine = self._engine_at(history)
            situation = self._situation(history, context, forecast, "Study.ask")
            trials = engine.propose(history, n, situation, same_context)
            return [Event.asked(replace(trial, run=run)) for trial in trials]

        with self._computing():
            return self._writes.decide(choose)

    def optimize(
        self,
        function: Callable[..., Any],
        trials: int = 40,
        *,
        workers: int = 1,
        until_gain: float | None = None,
        timeout: float | None = None,
        retries: int = 0,
        callback: Callable[[Study, Trial], Any] | None = None,
        progress: bool = True,
    ) -> list[Trial]:
        """Carry out trials with a function, and return them in the order in which they ended.

        The function takes the decision, or the decision and the context where that is known or chosen, as
        dictionaries. It returns a number, a dictionary of several outcomes, or `{"value": ..., "context": ...}`. An
        exception is a failed trial, and so is a result that is not finite.

        An interrupted call loses nothing of a stored study. Trials that were running then are carried out first by the
        next call; those that were told are not carried out again.

        Args:
            function: carries out a trial.
            trials: how many, at most; those that an interrupted call left are among them.
            workers: trials at the same time: in threads, or in workers of the backend that is set with
                `joblib.parallel_config("loky")` (processes), `"dask"`, `"ray"` and so on.
            until_gain: stop earlier, when no decision is better by more than this with 95% probability.
            timeout: seconds per attempt. A call that takes longer is not stopped, but its result is ignored.
            retries: further attempts after one that failed.
            callback: called with the study and each trial after it was told.
            progress: whether to print a line for each trial, and a progress bar, on standard error.

        Example:
            >>> from allweather import Context, Real, Uniform
            >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), context=Uniform(), simulator=True, seed=7)
            >>> def profit(decision, context):
            ...     return 9 * min(decision["order"], context["demand"]) - 5 * decision["order"]
            >>> [trial.state for trial in study.optimize(profit, trials=3, workers=2, progress=False)]
            ['complete', 'complete', 'complete']
        """
        from allweather.study.optimize import Settings, optimize  # here, since it needs rich and joblib

        settings = Settings(trials, workers, until_gain, timeout, retries)
        return optimize(self, function, settings, callback, progress)

    def recommend(
        self,
        *,
        objective: Objective | None = None,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        radii: Sequence[float] | None = None,
        tolerance: float | None = None,
        weights: Mapping[str, float] | None = None,
        reference_point: Mapping[str, float] | None = None,
    ) -> Recommendation:
        """Return the decision whose objective is best under the posterior, with its interval and robustness curve.

        Args:
            objective: another objective than the study's.
            context: the context, or some of its variables, if they are known.
            forecast: a context distribution to recommend for, instead of the context model's.
            radii: where the robustness curve is evaluated.
            tolerance: how much worse than the best a decision may be to be in `best.ranges`, in the objective's units.
            weights: of several objectives, by outcome; equal if not given.
            reference_point: a value for each of several objectives, by outcome: their least excess over it, in units of
                their ranges, is made as large as possible.
        """
        history = self.history
        situation = self._situation(history, context, forecast, "Study.recommend")
        with self._computing():
            view = self._engine_at(history).outlook(history, situation, objective, "Study.recommend")
            if weights is not None or reference_point is not None:
                view = weigh(view, weights, reference_point)
            found = view.recommendation(None if radii is None else checked_radii(radii))
            ranges = {} if tolerance is None else near_best(view, tolerance)
        units = units_of({name: history.space.variables[name] for name in found.decision})
        return replace(found, units=units, ranges=ranges, tolerance=tolerance)

    def policy(self, contexts: Any = None, *, objective: Objective | None = None) -> Policy:
        """Return the best decision for each of several contexts that are known before the decision.

        Args:
            contexts: rows of all or some of the context variables (a DataFrame or dictionaries), or the name of one
                variable, which is spread over its range; by default the only one.
            objective: another objective than the study's, for the variables that are not known.

        Example:
            >>> from allweather import Context, Real
            >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
            >>> rows = [{"order": o / 4, "demand": d, "value": -abs(o / 4 - d)} for o in range(5) for d in (0.25, 0.75)]
            >>> _ = study.add(rows)
            >>> policy = study.policy([{"demand": 0.25}, {"demand": 0.75}])
            >>> bool(policy.table["order"][0] < 0.5 < policy.table["order"][1])
            True
        """
        history = self.history
        rows = policy_contexts(self._engine_at(history).uncontrolled, contexts)

        def view(row: Row) -> Outlook:
            situation = self._situation(history, row, None, "Study.policy")
            return self._engine_at(history).outlook(history, situation, objective, "Study.policy")

        with self._computing():
            return make_policy(view, rows)

    def outlook(
        self, *, objective: Objective | None = None, after: int | None = None, outcome: str | None = None
    ) -> Outlook:
        """Return the posterior in the user's units, from which recommendations and figures are made.

        Args:
            objective: another objective than the study's.
            after: the number of complete trials to look at, the first ones; all if not given.
            outcome: one of several outcomes; by default the first that is maximized or minimized.
        """
        history = self.history if after is None else self.history.until(after)
        with self._computing():
            view = self._engine_at(history).outlook(history, Situation(), objective, "Study.outlook")
        return view if outcome is None else view.of_outcome(outcome)

    def front(self) -> pd.DataFrame:
        """Return trade-offs between several objectives: decisions of which none is better in all, with intervals."""
        history = self.history
        with self._computing():
            engine = self._engine_at(history)
            return front_of(engine.outlook(history, Situation(), None, "Study.front"))

    def hypervolume(self, reference_point: Mapping[str, float]) -> float:
        """Return the volume of objectives that the trade-offs of `front()` dominate, by their medians.

        Args:
            reference_point: the corner of that volume, a value for each objective by outcome.

        Example:
            >>> from allweather import Maximize, Minimize, Real, Space, Study
            >>> study = Study(Space(heat=Real(0, 1)), outcomes={"gain": Maximize(), "waste": Minimize()})
            >>> _ = study.add([{"heat": h / 4, "gain": h / 4, "waste": (h / 4) ** 2} for h in range(5)])
            >>> 0.5 < study.hypervolume({"gain": 0.0, "waste": 1.0}) < 0.7
            True
        """
        history = self.history
        with self._computing():
            engine = self._engine_at(history)
            view = engine.outlook(history, Situation(), None, "Study.hypervolume")
            return hypervolume_of(view, reference_point)

    def suspicious(self) -> tuple[Suspicion, ...]:
        """Return what looks wrong, and which outcomes the model sets aside as outliers.

        Example:
            >>> from allweather import Real, Space
            >>> from allweather.surrogates import GP
            >>> study = Study(Space(order=Real(0, 1)), surrogate=GP(outliers="auto"))
            >>> rows = [{"order": o / 11, "value": 5 + o / 10} for o in range(12)]
            >>> _ = study.add([*rows[:7], {"order": 7 / 11, "value": 570}, *rows[8:]])
            >>> [(each.trial, each.set_aside) for each in study.suspicious()]
            [(7, True)]
        """
        history = self.history
        with self._computing():
            return self._engine_at(history).suspicious(history)

    def check(self, outcome: str | None = None) -> Check:
        """Return how well the model predicts each outcome from all others, with a verdict; needs a `GP` surrogate.

        Args:
            outcome: one of several outcomes; by default the first that is maximized or minimized.
        """
        history = self.history
        with self._computing():
            return self._engine_at(history).check(history, outcome)

    @property
    def initial(self) -> int:
        """The number of complete trials before the surrogate is used."""
        return self._engine.initial

    @property
    def timings(self) -> dict[str, float]:
        """Seconds that the last `ask` or `recommend` spent on fit, reference, factorisation and maximisation."""
        return dict(self._engine.watch.seconds)

    def __repr__(self) -> str:
        states = [trial.state for trial in self.history.trials]
        counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states))) or "no trials yet"
        return f"Study({self.space!r}, {self._engine!r}, {self.direction}, seed={self.spec.seed}: {counts})"

    @property
    def _engine(self) -> Engine:
        return self._engine_at(self._writes.replayed)

    def _engine_at(self, history: History) -> Engine:
        """Return the engine after a history, with the changes that other workers made."""
        spec = self._spec_at(history)
        if self._built is None or self._built[0] is not spec:
            self._built = spec, Engine.of(spec, self._device)
        return self._built[1]

    @contextmanager
    def _computing(self) -> Iterator[None]:
        self._engine.watch.reset()
        with limit_threads(self._threads):
            yield

    def _situation(
        self, history: History, context: Row | None, forecast: ContextModel | None, caller: str
    ) -> Situation:
        return Situation.of(history.space, context, forecast, caller, self._engine.left)


def _check_device(device: Any) -> None:
    """Refuse a device that torch does not know, or that this machine does not have."""
    if device == "cpu":
        return
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError):
        requirement = "be a device that torch has here, such as cpu or cuda"
        raise InvalidInput(where="Study(device=...)", requirement=requirement, received=device) from None
