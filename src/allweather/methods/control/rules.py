"""Rules that choose among control sets, from the best decision and its score for each (subsets, Sec. 4)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import torch
from torch import Tensor

from allweather._utils.registry import Named
from allweather.acquisition import Acquisition, Belief
from allweather.acquisition.base import Score
from allweather.acquisition.joint import JointBelief, joint_scores
from allweather.acquisition.optimize import Search
from allweather.errors import require, require_count, require_number
from allweather.methods.control.ledger import Ledger
from allweather.methods.control.sets import ControlSet, exact
from allweather.schedules import Progress, Schedule, as_schedule


class Offer(NamedTuple):
    """The best decision of one control set at this step."""

    control: ControlSet
    decision: Tensor  # (d_x,)
    score: float
    logarithmic: bool = False
    """Whether the score is the logarithm of what is gained."""
    function: Score | None = None
    """What was maximised."""
    safe: bool = True
    """In a cautious study: whether the decision keeps all limits with the stated probability."""


class Settled(NamedTuple):
    """The decision made of the best-scored one in a cautious study, and whether it is safe."""

    decision: Tensor  # (d_x,)
    safe: bool


class SideBelief(NamedTuple):
    """One control set with what is believed under it, and the search for its best decision."""

    control: ControlSet
    joint: JointBelief
    search: Search
    settle: Callable[[Tensor], Settled] | None = None
    """In a cautious study: from the decision with the best score to one that is safe."""

    @property
    def belief(self) -> Belief:
        """The belief about the first objective."""
        return self.joint.main


class Rule(Named, ABC):
    """A rule that chooses the control set of the next trial."""

    def eligible(self, ledger: Ledger) -> list[ControlSet]:
        """Return the sets to consider; by default all, or those that can be paid for (`Control.leftover`)."""
        return ledger.eligible

    def choose(self, sides: Sequence[SideBelief], acquisition: Acquisition, ledger: Ledger) -> Offer:
        """Return the next trial: one of the best decisions of each set by the acquisition, a safe one if there is one.

        Args:
            sides: the eligible sets.
            acquisition: scores decisions.
            ledger: trials and costs so far.
        """
        scores = joint_scores(acquisition, [side.joint for side in sides])
        offers = best_of_each(sides, scores, acquisition.logarithmic)
        return self.pick([offer for offer in offers if offer.safe] or offers, ledger)

    @abstractmethod
    def pick(self, offers: Sequence[Offer], ledger: Ledger) -> Offer:
        """One of the offers, which are in the order of the sets."""


def best_of_each(sides: Sequence[SideBelief], scores: Sequence[Score], logarithmic: bool = False) -> list[Offer]:
    """The decision with the best score of each set.

    Args:
        sides: the sets.
        scores: one for each of them.
        logarithmic: whether scores are logarithms of what is gained.
    """
    offers = []
    for side, score in zip(sides, scores, strict=True):
        decision, value = side.search.best(score, side.joint.generator)
        safe = True
        if side.settle is not None:
            decision, safe = side.settle(decision)
            with torch.no_grad():
                value = float(score(decision[None])[0])
        offers.append(Offer(side.control, decision, value, logarithmic, score, safe))
    return offers


@dataclass(frozen=True)
class BestValue(Rule):
    """The set with the best score, whatever it costs: UCB-PSQ, TS-PSQ (Hayashi et al. 2022) and EI-PSQ.

    Example:
        >>> BestValue()
        BestValue()
    """

    def pick(self, offers: Sequence[Offer], ledger: Ledger) -> Offer:
        """The first of the best."""
        return max(offers, key=lambda offer: offer.score)


@dataclass(frozen=True)
class NearBest(Rule):
    """The cheapest set whose score comes within epsilon of the best; among equally cheap ones the best (Alg. 1).

    Sets may be in any order of cost; the published code assumes they are sorted (errata E44).

    Example:
        >>> NearBest(0.0)
        NearBest(epsilon=0.0)
    """

    epsilon: float | Schedule | Callable[[int], float] = 0.0
    """A number, a schedule, or a function of the play's number, which counts from 1."""

    def __post_init__(self) -> None:
        if not callable(self.epsilon):
            require_number(self.epsilon, "NearBest(epsilon=...)", low=0)

    def pick(self, offers: Sequence[Offer], ledger: Ledger) -> Offer:
        """Steps 3 to 6 of the algorithm."""
        epsilon = as_schedule(self.epsilon, "NearBest(epsilon=...)")(Progress(step=ledger.step))
        require(epsilon >= 0, f"NearBest(epsilon=...) at play {ledger.step}", "be at least 0", epsilon)
        best = max(offer.score for offer in offers)
        near = [offer for offer in offers if offer.score + epsilon >= best]
        cheapest = min(offer.control.cost for offer in near)
        return max((offer for offer in near if offer.control.cost == cheapest), key=lambda offer: offer.score)


