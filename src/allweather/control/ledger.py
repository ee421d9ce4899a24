"""What was played and paid so far, kept exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from allweather.control.sets import ControlSet, exact
from allweather.errors import BudgetSpent


@dataclass(frozen=True, eq=False)
class Ledger:
    """Plays by control set, and the budget; costs are added as they are written, so that nothing is lost.

    Example:
        >>> ledger = Ledger.of([ControlSet(("ph",), 0.1)], budget=1000, played=[(("ph",), 0.1)] * 9_999)
        >>> ledger.spent, float(ledger.left), ledger.plays[("ph",)]
        (Fraction(9999, 10), 0.1, 9999)
    """

    sets: tuple[ControlSet, ...]
    budget: Fraction | None
    spent: Fraction
    plays: Counter[tuple[str, ...]]
    lowest: float = 0.0
    """The worst outcome so far, larger being better."""

    @classmethod
    def of(
        cls,
        sets: Sequence[ControlSet],
        budget: float | None,
        played: Iterable[tuple[tuple[str, ...], float]],
        lowest: float = 0.0,
    ) -> Ledger:
        """From the variables and the cost of every play."""
        listed = list(played)
        spent = sum((exact(cost) for _, cost in listed), Fraction(0))
        plays = Counter(variables for variables, _ in listed)
        return cls(tuple(sets), None if budget is None else exact(budget), spent, plays, lowest)

    @property
    def left(self) -> Fraction | None:
        """What is left of the budget."""
        return None if self.budget is None else self.budget - self.spent

    @property
    def step(self) -> int:
        """The number of the coming play, from 1."""
        return sum(self.plays.values()) + 1

    @property
    def affordable(self) -> list[ControlSet]:
        """The sets that can still be paid for; none left is an error that says so."""
        left = self.left
        sets = [each for each in self.sets if left is None or each.exact_cost <= left]
        if not sets:
            cheapest = min(each.cost for each in self.sets)
            raise BudgetSpent(
                f"the budget of {float(self.budget or 0):g} is spent: {float(self.spent):g} in {self.step - 1} plays, "
                f"{float(left or 0):g} is left and the cheapest control set costs {cheapest:g}"
            )
        return sets
