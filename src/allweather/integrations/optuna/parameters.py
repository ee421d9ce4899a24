"""Optuna's distributions as variables, and values on their way there and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from allweather.errors import InvalidInput, require
from allweather.trials import Row
from allweather.variables import Choice, Integer, Real, Value, Variable


@dataclass(frozen=True, eq=False)
class Parameter:
    """A distribution, the variable that stands for it, and the way between their values."""

    distribution: BaseDistribution
    variable: Variable
    ours: Callable[[Any], Value]
    theirs: Callable[[Any], Any]


def parameter(name: str, distribution: BaseDistribution) -> Parameter:
    """The variable of a distribution: steps are counted, options of any kind are chosen among.

    Whole numbers on a logarithmic scale are searched between the whole numbers and rounded.

    Example:
        >>> half = parameter("size", FloatDistribution(0, 2, step=0.5))
        >>> half.variable, half.ours(1.5), half.theirs(3)
        (Integer(lower=0, upper=4), 3, 1.5)
    """
    if isinstance(distribution, CategoricalDistribution):
        return _choice(distribution)
    known = isinstance(distribution, FloatDistribution | IntDistribution)
    requirement = "have a float, integer or categorical distribution"
    require(known, f"AllweatherSampler: parameter {name!r}", requirement, distribution)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, IntDistribution) and distribution.log:
        between = Real(low - 0.5, high + 0.5, log=True)
        return Parameter(distribution, between, float, lambda value: min(max(round(value), int(low)), int(high)))
    if step is None:
        return Parameter(distribution, Real(low, high, distribution.log), float, float)
    if isinstance(distribution, IntDistribution) and step == 1:
        return Parameter(distribution, Integer(int(low), int(high)), int, int)
    whole = int if isinstance(distribution, IntDistribution) else float
    steps = Integer(0, round((high - low) / step))
    return Parameter(
        distribution,
        steps,
        lambda value: round((value - low) / step),
        lambda count: whole(min(low + count * step, high)),
    )


def parameters(distributions: Mapping[str, BaseDistribution]) -> dict[str, Parameter]:
    """The parameters that are to be decided: those with a single value are not."""
    for name, each in distributions.items():
        where = f"AllweatherSampler: parameter {name!r}"
        require(isinstance(each, BaseDistribution), where, "have one of Optuna's distributions", each)
    return {name: parameter(name, each) for name, each in distributions.items() if not each.single()}


def decision_of(known: Mapping[str, Parameter], values: Mapping[str, Any], number: int) -> Row:
    """Optuna's values of a trial as a decision."""
    decision = {}
    for name, each in known.items():
        try:
            decision[name] = each.ours(values[name])
            each.variable.encode(decision[name], name)
        except ValueError as trouble:
            requirement = f"be within {each.distribution}; `search_space=...` may say a wider one"
            said = f"`AllweatherSampler: parameter {name!r} of trial {number}` must {requirement}, got {values[name]!r}"
            raise InvalidInput(said) from trouble
    return decision


def _choice(distribution: CategoricalDistribution) -> Parameter:
    choices = distribution.choices
    names: tuple[Value, ...] = tuple(choices)  # type: ignore[arg-type]
    if None in choices or len(set(choices)) < len(choices):
        names = tuple(repr(choice) for choice in choices)  # 1 and True are equal, their names are not
    return Parameter(
        distribution,
        Choice(*names),
        lambda value: names[int(distribution.to_internal_repr(value))],
        lambda value: choices[names.index(value)],
    )
