"""The ends of a credible interval, from normal laws or draws of the objective.

The posterior of a mean outcome is a mixture of normal laws, one for each draw of hyperparameters and of the context
distribution: its quantiles have little noise. Other objectives are drawn. Quantiles of draws are too narrow for two
reasons. The spread of the draws is itself estimated, from as many outcomes as there are: for a mean of t normal
outcomes Student's distribution with t - 1 degrees of freedom is the exact one, and a normal distribution with the
estimated variance is narrower. And of k draws the next one is between the i-th and the j-th with probability
(j - i) / (k + 1). Draws that share a context distribution are not independent, so k is smaller than their number.

What is left is that no problem is a draw of the model: functions have ridges, and contexts have tails of which few
were seen. A factor allows for it, which a campaign on the papers' problems chose (docs/defaults.md).
"""

from __future__ import annotations

import torch
from scipy.special import ndtr, ndtri, stdtrit
from torch import Tensor

from allweather.surrogates.base import Moments

INTERVAL_LEVEL = 0.9
"""The probability that central intervals are stated with."""
BISECTIONS = 40
"""Halvings of the range in which an end of an interval lies."""
ALLOWANCE = 1.1
"""What the distance of an interval's ends from its middle is multiplied by, in standard deviations."""


def tail_share(outcomes: int, allowance: float | None = None, beyond: float = (1 - INTERVAL_LEVEL) / 2) -> float:
    """The share of normal draws on either side of an interval whose spread is estimated from some outcomes.

    Args:
        outcomes: how many independent ones.
        allowance: for what the model does not know about itself, by default `ALLOWANCE`; 1 for nothing.
        beyond: the probability of either side.

    Example:
        >>> round(tail_share(15, allowance=1), 3), round(tail_share(15), 3)
        (0.039, 0.026)
    """
    factor = ALLOWANCE if allowance is None else allowance
    return float(ndtr(-factor * stdtrit(max(outcomes - 1, 2), 1 - beyond)))


def independent_draws(
    drawn: Tensor,  # (k, b)
    laws: int,
) -> Tensor:
    """How many independent draws (b,) are worth as much as k draws, of which draw i has context distribution i % laws.

    It is `k / (1 + (m - 1) r)` for m draws of each distribution, r their correlation by analysis of variance.

    Args:
        drawn: draws of the objectives of b decisions.
        laws: how many context distributions they share.
    """
    count, each = len(drawn), len(drawn) // laws
    if each < 2:
        return torch.full(drawn.shape[1:], float(count), dtype=torch.float64)
    grouped = drawn[: each * laws].reshape(each, laws, -1)
    between = each * grouped.mean(0).var(0)
    within = grouped.var(0).mean(0)
    shared = ((between - within) / (between + (each - 1) * within)).nan_to_num(1.0).clamp(0, 1)
    return (count / (1 + (count / laws - 1) * shared)).cpu()


def credible_interval(
    drawn: Tensor,  # (k, b)
    laws: int,
    outcomes: int,
    allowance: float | None = None,
) -> Tensor:
    """The low end, the middle and the high end (3, b) of where objectives lie.

    Args:
        drawn: draws of the objectives of b decisions; they may be infinite, so there is no interpolation.
        laws: how many context distributions they share.
        outcomes: how many independent outcomes everything is learned from.
        allowance: for what the model does not know about itself, by default `ALLOWANCE`; 1 for nothing.

    Example:
        >>> drawn = torch.linspace(0, 1, 257, dtype=torch.float64)[:, None]
        >>> [round(each, 2) for each in credible_interval(drawn, 257, 10_000, allowance=1)[:, 0].tolist()]
        [0.05, 0.5, 0.95]
    """
    ordered, last = drawn.cpu().sort(dim=0).values, len(drawn) - 1
    known = independent_draws(drawn, laws)
    share = ((tail_share(outcomes, allowance) * (known + 1) - 1) / (known - 1).clamp_min(1)).clamp(0, 0.5)
    places = torch.stack([share, torch.full_like(share, 0.5), 1 - share]) * last
    return ordered.gather(0, places.round().long())


def interval_of_mixture(laws: Moments, outcomes: int, allowance: float | None = None) -> Tensor:
    """The low end and the high end (2, b) of where objectives lie whose posterior is an equal mixture of normal laws.

    Args:
        laws: means and standard deviations (k, b).
        outcomes: how many independent outcomes everything is learned from.
        allowance: for what the model does not know about itself, by default `ALLOWANCE`; 1 for nothing.

    Example:
        >>> mean = torch.zeros(4, 1, dtype=torch.float64)
        >>> ends = interval_of_mixture(Moments(mean, mean + 2.0), 10_000, allowance=1)
        >>> [round(each, 2) for each in ends[:, 0].tolist()]
        [-3.29, 3.29]
    """
    mean, sd = laws.mean.cpu(), laws.sd.cpu().clamp_min(1e-300)
    share = tail_share(outcomes, allowance)
    wanted = torch.tensor([[share], [1 - share]], dtype=torch.float64)  # (2, 1)
    reach = -float(ndtri(min(share, 0.5)))
    low, high = (mean - reach * sd).amin(0).expand(2, -1), (mean + reach * sd).amax(0).expand(2, -1)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        below = torch.special.ndtr((middle[:, None] - mean) / sd).mean(1) < wanted
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return (low + high) / 2
