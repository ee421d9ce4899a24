"""Total variation, the L1 norm `sum |q - p|` (no half: as in all the papers)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from allweather._utils.tensors import ROUNDING, argsort, ascending
from allweather.contexts import Reference, fitted
from allweather.distances.base import Distance, Worst


@dataclass(frozen=True)
class TotalVariation(Distance):
    """`d(q, p) = sum |q - p|`, between 0 and 2: the adversary moves mass radius/2 from the best contexts to the worst.

    It may move to any point, also to those of weight zero.

    Example:
        >>> from allweather import worst_case
        >>> worst_case([1.0, 2.0, 3.0], [0.5, 0.25, 0.25], TotalVariation(0.5)).value
        1.25
    """

    aliases = ("tv",)

    def between(self, weights: Tensor, reference: Reference) -> Tensor:
        """The L1 distance."""
        return (weights - reference.weights).abs().sum(-1)

    def to_points(self, reference: Reference) -> Tensor:
        """`2 (1 - p)`."""
        return 2 * (1 - reference.weights)

    def fragility(self, values: Tensor, reference: Reference, target: float) -> Tensor:
        """Exact: with `f_min + 2k` the height at which values are cut off, the mean of the cut values is the target."""
        p = reference.weights
        order = argsort(values)
        f, mass = values.gather(-1, order), p[order]
        # mean of min(f, cut) at cut = f_j: what lies below, and f_j times what lies above
        below, above = (mass * f).cumsum(-1), 1 - mass.cumsum(-1)
        short = ((below + f * above).detach() < target).sum(-1, keepdim=True)
        last = (above > ROUNDING).sum(-1, keepdim=True)
        segment = (torch.minimum(short, last) - 1).clamp_min(0)
        cut = (target - below.gather(-1, segment)) / above.gather(-1, segment).clamp_min(ROUNDING)
        return self._fragility(values, reference, target, f[..., 0], (cut.squeeze(-1) - f[..., 0]) / 2)

    def worst_value(self, values: Tensor, reference: Reference) -> Tensor:
        """By a sort that keeps no order, where neither gradient nor weights are wanted."""
        values, reference = fitted(values, reference, "TotalVariation.worst_case")
        if values.requires_grad:
            return super().worst_value(values, reference)
        return self._worst_values(values, reference.weights)

    def worst_values(self, values: Tensor, points: Tensor, laws: Tensor) -> Tensor:
        """Law by law, by a sort that keeps no order."""
        found = values.new_empty(values.shape[:2])
        for place, law in enumerate(laws):
            found[place :: len(laws)] = self._worst_values(values[place :: len(laws)], law)
        return found

    def _worst_values(
        self,
        values: Tensor,  # (..., n)
        weights: Tensor,  # (n,)
    ) -> Tensor:
        flat, kept = values.reshape(-1, values.shape[-1]), max(1 - self.number / 2, 0.0)
        found = []
        for block in flat.split(self._rows(flat.shape[-1])):
            height, mass = ascending(block, weights)
            left = (kept - mass.cumsum(-1)).add_(mass).clamp_(min=0).minimum(mass)
            found.append((left * height).sum(-1) + (1 - kept) * height[:, 0])
        return torch.cat(found).reshape(values.shape[:-1])

    def _solve(self, values: Tensor, reference: Reference, radius: Tensor) -> Worst:
        f, p = values.detach(), reference.weights
        order = argsort(f)
        height, mass = f.gather(-1, order), p.take(order)
        below = mass.cumsum(-1).sub_(mass)
        kept = (1 - radius / 2).clamp_min(0)[:, None]
        # The best contexts are emptied first, and all that they lose goes to the worst.
        weights = (kept - below).clamp_(min=0).minimum(mass)
        weights[:, :1] += 1 - kept
        value = (weights * height).sum(-1)

        next_best = (below < kept - ROUNDING).sum(-1, keepdim=True) - 1
        best, worst = order.gather(-1, next_best.clamp_min(0)), order[:, :1]
        gap = values.gather(-1, best) - values.gather(-1, worst)
        slope = torch.where(next_best >= 0, -gap / 2, 0.0).squeeze(-1)
        return Worst(value, slope, torch.empty_like(f).scatter_(-1, order, weights))
