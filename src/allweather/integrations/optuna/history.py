"""Translation of the trials of an Optuna study, whose contexts may be chosen; nothing is cached."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import optuna
import torch
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from allweather.contexts import ContextModel
from allweather.errors import InvalidInput, require
from allweather.integrations.optuna.directions import SeveralOutcomes
from allweather.integrations.optuna.parameters import Parameter, decision_of
from allweather.space import Space
from allweather.trials import Row, Trial, outcomes, plain
from allweather.trials.reported_values import occasion_name, standard_errors

CONTEXT = "context"
"""User attribute of a trial that holds its context."""
SD, OCCASION = "sd", "occasion"
"""User attributes of a trial that hold the standard error of its outcome, and what it shares its context with."""
LATE = "allweather:context:"
"""Prefix of user attributes of the study that hold contexts of finished trials, which Optuna makes read-only."""


@dataclass(frozen=True, eq=False)
class TrialHistory:
    """Decisions, contexts and outcomes of an Optuna study."""

    known: Mapping[str, Parameter]
    contexts: Space
    late: Mapping[str, Any]
    """User attributes of the study."""
    several: SeveralOutcomes | None = None
    """Its outcomes, where there are several."""
    complete: bool = False
    """Whether every complete trial must have all parameters, since they were given."""

    @property
    def space(self) -> Space:
        """Decisions and contexts."""
        decided = {name: each.translation.variable for name, each in self.known.items()}
        both = [name for name in decided if name in self.contexts.variables]
        require(not both, "AllweatherSampler(space=...)", "not name a context like a parameter", both)
        return Space(**decided, **self.contexts.variables)

    def trials(self, theirs: Sequence[FrozenTrial]) -> list[Trial]:
        """Return all trials with a decision, in order."""
        told = [trial for each in theirs for trial in [self._trial(each)] if trial is not None]
        return [replace(trial, number=number) for number, trial in enumerate(told)]

    def undecided(self, theirs: Sequence[FrozenTrial], before: int) -> int:
        """Return how many running trials before a number have no decision yet: other workers are choosing it."""
        running = [each for each in theirs if each.state == TrialState.RUNNING and each.number < before]
        return sum(not self._values(each) for each in running)

    def context(self, trial: FrozenTrial) -> Row | None:
        """Return the context of a trial, or None if it has none; an invalid one raises `InvalidInput`."""
        said = self.late.get(f"{LATE}{trial.number}", trial.user_attrs.get(CONTEXT))
        if said is None:
            return None
        try:
            self.contexts.contexts.encode(said)
        except InvalidInput as error:
            raise error.within(f"trial {trial.number}") from None
        return plain(said)

    def _trial(self, trial: FrozenTrial) -> Trial | None:
        """The trial, None where it does not say what was decided, or was decided elsewhere than in the search space."""
        decision = None if trial.state == TrialState.WAITING else self._decision(trial)
        if decision is None:
            return None
        context = self._valid_context(trial)
        # A failed trial without context was only interrupted, and says nothing about its decision.
        given_up = trial.state == TrialState.FAIL and context is None
        failed = trial.state == TrialState.PRUNED or (trial.state == TrialState.FAIL and not given_up)
        if self.several is None:
            return self._single(trial, decision, context, failed, given_up)
        answered = failed or trial.state == TrialState.COMPLETE
        results = self.several.results(trial) if answered else self.several.waiting
        failed = all(each.failed for each in results.values())
        told = {"results": results, **self._further(trial, ())}
        return Trial(trial.number, decision, context, failed=failed, expired=given_up, **told)

    def _single(self, trial: FrozenTrial, decision: Row, context: Row | None, failed: bool, given_up: bool) -> Trial:
        """The trial of a study with one outcome."""
        values = tuple[float, ...]()
        if trial.state == TrialState.COMPLETE:
            try:
                values = outcomes(trial.value, f"trial {trial.number}: value")
            except InvalidInput as error:
                warnings.warn(f"{error}; it is treated as failed", stacklevel=2)
                failed = True
        return Trial(trial.number, decision, context, values, failed, expired=given_up, **self._further(trial, values))

    def _further(self, trial: FrozenTrial, values: tuple[float, ...]) -> dict[str, Any]:
        """Return standard error and occasion; an invalid one is left out with a warning."""
        try:
            return further(trial.user_attrs, values)
        except InvalidInput as error:
            warnings.warn(f"{error.within(f'trial {trial.number}')}; it is ignored", stacklevel=2)
            return {}

    def _valid_context(self, trial: FrozenTrial) -> Row | None:
        """Return the context, or None with a warning if a complete trial has no valid one."""
        hint = f"report it by `sampler.tell_context(study, {trial.number}, {{...}})`"
        try:
            context = self.context(trial)
        except InvalidInput as error:
            warnings.warn(f"{error}; {hint}", stacklevel=2)
            return None
        if context is None and trial.state == TrialState.COMPLETE:
            warnings.warn(f"trial {trial.number} has no context; {hint}", stacklevel=2)
        return context

    def _values(self, trial: FrozenTrial) -> Row:
        """Return the values of the parameters; empty as long as one is missing."""
        values = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
        return values if all(name in values for name in self.known) else {}

    def _decision(self, trial: FrozenTrial) -> Row | None:
        """Return the decision; a complete trial must have the parameters that were given."""
        if trial.state == TrialState.COMPLETE and self.complete:
            names = sorted(trial.distributions)
            where = f"AllweatherSampler: the parameters of trial {trial.number}"
            fits = set(names) >= set(self.known)
            require(fits, where, f"include {sorted(self.known)}, which `search_space=...` names", names)
        values = self._values(trial)
        try:
            return decision_of(self.known, values, trial.number) if values else None
        except InvalidInput as error:
            warnings.warn(f"{error}: it is excluded from the model", stacklevel=2)
            return None


def further(attributes: Mapping[str, Any], values: tuple[float, ...]) -> dict[str, Any]:
    """Return the standard errors and the occasion among user attributes of a trial.

    Args:
        attributes: of the trial.
        values: its outcomes.
    """
    where = 'trial.set_user_attr("{}", ...)'.format
    sds = standard_errors(attributes.get(SD), values, where(SD)) if values else ()
    return {"sds": sds, "occasion": occasion_name(attributes.get(OCCASION), where(OCCASION))}


def learned(theirs: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Return the distributions that all complete trials share, of more than one value.

    As with Optuna's samplers, other parameters (conditional ones, or of a range that changed) are sampled alone.
    """
    complete = [trial for trial in theirs if trial.state == TrialState.COMPLETE]
    if not complete:
        return {}
    first, *others = complete
    shared = {name: each for name, each in first.distributions.items() if not each.single()}
    for trial in others:
        shared = {name: each for name, each in shared.items() if trial.distributions.get(name) == each}
    return shared


def chosen_context(trial: optuna.Trial, space: Space, model: ContextModel | None, seed: int) -> dict[str, Any]:
    """Return the context that was chosen for a trial; one without is given a context drawn from the law.

    Args:
        trial: a running trial.
        space: the contexts.
        model: their law.
        seed: of the random numbers.
    """
    stored = trial.study._storage.get_trial(trial._trial_id).user_attrs.get(CONTEXT)
    if stored is None:
        where = "AllweatherSampler(context=...)"
        require(model is not None, where, "be the law of the contexts of a simulator", model)
        assert model is not None
        box = space.contexts
        generator = torch.Generator().manual_seed(seed * 1000 + trial.number)
        law = model.on(space).reference(torch.zeros(0, box.columns, dtype=torch.float64), 1, generator)
        place = torch.multinomial(law.weights, 1, generator=generator)
        stored = box.decode(box.snap(law.points[place]))[0]
        trial.set_user_attr(CONTEXT, dict(plain(stored)))
    return dict(stored)
