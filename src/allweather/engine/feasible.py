"""The best decision that is believed to keep all limits, or the one that is closest to it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from allweather.acquisition.base import Belief, Score
from allweather.acquisition.constrained import (
    JointBelief,
    likely_feasible,
    penalised,
    scalarised,
)
from allweather.acquisition.optimize import Search
from allweather.engine.condensed import Expected
from allweather.engine.objective_draws import DRAWS, objective_draws

CONFIDENCE = 0.9
"""A decision is believed feasible if it keeps all limits with this probability."""
WIDTHS = (1.3, 2.0, 3.0)
"""Standard deviations that limits are kept by in the searches for decisions to compare: some of them keep the limits
also under what is not known about the context distribution."""
TRIED = 4
"""Tried decisions that are compared too."""


class Chosen(NamedTuple):
    """A decision, and how likely it keeps all limits."""

    decision: Tensor
    """(d_x,)"""
    probability: float


def best_feasible(joint: JointBelief, search: Search, weights: Tensor | None = None) -> Chosen:
    """Return the decision with the best objective among those that keep all limits with `CONFIDENCE`.

    Several objectives are combined by the augmented Chebyshev scalarisation, with equal weights by default. Where no
    decision is believed feasible, the one that is most likely so is returned.

    Args:
        joint: what is known about all outcomes.
        search: the legal decisions.
        weights: (m,) of several objectives.
    """
    tried = search.permitted(joint.tried())
    tried = tried if len(tried) else joint.tried()
    generator = torch.Generator().manual_seed(0)  # the same data give the same decision
    shares = torch.full((len(joint.objectives),), 1 / len(joint.objectives)) if weights is None else weights
    wanted, unit = scalarised([expected_score(each) for each in joint.objectives], joint, tried, shares.double())
    if not joint.limits:
        return Chosen(search.best(wanted, generator, tried[:16]).decision, 1.0)
    scores = [penalised(wanted, joint.limits, unit, width) for width in WIDTHS]
    found = [search.best(score, generator, _leading(score, tried, 8)).decision for score in scores]
    likely = likely_feasible(joint.limits)
    found.append(search.best(likely, generator, _leading(likely, tried, 8)).decision)
    decisions = torch.stack([*found, *_leading(scores[1], search.permitted(tried), TRIED)])
    probability = feasible_draws(joint, decisions).double().mean(0)
    with torch.no_grad():
        values = wanted(decisions)
    keeps = probability >= CONFIDENCE
    judged = torch.where(keeps, values, -torch.inf) if bool(keeps.any()) else probability
    best = int(judged.argmax())
    return Chosen(decisions[best], float(probability[best]))


def feasible_draws(joint: JointBelief, decisions: Tensor) -> Tensor:
    """Whether (draws, b) decisions keep all limits under each draw of the functions and the context distribution.

    Args:
        joint: what is known about all outcomes.
        decisions: (b, d_x) in the unit cube.
    """
    fits = torch.ones(DRAWS, len(decisions), dtype=torch.bool, device=decisions.device)
    for limit in joint.limits:
        fits &= objective_draws(limit.belief, decisions) >= limit.level
    return fits


def surely_feasible(joint: JointBelief, decision: Tensor, search: Search) -> Tensor:
    """Return the decision (d_x,) if it keeps all limits with the stated probability, else the most likely one.

    Args:
        joint: what is known about all outcomes, with the probability.
        decision: what the acquisition chose.
        search: the legal decisions.
    """
    with torch.no_grad():
        bounds = [limit.lower(decision[None], joint.width) - limit.level for limit in joint.limits]
        sure = all(float(bound) >= -1e-3 * limit.spread for bound, limit in zip(bounds, joint.limits, strict=True))
    if sure:
        return decision
    likely = likely_feasible(joint.limits)
    return search.best(likely, joint.generator, _leading(likely, search.permitted(joint.tried()), 8)).decision


def _leading(score: Score, decisions: Tensor, count: int) -> Tensor:
    """The decisions (at most count, d_x) whose score is highest."""
    if len(decisions) <= count:
        return decisions
    rough: Score = getattr(score, "rough", score)
    with torch.no_grad():
        values = torch.cat([rough(block) for block in decisions.split(64)])
    return decisions[values.argsort(descending=True)[:count]]


def expected_score(belief: Belief) -> Score:
    """The objective of the posterior mean as a score."""
    few = belief.rough() if belief.objective.slow else None
    return belief.expected if few is None else Expected(belief, few)
