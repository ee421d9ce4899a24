"""Trials and costs so far, in exact arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from allweather.errors import BudgetSpent
from allweather.methods.control.sets import ControlSet, exact


@dataclass(frozen=True, eq=False)
class Ledger:
    """Trials by control set, and the budget; costs are exact decimal fractions, so sums do not round.

    Example:
        >>> ledger = Ledger.of([ControlSet(("ph",), 0.1)], budget=1000, played=[(("ph",), 0.1)] * 9_999)
        >>> ledger.spent, float(ledger.left), ledger.plays[frozenset({"ph"})]
        (Fraction(9999, 10), 0.1, 9999)
    """

    sets: tuple[ControlSet, ...]
    budget: Fraction | None
    spent: Fraction
    plays: Counter[frozenset[str]]
    lowest: float = 0.0
    """The worst outcome so far, larger being better."""
    spend: bool = False
    """Whether the end of the budget is spent on the sets that it pays for, see `Control.leftover`."""

    @classmethod
    def of(
        cls,
        sets: Sequence[ControlSet],
        budget: float | None,
        played: Iterable[tuple[Iterable[str], float]],
        lowest: float = 0.0,
        spend: bool = False,
    ) -> Ledger:
        """Build a ledger from the decision and the cost of every trial."""
        listed = list(played)
        spent = sum((exact(cost) for _, cost in listed), Fraction(0))
        plays = Counter(frozenset(variables) for variables, _ in listed)
        return cls(tuple(sets), None if budget is None else exact(budget), spent, plays, lowest, spend)

    @property
    def left(self) -> Fraction | None:
        """The remaining budget."""
        return None if self.budget is None else self.budget - self.spent

    @property
    def dearest(self) -> Fraction:
        """The cost of the most expensive set: the unit in which rules measure."""
        return max(each.exact_cost for each in self.sets)

    @property
    def step(self) -> int:
        """The number of the coming trial, from 1."""
        return sum(self.plays.values()) + 1

    @property
    def eligible(self) -> list[ControlSet]:
        """The sets to choose from: all, or those that can be paid for; raises `BudgetSpent` if none of them can be."""
        affordable = self.affordable
        return affordable if self.spend else list(self.sets)

    def check(self, chosen: ControlSet) -> None:
        """Raise `BudgetSpent` if the remaining budget does not pay for a set.

        Args:
            chosen: the set of the coming trial.
        """
        left = self.left
        if left is not None and chosen.exact_cost > left:
            raise BudgetSpent(
                f"the budget of {_short(self.budget)} does not pay for the chosen {chosen!r}: {_short(self.spent)} in "
                f"{self.step - 1} plays, {_short(left)} is left; `Control(leftover='spend')` goes on with cheaper sets"
            )

    @property
    def affordable(self) -> list[ControlSet]:
        """The sets that the remaining budget allows; raises `BudgetSpent` if there are none."""
        left = self.left
        sets = [each for each in self.sets if left is None or each.exact_cost <= left]
        if not sets:
            cheapest = min(each.cost for each in self.sets)
            said = "is spent" if self.spent else "pays for nothing"
            raise BudgetSpent(
                f"the budget of {_short(self.budget)} {said}: {_short(self.spent)} in {self.step - 1} plays, "
                f"{_short(left)} is left and the cheapest control set costs {cheapest:.12g}"
            )
        return sets


def _short(number: Fraction | None) -> str:
    return f"{float(number or 0):.12g}"
