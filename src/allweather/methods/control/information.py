"""Knowledge gradient per unit cost: the expected gain of the best plan from one more trial, divided by its cost.

A plan is a control set with values for its variables. Its expected outcome is a linear functional of the function, so
one more outcome moves the posterior means of all plans along a line, and the expected gain of the best is a
one-dimensional integral, exact after a sort: the knowledge gradient (Frazier et al. 2009) over control sets, which
subsets names as future work. Objectives that are not linear are replaced by their tangent at the posterior mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from allweather.acquisition import Acquisition, Belief
from allweather.acquisition.base import Score
from allweather.acquisition.expected_maximum import expected_maximum
from allweather.acquisition.joint import joint_scores
from allweather.acquisition.limits import likely_feasible
from allweather.acquisition.optimize import Search
from allweather.errors import MAX_COUNT, require_count, require_number
from allweather.methods.control.ledger import Ledger
from allweather.methods.control.rules import Offer, Rule, SideBelief, best_of_each
from allweather.surrogates.gp.known_noise import centre_and_scale
from allweather.surrogates.posteriors.step import Step

MAX_TRIED_PLANS = 8
"""Number of tried decisions, best under the posterior mean, that are candidates too."""
PLAN_CONTEXTS = 32
"""Contexts that stand for all where a plan's expectation is compared with others."""


@dataclass(frozen=True)
class InformationPerCost(Rule):
    """The trial that is expected to improve the best plan most per unit cost; the best score once the gain is small.

    Example:
        >>> InformationPerCost(threshold=0.001)
        InformationPerCost(threshold=0.001, contexts=8)
    """

    threshold: float = 0.01
    """Gains are not worth playing for below this part of the outcomes' standard deviation, times the play's cost in
    units of the dearest set's."""
    contexts: int = 8
    """How many of a set's contexts a play's gain is averaged over."""

    def __post_init__(self) -> None:
        require_number(self.threshold, "InformationPerCost(threshold=...)", low=0)
        require_count(self.contexts, "InformationPerCost(contexts=...)", low=1, high=MAX_COUNT)

    def choose(self, sides: Sequence[SideBelief], acquisition: Acquisition, ledger: Ledger) -> Offer:
        """Return the largest gain per unit cost, or the best trial by the acquisition if no gain is worth its cost.

        Of several objectives gains are added, each in units of its outcomes' standard deviation. Under limits a gain
        counts by the probability that the trial keeps them.
        """
        lessons, unit = self._lessons(sides)
        quick = [side._replace(search=replace(side.search, raw=32, starts=2, steps=12)) for side in sides]
        offers = best_of_each(quick, lessons)
        best = self.pick([offer for offer in offers if offer.safe] or offers, ledger)
        share = float(Fraction(best.control.exact_cost, ledger.dearest))
        if best.score >= self.threshold * unit * share:
            return best
        offers = best_of_each(sides, joint_scores(acquisition, [side.joint for side in sides]))
        return max([offer for offer in offers if offer.safe] or offers, key=lambda offer: offer.score)

    def _lessons(self, sides: Sequence[SideBelief]) -> tuple[list[Score], float]:
        """What a trial teaches under each set, and the standard deviation that this is measured in."""
        gains: list[list[Score]] = [[] for _ in sides]
        units = []
        for place in range(len(sides[0].joint.objectives)):
            beliefs = [side.joint.objectives[place] for side in sides]
            plans, seen = Plans.of(beliefs, [side.search for side in sides]), beliefs[0].observations
            units.append(centre_and_scale(seen.values, seen.sds)[1])
            for found, belief in zip(gains, beliefs, strict=True):
                found.append(Lesson(belief, plans, self.contexts))
        shares = [1.0] if len(units) == 1 else [1 / unit for unit in units]
        scores = [_taught(side, found, shares) for side, found in zip(sides, gains, strict=True)]
        return scores, units[0] if len(units) == 1 else 1.0

    def pick(self, offers: Sequence[Offer], ledger: Ledger) -> Offer:
        """The most per unit cost."""
        return max(offers, key=lambda offer: offer.score / offer.control.cost)


def _taught(side: SideBelief, gains: Sequence[Score], shares: Sequence[float]) -> Score:
    """The sum of gains, each times its share, and times the probability that limits are kept."""
    if len(gains) == 1 and not side.joint.limits:
        return gains[0]
    kept = likely_feasible(side.joint.limits)

    def score(decisions: Tensor) -> Tensor:
        total = torch.stack([share * gain(decisions) for share, gain in zip(shares, gains, strict=True)]).sum(0)
        return total * kept(decisions).exp() if side.joint.limits else total

    return score


