"""The generator: it keeps the trials, and builds a study from them whenever points are suggested."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from botorch.models.model import Model
from gest_api import Generator
from gest_api.vocs import VOCS
from torch import Tensor

from allweather.acquisition import Acquisition, ContextRule
from allweather.contexts import ContextModel
from allweather.engine.recommendation import Recommendation
from allweather.errors import is_number, require, require_count
from allweather.integrations.gest_api.problem import WHERE, Problem, missing
from allweather.integrations.options import Given, StudyOptions, check_given
from allweather.methods.composition import Composition
from allweather.objectives import Objective
from allweather.space import Space
from allweather.study import Study
from allweather.surrogates import Surrogate
from allweather.trials import Row, Trial, outcomes
from allweather.trials.results import Result

ID = "_id"
"""Key of the identifier of a point, as in gest-api."""
ERROR = "xopt_error"
"""Key by which Xopt marks an evaluation that raised an exception."""


class AllweatherGenerator(Generator):
    """Suggest points whose outcomes depend on uncertain contexts, by the interface of gest-api.

    A `ContextualVariable` of the VOCS is a context: points do not contain it, and results must. Points have an
    identifier (`"_id"`) that results repeat; results without one are past data. Outputs that are NaN have failed.

    Example:
        >>> from allweather import CVaR
        >>> vocs = VOCS(variables={"order": [0, 1], "demand": "CONTEXTUAL"}, objectives={"profit": "MAXIMIZE"})
        >>> generator = AllweatherGenerator(vocs, objective=CVaR(0.3), seed=7)
        >>> for demand in (0.2, 0.3, 0.25, 0.4):
        ...     (point,) = generator.suggest(1)
        ...     profit = 9 * min(point["order"], demand) - 5 * point["order"]
        ...     generator.ingest([{**point, "demand": demand, "profit": profit}])
        >>> 0 <= generator.recommend().decision["order"] < 0.5
        True
    """

    returns_id = True

    def __init__(
        self,
        vocs: VOCS,
        *,
        space: Space | None = None,
        method: str | Composition | None = None,
        context: ContextModel | None = None,
        objective: Objective | None = None,
        acquisition: Acquisition | None = None,
        surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None,
        initial: int | None = None,
        seed: int = 0,
        simulator: bool | ContextRule | None = None,
        cautious: float | None = None,
        outcomes: Given = None,
        latest_context: bool = False,
    ) -> None:
        """Create a generator.

        Args:
            vocs: variables, objectives and constraints; contextual variables are contexts.
            space: contexts whose bounds or kinds the VOCS do not say, such as `Space(lot=Context(Choice(0, 1)))`:
                contextual variables or observables. Otherwise missing bounds follow from the results.
            method: a published method by name, or a composition; the parts below replace its own.
            context: the model of the contexts.
            objective: the uncertainty objective; of all objectives, where there are several.
            acquisition: the acquisition function.
            surrogate: a `GP(...)`, or a function `(X, Y) -> BoTorch model`.
            initial: number of quasi-random decisions before the surrogate is used.
            seed: the same seed and the same results give the same points.
            simulator: whether contexts are chosen too, as in `Study`: points contain them, and their law must be
                given as `context`.
            cautious: with constraints, the probability with which every point keeps all of them; there must be a
                result before the first point.
            outcomes: how contexts count in objectives and constraints, by name:
                `{"wasted": AtMost(12, probability=0.9)}`. Constraints hold on average by default. A constraint
                `BOUNDS` on `x` has the names `x_lower` and `x_upper`; one on an objective `x` has `x_limit`.
            latest_context: whether the latest observed context is expected for the next points, as by Xopt's own
                generators. By default it is drawn anew from the context model.

        Raises:
            InvalidInput: if an argument does not meet its requirement; it is a `ValueError`.
        """
        parts = (method, context, objective, acquisition, surrogate)
        self.options = StudyOptions(WHERE, *parts, initial, seed, simulator, cautious)
        self.space, self.outcomes, self.latest_context = space, outcomes, latest_context
        check_given(outcomes, WHERE)
        chooses = self.options.chooses
        fits = isinstance(latest_context, bool) and not (latest_context and chooses)
        requirement = "be True or False, and False with `simulator=...`"
        require(fits, f"{WHERE}(latest_context=...)", requirement, latest_context)
        super().__init__(vocs)
        self.vocs = vocs
        self._trials: list[Trial] = []

    def _validate_vocs(self, vocs: VOCS) -> None:
        """Raise for VOCS that cannot be translated."""
        problem = Problem.of(vocs, self.space, self.outcomes, self.options.measure)
        unbounded = [name for name, each in problem.contexts.items() if isinstance(each, tuple)]
        requirement = "have finite bounds for contexts that are chosen"
        require(not (self.options.chooses and unbounded), f"{WHERE}(vocs=...)", requirement, unbounded)
        limited = self.options.cautious is None or bool(vocs.constraints)
        require(limited, f"{WHERE}(cautious=...)", "come with constraints", self.options.cautious)

    @property
    def _problem(self) -> Problem:
        """The problem, read anew: its functions cannot be pickled, and VOCS may be changed between two calls."""
        return Problem.of(self.vocs, self.space, self.outcomes, self.options.measure)

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return points to evaluate: decisions and constants; with `simulator=True` also contexts.

        Points that were suggested and not ingested yet are pending: no two of them are the same.

        Args:
            num_points: how many; one by default.
        """
        require_count(1 if num_points is None else num_points, f"{WHERE}.suggest(num_points=...)", low=1)
        expected = self._latest() if self.latest_context else None
        asked = self.as_study().ask(num_points or 1, context=expected)
        # The context that was expected is no observation.
        kept = [replace(each, study="", context=each.context if self.options.chooses else None) for each in asked]
        self._trials += kept
        problem = self._problem
        return [{**problem.point(each.decision), **dict(each.context or {}), ID: each.number} for each in kept]

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """Take results: points with their contexts, objectives and constraints. Either all are taken or none.

        Variables may differ from those that were suggested: what was evaluated counts.

        Args:
            results: evaluated points.
        """
        trials, problem = list(self._trials), self._problem
        for place, row in enumerate(results):
            trial = _result(problem, dict(row), trials, f"{WHERE}.ingest(results=...)[{place}]")
            trials[trial.number : trial.number + 1] = [trial]
        self._trials = trials

    def add_data(self, table: pd.DataFrame | None) -> None:
        """Take past results, as `Xopt(generator=..., data=...)` hands them over; they have no identifiers here.

        Args:
            table: evaluated points of another generator, or of an earlier run of this one; None is none.
        """
        known = pd.DataFrame() if table is None else table.drop(columns=ID, errors="ignore")
        self.ingest([{str(name): value for name, value in row.items()} for row in known.to_dict("records")])

    def finalize(self) -> None:
        """Give up points that were suggested and not ingested; they can still be ingested later."""
        self._trials = [replace(each, expired=each.state == "pending") for each in self._trials]

    def recommend(
        self,
        *,
        objective: Objective | None = None,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        radii: Sequence[float] | None = None,
        weights: Mapping[str, float] | None = None,
        reference_point: Mapping[str, float] | None = None,
    ) -> Recommendation:
        """Return the decision with the best objective under the posterior, not the best result so far.

        With constraints it is the best decision that is believed to keep them.

        Args:
            objective: instead of that of the generator.
            context: the context, if it is known.
            forecast: a context distribution to recommend for.
            radii: of the robustness curve.
            weights: of several objectives, by name.
            reference_point: what several objectives shall exceed, by name.
        """
        found = self.as_study().recommend(
            objective=objective,
            context=context,
            forecast=forecast,
            radii=radii,
            weights=weights,
            reference_point=reference_point,
        )
        return replace(found, decision=self._problem.point(found.decision))

    def as_study(self) -> Study:
        """Return the trials as a `Study`, for its table and figures."""
        problem = self._problem
        space = problem.space([each.context for each in self._trials if each.context is not None])
        study = self.options.study(space, problem.direction, outcomes=problem.outcomes)
        study.restore(self._trials)
        return study

    def _latest(self) -> Row | None:
        seen = [each.context for each in self._trials if each.context]
        return seen[-1] if seen else None


