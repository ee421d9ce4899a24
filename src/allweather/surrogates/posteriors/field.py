"""The posterior of a product kernel, bound to a fixed set of contexts.

Correlations with the contexts are computed once; a new decision only changes t numbers, its correlations with the
decisions of the data. The variance is computed on a skeleton of the contexts and spread to all (`low_rank`).
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from allweather.surrogates.approximations.gram import MAX_UNGROUPED_CONTEXTS, Coarse, Gram
from allweather.surrogates.approximations.low_rank import EXACT_ACCURACY, ROUGH_ACCURACY, Skeletons, skeletons
from allweather.surrogates.base import Field, Moments, Weigh
from allweather.surrogates.gp.varying_noise import noise_at
from allweather.surrogates.kernels import ProductKernel
from allweather.surrogates.posteriors.explained import Explanations
from allweather.surrogates.posteriors.quadrature import Quadrature, Weighted
from allweather.surrogates.posteriors.step import ProductStep

MAX_BLOCK_NUMBERS, MAX_MATRIX_OUTCOMES = 2**22, 512
"""Limits on the numbers in a temporary (32 MiB), and on the outcomes t for a matrix (t, t) per decision."""
LEAST_ROWS, MOST_BLOCKS = 32, 8
"""Of the blocks in which triangles are multiplied: fewer rows cost more than they save."""


@dataclass(frozen=True, eq=False)
class Data:
    """What a product-kernel posterior is made of; outcomes are `shift + scale * (mean + ...)`."""

    kernel: ProductKernel
    points: Tensor
    """(t, d) joint points."""
    weights: Tensor
    """(t,) the mean is a combination of kernels with these weights (alpha)."""
    unroot: Tensor
    """(t, t) inverse of the lower Cholesky factor of the noisy covariance; of inducing points another root."""
    noise: float
    mean: float
    shift: float
    scale: float
    order: tuple[int, ...] | None = None
    """Which column of the fitted points each column is, where they were rearranged."""
    noise_root: Tensor | None = None
    """(t, t) root of the covariance that noise gives the weights; None where points are those of the outcomes."""
    variances: Tensor | None = None
    """(t,) of each outcome's noise, where they differ; `noise` is that of outcomes to come."""
    slopes: Tensor | None = None
    """(d,) of the log variance of the noise, where it varies; `noise` is that in the middle of the unit cube."""

    def noise_at(self, points: Tensor) -> Any:
        """Variances (...) of the noise of outcomes to come at joint points (..., d), or one for all."""
        return self.noise if self.slopes is None else noise_at(self.noise, self.slopes, points)

    def extends(self, earlier: Data) -> bool:
        """Whether these are the outcomes of earlier data and possibly more, with the same hyperparameters.

        Args:
            earlier: what may have been added to.
        """
        plain = all(each.noise_root is each.variances is each.slopes is None for each in (self, earlier))
        same = self.kernel.family == earlier.kernel.family and self.kernel.split == earlier.kernel.split
        t = len(earlier.points)
        if not (plain and same and self.order == earlier.order and t <= len(self.points)):
            return False
        # The unit of the outcomes divides outputscale and noise alike, and may change with every outcome.
        ratios = [each.noise / float(each.kernel.outputscale) for each in (self, earlier)]
        size, known = (each.kernel.outputscale.sqrt() * each.unroot.diagonal()[:t] for each in (self, earlier))
        return (
            math.isclose(*ratios, rel_tol=1e-12)
            and torch.equal(self.kernel.lengthscales, earlier.kernel.lengthscales)
            and torch.equal(self.points[:t], earlier.points)
            and torch.allclose(size, known, rtol=1e-9, atol=0)
        )

    @property
    def deviations(self) -> Any:
        """Standard deviations (t,) of the outcomes' noise, or one for all."""
        return math.sqrt(self.noise) if self.variances is None else self.variances.sqrt()


