"""The posterior of many outcomes through inducing points chosen among them: O(t m^2) time and O(t m) memory.

The covariance of t outcomes is replaced by one of rank m plus its own diagonal (FITC; Snelson and Ghahramani 2006):
what the inducing points do not explain counts as noise, so that the posterior is not surer than it may be. They are
drawn by randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber 2025), in blocks, until they lack less than a share
of the noise's variance. Without anything lacking the posterior is the exact one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from allweather._utils.linear_algebra import PivotedCholesky, cholesky_root, randomly_pivoted_cholesky
from allweather.surrogates.gp.known_noise import filled
from allweather.surrogates.gp.varying_noise import noise_at
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.kernels import ProductKernel
from allweather.surrogates.posteriors.field import Data
from allweather.surrogates.posteriors.product import ProductPosterior, Standardised

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP

MAX_INDUCING_POINTS, LACKING = 2048, 0.001
"""Inducing points are added until outcomes lack less than LACKING of the noise's variance on average."""

log = logging.getLogger("allweather")


@dataclass(frozen=True, eq=False)
class Summary:
    """What is kept about all outcomes."""

    points: Tensor
    """(t, d) joint points."""
    targets: Tensor
    """(t,) standardised outcomes."""
    residuals: Tensor
    """(t,) the covariance's inverse times the outcomes less their mean."""
    precisions: Tensor
    """(t,) diagonal of the covariance's inverse."""
    gain: float
    """Information gain."""
    lacking: float
    """Share of the prior variance that the inducing points lack, on average over the outcomes."""
    variances: Tensor | None = None
    """(t,) of each outcome's noise, where they differ."""


@dataclass(frozen=True, eq=False)
class InducingPosterior(ProductPosterior):
    """A GP conditioned on many outcomes through inducing points, which stand in for `data.points`."""

    everything: Summary | None = None

    @classmethod
    def conditioned(cls, fitted: Hyperparameters, kernel: ProductKernel, told: Standardised) -> InducingPosterior:
        """The posterior of standardised outcomes, through so many inducing points as they need."""
        slopes = fitted.noise_slopes
        noise = noise_at(fitted.noise, slopes, told.points) if slopes else fitted.noise
        variances = filled(told.known, noise, len(told.points))
        least = fitted.noise if variances is None else min(float(variances.mean()), fitted.noise)
        points, prior = told.points, kernel.outputscale.expand(len(told.points))
        low_rank = randomly_pivoted_cholesky(
            lambda picks: kernel(points[picks], points), prior, MAX_INDUCING_POINTS, LACKING * least
        )
        shown = len(low_rank.pivots), len(points), float(low_rank.lacking.mean())
        log.info("%d inducing points for %d outcomes, lacking %.2g", *shown)
        return _conditioned(fitted, kernel, told, low_rank, variances)

    @property
    def known(self) -> tuple[Data, Tensor]:
        """The points of all outcomes, in place of those that stand in for them."""
        return replace(self.data, points=self._all.points, variances=self._all.variances), self._all.targets

    def given(self, points: Tensor, values: Tensor | None = None) -> InducingPosterior:
        """The posterior with further outcomes, which are added exactly."""
        found = super().given(points, values)
        assert isinstance(found, InducingPosterior)
        known, new = self._all, found.targets[len(self.targets) :]
        joint, targets = torch.cat([known.points, points]), torch.cat([known.targets, new])
        variances = filled(known.variances, self.data.noise_at(joint), len(joint))
        joined = replace(known, points=joint, targets=targets, variances=variances)
        return replace(found, everything=joined)

    def arranged(self, order: Sequence[int], split: int) -> InducingPosterior:
        """The same posterior with its columns in another order."""
        found = super().arranged(order, split)
        assert isinstance(found, InducingPosterior)
        return replace(found, everything=replace(self._all, points=self._all.points[:, torch.tensor(order)]))

    @property
    def information_gain(self) -> float:
        """Of the approximate covariance."""
        return self._all.gain

    @property
    def approximation(self) -> str:
        """How many inducing points there are, and what they lack."""
        known, m = self._all, len(self.data.points)
        return (
            f"the model of {len(known.targets):,} outcomes was computed from {m:,} inducing points, "
            f"which lack {known.lacking:.2g} of the prior variance at the outcomes on average"
        )

    def model(self) -> SingleTaskGP:
        """The exact GP of all outcomes with the same hyperparameters, as a BoTorch model."""
        exact = replace(self.data, points=self._all.points, variances=self._all.variances)
        return ProductPosterior(exact, self._all.targets, self.fitted).model()

    @property
    def _all(self) -> Summary:
        assert self.everything is not None
        return self.everything


def _conditioned(
    fitted: Hyperparameters,
    kernel: ProductKernel,
    told: Standardised,
    low_rank: PivotedCholesky,
    variances: Tensor | None,
) -> InducingPosterior:
    points, targets, units, _ = told
    rows, chosen, lacking = low_rank
    noise = (fitted.noise if variances is None else variances) + lacking  # (t,)
    root = rows[:, chosen].mT.tril()  # of the inducing points' covariance
    scaled = rows / noise.sqrt()
    inner = scaled @ scaled.mT
    inner.diagonal().add_(1)
    inner_root = cholesky_root(inner)
    outcomes = (targets - fitted.mean) / noise.sqrt()
    half = torch.linalg.solve_triangular(inner_root, scaled, upper=False)  # (m, t)
    along = half @ outcomes
    coefficients = torch.linalg.solve_triangular(inner_root.mT, along[:, None], upper=True)
    weights = torch.linalg.solve_triangular(root.mT, coefficients, upper=True)[:, 0]
    inverse = torch.cholesky_inverse(inner_root)
    explained = torch.eye(len(inverse), dtype=inverse.dtype, device=inverse.device) - inverse
    unroot = torch.linalg.solve_triangular(root.mT, cholesky_root(explained), upper=True).mT.contiguous()
    noise_root = torch.linalg.solve_triangular(root.mT, cholesky_root(inverse @ explained), upper=True)
    summary = Summary(
        points,
        targets,
        residuals=(outcomes - along @ half) / noise.sqrt(),
        precisions=(1 - half.square().sum(0)) / noise,
        gain=float(inner_root.diagonal().log().sum()),
        lacking=float(lacking.mean() / kernel.outputscale),
        variances=variances,
    )
    data = Data(kernel, points[chosen], weights, unroot, fitted.noise, fitted.mean, *units, noise_root=noise_root)
    if fitted.noise_slopes:
        data = replace(data, slopes=torch.tensor(fitted.noise_slopes, dtype=torch.float64).to(points.device))
    return InducingPosterior(data, targets[chosen], fitted, summary)
