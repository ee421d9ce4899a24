"""The effect of one trial on posterior means: linear in its standardised outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from allweather.surrogates.posteriors.field import ProductField


class Step(ABC):
    """The change of posterior means of weighted sums over contexts with the outcome of a trial.

    The outcome of a trial at decision x and context c is `mean + sd * Z`, noise included, with Z standard normal; then
    the posterior mean of every weighted sum moves by `slope * Z`.
    """

    @abstractmethod
    def __call__(self, decisions: Tensor) -> Tensor:
        """Slopes (b, m, M) of the M decisions compared, for trials at decisions (b, d_x) in each of m contexts."""

    @abstractmethod
    def own(self, decisions: Tensor, weights: Tensor) -> Tensor:
        """Slopes (b, m) of the decisions that are tried themselves, with weights (n,) or (b, n)."""


@dataclass(frozen=True, eq=False)
class ProductStep(Step):
    """That of a GP with a product kernel, exact: posterior covariances divided by the outcome's deviation."""

    field: ProductField
    contexts: Tensor
    """(m, d_c) of the coming trial."""
    compared: Tensor
    """(M, d_x) divided by the lengthscales."""
    coming: Tensor
    """(m, t) correlations of the contexts with the data."""
    prior: Tensor
    """(m,) or (M, m) correlations of the weighted sums with the contexts."""
    half: Tensor
    """(M, t) whose products with those of trials are the covariances that the data explain."""

    @classmethod
    def of(cls, field: ProductField, compared: Tensor, weights: Tensor, contexts: Tensor) -> ProductStep:
        """Bind a field to decisions (M, d_x), their weights (n,) or (M, n), and contexts (m, d_c)."""
        prior, at_data, coming = field.covariances(weights, contexts)
        kernel = field.data.kernel
        half = (field.near(compared) * at_data) @ field.data.unroot.T
        return cls(field, contexts, compared / kernel.lengthscales[: kernel.split], coming, prior, half)

    def __call__(self, decisions: Tensor) -> Tensor:
        """Slopes of the decisions compared."""
        kernel = self.field.data.kernel
        half, unit = self._trial(decisions)
        scaled = decisions / kernel.lengthscales[: kernel.split]
        near = kernel.outputscale * kernel.factor(scaled, self.compared)  # (b, M)
        prior = self.prior.mT if self.prior.ndim > 1 else self.prior[:, None]  # (m, M) or (m, 1)
        return (near[:, None] * prior - half @ self.half.T) * unit[..., None]

    def own(self, decisions: Tensor, weights: Tensor) -> Tensor:
        """Slopes of the decisions themselves."""
        field = self.field
        half, unit = self._trial(decisions)
        prior, at_data, _ = field.covariances(weights, self.contexts)
        mine = (field.near(decisions) * at_data) @ field.data.unroot.T  # (b, t)
        return (field.data.kernel.outputscale * prior - (half @ mine[..., None])[..., 0]) * unit

    def _trial(self, decisions: Tensor) -> tuple[Tensor, Tensor]:
        """(b, m, t) as `half`, and (b, m) the outcome's units over its standard deviation."""
        data, (b, m) = self.field.data, (len(decisions), len(self.contexts))
        half = (self.field.near(decisions)[:, None] * self.coming) @ data.unroot.T
        prior = data.kernel.outputscale
        variance = (prior - half.square().sum(-1)).maximum(1e-12 * prior)
        points = torch.cat([decisions[:, None].expand(-1, m, -1), self.contexts.expand(b, -1, -1)], -1)
        variance = variance + data.noise_at(points)
        return half, data.scale / variance.sqrt()


@dataclass(frozen=True, eq=False)
class MeanStep(Step):
    """The mean of steps: that of a mixture of posteriors, whose shares one outcome hardly changes."""

    parts: Sequence[Step]
    weights: Sequence[float] | None = None
    """Of sum 1; equal if not given."""

    def __call__(self, decisions: Tensor) -> Tensor:
        """Slopes of the decisions compared."""
        return self._mean([part(decisions) for part in self.parts])

    def own(self, decisions: Tensor, weights: Tensor) -> Tensor:
        """Slopes of the decisions themselves."""
        return self._mean([part.own(decisions, weights) for part in self.parts])

    def _mean(self, slopes: Sequence[Tensor]) -> Tensor:
        if self.weights is None:
            return torch.stack(list(slopes)).mean(0)
        return torch.stack([weight * slope for weight, slope in zip(self.weights, slopes, strict=True)]).sum(0)
