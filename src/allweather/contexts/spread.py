"""Contexts spread evenly: over the whole box, or over the usual range of what was seen."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from allweather.contexts.base import ContextModel, Reference, in_order, seen, sobol
from allweather.contexts.learned import EQUAL_TOLERANCE, dirichlet
from allweather.errors import MAX_COUNT, require_count


@dataclass(frozen=True)
class Uniform(ContextModel):
    """Every context is as likely as any other (phi, Sec. 5), whatever was seen.

    Example:
        >>> Uniform(samples=8).reference(torch.empty(0, 2), 1, torch.Generator().manual_seed(0)).points.shape
        torch.Size([8, 2])
    """

    samples: int = 1024

    def __post_init__(self) -> None:
        require_count(self.samples, "Uniform(samples=...)", low=1, high=MAX_COUNT)

    @property
    def independent(self) -> bool:
        """The uniform law of a box is that of its sides."""
        return True

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """Sobol points of the box, equally weighted."""
        return _equal(sobol(self.samples, contexts.shape[1], generator))


@dataclass(frozen=True)
class MeanBox(ContextModel):
    """The box of one standard deviation around the mean of the contexts seen: where StableOpt looks for the worst.

    kde, App. B.1; the published code samples it with its range reversed (errata E4).

    Example:
        >>> past = torch.tensor([[0.4], [0.6]], dtype=torch.float64)
        >>> points = MeanBox(samples=64).reference(past, 2, torch.Generator().manual_seed(0)).points
        >>> 0.4 <= points.min().item() < points.max().item() <= 0.6
        True
    """

    samples: int = 1024
    bootstrap: bool = True
    """Whether intervals account for how few contexts the box is learned from."""

    def __post_init__(self) -> None:
        require_count(self.samples, "MeanBox(samples=...)", low=1, high=MAX_COUNT)

    @property
    def independent(self) -> bool:
        """The uniform law of a box is that of its sides."""
        return True

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """Sobol points of the box `mean +- standard deviation`, equally weighted."""
        contexts = seen(contexts, self)
        middle, half = contexts.mean(0), contexts.std(0, correction=0)
        unit = sobol(self.samples, contexts.shape[1], generator)
        return _equal((middle + (2 * unit - 1) * half).clamp(0, 1))

    def resample(self, contexts: Tensor, reference: Reference, count: int, generator: Generator) -> Tensor:
        """Boxes of bootstrapped means and deviations: the reference's points in each, or the nearest where none is."""
        if not self.bootstrap:
            return super().resample(contexts, reference, count, generator)
        contexts = in_order(seen(contexts, self))
        weights = dirichlet(torch.full((len(contexts),), 1 / len(contexts), dtype=torch.float64), count, generator)
        middle = weights @ contexts  # (count, d_c)
        half = (weights @ contexts.square() - middle.square()).clamp_min(0).sqrt()
        outside = ((reference.points - middle[:, None, :]).abs() - half[:, None, :]).amax(-1)
        inside = outside <= outside.amin(-1, keepdim=True).clamp_min(0) + EQUAL_TOLERANCE
        kept = reference.weights * inside
        return kept / kept.sum(-1, keepdim=True)


def _equal(points: Tensor) -> Reference:
    return Reference(points, torch.full((len(points),), 1 / len(points), dtype=torch.float64))
