"""A kernel density estimate of the contexts seen so far (kde, Sec. 2.3 and App. B.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import torch
from torch import Generator, Tensor

from allweather.contexts.base import Reference, sobol, with_unseen
from allweather.contexts.empirical import merged
from allweather.contexts.learned import EQUAL_TOLERANCE, LearnedModel, point_masses
from allweather.errors import MAX_COUNT, require, require_count, require_number
from allweather.space import Box, Context, Real


@dataclass(frozen=True)
class KDE(LearnedModel):
    """A Gaussian kernel density estimate of the contexts, sampled with quasi-Monte-Carlo.

    Real contexts are smoothed; integers and choices keep the values seen with their frequencies, so that mixed contexts
    need no other model. The kernel is `exp(-u^2 / 2)`; the paper's formula drops the half, its code does not (errata
    E1). Columns in which all contexts are equal have no spread to estimate and stay as they are.

    A kernel of bandwidth h adds `h^2 / 2` times the curvature to every mean. Silverman's h, chosen for the density,
    makes that bias as large as the mean's sampling error. The default is `standard deviation / sqrt(t - 1)`: then the
    estimate's variance is the unbiased variance of the contexts, and means of quadratics have no bias.

    Example:
        >>> seen = torch.linspace(0, 1, 11, dtype=torch.float64)[:, None]
        >>> KDE(samples=64).reference(seen, 11, torch.Generator().manual_seed(0)).points.shape
        torch.Size([64, 1])
    """

    samples: int = 1024
    """Points of the reference; the paper's M."""
    bandwidth: float | Literal["silverman"] | None = None
    """In the unit cube, the same for every dimension; `"silverman"` for the paper's rule of thumb; by default the one
    that leaves the variance unbiased."""
    unseen: int = 0
    """Zero-weight points added where nature could go."""
    bounds: Literal["reflect", "clip"] = "reflect"
    """What happens to samples beyond the bounds: reflection keeps densities flat there, clipping (as in the paper's
    code) puts a point mass on each bound."""
    bootstrap: bool = True
    """Whether intervals account for how few contexts the law is learned from."""
    box: Box | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        require_count(self.samples, "KDE(samples=...)", low=1, high=MAX_COUNT)
        require_count(self.unseen, "KDE(unseen=...)", high=MAX_COUNT)
        require(self.bounds in ("reflect", "clip"), "KDE(bounds=...)", "be 'reflect' or 'clip'", self.bounds)
        if self.bandwidth not in (None, "silverman"):
            require_number(self.bandwidth, "KDE(bandwidth=...)", above=0)

    def _on(self, box: Box) -> Self:
        """The same estimate, which knows the columns of integers and choices."""
        return replace(self, box=box)

    def bandwidths(self, contexts: Tensor) -> Tensor:
        """Bandwidth per column (d_c,), 0 where nothing is smoothed.

        Silverman's is `(4/(d+2))^(1/(d+4)) * standard deviation * t^(-1/(d+4))`, d counting the columns smoothed.
        """
        smooth = self._smooth(contexts.shape[1])
        t, d = len(contexts), int(smooth.sum())
        if isinstance(self.bandwidth, int | float):
            return torch.where(smooth, float(self.bandwidth), 0.0).to(torch.float64)
        if self.bandwidth == "silverman":
            factor: float = (4 / (d + 2)) ** (1 / (d + 4)) * t ** (-1 / (d + 4))
        else:
            factor = max(t - 1, 1) ** -0.5
        return torch.where(smooth, factor * contexts.std(dim=0, correction=0), 0.0)

    def density(self, at: Tensor, contexts: Tensor) -> Tensor:
        """The estimated density (m,) at points (m, d_c) of real columns, as if there were no bounds (kde, Eq. 2)."""
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
        contexts = self.rows(contexts)
        t, d = contexts.shape
        if not bool(self._smooth(d).any()):
            return with_unseen(merged(contexts, self.component_weights(contexts)), self.unseen, generator)
        uniform = sobol(self.samples, d + 1, generator)
        centre = contexts[(uniform[:, 0] * t).long()]
        points = centre + self.bandwidths(contexts) * torch.special.ndtri(uniform[:, 1:])
        inside = points.clamp(0, 1) if self.bounds == "clip" else _reflected(points)
        weights = torch.full((self.samples,), 1 / self.samples, dtype=torch.float64)
        return with_unseen(Reference(inside, weights), self.unseen, generator)

    def log_component(self, contexts: Tensor, points: Tensor) -> Tensor:
        """The kernel around each context, reflected or clipped at the bounds; a point mass in the other columns."""
        return self._log_kernel(contexts, points, torch.ones(contexts.shape[1], dtype=torch.bool))

    def log_marginal(
        self, contexts: Tensor, points: Tensor, columns: Tensor, smooth: Tensor, exact: bool = False
    ) -> Tensor:
        """The kernel in some columns."""
        return self._log_kernel(contexts, points, columns)

    def _log_kernel(self, contexts: Tensor, points: Tensor, columns: Tensor) -> Tensor:
        width = self.bandwidths(contexts)
        smoothed = (width > EQUAL_TOLERANCE) & columns  # equal numbers may deviate from their mean by rounding
        kept = columns & ~smoothed
        total = point_masses(contexts[:, kept], points[:, kept])
        kernel = _log_clipped if self.bounds == "clip" else _log_reflected
        for column in smoothed.nonzero()[:, 0].tolist():
            total = total + kernel(contexts[:, column, None], points[:, column], float(width[column]))
        return total

    def _smooth(self, d: int) -> Tensor:
        """(d_c,) which columns are those of real variables: all, as long as no box is known."""
        if self.box is None:
            return torch.ones(d, dtype=torch.bool)
        kinds = [variable.variable if isinstance(variable, Context) else variable for variable in self.box.values()]
        return torch.tensor([isinstance(kind, Real) for kind in kinds for _ in range(kind.columns)], dtype=torch.bool)


def _reflected(points: Tensor) -> Tensor:
    """Points folded back into the unit cube at its bounds."""
    folded = points.abs() % 2
    return torch.where(folded > 1, 2 - folded, folded)


def _log_reflected(centre: Tensor, points: Tensor, width: float) -> Tensor:
    """Log density (t, n) of a normal law around each centre (t, 1), folded at 0 and 1, up to a constant."""
    images = [2 * turn + side * centre for turn in (-1, 0, 1) for side in (1, -1)]
    exponents = [-0.5 * ((points - image) / width).square() for image in images]
    total = exponents[0]
    for exponent in exponents[1:]:
        total = torch.logaddexp(total, exponent)
    return total


def _log_clipped(centre: Tensor, points: Tensor, width: float) -> Tensor:
    """Log density (t, n) inside (0, 1), and log mass on the bounds, of a clipped normal law around each centre."""
    inside = -0.5 * ((points - centre) / width).square()
    at_lower = torch.special.log_ndtr(-centre / width).expand_as(inside)
    at_upper = torch.special.log_ndtr((centre - 1) / width).expand_as(inside)
    return torch.where(points <= 0, at_lower, torch.where(points >= 1, at_upper, inside))
