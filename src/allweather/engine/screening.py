"""Few exact evaluations where objectives are expensive: their tangents tell which ones are needed.

A concave objective is nowhere above its tangent at the posterior mean function. So the tangent's value is a bound for
every sampled function, and what is not the best by its bound needs no evaluation. What was evaluated has tangents, too,
which bound the same function at other decisions. For objectives that are not concave the tangent is an estimate to
first order, and the few decisions that are highest by it are evaluated.
"""

from __future__ import annotations

import torch
from torch import Tensor

from allweather.acquisition import Belief

MAX_EVALUATED = 12
"""Decisions that are evaluated, at most."""
MAX_EVALUATED_PER_SAMPLE = 6
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
    concave, limits = belief.objective.concave, estimate.median(0).values
    medians = torch.full_like(limits, -torch.inf) if known is None else known.clone()
    size, left = wanted, MAX_EVALUATED
    while left > 0:
        reached = medians.sort(descending=True).values[: max(wanted, 1)][-1]
        open_rows = ((medians == -torch.inf) & (limits > reached)).nonzero().squeeze(-1)
        rows = open_rows[limits[open_rows].argsort(descending=True, stable=True)[:size]]
        if not len(rows):
            break
        found, bounds = _evaluated(belief, values[:, rows], values)
        medians[rows] = found.median(0).values
        if bounds is not None:
            limits = torch.minimum(limits, torch.minimum(estimate, bounds).median(0).values)
        left -= len(rows)
        size = wanted if concave else left
    return medians


def _evaluated(belief: Belief, chosen: Tensor, others: Tensor) -> tuple[Tensor, Tensor | None]:
    """The objective (k, r) of functions `chosen` (k, r, n), and what their tangents allow `others` (k, b, n) at most.

    The bounds (k, b) are None where the objective is not concave.
    """
    if not belief.objective.concave:
        return belief.objective(chosen, belief.reference), None
    value, slope = belief.objective.with_tangent(chosen, belief.reference)
    slope = slope.nan_to_num()
    offset = value - (slope * chosen).sum(-1)
    return value, (torch.einsum("kbn,krn->kbr", others, slope) + offset[:, None]).amin(-1)


def highest(belief: Belief, values: Tensor, estimate: Tensor) -> Tensor:
    """The best objective (k,) of any decision under each sampled function.

    Args:
        belief: what is known.
        values: (k, b, n) sampled functions at the reference's points.
        estimate: (k, b) of their objectives.
    """
    best = torch.full_like(estimate[:, 0], -torch.inf)
    left = estimate.clone()
    for _ in range(min(MAX_EVALUATED_PER_SAMPLE, left.shape[1])):
        limit, place = left.max(-1)
        rows = (limit > best).nonzero().squeeze(-1)
        if not len(rows):
            break
        same = values[rows]
        found, bounds = _evaluated(belief, values[rows, place[rows]][:, None], same)
        best[rows] = torch.maximum(best[rows], found[:, 0])
        if bounds is not None:
            left[rows] = torch.minimum(left[rows], bounds)
        left[rows, place[rows]] = -torch.inf
    return best
