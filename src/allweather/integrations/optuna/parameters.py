"""Translation of Optuna distributions to variables."""

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
    """A distribution and its translation."""

    distribution: BaseDistribution
    translation: Translation


def translate(name: str, distribution: BaseDistribution) -> Translation:
    """Return the translation of a distribution.

    Args:
        name: of the parameter, for errors.
        distribution: float, integer or categorical.

    Example:
        >>> half = translate("size", FloatDistribution(0, 2, step=0.5))
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
    """Return the parameters with more than one value."""
    require_names(distributions, "AllweatherSampler")
    for name, each in distributions.items():
        where = f"AllweatherSampler: parameter {name!r}"
        require(isinstance(each, BaseDistribution), where, "have an Optuna distribution", each)
    return {n: Parameter(each, translate(n, each)) for n, each in distributions.items() if not each.single()}


def decision_of(known: Mapping[str, Parameter], values: Mapping[str, Any], number: int) -> Row:
    """Return the values of a trial as a decision.

    Args:
        known: the parameters.
        values: as Optuna stores them.
        number: of the trial, for errors.
    """
    decision = {}
    for name, each in known.items():
        try:
            decision[name] = each.translation.ours(values[name])
            each.translation.variable.encode(decision[name], name)
        except ValueError as error:
            raise InvalidInput(
                where=f"AllweatherSampler: parameter {name!r} of trial {number}",
                requirement=f"be within {each.distribution}",
                received=values[name],
                remedy="give a wider range by `search_space=...`",
            ) from error
    return decision
