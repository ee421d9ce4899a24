"""Functions drawn from a GP prior, exact in the whole unit cube (errata E37)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from allweather.contexts import Reference
from allweather.errors import require_count
from allweather.problems.base import Problem, registered
from allweather.problems.grids import gaussian_belief, grid
from allweather.space import Space
from allweather.space.variables import Context, Real

LENGTHSCALE = 0.1
ANCHORS = 64
"""Per dimension; their spacing is a sixth of the lengthscale, so that the kernel between them is determined."""
NEGLIGIBLE = 1e-11
"""Eigenvalues of the anchors' kernel matrix below this share of the largest are dropped."""


@dataclass(frozen=True, eq=False)
class PriorSample:
    """A draw of the zero-mean GP with an RBF kernel of lengthscale 0.1 on the unit cube.

    In one dimension the kernel is, to ten digits, the inner product of some twenty features. Their products over the
    dimensions with independent normal coefficients are the sample; evaluation is a matrix product.

    Example:
        >>> one = PriorSample.drawn(decisions=1, contexts=1, seed=0)
        >>> one(torch.tensor([[0.5]]), torch.rand(7, 1)).shape
        torch.Size([1, 7])
    """

    anchors: Tensor
    """(m,)"""
    features: Tensor
    """(m, r) kernel values at the anchors to features."""
    coefficients: Tensor
    """(r**d_x, r**d_c)"""

    @classmethod
    def drawn(cls, decisions: int, contexts: int, seed: int) -> Self:
        """Draw a sample.

        Args:
            decisions: number of decision variables.
            contexts: number of contexts.
            seed: of the coefficients.
        """
        anchors = torch.linspace(0, 1, ANCHORS, dtype=torch.float64)
        eigenvalues, vectors = torch.linalg.eigh(_rbf(anchors, anchors))
        kept = eigenvalues > NEGLIGIBLE * eigenvalues[-1]
        features = vectors[:, kept] / eigenvalues[kept].sqrt()
        # LAPACK may flip an eigenvector: with a fixed sign the sample is the same on every machine.
        features = features * features[0].sign()
        rank = features.shape[1]
        generator = torch.Generator().manual_seed(seed)
        shape = (rank**decisions, rank**contexts)
        return cls(anchors, features, torch.randn(shape, dtype=torch.float64, generator=generator))

    def __call__(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """Return values (b, n) at decisions (b, d_x) and contexts (n, d_c)."""
        return self.embedded(decisions) @ self.coefficients @ self.embedded(contexts).T

    def averaged(self, laws: Mapping[int, Reference]) -> Self:
        """Return the mean over the columns with a law, as a function of the other columns."""
        rank, total = self.features.shape[1], self.coefficients.numel()
        dimension = next(d for d in range(1, total + 1) if rank**d == total)
        tensor = self.coefficients.reshape([rank] * dimension)
        for column in sorted(laws, reverse=True):
            points, weights = laws[column]
            tensor = torch.tensordot(tensor, weights @ self.embedded(points), dims=([column], [0]))
        return type(self)(self.anchors, self.features, tensor.reshape(-1, 1))

    def embedded(self, points: Tensor) -> Tensor:
        """Return features (b, r**d) of points (b, d), whose inner products are the kernel."""
        rows = torch.ones(len(points), 1, dtype=torch.float64)
        for column in points.to(torch.float64).unbind(1):
            line = _rbf(column, self.anchors) @ self.features
            rows = (rows[:, :, None] * line[:, None]).flatten(1)
        return rows


def _rbf(a: Tensor, b: Tensor) -> Tensor:
    return (-0.5 * ((a[:, None] - b) / LENGTHSCALE) ** 2).exp()


@registered("gp-sample")
def gp_sample(seed: int = 0) -> Problem:
    """Return a draw of the learner's own prior: two decisions and two contexts on grids."""
    require_count(seed, "problem('gp-sample', seed=...)")
    space = Space(x1=Real(0, 1), x2=Real(0, 1), c1=Context(0, 1), c2=Context(0, 1))
    setting = gaussian_belief(space, grid(2, 8))
    return Problem(
        name="gp-sample",
        space=space,
        function=PriorSample.drawn(decisions=2, contexts=2, seed=seed),
        **setting.arguments,
        candidates=grid(2, 32),
        source="bocu App. C.1; errata E35, E37 (an exact draw with standard deviation 1)",
    )
