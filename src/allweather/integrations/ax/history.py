"""Translation of the trials of an Ax experiment, whose contexts are metrics; nothing is cached."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ax.core.base_trial import BaseTrial
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.core.trial_status import TrialStatus

from allweather.errors import InvalidInput, require
from allweather.integrations.ax.metrics import reference_point, require_supported, wanted_outcomes
from allweather.integrations.ax.parameters import WHERE, Decisions
from allweather.integrations.options import Given
from allweather.objectives import Expectation, Objective, Outcome
from allweather.space import Space
from allweather.space.variables import Context, Integer, Real, Variable
from allweather.trials import Row, Trial, outcomes, plain
from allweather.trials.reported_values import standard_errors
from allweather.trials.results import Result

Metrics = Mapping[str, float]
CONTEXT = "allweather context"
"""Name of the context that was chosen for an arm, in the metadata of its generator run."""
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
    wanted: Mapping[str, Outcome]
    """What is wanted of the metrics that count."""
    reported: Mapping[tuple[int, str], Metrics]
    """Metrics by trial index and arm name."""
    errors: Mapping[tuple[int, str], Metrics]
    """Standard errors of metrics that are no contexts, likewise, where they are known."""
    point: Mapping[str, float] | None = None
    """The thresholds of several objectives, where all have one."""
    said: bool = False
    """Whether the node was told how contexts count in metrics."""

    @classmethod
    def from_experiment(
        cls,
        experiment: Experiment,
        data: Data,
        contexts: Space,
        outcomes: Given = None,
        measure: Objective | None = None,
    ) -> TrialHistory:
        """Return the history of an experiment; settings that the node would ignore raise `InvalidInput`.

        Args:
            experiment: with one objective or several, and outcome constraints.
            data: its metrics.
            contexts: the contexts, which are metrics.
            outcomes: how contexts count in some metrics.
            measure: the uncertainty objective of the objectives.
        """
        config = require_supported(experiment)
        decisions = Decisions.of(experiment.search_space)
        wanted = wanted_outcomes(config, outcomes, measure or Expectation())
        for name in contexts.variables:
            known = name in decisions.variables or name in wanted
            require(not known, f"{WHERE}(space=...)", "not name a context like a parameter or the objective", name)
        reported, errors = _reported(data, wanted, contexts)
        point, said = reference_point(config), bool(outcomes)
        return cls(experiment, decisions, contexts, wanted, reported, errors, point, said)

    @property
    def outcomes(self) -> Mapping[str, Outcome] | None:
        """What is wanted of several metrics, or of one by name; None where there is one objective only."""
        return None if len(self.wanted) == 1 and not self.said else self.wanted

    @property
    def space(self) -> Space:
        """Decisions and contexts."""
        return Space(**self.decisions.variables, **self.contexts.variables)

    @property
    def direction(self) -> str:
        """Of the first objective: `maximize` or `minimize`."""
        return "minimize" if next(iter(self.wanted.values())).sign < 0 else "maximize"

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
        said = any(name in metrics for name in self.contexts.variables)
        chosen = None if said else self.chosen_context(trial.index, arm)
        context = self._context(metrics, trial.index, complete) if chosen is None else chosen
        found = {name: self._result(name, metrics, trial.index, arm) for name in self.wanted} if complete else {}
        avoided = trial.status in AVOIDED or (trial.status.is_completed and not complete)
        if self.outcomes is None:
            value = next(iter(found.values()), Result(failed=avoided))
            told = {"values": value.values, "sds": value.sds, "failed": value.failed}
        else:
            failed = all(each.failed for each in found.values()) if found else avoided
            told = {"results": found or {name: Result() for name in self.wanted}, "failed": failed}
        return Trial(number, decision, context, expired=not complete and trial.status in GIVEN_UP, **told)  # type: ignore[arg-type]

    def chosen_context(self, index: int, arm: str) -> Row | None:
        """Return the context that the node chose for an arm, or None if it did not choose any.

        Args:
            index: of the trial.
            arm: its name.
        """
        trial = self.experiment.trials[index]
        signatures = {each.signature for each in trial.arms if each.name == arm}
        for run in trial.generator_runs:
            for signature, said in (run.candidate_metadata_by_arm_signature or {}).items():
                chosen = (said or {}).get(CONTEXT)
                if signature in signatures and isinstance(chosen, Mapping):
                    return plain(chosen)
        return None

    def _result(self, name: str, metrics: Metrics, index: int, arm: str) -> Result:
        """Return a metric as a result: without a value as long as it is missing, failed if it is no finite number."""
        if not self._has(name, metrics, index):
            return Result()
        try:
            values = outcomes(metrics[name], f"{WHERE}: metric of trial {index}")
        except InvalidInput as error:
            warnings.warn(f"{error}; it is treated as failed; {_remedy(index)}", stacklevel=2)
            return Result(failed=True)
        sem = self.errors.get((index, arm), {}).get(name)
        return Result(values, standard_errors(sem, values, f"{WHERE}: standard error of trial {index}"))

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
            others = sorted(set(self.experiment.metrics) - {*self.wanted, *self.contexts.variables})
            listed = f"; other metrics are {', '.join(map(repr, others))}" if others else ""
            lacks = f"trial {index} is complete but lacks the metric {name!r}{listed}"
            warnings.warn(f"{lacks}; it is treated as pending; {_remedy(index)}", stacklevel=2)
        return name in metrics


def _remedy(index: int) -> str:
    return f"`client.attach_data({index}, {{...}})` reports it"


def _reported(
    data: Data, wanted: Collection[str], contexts: Space
) -> tuple[dict[tuple[int, str], dict[str, float]], dict[tuple[int, str], dict[str, float]]]:
    """Return the latest value of each metric by trial and arm, and the standard errors of those that are wanted."""
    found: dict[tuple[int, str], dict[str, float]] = {}
    errors: dict[tuple[int, str], dict[str, float]] = {}
    table = data.df
    if "step" in table:
        table = table.sort_values("step", kind="stable", na_position="first")
    for row in table.to_dict("records"):
        name, index, sem = row["metric_name"], int(row["trial_index"]), row["sem"]
        if name not in wanted and name not in contexts.variables:
            continue
        place = (index, str(row["arm_name"]))
        known = sem is not None and math.isfinite(sem) and sem > 0  # Ax writes 0 for data without noise, or by habit
        if name in wanted:
            errors.setdefault(place, {}).pop(name, None)
            errors[place] |= {name: _as_saved(float(sem))} if known else {}
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
