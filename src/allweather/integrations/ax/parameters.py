"""Translation of Ax search spaces to variables and linear constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ax.core.parameter import (
    ChoiceParameter,
    DerivedParameter,
    FixedParameter,
    Parameter,
    ParameterType,
    RangeParameter,
)
from ax.core.search_space import SearchSpace

from allweather.errors import require
from allweather.integrations.options import require_names
from allweather.integrations.translation import Translation, number, options, ordered_values, whole_number
from allweather.space.constraints import LinearConstraint
from allweather.space.variables import Variable
from allweather.trials import Row

WHERE = "AllweatherNode"


@dataclass(frozen=True, eq=False)
class Decisions:
    """The tunable parameters of a search space as decisions, with their constraints."""

    space: SearchSpace
    translations: Mapping[str, Translation]
    constraints: tuple[LinearConstraint, ...]

    @classmethod
    def of(cls, space: SearchSpace) -> Decisions:
        """Return the decisions of a search space; parameters that cannot be translated raise `InvalidInput`."""
        require(not space.is_hierarchical, WHERE, "have a search space without conditional parameters", space)
        require_names(space.tunable_parameters, WHERE)
        tunable = {name: translate(each) for name, each in space.tunable_parameters.items()}
        limits = []
        for each in space.parameter_constraints:
            coefficients = dict(each.constraint_dict)
            plain = all(_is_plain(space.parameters[name]) for name in coefficients)
            require(plain, WHERE, "have constraints on range parameters of a linear scale only", each)
            limits.append(LinearConstraint(coefficients, upper=float(each.bound)))
        return cls(space, tunable, tuple(limits))

    @property
    def variables(self) -> dict[str, Variable]:
        """The decision variables by name."""
        return {name: each.variable for name, each in self.translations.items()}

    def ours(self, values: Mapping[str, Any]) -> Row | None:
        """Return a parameterization as a decision, or None if it is outside of the search space."""
        try:
            decision = {name: each.ours(values[name]) for name, each in self.translations.items()}
            for name, each in self.translations.items():
                each.variable.encode(decision[name], name)
        except (KeyError, TypeError, ValueError):
            return None
        return decision

    def theirs(self, decision: Row) -> dict[str, Any]:
        """Return a decision as a parameterization, with fixed and derived parameters."""
        values = {name: each.theirs(decision[name]) for name, each in self.translations.items()}
        rest = self.space.nontunable_parameters
        values |= {name: each.value for name, each in rest.items() if isinstance(each, FixedParameter)}
        values |= {n: each.compute(dict(values)) for n, each in rest.items() if isinstance(each, DerivedParameter)}
        return {name: values[name] for name in self.space.parameters}


def translate(parameter: Parameter) -> Translation:
    """Return the translation of a parameter.

    Example:
        >>> translate(RangeParameter("x", ParameterType.FLOAT, 0.0, 2.0)).variable
        Real(lower=0.0, upper=2.0, log=False)
    """
    where = f"{WHERE}: parameter {parameter.name!r}"
    for trait in ("is_fidelity", "is_task", "logit_scale", "is_disabled"):
        kind = trait.removeprefix("is_").replace("_", " ")
        require(not getattr(parameter, trait, False), where, f"not be of the kind `{kind}`", parameter)
    if isinstance(parameter, ChoiceParameter):
        values, kinds = parameter.values, (ParameterType.INT, ParameterType.FLOAT)
        if parameter.is_ordered and parameter.parameter_type in kinds:
            return ordered_values(sorted(values))  # type: ignore[arg-type]
        return options(values, list(values).index)
    known = isinstance(parameter, RangeParameter)
    require(known, where, "be a range or a choice", parameter)
    assert isinstance(parameter, RangeParameter)
    require(parameter.digits is None, where, "not be rounded to digits", parameter, "give it a step size instead")
    if parameter.parameter_type == ParameterType.INT:
        return whole_number(int(parameter.lower), int(parameter.upper), parameter.log_scale)
    return number(float(parameter.lower), float(parameter.upper), parameter.log_scale)


def _is_plain(parameter: Parameter) -> bool:
    return isinstance(parameter, RangeParameter) and not parameter.log_scale
