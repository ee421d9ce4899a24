"""A mixture of posteriors, bound to a fixed set of contexts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from allweather.surrogates.base import Field, Moments
from allweather.surrogates.fields import ProductField
from allweather.surrogates.step import MeanStep


class MixtureField(Field):
    """Moments of an equal mixture: the spread of the parts' means adds to their variances.

    The parts share their data, so that means and weighted sums of all parts are computed at once.
    """

    def __init__(self, fields: Sequence[ProductField]) -> None:
        self._fields = list(fields)
        kernels = [field.data.kernel for field in fields]
        data = fields[0].data
        self._points = data.points[:, : kernels[0].split]
        self._factor = kernels[0].factor
        self._precisions = torch.stack([kernel.lengthscales[: kernel.split] for kernel in kernels]) ** -2.0  # (k, d_x)
        self._outputscales = torch.stack([kernel.outputscale for kernel in kernels])
        self._units = data.shift, data.scale
        self._means = torch.tensor([field.data.mean for field in fields], dtype=torch.float64).to(data.points.device)
        self._weights = torch.stack([field.data.weights for field in fields])  # (k, t)
        self._unroots = torch.stack([field.data.unroot for field in fields])  # (k, t, t)

    def __call__(self, decisions: Tensor) -> Moments:
        """Mean and standard deviation at every context."""
        return _mixed(*_stacked([field(decisions) for field in self._fields]))

    def mean(self, decisions: Tensor) -> Tensor:
        """The mean alone."""
        return torch.stack([field.mean(decisions) for field in self._fields]).mean(0)

    def combination(self, decisions: Tensor, weights: Tensor) -> Moments:
        """Of weighted sums over the contexts; all parts at once where decisions share their weights."""
        if weights.ndim > 1:
            return _mixed(*_stacked([field.combination(decisions, weights) for field in self._fields]))
        bound = [field.shared(weights) for field in self._fields]
        with_data, for_spread, variance = (torch.stack(part) for part in zip(*bound, strict=True))  # (k, t) twice, (k,)
        near = self._near(decisions)  # (k, b, t)
        at_data = near * with_data[:, None]
        explained = ((near * for_spread[:, None]) @ self._unroots.mT).square().sum(-1)
        total, (shift, scale) = weights.sum(), self._units
        means = shift * total + scale * (self._means[:, None] * total + (at_data @ self._weights[..., None])[..., 0])
        prior = (self._outputscales * variance)[:, None]
        return _mixed(means, scale * (prior - explained).maximum(1e-12 * prior).sqrt())

    def step(self, compared: Tensor, weights: Tensor, contexts: Tensor) -> MeanStep:
        """The mean of the parts' steps."""
        return MeanStep([field.step(compared, weights, contexts) for field in self._fields])

    def slopes(self, decisions: Tensor) -> Moments:
        """Derivatives of the mixture's moments."""
        means, sds = _stacked([field(decisions) for field in self._fields])
        rising, widening = _stacked([field.slopes(decisions) for field in self._fields])
        mean, sd = _mixed(means, sds)
        slope = rising.mean(0)
        second = (sds[..., None] * widening + means[..., None] * rising).mean(0)
        return Moments(slope, (second - mean[..., None] * slope) / sd[..., None])

    def rough(self, chosen: Tensor) -> MixtureField:
        """The parts at some of the contexts."""
        return MixtureField([field.rough(chosen) for field in self._fields])

    def _near(self, decisions: Tensor) -> Tensor:
        """(k, b, t) the parts' prior covariances with the data as far as the decisions decide them."""
        apart = decisions[:, None] - self._points  # (b, t, d_x)
        if self._factor.columns and apart.shape[-1]:
            rates = self._precisions.sqrt().T[..., None, None]  # (d_x, k, 1, 1)
            distances = (rate * each for each, rate in zip(apart.abs().unbind(-1), rates, strict=True))
            return self._outputscales[:, None, None] * self._factor.product(distances)
        squared = torch.einsum("btd,kd->kbt", apart.square(), self._precisions)
        return self._outputscales[:, None, None] * self._factor.of(squared)


def _stacked(parts: Sequence[Moments]) -> tuple[Tensor, Tensor]:
    return torch.stack([part.mean for part in parts]), torch.stack([part.sd for part in parts])


def _mixed(means: Tensor, sds: Tensor) -> Moments:
    """The moments of a mixture whose parts are stacked in front."""
    mean = means.mean(0)
    return Moments(mean, ((means - mean).square() + sds.square()).mean(0).sqrt())
