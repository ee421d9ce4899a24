"""The sampler: Optuna keeps the trials, a study of ours is made of them whenever it asks."""

from __future__ import annotations

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
from optuna.trial import FrozenTrial, TrialState
from torch import Tensor

from allweather.acquisition import Acquisition
from allweather.contexts import ContextModel
from allweather.engine.recommendation import Recommendation
from allweather.errors import InvalidInput, require
from allweather.integrations.options import StudyOptions, only_contexts, require_names
from allweather.integrations.optuna.history import CONTEXT, LATE, TrialHistory, learned
from allweather.integrations.optuna.parameters import parameters
from allweather.methods.composition import Composition
from allweather.objectives import Objective
from allweather.space import Space
from allweather.study import Study
from allweather.surrogates import Surrogate
from allweather.trials import Row, outcomes, plain

_TURN = threading.Lock()
"""Of the threads of `optimize(n_jobs=...)` one computes at a time."""
AT_ONCE = 7
"""Other workers at most whose choice is computed before one's own: what was killed while choosing never chooses."""


class AllweatherSampler(BaseSampler):
    """Samples decisions for an Optuna study whose trials happen in uncertain contexts.

    Each trial says what happened, `trial.set_user_attr("context", {...})`, before it is told. Running trials are
    pending, failed and pruned ones are avoided. All that the sampler knows it reads from the study's storage.

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
    ) -> None:
        """A sampler for studies with these contexts; the other words are those of `Study`.

        Args:
            space: the contexts, such as `Space(demand=Context(0, 1))`.
            search_space: Optuna's distributions by name. Without it they are learned from the first complete trial,
                and those before are drawn at random.
            method: a published method by name, or a composition; the parts below replace its own.
            context: what is believed about the contexts.
            objective: what is wanted of a decision.
            acquisition: how the next decision is chosen.
            surrogate: a `GP(...)`, or a function `(X, Y) -> BoTorch model`.
            initial: how many decisions are spread out before the surrogate is asked.
            seed: the same seed and the same answers give the same study, also after a pause.
        """
        self.space = only_contexts(space, "AllweatherSampler")
        self.options = StudyOptions(method, context, objective, acquisition, surrogate, initial, seed)
        named = search_space is None or isinstance(search_space, Mapping)
        require(named, "AllweatherSampler(search_space=...)", "map names to Optuna's distributions", search_space)
        self._search_space = None if search_space is None else dict(search_space)
        known = parameters(self._search_space or {})  # what has no variable is refused now
        requirement = "have a parameter with several values, or be left out"
        require(search_space is None or bool(known), "AllweatherSampler(search_space=...)", requirement, search_space)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """All parameters, as soon as they are known."""
        _direction(study)
        history = self._history(study)
        return {} if history is None else {name: each.distribution for name, each in history.known.items()}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next decision, given all other trials."""
        history = self._history(study)
        if not search_space or history is None:
            return {}
        with _TURN:
            others = [each for each in study.get_trials(deepcopy=False) if each.number != trial.number]
            # What other workers are choosing now is not written yet: they will choose what we would.
            before = min(history.undecided(others, trial.number), AT_ONCE)
            asked = self._study(study, history, others).ask(before + 1)[-1]
        return {name: each.translation.theirs(asked.decision[name]) for name, each in history.known.items()}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A random value, where no parameters were known when the trial began; later, what is new is refused."""
        _direction(study)
        history = self._history(study)
        require_names([param_name], "AllweatherSampler")
        known = {} if history is None else history.known
        expected = param_name in known and known[param_name].distribution == param_distribution
        if history is not None and not expected:  # what was learned since the trial began is as good as random
            raise InvalidInput(
                f"`AllweatherSampler` must know every parameter and its range in advance (no conditional or changing "
                f"ones), got {param_name!r} as {param_distribution} in trial {trial.number}; known are "
                f"{', '.join(f'{name!r} as {each.distribution}' for name, each in known.items())}"
            )
        place = [self.options.seed, trial.number, zlib.crc32(param_name.encode())]
        luck = int(np.random.SeedSequence(place).generate_state(1)[0])
        return RandomSampler(seed=luck).sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Refuses a trial without context or finite outcome; Optuna stores it all the same."""
        if state != TrialState.COMPLETE:
            return
        later = f"what was told is stored; tell it now: `sampler.tell_context(study, {trial.number}, {{...}})`"
        try:
            context = TrialHistory({}, self.space, study.user_attrs).context(trial)
        except InvalidInput as trouble:
            raise InvalidInput(f"{trouble}; {later}") from None
        if context is None:
            said = f'`trial.set_user_attr("{CONTEXT}", {{...}})` must name {", ".join(self.space.contexts)}'
            raise InvalidInput(f"{said} before trial {trial.number} is told, got nothing; {later}")
        outcomes(list(values or ()), f"study.tell(value=...) of trial {trial.number}, which counts as failed")

    def reseed_rng(self) -> None:
        """Nothing to do: randomness depends on the seed and the trials only."""

    def tell_context(self, study: optuna.Study, number: int, context: Row) -> None:
        """What happened in a trial that was told without it, or that told it wrongly; kept with the study.

        Args:
            study: the study.
            number: of the trial.
            context: what happened.
        """
        count = len(study.get_trials(deepcopy=False))
        known = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < count
        require(known, "AllweatherSampler.tell_context(number=...)", f"be one of the {count} trials", number)
        self.space.contexts.encode(context)
        study.set_user_attr(f"{LATE}{number}", dict(plain(context)))

    def recommend(
        self,
        study: optuna.Study,
        *,
        objective: Objective | None = None,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        radii: Sequence[float] | None = None,
    ) -> Recommendation:
        """The decision whose objective is best under all that was told: not the luckiest trial, `study.best_trial`.

        Args:
            study: the study.
            objective: another objective than the sampler's.
            context: the context, if it is known.
            forecast: a context distribution to recommend for.
            radii: where the robustness curve is wanted.
        """
        with _TURN:
            found = self.as_study(study).recommend(objective=objective, context=context, forecast=forecast, radii=radii)
        history = self._history(study)
        assert history is not None  # else there was nothing to recommend
        return replace(
            found,
            decision={name: each.translation.theirs(found.decision[name]) for name, each in history.known.items()},
        )

    def as_study(self, study: optuna.Study) -> Study:
        """The same trials as a study of ours, for its table and its figures; steps are counted from 0 there.

        Args:
            study: the study.
        """
        history = self._history(study)
        if history is None:
            raise InvalidInput("`AllweatherSampler` must see a complete trial first, got none")
        return self._study(study, history, study.get_trials(deepcopy=False))

    def _history(self, study: optuna.Study) -> TrialHistory | None:
        """How trials are read, as soon as it is known what they decide."""
        theirs = study.get_trials(deepcopy=False)
        limited = [
            each.number for each in theirs if any(key.split(":")[0] == "constraints" for key in each.system_attrs)
        ]
        require(
            not limited, "AllweatherSampler", "have no trials with constraints, which it would not look at", limited
        )
        known = learned(theirs) if self._search_space is None else parameters(self._search_space)
        return TrialHistory(known, self.space, study.user_attrs) if known else None

    def _study(self, study: optuna.Study, history: TrialHistory, theirs: Sequence[FrozenTrial]) -> Study:
        ours = self.options.study(history.space, _direction(study))
        ours.restore(history.trials(theirs))
        return ours


def _direction(study: optuna.Study) -> str:
    """Which way is better, of the only objective."""
    single = len(study.directions) == 1
    require(single, "AllweatherSampler", "have a study with one objective", [each.name for each in study.directions])
    return study.direction.name.lower()
