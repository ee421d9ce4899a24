"""What an Ax experiment wants of its metrics: one objective or several, and outcome constraints."""

from __future__ import annotations

from collections.abc import Mapping

from ax.core.experiment import Experiment
from ax.core.optimization_config import OptimizationConfig
from ax.core.outcome_constraint import OutcomeConstraint
from ax.core.types import ComparisonOp

from allweather.errors import require
from allweather.integrations.ax.parameters import WHERE
from allweather.integrations.options import Given, chosen_outcome
from allweather.objectives import AtLeast, AtMost, Maximize, Minimize, Objective, Outcome


def require_supported(experiment: Experiment) -> OptimizationConfig:
    """Return what an experiment wants; settings that the node would ignore raise `InvalidInput`."""
    config = experiment.optimization_config
    require(config is not None, WHERE, "have an experiment with an objective", None)
    assert config is not None
    objective = config.objective
    require(not objective.is_scalarized_objective, WHERE, "have objectives of one metric each", objective)
    scaled = [weight for _, weight in objective.metric_weights if abs(weight) != 1]
    require(not scaled, WHERE, "have an objective without weights", objective)
    require(not config.is_bope_problem, WHERE, "have no preference experiment, which it would ignore", config)
    for limit in config.all_constraints:
        alone = len(limit.metric_names) == 1 and abs(limit.metric_weights[0][1]) == 1
        require(alone, WHERE, "have outcome constraints on one metric each, without weights", limit)
        require(not limit.relative, WHERE, "have outcome constraints without a baseline", limit)
    names = [name for limit in config.outcome_constraints for name in limit.metric_names]
    twice = sorted({name for name in names if names.count(name) > 1 or name in objective.metric_names})
    require(not twice, WHERE, "have one outcome constraint for each metric, and none on an objective", twice)
    target = getattr(config, "pruning_target_parameterization", None)
    require(target is None, WHERE, "have no pruning target, which it would ignore", target)
    others = experiment.auxiliary_experiments_by_purpose
    require(not others, WHERE, "have no auxiliary experiments, which it would ignore", list(others))
    return config


def wanted_outcomes(config: OptimizationConfig, given: Given, measure: Objective) -> dict[str, Outcome]:
    """Return what is wanted of each metric, the objectives first.

    Args:
        config: of the experiment.
        given: how contexts count in some of them; elsewhere limits hold on average.
        measure: the uncertainty objective of the objectives.
    """
    said = given or {}
    found: dict[str, Outcome] = {}
    weights = [weight for _, weight in config.objective.metric_weights]
    for name, weight in zip(config.objective.metric_names, weights, strict=True):
        kind = Minimize if weight < 0 else Maximize
        found[name] = chosen_outcome(said, name, kind(measure), WHERE, "the experiment")
    for limit in config.outcome_constraints:
        found[limit.metric_names[0]] = _limit(limit, said)
    strange = sorted(set(said) - set(found))
    requirement = f"name objectives and outcome constraints of the experiment: {', '.join(found)}"
    require(not strange, f"{WHERE}(outcomes=...)", requirement, strange)
    return found


def reference_point(config: OptimizationConfig) -> dict[str, float] | None:
    """Return the objective thresholds of an experiment, where every objective has one."""
    found = {name: _bound(limit) for limit in config.objective_thresholds for name in limit.metric_names}
    return found if set(found) == set(config.objective.metric_names) else None


def _limit(limit: OutcomeConstraint, said: Mapping[str, Outcome]) -> Outcome:
    upward = (limit.op == ComparisonOp.GEQ) == (limit.metric_weights[0][1] > 0)
    kind = AtLeast if upward else AtMost
    return chosen_outcome(said, limit.metric_names[0], kind(_bound(limit)), WHERE, "the experiment")


def _bound(limit: OutcomeConstraint) -> float:
    return float(limit.bound) * (1 if limit.metric_weights[0][1] > 0 else -1)
