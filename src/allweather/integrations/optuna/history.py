"""The trials of an Optuna study as trials of ours: nothing is remembered, all is read again."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from allweather.errors import InvalidInput, require
from allweather.integrations.optuna.parameters import Parameter, decision_of, parameters
from allweather.space import Space
from allweather.trials import Row, Trial, outcomes, plain

CONTEXT = "context"
"""The attribute of a trial that says what happened."""
LATE = "allweather:context:"
"""Attributes of the study that say it of finished trials, which Optuna does not change any more."""


@dataclass(frozen=True, eq=False)
class TrialHistory:
    """What an Optuna study tells about decisions and contexts."""

    known: Mapping[str, Parameter]
    contexts: Space
    late: Mapping[str, Any]
    """The study's own attributes."""

    @property
    def space(self) -> Space:
        """Decisions and contexts side by side."""
        decided = {name: each.translation.variable for name, each in self.known.items()}
        both = [name for name in decided if name in self.contexts.variables]
        require(not both, "AllweatherSampler(space=...)", "not name a context like a parameter", both)
        return Space(**decided, **self.contexts.variables)

    def trials(self, theirs: Sequence[FrozenTrial]) -> list[Trial]:
        """All trials that say what was decided, in order."""
        told = [trial for each in theirs for trial in [self._trial(each)] if trial is not None]
        return [replace(trial, number=number) for number, trial in enumerate(told)]

    def undecided(self, theirs: Sequence[FrozenTrial], before: int) -> int:
        """How many running trials before a number have no decision yet: other workers are choosing it right now."""
        running = [each for each in theirs if each.state == TrialState.RUNNING and each.number < before]
        return sum(not self._decided(each) for each in running)

    def context(self, trial: FrozenTrial) -> Row | None:
        """What happened in a trial, None where it does not say; what is not a context is refused."""
        said = self.late.get(f"{LATE}{trial.number}", trial.user_attrs.get(CONTEXT))
        if said is None:
            return None
        try:
            self.contexts.contexts.encode(said)
        except InvalidInput as trouble:
            raise InvalidInput(f"trial {trial.number}: {trouble}") from None
        return plain(said)

    def _trial(self, trial: FrozenTrial) -> Trial | None:
        """The trial, None where it does not say what was decided, or was decided elsewhere than in the search space."""
        decision = None if trial.state == TrialState.WAITING else self._decision(trial)
        if decision is None:
            return None
        context, values = self._believable(trial), tuple[float, ...]()
        # Without context nothing was tried: Optuna calls a trial failed that was only interrupted.
        given_up = trial.state == TrialState.FAIL and context is None
        failed = trial.state == TrialState.PRUNED or (trial.state == TrialState.FAIL and not given_up)
        if trial.state == TrialState.COMPLETE:
            try:
                values = outcomes(trial.value, f"trial {trial.number}: value")
            except InvalidInput as trouble:
                warnings.warn(f"{trouble}; it counts as failed", stacklevel=2)
                failed = True
        return Trial(trial.number, decision, context, values, failed, expired=given_up)

    def _believable(self, trial: FrozenTrial) -> Row | None:
        """The context, or None with a warning where a trial is over and has none that fits."""
        hint = f"it waits for `sampler.tell_context(study, {trial.number}, {{...}})`"
        try:
            context = self.context(trial)
        except InvalidInput as trouble:
            warnings.warn(f"{trouble}; {hint}", stacklevel=2)
            return None
        if context is None and trial.state == TrialState.COMPLETE:
            warnings.warn(f"trial {trial.number} has no context; {hint}", stacklevel=2)
        return context

    def _decided(self, trial: FrozenTrial) -> Row:
        """The values of the parameters; nothing as long as one is missing."""
        values = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
        return values if all(name in values for name in self.known) else {}

    def _decision(self, trial: FrozenTrial) -> Row | None:
        """What was decided; a trial that is over must have decided all there is to decide, and nothing else."""
        if trial.state == TrialState.COMPLETE:
            names = sorted(_open(trial))
            where = f"AllweatherSampler: the parameters of trial {trial.number}"
            require(names == sorted(self.known), where, f"be {sorted(self.known)}, as in every other trial", names)
        values = self._decided(trial)
        try:
            return decision_of(self.known, values, trial.number) if values else None
        except InvalidInput as trouble:
            warnings.warn(f"{trouble}: nothing is learned of it", stacklevel=2)
            return None


def learned(theirs: Sequence[FrozenTrial]) -> dict[str, Parameter]:
    """The parameters of complete trials, which must have the same ones."""
    complete = [trial for trial in theirs if trial.state == TrialState.COMPLETE]
    if not complete:
        return {}
    number, there = complete[0].number, _open(complete[0])
    for trial in complete[1:]:
        here = _open(trial)
        for name in sorted({*here, *there}):
            where = f"AllweatherSampler: parameter {name!r}"
            trials = f"trials {number} and {trial.number}"
            requirement = f"be the same in {trials} (`search_space=...` may say a range for all)"
            require(here.get(name) == there.get(name), where, requirement, (there.get(name), here.get(name)))
    return parameters(there)


def _open(trial: FrozenTrial) -> dict[str, BaseDistribution]:
    """The parameters of a trial that had more than one value to choose from."""
    return {name: each for name, each in trial.distributions.items() if not each.single()}