@dataclass(frozen=True, eq=False)
class Plans:
    """Control sets with values, among which one will be recommended; in the order of columns that was fitted."""

    points: Tensor
    """(z, m, d) each plan's values with contexts that stand for all."""
    weights: Tensor
    """(z, m) the objective's slope in the value at each of them."""
    means: Tensor
    """(z,) the objective under the posterior mean, in the outcome's units."""
    step: Step
    """How one outcome moves the means at all these points."""

    @classmethod
    def of(cls, beliefs: Sequence[Belief], searches: Sequence[Search]) -> Plans:
        """Return the best decision of every set under the posterior mean, and the best of those tried.

        Args:
            beliefs: about one objective, one under each set.
            searches: for decisions of each set.
        """
        points, weights, means = _side_by_side(list(map(_plans, beliefs, searches)))
        top = means.argsort(descending=True)[: MAX_TRIED_PLANS + len(beliefs)]
        points, weights, means = points[top], weights[top], means[top]
        belief = beliefs[0]
        back, nothing = _order(belief), points.new_zeros(1, 0)
        whole = belief.surrogate.arranged(back, len(back)).field(nothing)
        return cls(points, weights, means, whole.step(points.flatten(0, 1), points.new_ones(1), nothing))


class Lesson:
    """The expected gain (b,) of the best plan's objective from one more outcome at decisions (b, d_x)."""

    def __init__(self, belief: Belief, plans: Plans, contexts: int) -> None:
        reference, source = belief.reference, belief.generator
        drawn = torch.multinomial(reference.weights.cpu(), contexts, replacement=True, generator=source)
        self._contexts = reference.points[drawn] if reference.points.shape[1] else reference.points[:1]
        self._plans, self._order = plans, _order(belief)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The knowledge gradient, in the outcome's units."""
        plans, b, m = self._plans, len(decisions), len(self._contexts)
        joint = torch.cat([decisions[:, None].expand(b, m, -1), self._contexts.expand(b, m, -1)], -1)
        points = joint.reshape(b * m, -1)[:, torch.tensor(self._order)]
        moved = plans.step(points)[:, 0].reshape(b * m, *plans.weights.shape)
        steps = torch.einsum("bzm,zm->bz", moved, plans.weights)
        return expected_maximum(plans.means.expand_as(steps), steps).reshape(b, m).mean(-1)


def _plans(belief: Belief, search: Search) -> tuple[Tensor, Tensor, Tensor]:
    """Points (k, m, d), weights (k, m) and means (k,) of the plans of one set."""
    sampled = belief.reference.sampled(PLAN_CONTEXTS)
    thin = belief if sampled is None else replace(belief, reference=sampled[1])
    quick = replace(search, raw=64, starts=4, steps=15)
    best = quick.best(thin.expected, belief.generator, near=belief.incumbents(4)).decision
    decisions = torch.cat([best[None], belief.incumbents(MAX_TRIED_PLANS)])
    values = thin.field.mean(decisions).detach().requires_grad_()
    with torch.enable_grad():
        (weights,) = torch.autograd.grad(thin.objective(values, thin.reference).sum(), values)
    with torch.no_grad():
        means = belief.expected(decisions)  # which plan is best is too important for a few contexts
    contexts = thin.reference.points
    k, m = weights.shape
    joint = torch.cat([decisions[:, None].expand(k, m, -1), contexts.expand(k, m, -1)], -1)
    return joint[..., torch.tensor(_order(belief))], weights, means


def _side_by_side(parts: list[tuple[Tensor, Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """The plans of all sets in one table, filled up with points without weight, which change nothing."""
    most = max(weights.shape[1] for _, weights, _ in parts)
    points, weights = [], []
    for place, weight, _ in parts:
        missing = most - weight.shape[1]
        points.append(torch.cat([place, place[:, :1].expand(-1, missing, -1)], 1))
        weights.append(torch.cat([weight, weight.new_zeros(len(weight), missing)], 1))
    return torch.cat(points), torch.cat(weights), torch.cat([means for _, _, means in parts])


def _order(belief: Belief) -> list[int]:
    """Where each of the columns that were fitted is among the belief's own."""
    order = belief.surrogate.order
    return list(range(belief.observations.joint.shape[1])) if order is None else np.argsort(order).tolist()
