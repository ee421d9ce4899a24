"""Ask, tell, recommend: the loop a person uses, and the only class that changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, overload

import pandas as pd
from botorch.models.model import Model
from torch import Tensor

from allweather.acquisition import Acquisition
from allweather.clock import Stopwatch
from allweather.clock import threads as limited
from allweather.composition import Composition
from allweather.constraints import LinearConstraint
from allweather.contexts import ContextModel
from allweather.engine import Engine, Situation
from allweather.errors import InvalidInput, require, require_count
from allweather.history import History
from allweather.maximize import Search
from allweather.methods import method as named_method
from allweather.objectives import Objective
from allweather.recommendation import Recommendation, checked_radii
from allweather.space import Space
from allweather.surrogates import Surrogate
from allweather.trials import Row, Trial, outcomes, plain, read_row, rows_of

SIGNS = {"maximize": 1, "minimize": -1}


class Study:
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
        direction: Literal["maximize", "minimize"] = "maximize",
        constraints: LinearConstraint | Sequence[LinearConstraint] = (),
        candidates: Any = None,
        initial: int | None = None,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        """A study of a space.

        Args:
            space: the variables; those wrapped in `Context` happen, the others are decided.
            method: a published method by name (`aw.methods()` lists them), or a composition; the parts below, where
                given, replace its own.
            context: what is believed about the contexts; by default learned from those seen.
            objective: what is wanted of a decision; by default a good mean also when the contexts shift a little.
            acquisition: how the next decision is chosen; by default UCB.
            surrogate: a `GP(...)` by default; or a function `(X, Y) -> BoTorch model`, or a BoTorch model class.
            direction: whether larger or smaller outcomes are better.
            constraints: linear inequalities that decisions must meet.
            candidates: the only decisions that may be chosen (a DataFrame or rows), if not all.
            initial: how many decisions are spread out before the surrogate is asked.
            seed: the same seed and the same answers give the same study.
            threads: of torch, while the study computes; one is fastest unless the machine is large and idle.
        """
        require(isinstance(space, Space), "Study(space=...)", "be a Space", space)
        require(len(space.decisions) > 0, "Study(space=...)", "have a variable to decide", space)
        taken = [name for name in ("value", "state", "trial", "believed", "worst") if name in space.variables]
        require(not taken, "Study(space=...)", "not name a variable like a column of the table of trials", taken)
        require(direction in SIGNS, "Study(direction=...)", f"be one of {list(SIGNS)}", direction)
        require_count(seed, "Study(seed=...)")
        require_count(threads, "Study(threads=...)", low=1)
        if initial is not None:
            require_count(initial, "Study(initial=...)", low=1)
        self.space = space
        self.direction = direction
        sign = SIGNS[direction]
        columns = space.decisions.columns + space.contexts.columns
        chosen = None if candidates is None else space.decisions.encode(candidates)
        limits = (constraints,) if isinstance(constraints, LinearConstraint) else tuple(constraints)
        self._engine = Engine(
            parts=_composition(method).with_parts(context, objective, acquisition, surrogate).on(space, sign),
            search=Search(space.decisions, limits, chosen),
            initial=max(5, columns + 1) if initial is None else initial,
            seed=seed,
        )
        self._history = History(space, sign)
        self._threads = threads

    @overload
    def ask(self, n: None = None, *, context: Row | None = None, forecast: ContextModel | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, context: Row | None = None, forecast: ContextModel | None = None) -> list[Trial]: ...

    def ask(
        self, n: int | None = None, *, context: Row | None = None, forecast: ContextModel | None = None
    ) -> Trial | list[Trial]:
        """The next decision to try, or the next `n`.

        Trials that were asked for and not told yet are taken into account: no two look for the same thing.

        Args:
            n: how many trials to return as a list; a single trial if not given.
            context: the context, if it is known before the decision.
            forecast: the context's distribution for this decision only, e.g. `Finite(...)` or `Known(...)`.
        """
        if n is not None:
            require_count(n, "Study.ask(n=...)", low=1)
        situation = Situation.of(self.space, context, forecast, "Study.ask")
        trials, history = [], self._history
        with self._computing():
            for _ in range(n or 1):
                decision, fitted = self._engine.decide(history, situation)
                trial = Trial(
                    number=len(history.trials),
                    decision=self.space.decisions.decode(decision[None])[0],
                    context=None if context is None else plain(context),
                    fitted=fitted,
                    revision=history.revision,
                )
                history = history.asked(trial)
                trials.append(trial)
        self._history = history  # all of them, or none if something went wrong
        return trials[0] if n is None else trials

    def tell(
        self,
        trial: Trial | int,
        value: float | Sequence[float] | None = None,
        *,
        context: Row | None = None,
        decision: Row | None = None,
        failed: bool = False,
    ) -> Trial:
        """What became of a trial; what is not known yet may be told later. Returns the trial as it is then.

        Args:
            trial: what `ask` returned, or its number.
            value: the outcome, or several where it was measured repeatedly.
            context: what happened.
            decision: what was really done, if it differs from the plan.
            failed: that there will be no outcome; the study avoids such decisions when it asks, and ignores them when
                it recommends.
        """
        values = () if value is None else outcomes(value)
        said = bool(values) or failed or context is not None or decision is not None
        require(said, "Study.tell(...)", "tell a value, a context, a decision or a failure", "nothing")
        require(not (values and failed), "Study.tell(value=..., failed=True)", "be one or the other", value)
        if context is not None:
            self.space.contexts.encode(context)
            context = plain(context)
        if decision is not None:
            self.space.decisions.encode(decision)
            decision = plain(decision)
        if not len(self.space.contexts):
            context = {}
        told = self._history.find(trial).told(context, values, decision, failed)
        self._history = self._history.told(told)
        return told

    def add(self, table: Any) -> list[Trial]:
        """Data from before: a DataFrame, a CSV file, or rows, with a column per variable and `value`; all or none."""
        rows = [read_row(row, self.space, number) for number, row in enumerate(rows_of(table))]
        start = len(self._history.trials)
        trials = [
            Trial(start + number, decision, context, values, asked=False)
            for number, (decision, context, values) in enumerate(rows)
        ]
        if trials:
            self._history = self._history.added(trials)
        return trials

    def recommend(
        self,
        *,
        objective: Objective | None = None,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        radii: Sequence[float] | None = None,
    ) -> Recommendation:
        """The decision whose objective is best under the posterior mean: not the luckiest trial.

        Args:
            objective: another objective than the study's.
            context: the context, if it is known.
            forecast: a context distribution to recommend for, instead of the context model's.
            radii: where the robustness curve is wanted.
        """
        if not len(self._history.observations):
            raise InvalidInput("`Study.recommend()` needs at least one complete trial (context and value), got none")
        fits = objective is None or isinstance(objective, Objective)
        require(fits, "Study.recommend(objective=...)", "be an objective such as Expectation()", objective)
        situation = Situation.of(self.space, context, forecast, "Study.recommend")
        chosen = None if radii is None else checked_radii(radii)
        with self._computing():
            return self._engine.recommend(self._history, situation, objective, chosen)

    def restore(self, trials: Sequence[Trial]) -> None:
        """Go on from the trials of an earlier study like this one, as if it had not stopped.

        Each trial must have been told in one call, or not at all.
        """
        before = len(self._history.trials)
        require(before == 0, "Study.restore(...)", "come before any other trial", f"{before} trials")
        self._history = History.of(self.space, SIGNS[self.direction], trials)

    def trials(self) -> pd.DataFrame:
        """One row per trial and one column per variable; `value` is the mean of its outcomes."""
        return self._history.table()

    def __repr__(self) -> str:
        states = [trial.state for trial in self._history.trials]
        counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states))) or "no trials yet"
        parts = self._engine.parts
        chosen = ", ".join(repr(part) for part in (parts.context, parts.objective, parts.acquisition))
        return f"Study({self.space!r}, {chosen}, {self.direction}, seed={self._engine.seed}: {counts})"

    @property
    def timings(self) -> dict[str, float]:
        """Seconds that the last `ask` or `recommend` spent on fit, reference, factorisation and maximisation."""
        return dict(self._engine.watch.seconds)

    @contextmanager
    def _computing(self) -> Iterator[None]:
        self._engine.watch = Stopwatch()
        with limited(self._threads):
            yield


def _composition(chosen: str | Composition | None) -> Composition:
    if chosen is None:
        return Composition()
    if isinstance(chosen, str):
        return named_method(chosen)
    require(isinstance(chosen, Composition), "Study(method=...)", "be a method's name or a composition", chosen)
    return chosen
