"""Context models that learn the law from the contexts seen, and how uncertain such a law is.

The Bayesian bootstrap (Rubin 1981, The Annals of Statistics 9) states the uncertainty without a model: the
probabilities of the t contexts seen follow a Dirichlet distribution, and every point of the reference carries the
probability of the contexts it stands for.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import torch
from torch import Generator, Tensor

from allweather.contexts.base import ContextModel, Reference, in_order, seen

EQUAL_TOLERANCE = 1e-9
"""Encoded values that are closer are the same."""
UNSEEN_COUNT = 1.0
"""How many contexts the prior of a learned law counts for, where nothing was seen."""


class LearnedModel(ContextModel):
    """A context model whose law is a mixture over the contexts seen: one component around each.

    Each row of `contexts` is one independent occasion. Rows that share an occasion must be merged before: they say no
    more about the law than one of them.
    """

    exchangeable: ClassVar[bool] = True
    """Whether it does not matter in which order contexts were seen."""
    bootstrap: bool
    """Whether `resample` accounts for the law being learned from finitely many contexts."""

    def rows(self, contexts: Tensor) -> Tensor:
        """Contexts (t, d_c) in the order in which they are learned from: that of their values, where theirs is no news.

        Random numbers then belong to the same contexts whatever the order in which these were told.
        """
        return in_order(seen(contexts, self)) if self.exchangeable else seen(contexts, self)

    def component_weights(self, contexts: Tensor) -> Tensor:
        """Weights (t,) of the mixture's components, which sum to 1: equal ones."""
        return torch.full((len(contexts),), 1 / len(contexts), dtype=torch.float64)

    @abstractmethod
    def log_component(self, contexts: Tensor, points: Tensor) -> Tensor:
        """Log density (t, n) of each context's component at each point, up to a constant per point."""

    def log_marginal(
        self, contexts: Tensor, points: Tensor, columns: Tensor, smooth: Tensor, exact: bool = False
    ) -> Tensor:
        """Log density (t, n) of each context's component in some columns, up to a constant.

        Point masses are smoothed in real columns, as wide as Silverman's rule says, where they are compared with known
        values; not where they are compared with points of the reference.

        Args:
            contexts: (t, d_c) contexts seen.
            points: (n, d_c) where the density is wanted.
            columns: (d_c,) which columns count.
            smooth: (d_c,) which columns are those of real variables.
            exact: whether point masses stay point masses.
        """
        blurred = columns & smooth & (contexts.std(0, correction=0) > EQUAL_TOLERANCE) & (not exact)
        kept = columns & ~blurred
        total = point_masses(self.component_points(contexts)[:, kept], points[:, kept])
        width = 1.06 * contexts.std(0, correction=0) * len(contexts) ** -0.2
        for column in blurred.nonzero()[:, 0].tolist():
            apart = (points[:, column] - contexts[:, column, None]) / width[column]
            total = total - 0.5 * apart.square()
        return total

    def component_points(self, contexts: Tensor) -> Tensor:
        """Where the component of each context (t, d_c) is, for point masses: at the context itself."""
        return contexts

    def resample(self, contexts: Tensor, reference: Reference, count: int, generator: Generator) -> Tensor:
        """Bayesian bootstrap draws (count, n) of the reference's weights.

        The draw w of the components' weights changes the weight of point j by the ratio of mixture densities,
        `sum_i w_i k_i(c_j) / sum_i b_i k_i(c_j)` with b the weights of the estimate itself.
        """
        if not self.bootstrap:
            return super().resample(contexts, reference, count, generator)
        contexts = self.rows(contexts)
        base = self.component_weights(contexts)
        return reweighted(
            reference, self.log_component(contexts, reference.points), base, dirichlet(base, count, generator)
        )


def unseen_shares(count: int, among: int, seen: float, generator: Generator) -> Tensor:
    """Draws (count, among) of the probabilities of contexts where nothing was seen: what was not seen is possible.

    Their sum has the Beta distribution of a Dirichlet process (Ferguson 1973, The Annals of Statistics 1) whose base
    counts as much as one context: with 95% probability it is below 3 / t, the rule of three. Most of a draw is at one
    or two of the contexts.

    Args:
        count: number of draws.
        among: number of contexts that stand for all that was not seen.
        seen: how many contexts the law is learned from.
        generator: the source of randomness.

    Example:
        >>> shares = unseen_shares(4000, 8, 20, torch.Generator().manual_seed(0)).sum(-1)
        >>> round(shares.mean().item(), 2), bool((shares < 3 / 20).double().mean() > 0.94)
        (0.05, True)
    """
    source = np.random.default_rng(int(torch.randint(2**31 - 1, (), generator=generator).item()))
    mass = torch.from_numpy(source.beta(UNSEEN_COUNT, seen, size=(count, 1)))
    shares = torch.from_numpy(source.standard_gamma(UNSEEN_COUNT / among, size=(count, among))).clamp_min(1e-300)
    return mass * shares / shares.sum(-1, keepdim=True)


def dirichlet(weights: Tensor, count: int, generator: Generator) -> Tensor:
    """Bayesian bootstrap draws (count, t) of weights (t,) that sum to 1.

    They follow a Dirichlet distribution whose means are the weights. Rubin's concentration, the (effective) sample size
    `1 / sum w_i^2`, makes the variance of a mean `(t - 1) / (t + 1)` of its unbiased estimate; with two less it is that
    estimate. It is at least half the sample size, for samples of three and fewer.

    Args:
        weights: (t,) the weights of the contexts seen.
        count: number of draws.
        generator: the source of randomness.

    Example:
        >>> drawn = dirichlet(torch.full((4,), 0.25, dtype=torch.float64), 1000, torch.Generator().manual_seed(0))
        >>> drawn.shape, round(drawn.var(0).mean().item(), 2)  # (1/4) (3/4) / 3
        (torch.Size([1000, 4]), 0.06)
    """
    seed = int(torch.randint(2**31 - 1, (), generator=generator).item())
    effective = 1 / float(weights.square().sum())
    concentration = max(effective - 2, effective / 2)
    drawn = np.random.default_rng(seed).standard_gamma(concentration * weights.numpy(), size=(count, len(weights)))
    gammas = torch.from_numpy(drawn).clamp_min(1e-300)
    return gammas / gammas.sum(-1, keepdim=True)


def reweighted(
    reference: Reference,
    log_component: Tensor,  # (t, n)
    base: Tensor,  # (t,)
    drawn: Tensor,  # (count, t)
) -> Tensor:
    """The reference's weights (count, n) when the components' weights are `drawn` instead of `base`."""
    largest = log_component.amax(0)
    explained = torch.isfinite(largest)
    # A point that no component explains keeps its weight, which for points that were added is zero.
    density = (log_component - torch.where(explained, largest, 0.0)).exp()
    ratio = torch.where(explained, (drawn @ density) / (base @ density).clamp_min(1e-300), 1.0)
    weights = reference.weights * ratio
    total = weights.sum(-1, keepdim=True)
    return torch.where(total > 0, weights / total.clamp_min(1e-300), reference.weights)


def point_masses(contexts: Tensor, points: Tensor) -> Tensor:
    """Log mass (t, n) at points (n, d_c) of components that are point masses at contexts (t, d_c)."""
    equal = torch.ones(len(contexts), len(points), dtype=torch.bool)
    for seen_column, column in zip(contexts.unbind(1), points.unbind(1), strict=True):
        equal &= (seen_column[:, None] - column).abs() <= EQUAL_TOLERANCE
    return torch.zeros(equal.shape, dtype=torch.float64).masked_fill(~equal, -torch.inf)
