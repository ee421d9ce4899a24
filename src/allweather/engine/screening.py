"""Few exact evaluations where objectives are expensive: their tangents tell which ones are needed.

A concave objective is nowhere above its tangent at the posterior mean function. So the tangent's value is a bound for
every sampled function, and what is not the best by its bound needs no evaluation. For other objectives it is an
estimate to first order, and the few that are highest by it are evaluated.
"""

from __future__ import annotations

import torch
from torch import Tensor

from allweather.acquisition import Belief

MOST = 12
"""Decisions that are evaluated, at most."""
ROUNDS = 6
"""Decisions that are evaluated for each sample, at most."""


def tangent_values(belief: Belief, decisions: Tensor, values: Tensor) -> Tensor:
    """The objective (k, b) of sampled functions by its tangent at the posterior mean function.

    Args:
        belief: what is known.
        decisions: (b, d_x).
        values: (k, b, n) sampled functions at the reference's points.
    """
    mean = belief.field.mean(decisions)
    value, slope = belief.objective.with_tangent(mean, belief.reference)
    slope = slope.nan_to_num().expand_as(mean)
    return value + torch.einsum("kbn,bn->kb", values, slope) - (mean * slope).sum(-1)


def leading_medians(
    belief: Belief, values: Tensor, estimate: Tensor, wanted: int, known: Tensor | None = None
) -> Tensor:
    """Medians (b,) over samples of the objectives of those decisions that may be among the best; -inf elsewhere.

    Args:
        belief: what is known.
        values: (k, b, n) sampled functions at the reference's points.
        estimate: (k, b) of their objectives.
        wanted: how many of the best decisions must be right.
        known: (b,) medians that were evaluated before; -inf elsewhere.
    """
    limits = estimate.median(0).values
    medians = torch.full_like(limits, -torch.inf) if known is None else known.clone()
    order = limits.argsort(descending=True, stable=True)[:MOST]
    for start in range(0, len(order), wanted):
        rows = order[start : start + wanted]
        reached = medians.sort(descending=True).values[: max(wanted, 1)][-1]
        if start and bool(limits[rows[0]] <= reached):
            break
        rows = rows[medians[rows] == -torch.inf]
        if len(rows):
            medians[rows] = belief.objective(values[:, rows], belief.reference).median(0).values
    return medians


def highest(belief: Belief, values: Tensor, estimate: Tensor) -> Tensor:
    """The best objective (k,) of any decision under each sampled function.

    Args:
        belief: what is known.
        values: (k, b, n) sampled functions at the reference's points.
        estimate: (k, b) of their objectives.
    """
    best = torch.full_like(estimate[:, 0], -torch.inf)
    left = estimate.clone()
    for _ in range(min(ROUNDS, left.shape[1])):
        limit, place = left.max(-1)
        rows = (limit > best).nonzero().squeeze(-1)
        if not len(rows):
            break
        found = belief.objective(values[rows, place[rows]], belief.reference)
        best[rows] = torch.maximum(best[rows], found)
        left[rows, place[rows]] = -torch.inf
    return best
