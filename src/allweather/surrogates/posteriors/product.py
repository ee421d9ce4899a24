"""The exact posterior of a GP with a product kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from gpytorch.constraints import Positive
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from torch import Generator, Tensor

from allweather._utils.linear_algebra import cholesky_root
from allweather.errors import require
from allweather.surrogates.approximations.low_rank import truncated_root
from allweather.surrogates.base import ContextKernel, Moments, Paths, Posterior
from allweather.surrogates.gp.known_noise import centre_and_scale, filled, known_variances
from allweather.surrogates.gp.varying_noise import noise_at
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.kernels import ProductKernel, over_columns
from allweather.surrogates.posteriors.explained import Explanations
from allweather.surrogates.posteriors.field import Data, ProductField
from allweather.surrogates.samples.fourier import weight_space
from allweather.surrogates.samples.joint_draws import (
    MAX_ROOT_COLUMNS,
    ROOT_TOLERANCE,
    Drawn,
    Noise,
    Truncated,
    mean_moments,
)
from allweather.surrogates.samples.paths import matheron

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP


MAX_REFACTORISED_OUTCOMES = 256
"""Up to this many outcomes, factorise anew when outcomes are added; above, extend the factor."""


class Standardised(NamedTuple):
    """Outcomes as a GP is conditioned on them."""

    points: Tensor
    """(t, d) joint points."""
    targets: Tensor
    """(t,) standardised outcomes."""
    units: tuple[float, float]
    """What was subtracted from the outcomes, and what they were divided by."""
    known: Tensor | None = None
    """(k,) variances of the noise of the first k outcomes, NaN where it is fitted."""


@dataclass(frozen=True, eq=False)
class ProductPosterior(Posterior):
    """A GP with a product kernel, conditioned on standardised outcomes."""

    data: Data
    targets: Tensor
    """(t,) standardised outcomes."""
    fitted: Hyperparameters
    memory: Explanations | None = field(default=None, kw_only=True)
    """What was computed for earlier outcomes; None where hyperparameters changed, or there were none."""

    @classmethod
    def of(
        cls,
        family: str,
        split: int,
        fitted: Hyperparameters,
        points: Tensor,
        values: Tensor,
        sds: Tensor | None = None,
        inflation: float = 1.0,
    ) -> ProductPosterior:
        """The posterior of outcomes.

        Args:
            family: of the kernel.
            split: how many of the columns are decisions.
            fitted: the hyperparameters.
            points: (t, d) joint points.
            values: (t,) outcomes.
            sds: (t,) their standard errors, NaN where not known.
            inflation: what the variances of known noise are multiplied by.
        """
        shift, scale = centre_and_scale(values, sds)
        kernel = fitted.kernel(family, split, points.device)
        known = known_variances(sds, scale, inflation)
        return cls.conditioned(fitted, kernel, Standardised(points, (values - shift) / scale, (shift, scale), known))

    @classmethod
    def conditioned(cls, fitted: Hyperparameters, kernel: ProductKernel, told: Standardised) -> ProductPosterior:
        """The posterior of standardised outcomes.

        Args:
            fitted: the hyperparameters.
            kernel: made of them.
            told: the outcomes.
        """
        points, targets, units, known = told
        slopes = fitted.noise_slopes
        noise = noise_at(fitted.noise, slopes, points) if slopes else fitted.noise
        covariance, variances = kernel(points, points), filled(known, noise, len(points))
        covariance.diagonal().add_(fitted.noise if variances is None else variances)
        root = cholesky_root(covariance)
        identity = torch.eye(len(points), dtype=torch.float64, device=points.device)
        unroot = torch.linalg.solve_triangular(root, identity, upper=False)
        weights = torch.cholesky_solve((targets - fitted.mean)[:, None], root)[:, 0]
        data = Data(kernel, points, weights, unroot, fitted.noise, fitted.mean, *units, variances=variances)
        if slopes:
            data = replace(data, slopes=torch.tensor(slopes, dtype=torch.float64).to(points.device))
        return ProductPosterior(data, targets, fitted)

    def field(self, contexts: Tensor) -> ProductField:
        """The fast field."""
        return ProductField(self.data, contexts, self.memory)

    def following(self, earlier: Posterior) -> ProductPosterior:
        """With what was computed for the earlier outcomes, where they were only added to."""
        if not isinstance(earlier, ProductPosterior) or not self.data.extends(earlier.data):
            return self
        return replace(self, memory=earlier.memory or Explanations())

    def paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """Samples by Matheron's rule."""
        return matheron(self.data, self.targets, contexts, count, generator, features)

    def mean_paths(
        self, contexts: Tensor, weights: Tensor, count: int, generator: Generator, features: int = 1024
    ) -> Paths:
        """Samples by Matheron's rule: O(t) per decision, whatever n is."""
        return matheron(self.data, self.targets, contexts, count, generator, features, weights)

    def fourier_paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """Samples of Bayesian linear regression on random Fourier features."""
        return weight_space(*self.known, contexts, count, generator, features)

    def fourier_mean_paths(
        self, contexts: Tensor, weights: Tensor, count: int, generator: Generator, features: int = 1024
    ) -> Paths:
        """Samples of the same model: O(features) per decision, whatever n is."""
        return weight_space(*self.known, contexts, count, generator, features, weights)

    @property
    def known(self) -> tuple[Data, Tensor]:
        """The data of all outcomes, and these (t,), standardised."""
        return self.data, self.targets

    def draws(self, decisions: Tensor, contexts: Tensor, count: int, generator: Generator) -> Tensor:
        """Samples of the joint posterior of each decision's contexts, the same random numbers for all decisions.

        The context kernel is approximated by a root of at most 64 columns; the variance that it lacks, below 1e-4 of
        the prior's where that many suffice, is drawn for each context by itself, so that no variance is lost.
        Means are exact.
        """
        return self._drawn(contexts, count, generator).values(decisions, contexts)

    def mean_draws(self, decisions: Tensor, contexts: Tensor, laws: Tensor, count: int, generator: Generator) -> Tensor:
        """Draws of one number for each decision, however many contexts there are."""
        return self._drawn(contexts, count, generator).means(decisions, contexts, laws)

    def mean_moments(self, decisions: Tensor, contexts: Tensor, laws: Tensor) -> Moments:
        """In closed form."""
        return mean_moments(self.data, self._truncated(contexts), decisions, contexts, laws)

    def _drawn(self, contexts: Tensor, count: int, generator: Generator) -> Drawn:
        truncated = self._truncated(contexts)
        return Drawn([self.data], [Noise.draw(count, truncated, len(contexts), generator)], truncated)

    def _truncated(self, contexts: Tensor) -> Truncated:
        return truncated_root(self.data.kernel.factor, self.scaled_contexts(contexts), MAX_ROOT_COLUMNS, ROOT_TOLERANCE)

    def scaled_contexts(self, contexts: Tensor) -> Tensor:
        """Contexts (n, d_c), and below them those of the data, divided by their lengthscales."""
        kernel = self.data.kernel
        _, anchors = kernel.scaled(self.data.points)
        return torch.cat([contexts / kernel.lengthscales[kernel.split :], anchors])

    def given(self, points: Tensor, values: Tensor | None = None) -> ProductPosterior:
        """The posterior with further outcomes; what is given is brought to the same units."""
        data = self.data
        expected = data.mean + data.kernel(points, data.points) @ data.weights
        believed = expected if values is None else (values - data.shift) / data.scale
        targets = torch.cat([self.targets, believed])
        if data.noise_root is None and len(targets) <= MAX_REFACTORISED_OUTCOMES:
            joint = torch.cat([data.points, points])
            variances = filled(data.variances, data.noise_at(joint), len(joint))
            told = Standardised(joint, targets, (data.shift, data.scale), variances)
            found = ProductPosterior.conditioned(self.fitted, data.kernel, told)
            return replace(found, data=replace(found.data, order=data.order, slopes=data.slopes))
        return replace(self, data=bordered(data, points, believed - expected), targets=targets, memory=None)

    def arranged(self, order: Sequence[int], split: int) -> ProductPosterior:
        """The same posterior: a kernel that is a product over columns is one however they are split."""
        data, kernel, columns = self.data, self.data.kernel, torch.tensor(order)
        same = f"be a product over columns where they are split in several ways: {over_columns(kernel.family)}"
        require(kernel.factor.separable, "GP(kernel=...)", same, kernel.family)
        turned = replace(kernel, lengthscales=kernel.lengthscales[columns], split=split)
        known = data.order or range(len(order))
        fitted = tuple(known[column] for column in order)
        slopes = None if data.slopes is None else data.slopes[columns]
        turned_data = replace(data, kernel=turned, points=data.points[:, columns], order=fitted, slopes=slopes)
        return replace(self, data=turned_data)

    @property
    def order(self) -> tuple[int, ...] | None:
        """Which column of the fitted points each column is, where they were arranged."""
        return self.data.order

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Those of the fit."""
        return self.fitted

    @property
    def information_gain(self) -> float:
        """From the Cholesky factor at hand."""
        t = len(self.targets)
        log_root = -float(self.data.unroot.diagonal().log().sum())
        variances = self.data.variances
        log_noise = t * math.log(self.data.noise) if variances is None else float(variances.log().sum())
        return max(log_root - 0.5 * log_noise, 0.0)

    @property
    def context_kernel(self) -> ContextKernel | None:
        """The context factor, times the outputscale."""
        return self.data.kernel.of_contexts

    def model(self) -> SingleTaskGP:
        """The same GP as a BoTorch model of the joint unit cube, in the outcome's units."""
        from botorch.models import SingleTaskGP

        data = self.data
        likelihood: GaussianLikelihood | None = None
        if data.variances is None:
            likelihood = GaussianLikelihood(noise_constraint=Positive()).double()
            likelihood.noise = torch.tensor(data.noise * data.scale**2, dtype=torch.float64)
        mean = ConstantMean().double()
        mean.constant.data.fill_(data.shift + data.scale * data.mean)
        kernel = replace(data.kernel, outputscale=data.kernel.outputscale * data.scale**2)
        model = SingleTaskGP(
            data.points,
            (data.shift + data.scale * self.targets)[:, None],
            None if data.variances is None else (data.scale**2 * data.variances)[:, None],
            likelihood=likelihood,
            covar_module=kernel.gpytorch(),
            mean_module=mean,
            outcome_transform=None,
        )
        return model.eval()


