"""Translation of VOCS, the problem description of gest-api: decisions, contexts, and what is wanted of each output."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gest_api import vocs as theirs

from allweather.errors import InvalidInput, is_number, require
from allweather.integrations.options import Given, chosen_outcome, only_contexts, require_names
from allweather.integrations.translation import Translation, number, options, ordered_values, whole_number
from allweather.objectives import AtLeast, AtMost, Maximize, Minimize, Objective, Outcome
from allweather.space import Space
from allweather.space.variables import Context, Integer, Real, Variable
from allweather.study.spec import COLUMNS
from allweather.trials import Row

WHERE = "AllweatherGenerator"
VOCS = f"{WHERE}(vocs=...)"
MARGIN = 0.05
"""By how much of their range inferred bounds of contexts exceed what was observed, as in Xopt."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """An outcome of the study: an output of the evaluation, and what is wanted of it."""

    output: str
    outcome: Outcome


@dataclass(frozen=True, eq=False)
class Problem:
    """VOCS in this library's terms."""

    decisions: Mapping[str, Translation]
    """The variables that can be chosen."""
    fixed: Mapping[str, Any]
    """Constants, and variables with a single value."""
    contexts: Mapping[str, Variable | tuple[float, float]]
    """What is observed: a context, or a domain of which at least one bound is infinite."""
    direction: str
    """Of the only outcome."""
    wanted: Mapping[str, Wanted]
    """By outcome of the study."""
    several: bool
    """Whether the study has named outcomes."""

    @classmethod
    def of(cls, vocs: theirs.VOCS, space: Space | None, given: Given, measure: Objective) -> Problem:
        """Return the problem; what the generator would ignore raises `InvalidInput`.

        Args:
            vocs: as the user gave it.
            space: contexts whose bounds or kinds VOCS do not say.
            given: how contexts count in some outcomes; elsewhere constraints hold on average.
            measure: the uncertainty objective of the objectives.
        """
        require(isinstance(vocs, theirs.VOCS), VOCS, "be VOCS of gest-api", vocs)
        contexts = _contexts(vocs, space)
        decided = {name: each for name, each in vocs.variables.items() if name not in contexts}
        require_names([*decided, *contexts], VOCS)
        decisions: dict[str, Translation] = {}
        fixed = {name: each.value for name, each in vocs.constants.items()}
        for name, each in decided.items():
            if isinstance(each, theirs.DiscreteVariable) and len(each.values) == 1:
                fixed[name] = next(iter(each.values))
            else:
                decisions[name] = _translation(name, each)
        require(bool(decisions), VOCS, "have a variable to choose", list(vocs.variables))
        wanted = _wanted(vocs, given or {}, measure, {*decisions, *contexts})
        direction = "minimize" if isinstance(next(iter(wanted.values())).outcome, Minimize) else "maximize"
        return cls(decisions, fixed, contexts, direction, wanted, len(wanted) > 1 or given is not None)

    @property
    def outcomes(self) -> dict[str, Outcome] | None:
        """What is wanted of each outcome; None for a study with one."""
        return {name: each.outcome for name, each in self.wanted.items()} if self.several else None

    def space(self, observed: Sequence[Row]) -> Space:
        """Return decisions and contexts.

        Args:
            observed: contexts so far, from which missing bounds follow.
        """
        variables: dict[str, Variable] = {name: each.variable for name, each in self.decisions.items()}
        for name, each in self.contexts.items():
            variables[name] = _bounded(each, [row[name] for row in observed]) if isinstance(each, tuple) else each
        return Space(**variables)

    def point(self, decision: Row) -> dict[str, Any]:
        """Return a decision as a point of VOCS, with constants."""
        return {**self.fixed, **{name: each.theirs(decision[name]) for name, each in self.decisions.items()}}

    def decision(self, row: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the decision of an evaluated point.

        Args:
            row: an evaluated point.
            where: what errors call it.
        """
        found = {}
        for name, each in self.decisions.items():
            require(name in row, where, f"have the variable {name!r}", sorted(map(str, row)))
            try:
                found[name] = each.ours(_plain(row[name]))
                each.variable.encode(found[name], name)
            except (TypeError, ValueError):
                raise InvalidInput(
                    where=f"{where}[{name!r}]", requirement=f"be within {each.variable}", received=row[name]
                ) from None
        return found

    def context(self, row: Mapping[str, Any], where: str) -> dict[str, Any] | None:
        """Return the context of an evaluated point; None where it was not observed.

        Args:
            row: an evaluated point.
            where: what errors call it.
        """
        found = {name: _plain(row[name]) for name in self.contexts if not missing(row.get(name))}
        if len(found) < len(self.contexts):
            return None
        for name, value in found.items():
            kind = self.contexts[name]
            if isinstance(kind, tuple):
                fits = is_number(value) and math.isfinite(value) and kind[0] <= value <= kind[1]
                require(fits, f"{where}[{name!r}]", f"be a finite number in {list(kind)}", value)
            else:
                inner = kind.variable if isinstance(kind, Context) else kind
                whole = isinstance(inner, Integer) and is_number(value) and float(value).is_integer()
                found[name] = int(value) if whole else value
                kind.encode(found[name], f"{where}[{name!r}]")
        return found


def missing(value: Any) -> bool:
    """Whether an output has no value: absent, None or NaN, as in tables."""
    return value is None or (is_number(value) and math.isnan(value))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _contexts(vocs: theirs.VOCS, space: Space | None) -> dict[str, Variable | tuple[float, float]]:
    """Return the contextual variables, and further contexts that the user declared among the observables."""
    declared = {} if space is None else only_contexts(space, WHERE).variables
    contextual = {name: each for name, each in vocs.variables.items() if isinstance(each, theirs.ContextualVariable)}
    strange = [name for name in declared if name not in contextual and name not in vocs.observables]
    requirement = "name contextual variables or observables of the VOCS"
    require(not strange, f"{WHERE}(space=...)", requirement, strange)
    found: dict[str, Variable | tuple[float, float]] = {}
    for name, each in contextual.items():
        low, high = each.domain
        bounded = math.isfinite(low) and math.isfinite(high)
        found[name] = Context(_translation(name, each).variable) if bounded else (low, high)
    return {**found, **declared}


def _translation(name: str, variable: theirs.BaseVariable) -> Translation:
    where = f"{WHERE}: variable {name!r}"
    if isinstance(variable, theirs.DiscreteVariable):
        values = list(variable.values)
        if all(is_number(value) and not isinstance(value, bool) for value in values):
            return ordered_values(sorted(values))
        values.sort(key=repr)  # sets have no order of their own
        return options(values, values.index)
    require(isinstance(variable, theirs.ContinuousVariable), where, "be continuous, discrete or contextual", variable)
    assert isinstance(variable, theirs.ContinuousVariable)
    try:
        kind = np.dtype(float if variable.dtype is None else variable.dtype)
    except TypeError:
        kind = np.dtype(object)
    low, high = variable.domain
    require(math.isfinite(low) and math.isfinite(high), where, "have finite bounds", variable.domain)
    require(kind.kind in "fiu" and not kind.shape, where, "be a number: `dtype` float or int", variable.dtype)
    return number(low, high) if kind.kind == "f" else whole_number(math.ceil(low), math.floor(high))


def _bounded(domain: tuple[float, float], seen: Sequence[Any]) -> Context:
    """Return a context whose missing bounds follow from the values that were seen."""
    least, most = (min(seen), max(seen)) if seen else (0.0, 1.0)
    margin = MARGIN * (most - least) or 1e-3 * max(abs(least), 1.0)
    low, high = domain
    return Context(
        Real(
            low if math.isfinite(low) else min(least, high) - margin,
            high if math.isfinite(high) else max(most, low) + margin,
        )
    )


def _wanted(vocs: theirs.VOCS, said: Mapping[str, Outcome], measure: Objective, taken: set[str]) -> dict[str, Wanted]:
    """Return what is wanted of each outcome, the objectives first."""
    place = "the VOCS"
    found: list[tuple[str, Wanted]] = []
    for name, each in vocs.objectives.items():
        known = isinstance(each, theirs.MaximizeObjective | theirs.MinimizeObjective)
        require(known, VOCS, "have objectives to maximize or minimize", {name: each})
        kind = Minimize if isinstance(each, theirs.MinimizeObjective) else Maximize
        found.append((name, Wanted(name, kind(measure))))
    require(bool(found), VOCS, "have an objective", vocs)
    for name, limit in vocs.constraints.items():
        own = f"{name}_limit" if name in vocs.objectives else name
        if isinstance(limit, theirs.LessThanConstraint):
            found.append((own, Wanted(name, AtMost(limit.value))))
        elif isinstance(limit, theirs.GreaterThanConstraint):
            found.append((own, Wanted(name, AtLeast(limit.value))))
        else:
            known = isinstance(limit, theirs.BoundsConstraint)
            require(known, VOCS, "have constraints LESS_THAN, GREATER_THAN or BOUNDS", {name: limit})
            low, high = limit.range
            found += [(f"{name}_lower", Wanted(name, AtLeast(low))), (f"{name}_upper", Wanted(name, AtMost(high)))]
    named = dict(zip(_names((name for name, _ in found), taken), (each for _, each in found), strict=True))
    strange = sorted(set(said) - set(named))
    require(not strange, f"{WHERE}(outcomes=...)", f"name outcomes: {', '.join(named)}", strange)
    chosen = {name: chosen_outcome(said, name, each.outcome, WHERE, place) for name, each in named.items()}
    return {name: replace(each, outcome=chosen[name]) for name, each in named.items()}


def _names(names: Iterable[str], taken: set[str]) -> list[str]:
    """Return identifiers, since control systems name outputs like `BPM:X`; one that is in use has a `_` at its end."""
    used, found = {*taken, *COLUMNS}, []
    for name in names:
        own = re.sub(r"\W", "_", name)
        own = own if own.isidentifier() else f"_{own}"
        while own in used:
            own += "_"
        used.add(own)
        found.append(own)
    return found
