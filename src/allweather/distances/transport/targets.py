"""The best target of every source at a price: by two sweeps where contexts lie on a line, else among all pairs."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from allweather._utils.tensors import pairwise
from allweather.contexts import Reference
from allweather.distances.transport.steepest import Lines
from allweather.distances.transport.worst_plan import Transport

BLOCK_ENTRIES = 2**15
"""Entries of one block of the table of sources and points, small enough to stay in cache."""
DEVICE_BLOCK_ENTRIES = 2**26
"""Entries that are compared at a time on other devices than the CPU: 512 MiB."""
MAX_KEPT_COSTS = 2**22
"""Costs that are kept: 32 MiB. More are computed block by block whenever they are needed."""


def transport_over(reference: Reference, norm: float) -> Transport:
    """The way to move mass among the reference's points, remembered as long as they live."""
    points, weights = reference
    sources = (weights > 0).reshape(-1, len(points)).any(0).nonzero().squeeze(-1)
    ways: dict[float, Transport] = _WAYS.setdefault(points, {})
    stamp, way = (points._version, float(points.sum())), ways.get(norm)
    if way is None or way.stamp != stamp or not torch.equal(way.sources, sources):
        on = _kind(points, sources)
        # A copy: what is remembered must not keep the points alive.
        way = ways[norm] = on(points.clone(), sources, norm, stamp)
    return way


def _kind(points: Tensor, sources: Tensor) -> type[Transport]:
    """Which way of comparing sources and points is fastest."""
    if points.shape[1] == 1:
        return OnLine
    if len(sources) * len(points) <= MAX_KEPT_COSTS or points.device.type != "cpu":
        return AllPairs
    from allweather.distances.transport.cells import Cells

    return Cells


class OnLine(Transport):
    """Contexts on a line: the best target to the left and to the right of each source by two sweeps."""

    @cached_property
    def order(self) -> Tensor:
        """(n,) the points from left to right."""
        return self.points.squeeze(-1).argsort()

    @cached_property
    def rank(self) -> Tensor:
        """(s,) each source's place in that order."""
        return self.order.argsort()[self.sources]

    @cached_property
    def line(self) -> Tensor:
        """(n,) positions from left to right."""
        return self.points.squeeze(-1)[self.order]

    def targets(self, values: Tensor, multiplier: Tensor, known: Tensor, open_: Tensor) -> Tensor:
        """By the running minimum of `f - lam c` from the left and of `f + lam c` from the right."""
        f, climb = values[:, self.order], multiplier[:, None] * self.line
        left, at_left = (f - climb).cummin(-1)
        right, at_right = (f + climb).flip(-1).cummin(-1)
        right, at_right = right.flip(-1), f.shape[-1] - 1 - at_right.flip(-1)
        target = torch.where(left + climb <= right - climb, at_left, at_right)
        return self.order[target[:, self.rank]]

    def _shortest(self) -> float:
        gaps = self.line.diff()
        positive = gaps[gaps > 0]
        return float(positive.min()) if len(positive) else 1.0


def _compare(
    scaled: np.ndarray,  # (b, n) values in units of cost
    costs: np.ndarray,  # (k, n)
    open_: np.ndarray,  # (b, k) which sources to look at
    target: np.ndarray,  # (b, k) where they go: changed
) -> None:
    """Find the best target of open sources, one decision at a time, so that the table stays in cache."""
    table = np.empty_like(costs)
    counts = open_.sum(-1)
    for row in np.flatnonzero(counts):
        if 2 * counts[row] > len(costs):  # to look at all is faster than to pick
            found = np.add(costs, scaled[row], out=table).argmin(-1)
            np.copyto(target[row], found, where=open_[row])
        else:
            chosen = np.flatnonzero(open_[row])
            part = np.take(costs, chosen, axis=0, out=table[: len(chosen)])
            part += scaled[row]
            target[row, chosen] = part.argmin(-1)


class AllPairs(Transport):
    """Contexts of any dimension: a table of costs, in blocks of sources."""

    @cached_property
    def _costs(self) -> Tensor | None:
        """(s, n) of moving a unit from each source to each point, where they are few enough to be kept."""
        few = len(self.sources) * len(self.points) <= MAX_KEPT_COSTS
        return pairwise(self.points[self.sources], self.points, self.norm) if few else None

    def costs(self, block: slice) -> Tensor:
        """(k, n) the costs of some of the sources."""
        if self._costs is not None:
            return self._costs[block]
        return pairwise(self.points[self.sources[block]], self.points, self.norm)

    def units(self, target: Tensor) -> Tensor:
        """Look the costs up where they are kept."""
        if self._costs is None:
            return super().units(target)
        return self._costs.take(target + torch.arange(len(self.sources), device=target.device) * len(self.points))

    @cached_property
    def _lines(self) -> Lines | None:
        if self._costs is None or not self._distinct or len(self.points) < 2:
            return None
        return Lines(self._costs, self.sources)

    def steepest(self, values: Tensor) -> Tensor | None:
        """By lines from sources to points, where no two of these are in the same place."""
        lines = self._lines
        if lines is None:
            return None
        blocks = values.split(max(1, 2 * BLOCK_ENTRIES // len(self.points)))
        return torch.cat([lines.steepest(block, self.targets) for block in blocks])

    def targets(self, values: Tensor, multiplier: Tensor, known: Tensor, open_: Tensor) -> Tensor:
        """Compare every pair of a source that is not settled and a point."""
        # In units of cost: one addition for every pair.
        scaled = values / multiplier.clamp_min(1e-300)[:, None]
        found, n = known.clone(), values.shape[-1]
        on_cpu = values.device.type == "cpu"
        size = max(1, (BLOCK_ENTRIES if on_cpu else DEVICE_BLOCK_ENTRIES) // n)
        for start in range(0, len(self.sources), size):
            block = slice(start, start + size)
            costs = self.costs(block)
            if on_cpu:
                _compare(scaled.numpy(), costs.numpy(), open_[:, block].numpy(), found[:, block].numpy())
                continue
            rows, sources = (each.split(size) for each in open_[:, block].nonzero(as_tuple=True))
            for row, source in zip(rows, sources, strict=True):
                found[row, start + source] = (costs[source] + scaled[row]).argmin(-1)
        return found

    def _shortest(self) -> float:
        size = max(1, BLOCK_ENTRIES // len(self.points))
        least = [
            torch.where(block > 0, block, torch.inf).amin()
            for block in (self.costs(slice(start, start + size)) for start in range(0, len(self.sources), size))
        ]
        shortest = float(torch.stack(least).amin())
        return shortest if shortest < float("inf") else 1.0


_WAYS = WeakTensorKeyDictionary()