def bordered(data: Data, points: Tensor, surprise: Tensor) -> Data:
    """The posterior after further outcomes, in O(t^2) each and without another factorisation.

    Args:
        data: the posterior.
        points: (q, d) joint points of the further outcomes.
        surprise: (q,) outcomes less their posterior means, standardised.
    """
    cross, t, q = data.kernel(data.points, points), len(data.points), len(points)
    half = data.unroot @ cross
    covariance = data.kernel(points, points) - half.mT @ half
    noise = data.noise_at(points)
    covariance.diagonal().add_(noise)
    root = cholesky_root(covariance)
    new = torch.diag(torch.ones_like(surprise))
    border = torch.linalg.solve_triangular(root, torch.cat([-data.unroot.mT @ half, new]).mT, upper=False)  # (q, t + q)
    unroot = data.unroot.new_zeros(t + q, t + q)
    unroot[:t, :t], unroot[t:] = data.unroot, border
    moved = border.mT @ torch.linalg.solve_triangular(root, surprise[:, None], upper=False)[:, 0]
    weights = torch.cat([data.weights, torch.zeros_like(surprise)]) + moved
    noise_root = None
    if data.noise_root is not None:
        noise_root = data.noise_root.new_zeros(t + q, t + q)
        noise_root[:t, :t] = data.noise_root
        felt = torch.cat([-cross.mT @ data.noise_root, noise**0.5 * new], 1)
        noise_root += border.mT @ torch.linalg.solve_triangular(root, felt, upper=False)
    joint, variances = torch.cat([data.points, points]), None
    if noise_root is None:
        variances = filled(data.variances, data.noise_at(joint), t + q)
    return replace(data, points=joint, weights=weights, unroot=unroot, noise_root=noise_root, variances=variances)
