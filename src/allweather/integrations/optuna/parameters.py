"""Optuna's distributions as variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from allweather.errors import InvalidInput, require
from allweather.integrations.options import require_names
from allweather.integrations.translation import Translation, number, options, stepped, whole_number
from allweather.trials import Row


@dataclass(frozen=True, eq=False)
class Parameter:
    """A distribution, and what stands for it."""

    distribution: BaseDistribution
    translation: Translation


def translated(name: str, distribution: BaseDistribution) -> Translation:
    """The variable of a distribution: steps are counted, options of any kind are chosen among.

    Example:
        >>> half = translated("size", FloatDistribution(0, 2, step=0.5))
        >>> half.variable, half.ours(1.5), half.theirs(3)
        (Integer(lower=0, upper=4), 3, 1.5)
    """
    if isinstance(distribution, CategoricalDistribution):
        return options(distribution.choices, lambda value: int(distribution.to_internal_repr(value)))
    if isinstance(distribution, IntDistribution):
        low, high, step = distribution.low, distribution.high, distribution.step
        return stepped(low, high, step) if step > 1 else whole_number(low, high, distribution.log)
    known = isinstance(distribution, FloatDistribution)
    requirement = "have a float, integer or categorical distribution"
    require(known, f"AllweatherSampler: parameter {name!r}", requirement, distribution)
    assert isinstance(distribution, FloatDistribution)
    if distribution.step is None:
        return number(distribution.low, distribution.high, distribution.log)
    return stepped(distribution.low, distribution.high, distribution.step)


def parameters(distributions: Mapping[str, BaseDistribution]) -> dict[str, Parameter]:
    """The parameters that are to be decided: those with a single value are not."""
    require_names(distributions, "AllweatherSampler")
    for name, each in distributions.items():
        where = f"AllweatherSampler: parameter {name!r}"
        require(isinstance(each, BaseDistribution), where, "have one of Optuna's distributions", each)
    return {n: Parameter(each, translated(n, each)) for n, each in distributions.items() if not each.single()}


def decision_of(known: Mapping[str, Parameter], values: Mapping[str, Any], number: int) -> Row:
    """Optuna's values of a trial as a decision."""
    decision = {}
    for name, each in known.items():
        try:
            decision[name] = each.translation.ours(values[name])
            each.translation.variable.encode(decision[name], name)
        except ValueError as trouble:
            requirement = f"be within {each.distribution}; `search_space=...` may say a wider one"
            said = f"`AllweatherSampler: parameter {name!r} of trial {number}` must {requirement}, got {values[name]!r}"
            raise InvalidInput(said) from trouble
    return decision
