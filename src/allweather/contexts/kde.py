"""A kernel density estimate of the contexts seen so far (kde, Sec. 2.3 and App. B.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from allweather.contexts.base import ContextModel, Reference, seen, sobol, with_unseen
from allweather.errors import require, require_count, require_number


@dataclass(frozen=True)
class KDE(ContextModel):
    """A Gaussian kernel density estimate, sampled with quasi-Monte-Carlo and clipped to the box.

    The kernel is `exp(-u^2 / 2)`; the paper's formula drops the half, its code does not (ERRATA). Contexts that are
    all equal have no spread to estimate: all samples are then that one point.

    Example:
        >>> seen = torch.linspace(0, 1, 11, dtype=torch.float64)[:, None]
        >>> KDE(samples=64).reference(seen, 11, torch.Generator().manual_seed(0)).points.shape
        torch.Size([64, 1])
    """

    samples: int = 1024
    """Points of the reference; the paper's M."""
    bandwidth: float | None = None
    """The same for every dimension, in the unit cube; Silverman's rule of thumb if not given."""
    unseen: int = 0
    """Zero-weight points added where nature could go."""

    def __post_init__(self) -> None:
        require_count(self.samples, "KDE(samples=...)", low=1)
        require_count(self.unseen, "KDE(unseen=...)")
        if self.bandwidth is not None:
            require_number(self.bandwidth, "KDE(bandwidth=...)", above=0)

    def bandwidths(self, contexts: Tensor) -> Tensor:
        """Bandwidth per dimension (d_c,): `(4/(d+2))^(1/(d+4)) * standard deviation * t^(-1/(d+4))`."""
        t, d = contexts.shape
        if self.bandwidth is not None:
            return torch.full((d,), self.bandwidth, dtype=torch.float64)
        factor: float = (4 / (d + 2)) ** (1 / (d + 4)) * t ** (-1 / (d + 4))
        return factor * contexts.std(dim=0, correction=0)

    def density(self, at: Tensor, contexts: Tensor) -> Tensor:
        """The estimated density (m,) at points (m, d_c), before any clipping to the box (kde, Eq. 2)."""
        width = self.bandwidths(contexts)
        varied = bool((width > 0).all())
        require(
            varied, "KDE.density(contexts=...)", "vary in every dimension, or have a bandwidth given", contexts.tolist()
        )
        scaled = (at[:, None, :] - contexts) / width
        log_kernel = -0.5 * scaled.square().sum(-1) - width.log().sum() - 0.5 * at.shape[1] * math.log(2 * math.pi)
        return log_kernel.exp().mean(-1)

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """Equally weighted draws of the estimate, fixed for this step."""
        contexts = seen(contexts, self)
        t, d = contexts.shape
        uniform = sobol(self.samples, d + 1, generator)
        centre = contexts[(uniform[:, 0] * t).long()]
        points = centre + self.bandwidths(contexts) * torch.special.ndtri(uniform[:, 1:])
        weights = torch.full((self.samples,), 1 / self.samples, dtype=torch.float64)
        return with_unseen(Reference(points.clamp(0, 1), weights), self.unseen, generator)
