"""How steeply the worst expectation over transport plans falls at radius 0: the steepest line down from a source.

The first unit of cost is spent where it buys most, `max over i, j of (f_i - f_j) / D_ij`. A line to one of a source's
neighbours is nearly the steepest. At its price, best targets are looked for: a source for which moving pays has a
steeper line, and the steepest of these gives the next price, until moving pays for none (Dinkelbach's method).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

NEIGHBOURS_FIRST = 8
"""Nearest points of a source that are looked at first."""
MAX_ROUNDS = 100
"""Rounds at most; two or three are the rule."""

Targets = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class Lines:
    """Lines from sources to points: their lengths, and which of them are short."""

    def __init__(self, costs: Tensor, sources: Tensor) -> None:
        """Take the lengths (s, n) of lines from the sources (s,); only those of a source to itself are 0."""
        self._costs, self._sources = costs, sources
        others = costs.scatter(-1, sources[:, None], torch.inf)
        lengths, self._near = others.topk(min(NEIGHBOURS_FIRST, costs.shape[-1] - 1), largest=False)
        self._steepness = 1 / lengths

    def steepest(self, values: Tensor, targets: Targets) -> Tensor:
        """Minus the slope (b,) of the steepest line down for each row of `values` (b, n), differentiable.

        Args:
            values: (b, n).
            targets: finds the best targets at a price, as `Transport.targets` does.
        """
        f = values.detach()
        own, rows = f[:, self._sources], torch.arange(len(f), device=f.device)
        source, target = self._first(f, own)
        going = rows
        for _ in range(MAX_ROUNDS):
            price = self._price(f[going], source[going], target[going])
            going, price = going[price > 0], price[price > 0]
            if not len(going):
                break
            pays = own[going] - f[going].amin(-1, keepdim=True) > price[:, None] / self._steepness[:, 0]
            found = targets(f[going], price, self._sources.expand(len(going), -1), pays)
            gain = own[going] - f[going].gather(-1, found)
            ratio = torch.where(found == self._sources, 0.0, gain / self._lengths(found))
            steeper, at = ratio.max(-1)
            better = steeper > price * (1 + 1e-14)
            going, at = going[better], at[better]
            source[going], target[going] = at, found[better].gather(-1, at[:, None])[:, 0]
        falls = values[rows, self._sources[source]] - values[rows, target]
        return torch.where(falls > 0, falls / self._costs[source, target].clamp_min(1e-300), 0.0)

    def _first(self, f: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """A source (b,) and a point (b,) with a steep line between them: neighbours, or the highest and the lowest."""
        slopes = ((own[:, :, None] - f[:, self._near]) * self._steepness).flatten(1)
        best, place = slopes.max(-1)
        source = place // self._near.shape[-1]
        target = self._near[source, place % self._near.shape[-1]]
        high, low = own.argmax(-1), f.argmin(-1)
        overall = self._price(f, high, low) > best
        return torch.where(overall, high, source), torch.where(overall, low, target)

    def _price(self, f: Tensor, source: Tensor, target: Tensor) -> Tensor:
        rows, length = torch.arange(len(f), device=f.device), self._costs[source, target]
        fall = f[rows, self._sources[source]] - f[rows, target]
        return torch.where(length > 0, fall / length.clamp_min(1e-300), 0.0)

    def _lengths(self, target: Tensor) -> Tensor:
        """Of the lines (b, s) to the targets (b, s)."""
        each = torch.arange(len(self._sources), device=target.device)
        return self._costs[each, target].clamp_min(1e-300)
