"""The sampler: Optuna keeps the trials, and a study is built from them whenever Optuna asks."""

from __future__ import annotations

import logging
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
from botorch.models.model import Model
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.samplers._base import _process_constraints_after_trial
from optuna.trial import FrozenTrial, TrialState
from torch import Tensor

from allweather.acquisition import Acquisition, ContextRule
from allweather.contexts import ContextModel
from allweather.engine.recommendation import Recommendation
from allweather.errors import InvalidInput, require
from allweather.integrations.options import StudyOptions, only_contexts, require_names
from allweather.integrations.optuna.directions import (
    Limits,
    SeveralOutcomes,
    check_limits,
    several_outcomes,
    standard_error_of,
)
from allweather.integrations.optuna.history import CONTEXT, LATE, TrialHistory, chosen_context, further, learned
from allweather.integrations.optuna.parameters import parameters
from allweather.methods.composition import Composition
from allweather.objectives import Objective
from allweather.space import Space
from allweather.study import Study
from allweather.surrogates import Surrogate
from allweather.trials import Row, outcomes, plain

WHERE = "AllweatherSampler"
_LOG = logging.getLogger("allweather")
_LOCK = threading.Lock()
"""Held while one of the threads of `optimize(n_jobs=...)` computes."""
MAX_CONCURRENT = 7
"""Concurrent choices of other workers that are simulated, at most; killed workers never finish theirs."""


