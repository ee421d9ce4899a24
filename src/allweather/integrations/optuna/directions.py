"""Several outcomes of an Optuna study: its objectives, one for each direction, and its constraints."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from allweather.errors import InvalidInput, require
from allweather.objectives import AtMost, Maximize, Minimize, Objective, Outcome
from allweather.trials.reported_values import outcomes, standard_errors
from allweather.trials.results import Result, Results

CONSTRAINTS = "constraints"
"""System attribute of a trial that holds its constraints; or their prefix, where they have names."""
WHERE = "AllweatherSampler"
Limits = AtMost | Mapping[str, AtMost] | None
"""How constraints must hold: all alike, or by name."""


@dataclass(frozen=True, eq=False)
class SeveralOutcomes:
    """Names of the objectives and constraints, and what is wanted of each."""

    objectives: Mapping[str, Outcome]
    """In the order of the study's directions."""
    limits: Mapping[str, tuple[str, Outcome]]
    """By the constraint's key in Optuna: the name of the outcome, and how it must hold."""

    @property
    def wanted(self) -> dict[str, Outcome]:
        """What is wanted of each outcome, by name."""
        return {**self.objectives, **dict(self.limits.values())}

    @property
    def waiting(self) -> Results:
        """The results of a trial of which nothing is known."""
        return {name: Result() for name in self.wanted}

    def results(self, trial: FrozenTrial) -> Results:
        """Return what is known of each outcome of a finished trial; what is missing of a complete one is waited for."""
        found = dict[str, Result]()
        complete = trial.state == TrialState.COMPLETE
        values: Sequence[Any] = trial.values if complete and trial.values else [None] * len(self.objectives)
        for name, value in zip(self.objectives, values, strict=True):
            found[name] = _result(trial, name, value)
        told = constraints_of(trial)
        for key, (name, _) in self.limits.items():
            if key not in told and complete:
                warnings.warn(f"trial {trial.number} has no constraint {key!r}, which is waited for", stacklevel=2)
            found[name] = Result() if key not in told and complete else _result(trial, name, told.get(key))
        return found


def several_outcomes(
    study: optuna.Study, theirs: Sequence[FrozenTrial], objectives: Sequence[Objective], limits: Limits
) -> SeveralOutcomes | None:
    """Return the outcomes of a study, or None where it has one objective and no constraints.

    Args:
        study: the study.
        theirs: its trials.
        objectives: the uncertainty objective of all directions, or one for each.
        limits: how constraints must hold.
    """
    keys = {key for trial in theirs for key in constraints_of(trial)} | set(
        limits if isinstance(limits, Mapping) else ()
    )
    if not keys and len(study.directions) == 1:
        return None
    count = len(study.directions)
    where, requirement = f"{WHERE}(objectives=...)", f"be one for each of the {count} directions"
    require(len(objectives) in (1, count), where, requirement, list(objectives))
    measures = list(objectives) * (count if len(objectives) == 1 else 1)
    kinds = [Minimize if each == StudyDirection.MINIMIZE else Maximize for each in study.directions]
    given = study.metric_names or [""] * count
    names = [name if name.isidentifier() else f"objective_{place}" for place, name in enumerate(given)]
    wanted = {name: kind(measure) for name, kind, measure in zip(names, kinds, measures, strict=True)}
    bounds = {key: (f"constraint_{_identifier(key)}", _limit(limits, key)) for key in sorted(keys)}
    alike = len({*wanted, *(name for name, _ in bounds.values())}) < count + len(bounds)
    require(not alike, WHERE, "have objectives and constraints whose names differ by letters and digits", sorted(keys))
    return SeveralOutcomes(wanted, bounds)


def check_limits(limits: Any) -> None:
    """Refuse what does not say how constraints must hold."""
    where, remedy = f"{WHERE}(limits=...)", "a constraint of Optuna is kept where its value is at most 0"
    wanted = "be AtMost(0, ...) for all constraints, or one for each by name"
    for each in limits.values() if isinstance(limits, Mapping) else [limits]:
        fits = each is None or (type(each) is AtMost and each.threshold == 0)
        require(fits, where, wanted, limits, remedy)


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """Return the constraints of a trial by name; those of a `constraints_func` are counted from 0."""
    attributes = trial.system_attrs
    listed = {str(place): value for place, value in enumerate(attributes.get(CONSTRAINTS) or ())}
    prefix = f"{CONSTRAINTS}:"
    return listed | {key.removeprefix(prefix): each for key, each in attributes.items() if key.startswith(prefix)}


def standard_error_of(trial: FrozenTrial, name: str) -> Any:
    """Return the standard error of an outcome among those that a trial gives by name as its attribute `sd`."""
    given = trial.user_attrs.get("sd")
    where = 'trial.set_user_attr("sd", ...)'
    require(given is None or isinstance(given, Mapping), where, f'be given by name, such as {{"{name}": 0.1}}', given)
    return None if given is None else given.get(name)


def _identifier(key: str) -> str:
    return re.sub(r"\W", "_", key)


def _limit(limits: Limits, key: str) -> AtMost:
    chosen = limits.get(key) if isinstance(limits, Mapping) else limits
    return AtMost(0.0) if chosen is None else chosen


def _result(trial: FrozenTrial, name: str, value: Any) -> Result:
    if value is None:
        return Result(failed=True)
    where = f"trial {trial.number}: {name}"
    try:
        values = outcomes(value, where)
        return Result(values, standard_errors(standard_error_of(trial, name), values, f"{where} sd"))
    except InvalidInput as error:
        warnings.warn(f"{error}; it is treated as failed", stacklevel=2)
        return Result(failed=True)
