"""The knowledge gradient of objectives that are not means, by quadrature in the outcome of the coming trial."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from allweather.acquisition.base import Belief, HintedScore
from allweather.acquisition.coming_contexts import coming_contexts
from allweather.acquisition.expected_maximum import expected_maximum

if TYPE_CHECKING:
    from allweather.acquisition.knowledge_gradient import StepGain

QUADRATURE_CONTEXTS = 16
"""Contexts that stand for all, where there are more than twice as many."""
LAST_BIN_START = 4.0
"""Where the last node's bin begins, in standard deviations."""


class QuadratureGain(HintedScore):
    """The logarithm of the expected gain of one trial, for any objective of the values.

    The posterior mean at (x', c') moves by `slope(x', c') Z` with the outcome Z of the trial; the objective g of the
    moved mean function is one number for each compared decision and node. The gain is what it is worth to choose the
    decision after the outcome instead of before, `E max g(x', Z) - max E g(x', Z)`, which is never negative. For means
    it is the same as `E max g(x', Z) - max g(x')`; for a concave g the latter may be negative, since the objective of
    the mean function is optimistic and falls on average. The gain of tangents is known exactly: the nodes only add by
    how much the objective differs from its tangents.
    """

    rough: StepGain | None = None
    elsewhere: Tensor | None = None
    """The objective of the best decision of other beliefs, where there are any."""

    def __init__(self, belief: Belief, decisions: int, contexts: int, nodes: int) -> None:
        compared = belief.incumbents(decisions) if belief.compared is None else belief.compared[:decisions]
        self._belief, sampled = belief, belief.reference.sampled(QUADRATURE_CONTEXTS)
        self._reference = belief.reference if sampled is None else sampled[1]
        self._field = belief.field if sampled is None else belief.field.rough(sampled[0])
        self._nodes, self._shares = (each.to(self._reference.points.device) for each in outcome_nodes(nodes))
        n = len(self._reference.points)
        self._each = torch.eye(n, dtype=torch.float64, device=self._reference.points.device)
        with torch.no_grad():
            coming = coming_contexts(belief, belief.weights(compared), contexts)
            self._means = self._field.mean(compared)  # (M, n)
            self.best = belief.objective.with_tangent(self._means, self._reference)[0].max()
            repeated = compared.repeat_interleave(n, 0)
            self._step = self._field.step(repeated, self._each.repeat(len(compared), 1), coming)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        b, n = len(decisions), len(self._each)
        slopes = self._step(decisions)  # (b, m, M n)
        slopes = slopes.reshape(b, slopes.shape[1], -1, n)
        own = self._step.own(decisions.repeat_interleave(n, 0), self._each.repeat(b, 1))  # (b n, m)
        slopes = torch.cat([slopes, own.reshape(b, n, -1).mT[:, :, None]], 2)  # (b, m, M + 1, n)
        means = torch.cat([self._means.expand(b, -1, -1), self._field.mean(decisions)[:, None]], 1)
        moved = means[:, None, :, None] + slopes[..., None, :] * self._nodes[:, None]  # (b, m, M + 1, k, n)
        objective = self._belief.objective
        heights, weights = objective.with_tangent(means, self._reference)  # (b, M + 1), (b, M + 1, n)
        tilts = (slopes * weights.nan_to_num(0.0, 0.0, 0.0)[:, None]).sum(-1)  # (b, m, M + 1)
        heights = heights[:, None].expand_as(tilts)
        lines = heights[..., None] + tilts[..., None] * self._nodes
        after = objective(moved, self._reference)  # (b, m, M + 1, k)
        if self.elsewhere is not None:  # it stays where it is
            flat = self.elsewhere.expand_as(after[:, :, :1])
            after, lines = torch.cat([after, flat], 2), torch.cat([lines, flat], 2)
            heights = torch.cat([heights, flat[..., 0]], -1)
            tilts = torch.cat([tilts, torch.zeros_like(tilts[..., :1])], -1)
        gains = self._adapted(after) - self._adapted(lines) + expected_maximum(heights, tilts)
        found = gains.amax(-1) if self._belief.chooses else gains.mean(-1)
        return (found.clamp_min(0) + 1e-300).log()

    def _adapted(self, values: Tensor) -> Tensor:
        """What it is worth to choose the decision after the outcome: (b, m) of values (b, m, M + 1, k)."""
        return values.amax(2) @ self._shares - (values @ self._shares).amax(2)


def outcome_nodes(count: int) -> tuple[Tensor, Tensor]:
    """Nodes (k,) and shares (k,) of a standard normal: the means of bins of equal width, the outer two unbounded.

    They are exact for functions that are linear in every bin.

    Example:
        >>> nodes, shares = outcome_nodes(12)
        >>> abs(round(float(nodes @ shares), 12)), round(float(shares.sum()), 12)
        (0.0, 1.0)
    """
    edges = torch.linspace(-LAST_BIN_START, LAST_BIN_START, max(count - 1, 1), dtype=torch.float64)
    ends = torch.tensor([math.inf], dtype=torch.float64)
    edges = torch.cat([-ends, edges, ends])
    density = torch.exp(-edges.square() / 2) / math.sqrt(2 * math.pi)
    shares = torch.special.ndtr(edges).diff()
    return -density.diff() / shares, shares