class AllweatherSampler(BaseSampler):
    """Sample decisions for an Optuna study whose outcomes depend on uncertain contexts.

    Each trial reports its context by `trial.set_user_attr("context", {...})` before it is told; also, where there is
    one, the standard error of its outcome as `"sd"`, and a name as `"occasion"` that trials with the same context
    share. Running trials are pending; failed and pruned ones are avoided. The sampler keeps no state: it reads the
    study's storage. Studies may have several directions, and trials constraints (`trial.set_constraint`, or a
    `constraints_func`), which are kept where they are at most 0.

    Example:
        >>> from allweather import Context, CVaR, Space
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> sampler = AllweatherSampler(Space(demand=Context(0, 1)), objective=CVaR(0.3), seed=7)
        >>> study = optuna.create_study(sampler=sampler, direction="maximize")
        >>> for demand in (0.2, 0.3, 0.25, 0.4, 0.2, 0.3, 0.35):
        ...     trial = study.ask()
        ...     order = trial.suggest_float("order", 0, 1)
        ...     trial.set_user_attr("context", {"demand": demand})
        ...     _ = study.tell(trial, 9 * min(order, demand) - 5 * order)
        >>> 0 < sampler.recommend(study).decision["order"] < 0.5
        True
    """

    def __init__(
        self,
        space: Space,
        *,
        search_space: Mapping[str, BaseDistribution] | None = None,
        method: str | Composition | None = None,
        context: ContextModel | None = None,
        objective: Objective | None = None,
        acquisition: Acquisition | None = None,
        surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None,
        initial: int | None = None,
        seed: int = 0,
        simulator: bool | ContextRule | None = None,
        objectives: Sequence[Objective] | None = None,
        limits: Limits = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
    ) -> None:
        """Create a sampler.

        Args:
            space: the contexts, such as `Space(demand=Context(0, 1))`.
            search_space: Optuna distributions by name; by default those that all complete trials share. Other
                parameters are random, as are all of them before the first complete trial.
            method: a published method by name, or a composition; the parts below replace its own.
            context: the model of the contexts.
            objective: the uncertainty objective; of all directions, where the study has several.
            acquisition: the acquisition function.
            surrogate: a `GP(...)`, or a function `(X, Y) -> BoTorch model`.
            initial: number of quasi-random decisions before the surrogate is used.
            seed: the same seed and the same results give the same decisions, also in a resumed study.
            simulator: whether contexts are chosen too, as in `Study`: the objective function reads its context from
                `sampler.chosen_context(trial)`. Their law must be given as `context`.
            objectives: an uncertainty objective for each of several directions.
            limits: how constraints must hold, all alike or by name: `AtMost(0, probability=0.9)`; by default on
                average over contexts.
            constraints_func: as in Optuna's samplers, returns the constraints of a finished trial.

        Raises:
            InvalidInput: if an argument does not meet its requirement.
        """
        self.space = only_contexts(space, WHERE)
        self.options = StudyOptions(WHERE, method, context, objective, acquisition, surrogate, initial, seed, simulator)
        several = list(objectives or ())
        fits = all(isinstance(each, Objective) for each in several) and not (several and objective is not None)
        require(fits, f"{WHERE}(objectives=...)", "be objectives, in place of `objective`", objectives)
        check_limits(limits)
        self._objectives, self._limits, self._constraints_func = several, limits, constraints_func
        named = search_space is None or isinstance(search_space, Mapping)
        require(named, f"{WHERE}(search_space=...)", "map names to Optuna distributions", search_space)
        self._search_space = None if search_space is None else dict(search_space)
        known = parameters(self._search_space or {})  # raises for unsupported distributions
        requirement = "have a parameter with several values"
        require(search_space is None or bool(known), f"{WHERE}(search_space=...)", requirement, search_space)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters that are chosen together: those given, or those that all complete trials share."""
        found = learned(study.get_trials(deepcopy=False)) if self._search_space is None else self._search_space
        return {name: each for name, each in found.items() if not each.single()}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return values for a search space, given all other trials; what else they decided is ignored."""
        history = self._history(study, search_space)
        if history is None:
            return {}
        with _LOCK:
            others = [each for each in study.get_trials(deepcopy=False) if each.number != trial.number]
            # Concurrent choices of other workers are not stored yet: they will be what this worker would choose.
            before = min(history.undecided(others, trial.number), MAX_CONCURRENT)
            asked = self._study(study, history, others).ask(before + 1)[-1]
            if self.options.chooses:
                study._storage.set_trial_user_attr(trial._trial_id, CONTEXT, dict(asked.context or {}))
        return {name: each.translation.theirs(asked.decision[name]) for name, each in history.known.items()}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a random value: of a parameter that is not known yet, is conditional, or has another range."""
        require_names([param_name], WHERE)
        where, both = f"{WHERE}(space=...)", param_name in self.space.variables
        require(not both, where, "not name a context like a parameter", param_name)
        if any(each.state == TrialState.COMPLETE for each in study.get_trials(deepcopy=False)):
            said = "parameter %r of trial %d is sampled at random: not all complete trials have it with this range"
            _LOG.warning(said, param_name, trial.number)
        key = [self.options.seed, trial.number, zlib.crc32(param_name.encode())]
        seed = int(np.random.SeedSequence(key).generate_state(1)[0])
        return RandomSampler(seed=seed).sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Raise for a complete trial without context or finite outcome, which Optuna stores nevertheless."""
        if self._constraints_func is not None:
            _process_constraints_after_trial(self._constraints_func, study, trial, state)
        if state != TrialState.COMPLETE:
            return
        remedy = f"the outcome is stored; report the context by `sampler.tell_context(study, {trial.number}, {{...}})`"
        try:
            context = TrialHistory({}, self.space, study.user_attrs).context(trial)
        except InvalidInput as error:
            raise error.suggest(remedy) from None
        where = f'trial.set_user_attr("{CONTEXT}", {{...}})'
        requirement = f"name {', '.join(self.space.contexts)} before trial {trial.number} is told"
        require(context is not None, where, requirement, None, remedy)
        told = outcomes(
            list(values or ()), f"study.tell(value=...) of trial {trial.number}, which is treated as failed"
        )
        several = self._several(study)
        if several is None:
            further(trial.user_attrs, told)
        else:
            _ = [standard_error_of(trial, name) for name in several.wanted]

    def reseed_rng(self) -> None:
        """Do nothing: random numbers depend on the seed and the trials only."""

    def tell_context(self, study: optuna.Study, number: int, context: Row) -> None:
        """Report or correct the context of a finished trial; it is stored with the study.

        Args:
            study: the study.
            number: of the trial.
            context: value of each context.

        Raises:
            InvalidInput: if there is no such trial, or the context is invalid.
        """
        count = len(study.get_trials(deepcopy=False))
        known = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < count
        require(known, f"{WHERE}.tell_context(number=...)", f"be one of the {count} trials", number)
        self.space.contexts.encode(context)
        study.set_user_attr(f"{LATE}{number}", dict(plain(context)))

    def chosen_context(self, trial: optuna.Trial) -> dict[str, Any]:
        """Return the context that a trial is to be run in, with `simulator=True`; it needs not be reported.

        Args:
            trial: a running trial; before the parameters are known its context is drawn from the context model.
        """
        require(self.options.chooses, f"{WHERE}.chosen_context(...)", "be called with `simulator=True`", trial)
        return chosen_context(trial, self.space, self.options.context, self.options.seed)

    def recommend(
        self,
        study: optuna.Study,
        *,
        objective: Objective | None = None,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        radii: Sequence[float] | None = None,
        weights: Mapping[str, float] | None = None,
        reference_point: Mapping[str, float] | None = None,
    ) -> Recommendation:
        """Return the decision with the best objective under the posterior, not the best outcome (`study.best_trial`).

        With constraints it is the best decision that is believed to keep them.

        Args:
            study: the study.
            objective: instead of that of the sampler.
            context: the context, if it is known.
            forecast: a context distribution to recommend for.
            radii: of the robustness curve.
            weights: of several objectives, by name: the study's metric names, or `objective_0` and so on.
            reference_point: what several objectives shall exceed, by name.
        """
        with _LOCK:
            found = self.as_study(study).recommend(
                objective=objective,
                context=context,
                forecast=forecast,
                radii=radii,
                weights=weights,
                reference_point=reference_point,
            )
        history = self._history(study)
        assert history is not None  # as_study raises before
        return replace(
            found,
            decision={name: each.translation.theirs(found.decision[name]) for name, each in history.known.items()},
        )

    def as_study(self, study: optuna.Study) -> Study:
        """Return the trials as a `Study`, for its table and figures; trials are numbered from 0 there.

        Args:
            study: the study.
        """
        history = self._history(study)
        if history is None:
            raise InvalidInput(where=WHERE, requirement="see a complete trial first", received=0)
        return self._study(study, history, study.get_trials(deepcopy=False))

    def _history(
        self, study: optuna.Study, search_space: Mapping[str, BaseDistribution] | None = None
    ) -> TrialHistory | None:
        """Return the history of a search space, by default all of it; None while no parameters are known."""
        if search_space is None:
            theirs = study.get_trials(deepcopy=False)
            search_space = learned(theirs) if self._search_space is None else self._search_space
        known, given = parameters(search_space), self._search_space is not None
        return TrialHistory(known, self.space, study.user_attrs, self._several(study), given) if known else None

    def _several(self, study: optuna.Study) -> SeveralOutcomes | None:
        measures = self._objectives or [self.options.measure]
        return several_outcomes(study, study.get_trials(deepcopy=False), measures, self._limits)

    def _study(self, study: optuna.Study, history: TrialHistory, theirs: Sequence[FrozenTrial]) -> Study:
        several = history.several
        if several is None:
            ours = self.options.study(history.space, study.direction.name.lower())
        else:
            ours = self.options.study(history.space, "maximize", outcomes=several.wanted)
        ours.restore(history.trials(theirs))
        return ours
