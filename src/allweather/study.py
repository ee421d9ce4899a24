"""Study: ask, tell, recommend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

from torch import Tensor

from allweather.acquisition import Acquisition, ContextRule
from allweather.contexts import ContextModel
from allweather.engine import Outlook, Recommendation, Situation
from allweather.engine.front import weigh
from allweather.engine.policy import Policy, make_policy, near_best, policy_contexts
from allweather.engine.recommendation import checked_radii
from allweather.engine.requests import propose, view_posterior
from allweather.engine.resume import open_study
from allweather.engine.setup import Setup
from allweather.engine.study_views import StudyViews
from allweather.errors import InvalidInput, require, require_count
from allweather.methods.composition import Composition
from allweather.methods.control import Control
from allweather.objectives import Objective, Outcome
from allweather.serialization import Spec
from allweather.serialization.checks import explained
from allweather.space import LinearConstraint, Space
from allweather.space.text import units_of
from allweather.storage import Storage
from allweather.storage.stored_study import StoredStudy
from allweather.surrogates import Surrogate
from allweather.trials import Event, History, Row, Trial, plain

if TYPE_CHECKING:
    from botorch.models.model import Model

Kept = Literal["stored", "given"] | None
"""What is kept of an existing study that has other parameters than those given."""


class Study(StudyViews):
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
            threads: of torch, while the study computes; another number may round, and so decide, differently.
            device: of torch, such as `"cuda"`: where it computes, and no part of what is stored.
            storage: the database, such as `sqlite:///kiosk.db`; without it, the study ends with the program.
            name: of the study in the database; an existing study is resumed.
            existing: what to keep where an existing study has other parameters than those given: `"stored"`, or
                `"given"`, which changes it; without it such a study is refused, and the error names the differences.
        """
        require_count(threads, "Study(threads=...)", low=1)
        begin: dict[str, Any] = {
            "direction": direction,
            "constraints": constraints,
            "candidates": candidates,
            "initial": initial,
        }
        parts = {"context": context, "objective": objective, "acquisition": acquisition, "surrogate": surrogate}
        begin |= {"seed": seed, "device": device, "outcomes": outcomes, "cautious": cautious}
        setup = Setup.of(space, method, control, begin, **parts, goal=goal, simulator=simulator)
        _ = setup.engine  # what does not fit is refused before anything is stored
        self.name, self._threads, self.outcomes = name, threads, outcomes
        self._start(open_study(setup, storage, name, existing))

    @classmethod
    def from_spec(cls, spec: Spec, storage: str | None = None, name: str | None = None, existing: Kept = None) -> Study:
        """Create the study that a spec describes, or resume the one that is stored under this name.

        Args:
            spec: the study as plain data, such as `Spec.from_toml(text)`.
            storage: the database's address; without one the study ends with the program.
            name: of the study, if not the spec's.
            existing: what to keep where an existing study differs from the spec, as in `Study`.
        """
        with explained(spec.where):
            place = None if storage is None else Storage.for_spec(storage, spec)
            given = {**spec.arguments(), "storage": place, "name": name or spec.name or "study"}
            return cls(spec.space, **given, existing=existing)

    @classmethod
    def load(cls, storage: str, name: str = "study") -> Study:
        """Resume a stored study with the parts it was made with.

        Args:
            storage: the database's address.
            name: of the study there.
        """
        stored = StoredStudy.open(storage, name)
        if stored.spec is None:
            raise InvalidInput(stored.why_not or "")
        return cls.from_spec(Spec(stored.spec, name), storage, name, existing="stored")

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
        known = None if context is None else plain(context)
        _ = self._situation(self._session.replayed, context, forecast, "Study.ask")

        def choose(history: History) -> list[Event]:  # all are written, or none if something goes wrong
            engine = self._setup_at(history).engine
            situation = self._situation(history, context, forecast, "Study.ask")
            trials = propose(engine, history, n or 1, situation, known, same_context)
            return [Event.asked(trial) for trial in trials]

        with self._computing():
            trials = self._session.decide(choose)
        return trials[0] if n is None else trials

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
        history = self._history
        situation = self._situation(history, context, forecast, "Study.recommend")
        with self._computing():
            view = view_posterior(self._setup_at(history).engine, history, situation, objective, "Study.recommend")
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
        history = self._history
        rows = policy_contexts(history.space.contexts, contexts)

        def view(row: Row) -> Outlook:
            situation = self._situation(history, row, None, "Study.policy")
            return view_posterior(self._setup_at(history).engine, history, situation, objective, "Study.policy")

        with self._computing():
            return make_policy(view, rows)

    @property
    def timings(self) -> dict[str, float]:
        """Seconds that the last `ask` or `recommend` spent on fit, reference, factorisation and maximisation."""
        return dict(self._engine.watch.seconds)

    def __repr__(self) -> str:
        states = [trial.state for trial in self._history.trials]
        counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states))) or "no trials yet"
        return f"Study({self.space!r}, {self._engine!r}, {self.direction}, seed={self._engine.seed}: {counts})"

    def _situation(
        self, history: History, context: Row | None, forecast: ContextModel | None, caller: str
    ) -> Situation:
        return Situation.of(history.space, context, forecast, caller, self._engine.left)
