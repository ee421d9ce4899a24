"""Bounds of sums of outcomes that are modelled on another scale."""

import pytest
import torch

from allweather import GP
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.transformed_posterior import SAMPLED_CONTEXTS, TransformedPosterior


def heavy_tailed(t=40):
    """The posterior of outcomes over three orders of magnitude."""
    source = torch.Generator().manual_seed(t)
    points = torch.rand(t, 2, generator=source, dtype=torch.float64)
    latent = (3 * points[:, 0]).sin() + points[:, 1] + 0.05 * torch.randn(t, generator=source, dtype=torch.float64)
    posterior = GP("matern", outputscale="fit", transform="auto").fit(
        Observations.of(points[:, :1], points[:, 1:], -((2 - latent) ** 8))
    )
    assert isinstance(posterior, TransformedPosterior)
    return posterior


@pytest.mark.parametrize(("t", "width", "probability"), [(12, 1.0, 0.84), (40, 1.0, 0.84), (40, 2.0, 0.977)])
def test_the_bound_of_a_mean_holds_with_its_probability(t, width, probability):
    posterior, contexts = heavy_tailed(t), torch.linspace(0, 1, 100, dtype=torch.float64)[:, None]
    decisions = torch.linspace(0, 1, 15, dtype=torch.float64)[:, None]
    weights = torch.full((100,), 0.01, dtype=torch.float64)
    drawn = posterior.draws(decisions, contexts, 500, torch.Generator().manual_seed(0)) @ weights
    held = (drawn <= posterior.field(contexts).upper(decisions, weights, width)).double().mean(0)
    assert held.mean() > probability - 0.05
    assert held.min() > probability - 0.1  # to first order only


@pytest.mark.parametrize("n", [2 * SAMPLED_CONTEXTS, 2 * SAMPLED_CONTEXTS + 1])
def test_the_gradient_of_the_bound_is_its_own(n):
    """Of few contexts, and of many, where a sample shows how far the mean may rise."""
    field = heavy_tailed().field(torch.linspace(0, 1, n, dtype=torch.float64)[:, None])
    weights = torch.full((n,), 1 / n, dtype=torch.float64)
    decisions = torch.linspace(0.1, 0.9, 3, dtype=torch.float64)[:, None].requires_grad_()
    assert torch.autograd.gradcheck(lambda x: field.upper(x, weights, 1.0), decisions, rtol=1e-4)


def test_every_decision_may_have_weights_of_its_own():
    field = heavy_tailed().field(torch.linspace(0, 1, 9, dtype=torch.float64)[:, None])
    weights = torch.full((9,), 1 / 9, dtype=torch.float64)
    decisions = torch.linspace(0.1, 0.9, 3, dtype=torch.float64)[:, None]
    shared = field.upper(decisions, weights, 1.0)
    torch.testing.assert_close(field.upper(decisions, weights.expand(3, -1), 1.0), shared)