def _result(problem: Problem, row: Mapping[str, Any], trials: Sequence[Trial], where: str) -> Trial:
    """Return the trial that a result belongs to, or a new one, with what was observed."""
    number = _number(row, trials, where)
    decision, context = problem.decision(row, where), problem.context(row, where)
    told: dict[str, Result] = {}
    raised = bool(row.get(ERROR, False)) and not missing(row.get(ERROR))
    for name, each in problem.wanted.items():
        known = raised or each.output in row
        require(known, where, f"have the output {each.output!r}", sorted(map(str, row)), "NaN is a failure")
        value: Any = None if raised else row[each.output]
        failed = missing(value) or (is_number(value) and not math.isfinite(value))
        told[name] = Result(failed=True) if failed else Result(outcomes(value, f"{where}[{each.output!r}]"))
    failed = all(each.failed for each in told.values())
    names = ", ".join(problem.contexts)
    require(failed or context is not None, where, f"have finite contexts {names}", sorted(map(str, row)))
    trial = Trial(len(trials), decision, context, asked=False) if number is None else trials[number]
    trial = replace(trial, decision=decision, context=context, failed=failed, expired=False)
    if problem.several:
        return replace(trial, results=told)
    return replace(trial, values=next(iter(told.values())).values)


def _number(row: Mapping[str, Any], trials: Sequence[Trial], where: str) -> int | None:
    """Return the number of the trial that a result names; None for past data."""
    if missing(row.get(ID)):
        return None
    number, suggested = row[ID], [each.number for each in trials if each.asked]
    where = f"{where}['{ID}']"
    require(is_number(number) and number in suggested, where, "be of a point that was suggested", number)
    told = trials[int(number)].state in ("complete", "failed")
    require(not told, where, "be ingested once", number)
    return int(number)
