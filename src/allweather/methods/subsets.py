"""The methods of subsets, which choose among control sets, and one of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from allweather.acquisition import UCB, ExpectedImprovement, FourierThompson
from allweather.methods.composition import Composition
from allweather.methods.control import (
    BestValue,
    CostAdaptive,
    ExploreThenCommit,
    GainPerCost,
    InformationPerCost,
    NearBest,
    Rule,
    ValuePerCost,
)
from allweather.methods.registry import named
from allweather.objectives import Expectation
from allweather.schedules import Schedule


def _ucb(rule: Rule, width: float) -> Composition:
    return Composition(objective=Expectation(), acquisition=UCB(width), rule=rule)


def _per_cost(sound: bool) -> Rule:
    return GainPerCost() if sound else ValuePerCost()


@named
def ucb_cvs(epsilon: float | Schedule | Callable[[int], float] = 0.0, width: float = 2.0) -> Composition:
    """The cheapest control set whose upper bound comes within epsilon of the best (subsets, Alg. 1).

    Sets may come in any order of cost; the published code runs only the variants below (errata E44).
    """
    return _ucb(NearBest(epsilon), width)


@named
def etc_50(plays: int = 50, width: float = 2.0) -> Composition:
    """50 plays of each group of equally cheap sets, then the best upper bound (subsets, Sec. 4.2)."""
    return _ucb(ExploreThenCommit(plays), width)


@named
def etc_100(plays: int = 100, width: float = 2.0) -> Composition:
    """100 plays of each group of equally cheap sets, then the best upper bound (subsets, Sec. 4.2)."""
    return _ucb(ExploreThenCommit(plays), width)


@named
def etc_ada(effort: float = 4.0, width: float = 2.0) -> Composition:
    """As many plays of each group as four times the dearest cost pays for, then the best upper bound (Sec. 4.2)."""
    return _ucb(CostAdaptive(effort=effort), width)


@named
def ucb_psq(width: float = 2.0) -> Composition:
    """The set with the best upper bound, whatever it costs (Hayashi et al. 2022, in subsets with epsilon = 0)."""
    return _ucb(BestValue(), width)


@named
def ts_psq() -> Composition:
    """The set that is best for one sampled function, whatever it costs (Hayashi et al. 2022).

    The sample is a linear model on cosine and sine of 1024 random frequencies (subsets, App. C.2; errata E40), the same
    function for all sets.
    """
    return Composition(objective=Expectation(), acquisition=FourierThompson(), rule=BestValue())


@named
def ei_psq(samples: int = 32, best: Literal["decisions", "data"] = "data") -> Composition:
    """The largest expected improvement over the best value at all data (subsets, App. C.2), whatever it costs.

    Args:
        samples: of the posterior.
        best: "data" as published (errata E48), or "decisions" for the best expected value of the decisions so far, of
            all sets.
    """
    improvement = ExpectedImprovement(samples, best=best)
    return Composition(objective=Expectation(), acquisition=improvement, rule=BestValue())


@named
def ucb_psq_per_cost(width: float = 2.0, sound: bool = False) -> Composition:
    """The best upper bound per unit cost (subsets, App. B).

    Dividing a negative bound by its cost prefers the dearer set (errata E47); `sound` divides the distance from the
    worst outcome instead.
    """
    return _ucb(_per_cost(sound), width)


@named
def ts_psq_per_cost(sound: bool = False) -> Composition:
    """The best value of one sampled function per unit cost (subsets, App. B).

    Args:
        sound: as in `ucb-psq-per-cost`.
    """
    return Composition(objective=Expectation(), acquisition=FourierThompson(), rule=_per_cost(sound))


@named
def ei_psq_per_cost(samples: int = 32, best: Literal["decisions", "data"] = "data") -> Composition:
    """The largest expected improvement per unit cost (subsets, App. B); it is never negative.

    Args:
        samples: of the posterior.
        best: as in `ei-psq`.
    """
    improvement = ExpectedImprovement(samples, best=best)
    return Composition(objective=Expectation(), acquisition=improvement, rule=ValuePerCost())


@named
def kg_cvs(threshold: float = 0.01, width: float = 2.0) -> Composition:
    """Ours: the play that is expected to improve the best plan most per unit cost, then the best upper bound.

    The information per cost that subsets names as future work, as a knowledge gradient over control sets.

    Args:
        threshold: gains below this part of the outcomes' standard deviation are not played for.
        width: of the upper bound.
    """
    return _ucb(InformationPerCost(threshold), width)
