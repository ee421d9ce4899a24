"""Translation of the trials of an Ax experiment, whose contexts are metrics; nothing is cached."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from ax.core.base_trial import BaseTrial
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.core.trial_status import TrialStatus

from allweather.errors import InvalidInput, require
from allweather.integrations.ax.parameters import WHERE, Decisions
from allweather.space import Space
from allweather.space.variables import Context, Integer, Real, Variable
from allweather.trials import Row, Trial, outcomes, plain
from allweather.trials.reports import standard_errors

Metrics = Mapping[str, float]
DECIMALS = 10
"""Decimals of metrics in Ax's files."""
AVOIDED = (TrialStatus.ABANDONED, TrialStatus.EARLY_STOPPED)
"""Told as failed: Ax does not run these arms again. Arms that failed may be run again."""
GIVEN_UP = (TrialStatus.FAILED, TrialStatus.STALE)


@dataclass(frozen=True, eq=False)
class TrialHistory:
    """Decisions, contexts and outcomes of an experiment."""

    experiment: Experiment
    decisions: Decisions
    contexts: Space
    objective: str
    """The metric that is optimised."""
    reported: Mapping[tuple[int, str], Metrics]
    """Metrics by trial index and arm name."""
    errors: Mapping[tuple[int, str], float]
    """Standard errors of the objective's metric, likewise, where they are known."""

    @classmethod
    def from_experiment(cls, experiment: Experiment, data: Data, contexts: Space) -> TrialHistory:
        """Return the history of an experiment; settings that the node would ignore raise `InvalidInput`.

        Args:
            experiment: with one objective.
            data: its metrics.
            contexts: the contexts, which are metrics.
        """
        require_supported(experiment)
        decisions = Decisions.of(experiment.search_space)
        config = experiment.optimization_config
        assert config is not None  # checked above
        (objective,) = config.objective.metric_names
        for name in contexts.variables:
            known = name in decisions.variables or name == objective
            require(not known, f"{WHERE}(space=...)", "not name a context like a parameter or the objective", name)
        reported, errors = _reported(data, objective, contexts)
        return cls(experiment, decisions, contexts, objective, reported, errors)

    @property
    def space(self) -> Space:
        """Decisions and contexts."""
        return Space(**self.decisions.variables, **self.contexts.variables)

    @property
    def direction(self) -> str:
        """Of the optimization: `maximize` or `minimize`."""
        config = self.experiment.optimization_config
        assert config is not None
        return "minimize" if config.objective.minimize else "maximize"

    def trials(self) -> list[Trial]:
        """Return one trial per arm inside the search space, in order; others are skipped with a warning."""
        trials: list[Trial] = []
        for index, trial in sorted(self.experiment.trials.items()):
            for arm in trial.arms:
                decision = self.decisions.ours(arm.parameters)
                if decision is None:
                    outside = f"arm {arm.name!r} of trial {index} is outside of the search space"
                    warnings.warn(f"{outside}: it is excluded from the model", stacklevel=2)
                    continue
                trials.append(self._trial(len(trials), trial, arm.name, decision))
        return trials

    def _trial(self, number: int, trial: BaseTrial, arm: str, decision: Row) -> Trial:
        metrics = self.reported.get((trial.index, arm), {})
        complete = trial.status.is_completed and arm not in getattr(trial, "abandoned_arm_names", ())
        context = self._context(metrics, trial.index, complete)
        if not complete:
            avoided = trial.status in AVOIDED or trial.status.is_completed
            return Trial(number, decision, context, failed=avoided, expired=trial.status in GIVEN_UP)
        value = self._value(metrics, trial.index)
        error = self.errors.get((trial.index, arm)) if value else None
        sds = standard_errors(error, value or (), f"{WHERE}: standard error of trial {trial.index}")
        return Trial(number, decision, context, value or (), failed=value is None, sds=sds)

    def _value(self, metrics: Metrics, index: int) -> tuple[float, ...] | None:
        """Return the outcome: empty as long as it is missing, None if it is not a finite number."""
        if not self._has(self.objective, metrics, index):
            return ()
        try:
            return outcomes(metrics[self.objective], f"{WHERE}: metric of trial {index}")
        except InvalidInput as error:
            warnings.warn(f"{error}; it is treated as failed; {_remedy(index)}", stacklevel=2)
            return None

    def _context(self, metrics: Metrics, index: int, complete: bool) -> Row | None:
        """Return the context, or None if it is missing, with a warning for a complete trial."""
        names = self.contexts.variables
        if not all(self._has(name, metrics, index) if complete else name in metrics for name in names):
            return None
        context = {name: _as_value(metrics[name], variable) for name, variable in names.items()}
        try:
            self.contexts.contexts.encode(context)
        except InvalidInput as error:
            warnings.warn(f"trial {index}: {error}; it is treated as pending; {_remedy(index)}", stacklevel=2)
            return None
        return plain(context)

    def _has(self, name: str, metrics: Metrics, index: int) -> bool:
        if name not in metrics:
            others = sorted(set(self.experiment.metrics) - {self.objective, *self.contexts.variables})
            listed = f"; other metrics are {', '.join(map(repr, others))}" if others else ""
            lacks = f"trial {index} is complete but lacks the metric {name!r}{listed}"
            warnings.warn(f"{lacks}; it is treated as pending; {_remedy(index)}", stacklevel=2)
        return name in metrics