class Exploring(Rule):
    """Groups of equally cheap sets are played for a while, cheapest first; then the best score counts.

    The most expensive group has no plays of its own.
    """

    @abstractmethod
    def plays_at(self, cost: Fraction, dearest: Fraction) -> int:
        """How often the sets of this cost are played together."""

    def eligible(self, ledger: Ledger) -> list[ControlSet]:
        """The sets of the cheapest group with plays left, or all."""
        eligible = ledger.eligible
        for cost in sorted({each.exact_cost for each in eligible} - {ledger.dearest}):
            played = sum(ledger.plays[each.names] for each in ledger.sets if each.exact_cost == cost)
            if played < self.plays_at(cost, ledger.dearest):
                return [each for each in eligible if each.exact_cost == cost]
        return eligible

    def pick(self, offers: Sequence[Offer], ledger: Ledger) -> Offer:
        """The best score of those that are eligible."""
        return max(offers, key=lambda offer: offer.score)


@dataclass(frozen=True)
class ExploreThenCommit(Exploring):
    """So many plays of each group of equally cheap sets, cheapest first; then the best score (ETC-n, Sec. 4.2).

    Example:
        >>> sets = [ControlSet(("a",), 0.1), ControlSet(("a", "b"), 1.0)]
        >>> ledger = Ledger.of(sets, budget=None, played=[(("a",), 0.1)])
        >>> ExploreThenCommit(2).eligible(ledger), len(ExploreThenCommit(1).eligible(ledger))
        ([ControlSet(a; cost 0.1)], 2)
    """

    plays: int

    def __post_init__(self) -> None:
        require_count(self.plays, "ExploreThenCommit(plays=...)")

    def plays_at(self, cost: Fraction, dearest: Fraction) -> int:
        """The same for all."""
        return self.plays


@dataclass(frozen=True)
class CostAdaptive(Exploring):
    """Explore-then-commit with as many plays of a group as `effort` pays for: ETC-Ada.

    Example:
        >>> CostAdaptive().plays_at(cost=exact(0.1), dearest=exact(1.0))
        40
    """

    effort: float = 4.0
    """What each group may cost in all, in units of the dearest set's cost (4 in the paper, where that is 1)."""

    def __post_init__(self) -> None:
        require_number(self.effort, "CostAdaptive(effort=...)", low=0)

    def plays_at(self, cost: Fraction, dearest: Fraction) -> int:
        """As many as the effort pays for."""
        return math.floor(exact(self.effort) * dearest / cost)


@dataclass(frozen=True)
class ValuePerCost(Rule):
    """The best score divided by its cost, as published (App. B).

    Where scores are negative, dividing prefers the dearer of two equal sets (errata E47); `GainPerCost` does not.

    Example:
        >>> ValuePerCost()
        ValuePerCost()
    """

    def pick(self, offers: Sequence[Offer], ledger: Ledger) -> Offer:
        """The largest quotient; of a score that is a logarithm, that of the gain itself."""
        return max(offers, key=lambda offer: _per_cost(offer, 0.0))


@dataclass(frozen=True)
class GainPerCost(Rule):
    """How far the best score lies above the worst outcome so far, divided by its cost.

    The same as `ValuePerCost` but for the zero: outcomes in other units, or all negative, change nothing.

    Example:
        >>> GainPerCost()
        GainPerCost()
    """

    def pick(self, offers: Sequence[Offer], ledger: Ledger) -> Offer:
        """The largest gain per unit cost; if no score is above the worst outcome, the best score."""
        if not any(offer.logarithmic or offer.score > ledger.lowest for offer in offers):
            return max(offers, key=lambda offer: offer.score)
        return max(offers, key=lambda offer: _per_cost(offer, ledger.lowest))


def _per_cost(offer: Offer, zero: float) -> float:
    if offer.logarithmic:
        return offer.score - math.log(offer.control.cost)
    return (offer.score - zero) / offer.control.cost
