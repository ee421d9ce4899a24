"""The sampler: Optuna keeps the trials, and a study is built from them whenever Optuna asks."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import torch
from botorch.models.model import Model
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FrozenTrial, TrialState
from torch import Tensor

from allweather.acquisition import Acquisition, ContextRule
from allweather.contexts import ContextModel
from allweather.engine.recommendation import Recommendation
from allweather.errors import InvalidInput, require
from allweather.integrations.options import StudyOptions, only_contexts, require_names
from allweather.integrations.optuna.history import CONTEXT, LATE, TrialHistory, further, learned
from allweather.integrations.optuna.parameters import parameters
from allweather.methods.composition import Composition
from allweather.objectives import Objective
from allweather.space import Space
from allweather.study import Study
from allweather.surrogates import Surrogate
from allweather.trials import Row, outcomes, plain

WHERE = "AllweatherSampler"
_LOCK = threading.Lock()
"""Held while one of the threads of `optimize(n_jobs=...)` computes."""
MAX_CONCURRENT = 7
"""Concurrent choices of other workers that are simulated, at most; killed workers never finish theirs."""


class AllweatherSampler(BaseSampler):
    """Sample decisions for an Optuna study whose outcomes depend on uncertain contexts.

    Each trial reports its context by `trial.set_user_attr("context", {...})` before it is told; also, where there is
    one, the standard error of its outcome as `"sd"`, and a name as `"occasion"` that trials with the same context
    share. Running trials are pending; failed and pruned ones are avoided. The sampler keeps no state: it reads the
    study's storage.

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
    ) -> None:
        """Create a sampler.

        Args:
            space: the contexts, such as `Space(demand=Context(0, 1))`.
            search_space: Optuna distributions by name; by default those of the first complete trial, before which
                decisions are random.
            method: a published method by name, or a composition; the parts below replace its own.
            context: the model of the contexts.
            objective: the uncertainty objective.
            acquisition: the acquisition function.
            surrogate: a `GP(...)`, or a function `(X, Y) -> BoTorch model`.
            initial: number of quasi-random decisions before the surrogate is used.
            seed: the same seed and the same results give the same decisions, also in a resumed study.
            simulator: whether contexts are chosen too, as in `Study`: the objective function reads its context from
                `sampler.chosen_context(trial)`. Their law must be given as `context`.

        Raises:
            InvalidInput: if an argument does not meet its requirement.
        """
        self.space = only_contexts(space, WHERE)
        self.options = StudyOptions(WHERE, method, context, objective, acquisition, surrogate, initial, seed, simulator)
        named = search_space is None or isinstance(search_space, Mapping)
        require(named, f"{WHERE}(search_space=...)", "map names to Optuna distributions", search_space)
        self._search_space = None if search_space is None else dict(search_space)
        known = parameters(self._search_space or {})  # raises for unsupported distributions
        requirement = "have a parameter with several values"
        require(search_space is None or bool(known), f"{WHERE}(search_space=...)", requirement, search_space)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return all parameters, once they are known."""
        _direction(study)
        history = self._history(study)
        return {} if history is None else {name: each.distribution for name, each in history.known.items()}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the next decision, given all other trials."""
        history = self._history(study)
        if not search_space or history is None:
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
        """Return a random value while no parameters are known; a new parameter afterwards raises `InvalidInput`."""
        _direction(study)
        history = self._history(study)
        require_names([param_name], WHERE)
        known = {} if history is None else history.known
        expected = param_name in known and known[param_name].distribution == param_distribution
        if history is not None and not expected:  # learned since the trial began
            listed = ", ".join(f"{name!r} as {each.distribution}" for name, each in known.items())
            raise InvalidInput(
                where=WHERE,
                requirement="know every parameter and its range in advance (no conditional or changing ones)",
                received=f"{param_name} as {param_distribution} in trial {trial.number}",
                remedy=f"known are {listed}",
            )
        key = [self.options.seed, trial.number, zlib.crc32(param_name.encode())]
        seed = int(np.random.SeedSequence(key).generate_state(1)[0])
        return RandomSampler(seed=seed).sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Raise for a complete trial without context or finite outcome, which Optuna stores nevertheless."""
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
        further(trial.user_attrs, told)

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
        stored = trial.study._storage.get_trial(trial._trial_id).user_attrs.get(CONTEXT)
        if stored is None:
            box = self.space.contexts
            model = self.options.context
            require(model is not None, f"{WHERE}(context=...)", "be the law of the contexts of a simulator", model)
            assert model is not None
            generator = torch.Generator().manual_seed(self.options.seed * 1000 + trial.number)
            law = model.on(self.space).reference(torch.zeros(0, box.columns, dtype=torch.float64), 1, generator)
            place = torch.multinomial(law.weights, 1, generator=generator)
            stored = box.decode(box.snap(law.points[place]))[0]
            trial.set_user_attr(CONTEXT, dict(plain(stored)))
        return dict(stored)

    def recommend(
        self,
        study: optuna.Study,
        *,
        objective: Objective | None = None,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        radii: Sequence[float] | None = None,
    ) -> Recommendation:
        """Return the decision with the best objective under the posterior, not the best outcome (`study.best_trial`).

        Args:
            study: the study.
            objective: instead of that of the sampler.
            context: the context, if it is known.
            forecast: a context distribution to recommend for.
            radii: of the robustness curve.
        """
        with _LOCK:
            found = self.as_study(study).recommend(objective=objective, context=context, forecast=forecast, radii=radii)
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

    def _history(self, study: optuna.Study) -> TrialHistory | None:
        """Return the history, or None while the parameters are unknown."""
        theirs = study.get_trials(deepcopy=False)
        constrained = [
            each.number for each in theirs if any(key.split(":")[0] == "constraints" for key in each.system_attrs)
        ]
        requirement = "have no trials with constraints, which it would ignore"
        require(not constrained, WHERE, requirement, constrained)
        known = learned(theirs) if self._search_space is None else parameters(self._search_space)
        return TrialHistory(known, self.space, study.user_attrs) if known else None

    def _study(self, study: optuna.Study, history: TrialHistory, theirs: Sequence[FrozenTrial]) -> Study:
        ours = self.options.study(history.space, _direction(study))
        ours.restore(history.trials(theirs))
        return ours


def _is_constrained(trial: FrozenTrial) -> bool:
    return any(key.split(":")[0] == "constraints" for key in trial.system_attrs)


def _direction(study: optuna.Study) -> str:
    """Return the direction of the only objective."""
    single = len(study.directions) == 1
    require(single, WHERE, "have a study with one objective", [each.name for each in study.directions])
    return study.direction.name.lower()