def _remedy(index: int) -> str:
    return f"`client.attach_data({index}, {{...}})` reports it"


def require_supported(experiment: Experiment) -> None:
    """Raise `InvalidInput` for settings of an experiment that the node would ignore."""
    config = experiment.optimization_config
    require(config is not None, WHERE, "have an experiment with an objective", None)
    assert config is not None
    objective = config.objective
    require(objective.is_single_objective, WHERE, "have one objective with one metric", objective)
    scaled = [weight for _, weight in objective.metric_weights if abs(weight) != 1]
    require(not scaled, WHERE, "have an objective without weights", objective)
    limits = config.outcome_constraints
    require(not limits, WHERE, "have no outcome constraints, which it would ignore", limits)
    target = getattr(config, "pruning_target_parameterization", None)
    require(target is None, WHERE, "have no pruning target, which it would ignore", target)
    others = experiment.auxiliary_experiments_by_purpose
    require(not others, WHERE, "have no auxiliary experiments, which it would ignore", list(others))


def _reported(
    data: Data, objective: str, contexts: Space
) -> tuple[dict[tuple[int, str], dict[str, float]], dict[tuple[int, str], float]]:
    """Return the latest value of each metric by trial and arm, and the standard errors of the objective's."""
    found: dict[tuple[int, str], dict[str, float]] = {}
    errors: dict[tuple[int, str], float] = {}
    table = data.df
    if "step" in table:
        table = table.sort_values("step", kind="stable", na_position="first")
    for row in table.to_dict("records"):
        name, index, sem = row["metric_name"], int(row["trial_index"]), row["sem"]
        if name != objective and name not in contexts.variables:
            continue
        place = (index, str(row["arm_name"]))
        known = sem is not None and math.isfinite(sem) and sem > 0  # Ax writes 0 for data without noise, or by habit
        if name == objective:
            errors.pop(place, None)
            errors |= {place: _as_saved(float(sem))} if known else {}
        else:
            where = f"{WHERE}: metric {name!r} of trial {index}"
            require(not known, where, "have no standard error, since it is a context", sem)
        found.setdefault(place, {})[name] = _as_saved(float(row["mean"]))
    return found, errors


def _as_value(value: float, variable: Variable) -> float:
    """Return a metric as a value of its variable: an integer, or a number within bounds that Ax rounded."""
    inner = variable.variable if isinstance(variable, Context) else variable
    if isinstance(inner, Integer) and math.isfinite(value) and float(value).is_integer():
        return int(value)
    if isinstance(inner, Real):
        for bound in (inner.lower, inner.upper):
            value = float(bound) if abs(value - bound) <= 10.0**-DECIMALS else value
    return value


def _as_saved(value: float) -> float:
    """Return the number as it comes back from Ax's files, so that a loaded experiment gives the same decisions."""
    return round(value, DECIMALS) if math.isfinite(value) and abs(value) > 1e-4 else value
