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
from allweather.acquisition.expected_maximum import expected_maximum
from allweather.errors import MOST, InvalidInput, require_count, require_number
from allweather.methods.control.ledger import Ledger
from allweather.methods.control.rules import Offer, Rule, Side, best_of_each
from allweather.surrogates.kernels import ProductKernel
from allweather.surrogates.posteriors.field import Data
from allweather.surrogates.posteriors.product import ProductPosterior

RIVALS = 8
"""Number of tried decisions, best under the posterior mean, that are candidates too."""
FEW = 32
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
        require_count(self.contexts, "InformationPerCost(contexts=...)", low=1, high=MOST)

    def choose(self, sides: Sequence[Side], acquisition: Acquisition, ledger: Ledger) -> Offer:
        """Return the largest gain per unit cost, or the best trial by the acquisition if no gain is worth its cost."""
        plans = Plans.of(sides)
        lessons = [Lesson(side.belief, plans, self.contexts) for side in sides]
        quick = [side._replace(search=replace(side.search, raw=32, starts=2, steps=12)) for side in sides]
        offers = best_of_each(quick, lessons)
        best = self.pick(offers, ledger)
        share = float(Fraction(best.control.exact_cost, ledger.dearest))
        if best.score >= self.threshold * plans.data.scale * share:
            return best
        return max(
            best_of_each(sides, acquisition.together([side.belief for side in sides])), key=lambda offer: offer.score
        )

    def pick(self, offers: Sequence[Offer], ledger: Ledger) -> Offer:
        """The most per unit cost."""
        return max(offers, key=lambda offer: offer.score / offer.control.cost)


@dataclass(frozen=True, eq=False)
class Plans:
    """Control sets with values, among which one will be recommended; in the order of columns that was fitted."""

    data: Data
    kernel: ProductKernel
    """Of whole points."""
    points: Tensor
    """(z, m, d) each plan's values with contexts that stand for all."""
    weights: Tensor
    """(z, m) the objective's slope in the value at each of them."""
    means: Tensor
    """(z,) the objective under the posterior mean, in the outcome's units."""
    half: Tensor
    """(z, t) correlations with the data, whitened."""

    @classmethod
    def of(cls, sides: Sequence[Side]) -> Plans:
        """Return the best decision of every set under the posterior mean, and the best of those tried."""
        data, kernel = _whole(sides[0].belief)
        points, weights, means = _side_by_side([_plans(side) for side in sides])
        top = means.argsort(descending=True)[: RIVALS + len(sides)]
        points, weights, means = points[top], weights[top], means[top]
        with_data = kernel(points.flatten(0, 1), _canonical(data, data.points)).reshape(*points.shape[:2], -1)
        half = torch.einsum("zm,zmt->zt", weights, with_data) @ data.unroot.T
        return cls(data, kernel, points, weights, means, half)


class Lesson:
    """The expected gain (b,) of the best plan's objective from one more outcome at decisions (b, d_x)."""

    def __init__(self, belief: Belief, plans: Plans, contexts: int) -> None:
        reference, source = belief.reference, belief.generator
        drawn = torch.multinomial(reference.weights, contexts, replacement=True, generator=source)
        self._contexts = reference.points[drawn] if reference.points.shape[1] else reference.points[:1]
        self._plans, self._order = plans, _order(belief)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The knowledge gradient, in the outcome's units."""
        plans, data = self._plans, self._plans.data
        b, m = len(decisions), len(self._contexts)
        joint = torch.cat([decisions[:, None].expand(b, m, -1), self._contexts.expand(b, m, -1)], -1)
        points = joint.reshape(b * m, -1)[:, self._order]
        half = plans.kernel(points, _canonical(data, data.points)) @ data.unroot.T
        spread = (plans.kernel.outputscale - half.square().sum(-1)).clamp_min(0) + data.noise
        with_plans = plans.kernel(points, plans.points.flatten(0, 1)).reshape(b * m, *plans.weights.shape)
        covariance = torch.einsum("bzm,zm->bz", with_plans, plans.weights) - half @ plans.half.T
        steps = data.scale * covariance / spread.sqrt()[:, None]
        return expected_maximum(plans.means.expand_as(steps), steps).reshape(b, m).mean(-1)


def _plans(side: Side) -> tuple[Tensor, Tensor, Tensor]:
    """Points (k, m, d), weights (k, m) and means (k,) of the plans of one set."""
    belief = side.belief
    thinned = belief.reference.thinned(FEW)
    thin = belief if thinned is None else replace(belief, reference=thinned[1])
    quick = replace(side.search, raw=64, starts=4, steps=15)
    best = quick.best(thin.expected, belief.generator, near=belief.incumbents(4)).decision
    decisions = torch.cat([best[None], belief.incumbents(RIVALS)])
    values = thin.field.mean(decisions).detach().requires_grad_()
    with torch.enable_grad():
        (weights,) = torch.autograd.grad(thin.objective(values, thin.reference).sum(), values)
    with torch.no_grad():
        means = belief.expected(decisions)  # which plan is best is too important for a few contexts
    contexts = thin.reference.points
    k, m = weights.shape
    joint = torch.cat([decisions[:, None].expand(k, m, -1), contexts.expand(k, m, -1)], -1)[..., _order(belief)]
    return joint, weights, means


def _side_by_side(parts: list[tuple[Tensor, Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """The plans of all sets in one table, filled up with points without weight, which change nothing."""
    most = max(weights.shape[1] for _, weights, _ in parts)
    points, weights = [], []
    for place, weight, _ in parts:
        missing = most - weight.shape[1]
        points.append(torch.cat([place, place[:, :1].expand(-1, missing, -1)], 1))
        weights.append(torch.cat([weight, weight.new_zeros(len(weight), missing)], 1))
    return torch.cat(points), torch.cat(weights), torch.cat([means for _, _, means in parts])


def _whole(belief: Belief) -> tuple[Data, ProductKernel]:
    """The posterior's parts, with the kernel of whole points in the order that was fitted."""
    posterior = belief.surrogate
    if not isinstance(posterior, ProductPosterior):
        raise InvalidInput("needs a `GP()` as surrogate", where="InformationPerCost")
    kernel, back = posterior.data.kernel, _order(belief)
    return posterior.data, replace(kernel, lengthscales=kernel.lengthscales[back], split=len(back))


def _order(belief: Belief) -> list[int]:
    """Where each of the columns that were fitted is among the belief's own."""
    posterior = belief.surrogate
    order = posterior.data.order if isinstance(posterior, ProductPosterior) else None
    return list(range(belief.observations.joint.shape[1])) if order is None else np.argsort(order).tolist()


def _canonical(data: Data, points: Tensor) -> Tensor:
    return points if data.order is None else points[:, np.argsort(data.order).tolist()]
