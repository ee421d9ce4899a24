"""Weighted sums over contexts: closed forms against the dense posterior and against draws."""

import math

import pytest
import torch
from tests.surrogates.tables import table, uniform

from allweather import GP
from allweather._utils.matern import Matern
from allweather.surrogates.approximations.gram import Gram
from allweather.surrogates.botorch_model import joint

SURROGATES = [
    GP(),
    GP("matern", outputscale="fit"),
    GP("matern", outputscale="fit", draws=6),
    GP("matern-columns", outputscale="fit", draws=6),
]


def dense(posterior, decision, contexts, weights):
    """Mean and variance of the weighted sum from the joint covariance of all contexts."""
    data = posterior.data
    points = joint(decision[None], contexts)[0]
    prior = data.kernel(points, points)
    cross = data.unroot @ data.kernel(data.points, points)
    covariance = data.scale**2 * (prior - cross.T @ cross)
    mean = data.shift + data.scale * (data.mean + data.kernel(points, data.points) @ data.weights)
    return weights @ mean, weights @ covariance @ weights


@pytest.mark.parametrize("surrogate", SURROGATES[:2], ids=repr)
@pytest.mark.parametrize("shared", [True, False])
def test_moments_agree_with_the_joint_covariance(surrogate, shared):
    posterior, contexts, decisions = surrogate.fit(table(20)), uniform(50, 2), uniform(3, 2, seed=2)
    weights = uniform(50, seed=3).softmax(-1) if shared else uniform(3, 50, seed=3) - 0.3
    mean, sd = posterior.field(contexts).combination(decisions, weights)
    for row, decision in enumerate(decisions):
        chosen = weights if shared else weights[row]
        expected, variance = dense(posterior, decision, contexts, chosen)
        torch.testing.assert_close(mean[row], expected)
        torch.testing.assert_close(sd[row] ** 2, variance, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
def test_moments_agree_with_draws(surrogate):
    posterior, contexts, decisions = surrogate.fit(table(15)), uniform(40, 2), uniform(2, 2, seed=2)
    weights = uniform(40, seed=3).softmax(-1)
    mean, sd = posterior.field(contexts).combination(decisions, weights)
    drawn = posterior.draws(decisions, contexts, 6000, torch.Generator().manual_seed(0)) @ weights
    assert ((drawn.mean(0) - mean).abs() < 0.06 * sd).all()
    torch.testing.assert_close(drawn.std(0), sd, rtol=0.08, atol=0)


@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
def test_shared_weights_are_the_same_for_every_row(surrogate):
    field, decisions, weights = surrogate.fit(table(15)).field(uniform(30, 2)), uniform(4, 2, seed=2), uniform(30) / 15
    for one, other in zip(
        field.combination(decisions, weights), field.combination(decisions, weights.expand(4, 30)), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
def test_gradients(surrogate):
    field, weights = surrogate.fit(table(12)).field(uniform(20, 2)), uniform(20).softmax(-1)
    decisions = uniform(2, 2, seed=5).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: tuple(field.combination(x, weights)), (decisions,), atol=1e-5)


def test_the_fallback_is_an_upper_bound():
    from botorch.models import SingleTaskGP

    from allweather.surrogates import BoTorch

    field = BoTorch(lambda x, y: SingleTaskGP(x, y)).fit(table(12)).field(uniform(10, 2))
    decisions, weights = uniform(3, 2, seed=2), torch.full((10,), 0.1, dtype=torch.float64)
    mean, sd = field(decisions)
    found = field.combination(decisions, weights)
    torch.testing.assert_close(found.mean, mean @ weights)
    torch.testing.assert_close(found.sd, sd @ weights)


@pytest.mark.parametrize("nu", [1.5, 2.5, math.inf])
def test_quadratic_forms_of_many_contexts(nu, monkeypatch):
    points, weights = uniform(300, 2), uniform(4, 300, seed=2).softmax(-1)
    gram = Gram(Matern(nu), points)
    exact = torch.stack([row @ Matern(nu)(points, points) @ row for row in weights])
    torch.testing.assert_close(gram.quadratic(weights), exact)
    torch.testing.assert_close(torch.stack([gram.quadratic(row) for row in weights]), exact)
    monkeypatch.setattr("allweather.surrogates.approximations.gram.MAX_DENSE_CONTEXTS", 10)
    torch.testing.assert_close(Gram(Matern(nu), points).quadratic(weights), exact, rtol=1e-5, atol=0)


@pytest.mark.parametrize("nu", [1.5, 2.5, math.inf])
def test_correlations_are_the_same_with_and_without_gradient(nu):
    factor, one, other = Matern(nu), 3 * uniform(6, 2), 3 * uniform(7, 2, seed=2)
    other[0] = one[0]
    expected = factor(one.clone().requires_grad_(), other).detach()
    torch.testing.assert_close(factor(one, other), expected, rtol=1e-13, atol=1e-15)
    squared = (one[:, None] - other).square().sum(-1)
    near, steepness = (torch.from_numpy(each) for each in factor.with_steepness(squared.numpy()))
    torch.testing.assert_close(near, expected, rtol=1e-13, atol=1e-15)
    torch.testing.assert_close(steepness, factor.steepness(squared), rtol=1e-11, atol=1e-15)