class ProductField(Field):
    """The fast field: cost O(r t^2 + n (r + t)) per decision, r the size of the skeleton."""

    def __init__(self, data: Data, contexts: Tensor, memory: Explanations | None = None) -> None:
        kernel = data.kernel
        self.data = data
        self._memory = memory if contexts.device.type == "cpu" else None
        self._decisions, self._anchors = kernel.scaled(data.points)
        self._scaled = contexts / kernel.lengthscales[kernel.split :]
        self._correlations = kernel.factor(self._scaled, self._anchors)  # (n, t)
        self._whole: tuple[ProductField, Tensor] | None = None
        """Of a rough field: the field at all contexts, and which of these it has."""
        self._shared: tuple[Tensor, Weighted] | None = None
        """The last weights (n,) that all decisions shared, and what they come down to."""
        self._averaged: tuple[Tensor, Tensor] | None = None
        """The last weights of `mean_bound`, and the matrix (t, t) of the mean explained variance."""

    def rough(self, chosen: Tensor) -> ProductField:
        """The field at some contexts, on a smaller skeleton still: standard deviations to a few per cent."""
        field = copy(self)
        for name in ("_coarse", "_context_slopes", "_gram", "_skeletons", "_support"):
            field.__dict__.pop(name, None)
        field._shared, field._averaged, field._memory, field._whole = None, None, None, (self, chosen)
        field._scaled, field._correlations = self._scaled[chosen], self._correlations[chosen]
        return field

    @cached_property
    def _skeletons(self) -> Skeletons:
        """Made when variances at all contexts are first asked for: weighted sums and means need none."""
        kernel = self.data.kernel
        least = self.data.noise if self.data.variances is None else self.data.variances.min()
        signal = float((kernel.outputscale / least).sqrt())
        return skeletons(kernel.factor, self._scaled, self._anchors, signal)

    @cached_property
    def _support(self) -> tuple[Tensor, Tensor | None]:
        """Correlations (r, t) of the contexts that variances are computed at, and the map (r, n) from there to all."""
        whole, places = (self, None) if self._whole is None else self._whole
        if whole._skeletons.triangle is None:
            return self._correlations, None
        chosen, spread = whole._skeletons.to(EXACT_ACCURACY if places is None else ROUGH_ACCURACY)
        assert spread is not None  # there is a triangle
        device = self._correlations.device
        return whole._correlations[chosen], (spread if places is None else spread[:, places.cpu()]).to(device)

    def __call__(self, decisions: Tensor) -> Moments:
        """Mean and standard deviation at every context."""
        data = self.data
        near = self.near(decisions)
        mean = (near * data.weights) @ self._correlations.T
        kept = self._memory is not None and not near.requires_grad
        return self._in_units(mean, self._remembered(decisions, near) if kept else self._explained(near))

    def _explained(self, near: Tensor) -> Tensor:
        """The explained variances (b, n)."""
        bones, spread = self._support
        data = self.data
        triangular = data.noise_root is None
        explained: Tensor = Explained.apply(near, bones, data.unroot, triangular)  # type: ignore[no-untyped-call]
        return explained if spread is None else explained @ spread

    def _remembered(self, decisions: Tensor, near: Tensor) -> Tensor:
        """The same; where the decisions were asked about before, only what further outcomes explain is computed."""
        assert self._memory is not None
        data, prior = self.data, float(self.data.kernel.outputscale)
        unroot, correlations = data.unroot, self._correlations

        def added(some: Tensor, since: int) -> Tensor:
            rows = max(1, MAX_BLOCK_NUMBERS // correlations.numel())
            halves = (_half(block, correlations, unroot[since:], False) for block in near[some].split(rows))
            return torch.cat([half.square().sum(1) for half in halves]) / prior

        key = data.kernel.split, data.order, self._scaled.numpy().tobytes()
        table = self._memory.of(key)
        return prior * table.shares(decisions, len(unroot), lambda some: self._explained(near[some]) / prior, added)

    def mean(self, decisions: Tensor) -> Tensor:
        """The mean alone, which needs no variance."""
        return self._mean(self.near(decisions))

    def mean_and_deviation(self, decisions: Tensor, some: Field, chosen: Any, weigh: Weigh) -> tuple[Tensor, Tensor]:
        """With covariances of decisions and data computed once."""
        near = self.near(decisions)
        mean = self._mean(near)
        assert isinstance(some, ProductField)
        return mean, some._combination(near, weigh(mean[:, chosen])).sd

    def _mean(self, near: Tensor) -> Tensor:
        data = self.data
        return data.shift + data.scale * (data.mean + (near * data.weights) @ self._correlations.T)

    def combination_mean(self, decisions: Tensor, weights: Tensor) -> Tensor:
        """O(t) per decision, whatever n is."""
        data, total = self.data, weights.sum()
        pulled = data.weights * (weights @ self._correlations)
        return data.shift * total + data.scale * (data.mean * total + self.near(decisions) @ pulled)

    def combination(self, decisions: Tensor, weights: Tensor) -> Moments:
        """Bayesian quadrature: O(t^2) per decision where all decisions share their weights, whatever n is."""
        return self._combination(self.near(decisions), weights)

    def _combination(self, near: Tensor, weights: Tensor) -> Moments:
        data = self.data
        with_data, for_spread, variance = self._weighted(weights) if weights.ndim > 1 else self.shared(weights)
        at_data = near * with_data  # (b, t) covariances with the data
        spread = at_data if for_spread is with_data else near * for_spread
        explained = (spread @ data.unroot.T).square().sum(-1)
        mean = data.shift * weights.sum(-1) + data.scale * (data.mean * weights.sum(-1) + at_data @ data.weights)
        return Moments(mean, data.scale * root(data.kernel.outputscale * variance, explained))

    def step(self, compared: Tensor, weights: Tensor, contexts: Tensor) -> ProductStep:
        """In closed form: O(t^2) per decision and coming context."""
        return ProductStep.of(self, compared, weights, contexts)

    def reaction(
        self,
        decisions: Tensor,  # (b, d_x)
        point: Tensor,  # (d,)
    ) -> Tensor:
        """How much the means (b, n) rise for every unit by which the outcome of a trial at a joint point surprises."""
        data, kernel, split = self.data, self.data.kernel, self.data.kernel.split
        half = data.unroot @ kernel(data.points, point[None])[:, 0]
        x, c = (part[None] for part in (point / kernel.lengthscales).tensor_split([split]))
        prior = kernel.outputscale * kernel.factor(decisions / kernel.lengthscales[:split], x)  # (b, 1)
        prior = prior * kernel.factor(self._scaled, c).T
        explained = (self.near(decisions) * (half @ data.unroot)) @ self._correlations.T
        variance: Tensor = kernel.outputscale - half @ half + data.noise_at(point)
        return (prior - explained) / variance

    def covariances(self, weights: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Correlations of weighted sums with contexts (m, d_c) and with the data, and of these contexts with the data.

        Args:
            weights: (n,) or (M, n).
            contexts: (m, d_c).

        Returns:
            (m,) or (M, m), (t,) or (M, t), and (m, t).
        """
        kernel = self.data.kernel
        scaled = contexts / kernel.lengthscales[kernel.split :]
        return weights @ kernel.factor(self._scaled, scaled), weights @ self._correlations, self.with_data(contexts)

    @property
    def correlations(self) -> Tensor:
        """(n, t) of the contexts with those of the data."""
        return self._correlations

    def with_data(self, contexts: Tensor) -> Tensor:
        """Correlations (m, t) of other contexts (m, d_c) with those of the data."""
        kernel = self.data.kernel
        return kernel.factor(contexts / kernel.lengthscales[kernel.split :], self._anchors)

    def mean_bound(self, decisions: Tensor, weights: Tensor, width: float) -> Tensor:
        """From the root of the mean variance, which is not below the mean of its roots: O(t^2) per decision."""
        data, prior = self.data, self.data.kernel.outputscale
        if self._averaged is None or self._averaged[0] is not weights:
            together = self._correlations.T @ (weights[:, None] * self._correlations)
            self._averaged = weights, (data.unroot.T @ data.unroot) * together
        near = self.near(decisions)
        explained = ((near @ self._averaged[1]) * near).sum(-1)
        sd = data.scale * root(prior, explained - 1e-10 * prior)  # rounding must not make it too low
        return self.combination_mean(decisions, weights) + width * sd

    def quadrature(self, weights: Tensor, width: float) -> Quadrature | None:
        """In closed form, on the CPU."""
        if weights.device.type != "cpu":
            return None
        if width:
            return Quadrature.of(self.data, self.shared(weights), float(weights.sum()), width)
        nothing = weights.new_zeros(())
        with_data = weights @ self._correlations
        return Quadrature.of(self.data, Weighted(with_data, with_data, nothing), float(weights.sum()), width)

    def shared(self, weights: Tensor) -> Weighted:
        """What weights (n,) of all decisions come down to."""
        if self._shared is None or self._shared[0] is not weights:
            self._shared = weights, self._weighted(weights)
        return self._shared[1]

    def _weighted(self, weights: Tensor) -> Weighted:
        """What weights (n,) or (b, n) come down to."""
        with_data = weights @ self._correlations
        if self._coarse is None:
            return Weighted(with_data, with_data, self._gram.quadratic(weights))
        return Weighted(with_data, *self._coarse.spread(weights))

    @cached_property
    def _coarse(self) -> Coarse | None:
        """Fewer contexts for the deviation of sums, where there are very many."""
        if len(self._scaled) <= MAX_UNGROUPED_CONTEXTS:
            return None
        return Coarse.of(self.data.kernel.factor, self._scaled, self._anchors)

    @cached_property
    def _gram(self) -> Gram:
        """The correlations of the contexts with each other."""
        return Gram(self.data.kernel.factor, self._scaled)

    def slopes(self, decisions: Tensor) -> Moments:
        """The derivatives in the context, from those of the kernel."""
        data, slope = self.data, self._context_slopes
        near = self.near(decisions)
        mean = torch.einsum("bt,nte->bne", near * data.weights, slope)
        half = (near[:, None, :] * self._correlations) @ data.unroot.T  # (b, n, t)
        explained = half.square().sum(-1)
        solved = near[:, None, :] * (half @ data.unroot)
        steepness = torch.einsum("bnt,nte->bne", solved, slope)
        sd = root(data.kernel.outputscale, explained)
        return Moments(data.scale * mean, -data.scale * steepness / sd[..., None])

    def steepness(self, decisions: Tensor, width: float) -> Tensor:
        """Its gradient in closed form, since this is what costs most where it is asked for."""
        near, data = self.near(decisions), self.data
        bound = self._correlations, self._context_slopes, data, width
        rows = max(1, MAX_BLOCK_NUMBERS // self._correlations.numel())
        blocks = [Steepest.apply(block, *bound) for block in near.split(rows)]  # type: ignore[no-untyped-call]
        return data.scale * torch.cat(blocks)

    @cached_property
    def _context_slopes(self) -> Tensor:
        """(n, t, d_c) of the correlations."""
        kernel = self.data.kernel
        return kernel.factor.slopes(self._scaled, self._anchors) / kernel.lengthscales[kernel.split :]

    def near(self, decisions: Tensor) -> Tensor:
        """Prior covariances (b, t) with the data as far as the decisions decide them."""
        kernel = self.data.kernel
        return kernel.outputscale * kernel.factor(decisions / kernel.lengthscales[: kernel.split], self._decisions)

    def _in_units(self, mean: Tensor, explained: Tensor) -> Moments:
        data = self.data
        sd = root(data.kernel.outputscale, explained)
        return Moments(data.shift + data.scale * (data.mean + mean), data.scale * sd)


def root(prior: Tensor, explained: Tensor) -> Tensor:
    """The standard deviation that is left of a prior variance, of which so much is explained."""
    # Rounding may explain slightly more than there is.
    return (prior - explained).maximum(1e-12 * prior).sqrt()


class Explained(torch.autograd.Function):
    """How much of the prior variance (b, r) the data explain, blockwise so that memory stays bounded."""

    @staticmethod
    def forward(
        ctx: Any,
        near: Tensor,  # (b, t)
        bones: Tensor,  # (r, t)
        unroot: Tensor,  # (t, t)
        triangular: bool,
    ) -> Tensor:
        """What is explained at each of the contexts (b, r)."""
        rows = max(1, MAX_BLOCK_NUMBERS // bones.numel())
        ctx.save_for_backward(near, bones, unroot)
        ctx.rows, ctx.triangular, ctx.half = rows, triangular, None
        if len(unroot) > MAX_MATRIX_OUTCOMES:
            return torch.cat([(block[:, None, :] * bones @ unroot.T).square().sum(-1) for block in near.split(rows)])
        halves = [_half(block, bones, unroot, triangular) for block in near.split(rows)]
        # A single block is kept for the gradient; several are cheaper to compute again than to keep.
        ctx.half = halves[0] if len(halves) == 1 else None
        return torch.cat([half.square().sum(1) for half in halves])

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None]:
        """The gradient in the prior covariances alone."""
        near, bones, unroot = ctx.saved_tensors
        gradients = []
        if len(unroot) > MAX_MATRIX_OUTCOMES:
            for block, weights in zip(near.split(ctx.rows), upstream[0].split(ctx.rows), strict=True):
                solved = (block[:, None, :] * bones @ unroot.T) @ unroot  # (b, r, t)
                gradients.append((2 * weights[..., None] * solved * bones).sum(1))
            return torch.cat(gradients), None, None, None
        for block, weights in zip(near.split(ctx.rows), upstream[0].split(ctx.rows), strict=True):
            half = ctx.half if ctx.half is not None else _half(block, bones, unroot, ctx.triangular)
            pull = half * (2 * weights)[:, None, :]  # (b, t, r)
            gradient = torch.zeros_like(block)
            for some in _rows(len(unroot)) if ctx.triangular else [slice(0, len(unroot))]:
                filled = some.stop
                gradient[:, :filled] += ((pull[:, some] @ bones[:, :filled]) * unroot[some, :filled]).sum(1)
            gradients.append(gradient)
        return torch.cat(gradients), None, None, None


class Steepest(torch.autograd.Function):
    """The largest norm (b,) of the derivative of `mean + width * sd` in the context, in standardised units.

    With `y = K^-1 (near * correlations)` and S the correlations' derivatives in the context, the derivative is
    `S' (near * (weights - width * y / sd))`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        near: Tensor,  # (b, t)
        correlations: Tensor,  # (n, t)
        slope: Tensor,  # (n, t, d_c)
        data: Data,
        width: float,
    ) -> Tensor:
        """The largest of the contexts' norms (b,)."""
        half = (near[:, None, :] * correlations) @ data.unroot.T  # (b, n, t)
        sd = root(data.kernel.outputscale, half.square().sum(-1))
        y = half @ data.unroot
        pull = data.weights - y * (width / sd)[..., None]
        derivative = torch.einsum("bnt,nte->bne", near[:, None, :] * pull, slope)
        norms: Tensor = derivative.norm(dim=-1)
        steepest, where = norms.max(-1)
        row = torch.arange(len(near), device=near.device)
        ctx.chosen = correlations[where], slope[where], y[row, where], sd[row, where, None], pull[row, where]
        ctx.direction = derivative[row, where] / steepest.clamp_min(1e-300)[:, None]
        ctx.near, ctx.data, ctx.width = near, data, width
        return steepest

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None, None]:
        """The gradient in the prior covariances alone."""
        correlations, slope, y, sd, pull = ctx.chosen
        along = (slope @ ctx.direction[..., None])[..., 0]  # (b, t)
        weighed = ctx.near * along
        solved = (weighed @ ctx.data.unroot.T) @ ctx.data.unroot
        in_sd = (weighed * y).sum(-1, keepdim=True) / sd**2
        gradient = pull * along - ctx.width / sd * correlations * (solved + in_sd * y)
        return upstream[0][:, None] * gradient, None, None, None, None


def _half(near: Tensor, bones: Tensor, unroot: Tensor, triangular: bool) -> Tensor:
    """(b, t, r) whose squares, summed over the data, are what is explained."""
    if not triangular:
        return (near[:, None, :] * unroot) @ bones.T
    half = near.new_empty(len(near), len(unroot), len(bones))
    for rows in _rows(len(unroot)):
        filled = rows.stop
        half[:, rows] = (near[:, None, :filled] * unroot[rows, :filled]) @ bones[:, :filled].T
    return half


def _rows(count: int) -> list[slice]:
    """Blocks of rows of a lower triangle: columns after the last of a block are zero, and need not be multiplied."""
    blocks = max(1, min(count // LEAST_ROWS, MOST_BLOCKS))
    ends = [count * (block + 1) // blocks for block in range(blocks)]
    return [slice(first, end) for first, end in zip([0, *ends], ends, strict=False)]
