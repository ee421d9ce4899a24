"""The control sets of a study, their costs and the budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Literal, Self, get_args

from allweather._utils.registry import unknown
from allweather.errors import require, require_number
from allweather.methods.control.rules import Rule
from allweather.methods.control.sets import ControlSet
from allweather.space import Space
from allweather.space.variables import Context

Names = str | tuple[str, ...]
Leftover = Literal["stop", "spend"]


@dataclass(frozen=True, eq=False)
class Control:
    """The available control sets, and the budget of all trials together.

    Example:
        >>> Control({"ph": 0.1, ("ph", "nh3"): 0.2}, budget=50).sets
        (ControlSet(ph; cost 0.1), ControlSet(ph, nh3; cost 0.2))
    """

    sets: Mapping[Names, float] | Sequence[ControlSet]
    """Control sets, or a mapping from controlled variables to cost."""
    budget: float | None = None
    """The total budget; unlimited if not given."""
    rule: Rule | None = None
    """How to choose among the sets: the method's rule, or `CostAdaptive()`, if not given."""
    leftover: Leftover = "stop"
    """What happens when the rule chooses a set that the rest of the budget does not pay for: the study is over, as in
    the paper (Sec. 3), or the rest is spent on the sets that it pays for."""

    def __post_init__(self) -> None:
        given = self.sets
        if isinstance(given, Mapping):
            chosen = tuple(ControlSet(names, cost) for names, cost in given.items())  # type: ignore[arg-type]
        else:
            several = isinstance(given, Sequence) and all(isinstance(each, ControlSet) for each in given)
            require(several, "Control(sets=...)", "be costs by variables, or control sets", given)
            chosen = tuple(given)
        require(len(chosen) > 0, "Control(sets=...)", "hold at least one control set", given)
        for each in chosen:
            require_number(each.cost, f"Control(sets=...) {', '.join(each.variables)}", above=0)
        distinct = {frozenset(each.variables) for each in chosen}
        require(len(distinct) == len(chosen), "Control(sets=...)", "name each set of variables once", chosen)
        if self.budget is not None:
            require_number(self.budget, "Control(budget=...)", above=0)
        fits = self.rule is None or isinstance(self.rule, Rule)
        require(fits, "Control(rule=...)", "be a rule such as CostAdaptive()", self.rule)
        require(self.leftover in get_args(Leftover), "Control(leftover=...)", "be 'stop' or 'spend'", self.leftover)
        object.__setattr__(self, "sets", chosen)

    @classmethod
    def every(
        cls,
        names: Sequence[str],
        cost: Callable[[tuple[str, ...]], float],
        budget: float | None = None,
        rule: Rule | None = None,
        leftover: Leftover = "stop",
    ) -> Self:
        """Return all non-empty subsets of the variables, each with the cost that `cost` returns.

        Example:
            >>> len(Control.every(["ca", "b", "ph"], cost=lambda names: 0.1 * len(names)).sets)
            7
        """
        require(callable(cost), "Control.every(cost=...)", "be a function of the variables", cost)
        listed = isinstance(names, Sequence) and not isinstance(names, str)
        require(listed, "Control.every(names=...)", "be a list of names", names)
        subsets = chain.from_iterable(combinations(names, size) for size in range(1, len(names) + 1))
        return cls([ControlSet(subset, cost(subset)) for subset in subsets], budget, rule, leftover)

    def on(self, space: Space) -> tuple[ControlSet, ...]:
        """Return the sets, checked against the variables of a space and in their order."""
        ordered = []
        for each in self.sets:
            assert isinstance(each, ControlSet)
            for name in each.variables:
                if name not in space.variables:
                    raise unknown(f"Control(sets=...) in {each!r}", name, space.variables)
                free = not isinstance(space.variables[name], Context)
                require(free, f"Control(sets=...) in {each!r}", "name no Context, which nobody decides", name)
            names = tuple(name for name in space.variables if name in each.variables)
            ordered.append(ControlSet(names, each.cost))
        return tuple(ordered)
