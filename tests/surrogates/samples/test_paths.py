"""Sample paths against the exact joint posterior, statistically: means and covariances of many draws."""

import pytest
import torch
from tests.surrogates.tables import table, uniform

from allweather.surrogates import GP
from allweather.surrogates.samples.paths import pairwise_weighted, weighted


def exact(posterior, decisions, contexts):
    """Joint mean (m,) and covariance (m, m) over decisions x contexts."""
    data = posterior.data
    b, n = len(decisions), len(contexts)
    points = torch.cat([decisions[:, None].expand(b, n, -1), contexts.expand(b, n, -1)], -1).reshape(b * n, -1)
    across = data.kernel(points, data.points)
    half = across @ data.unroot.T
    mean = data.shift + data.scale * (data.mean + across @ data.weights)
    return mean, data.scale**2 * (data.kernel(points, points) - half @ half.T)


def check(samples, mean, covariance):
    """Within five standard errors of what they should be, where a Gaussian's fourth moments give the errors."""
    count = len(samples)
    variance = covariance.diagonal()
    assert ((samples.mean(0) - mean).abs() < 5 * (variance / count).sqrt() + 1e-9).all()
    found = (samples - mean).T @ (samples - mean) / count
    error = ((variance[:, None] * variance + covariance.square()) / count).sqrt()
    assert ((found - covariance).abs() < 6 * error + 1e-9).all()


@pytest.mark.parametrize(
    ("kernel", "t"), [("rbf", 5), ("rbf", 100), ("matern32", 5), ("matern52", 100), ("matern-columns", 100)]
)
@pytest.mark.slow
def test_paths_have_the_posteriors_mean_and_covariance(kernel, t):
    posterior = GP(kernel, lengthscales=0.4, noise=0.1).fit(table(t))
    decisions, contexts = uniform(3, 2, seed=11), uniform(2, 2, seed=12)
    source = torch.Generator().manual_seed(0)
    # Paths of one draw share their frequencies, so independent draws are what is tested.
    samples = torch.cat([posterior.paths(contexts, 1, source)(decisions).reshape(1, -1) for _ in range(500)])
    check(samples, *exact(posterior, decisions, contexts))


def test_fewer_features_than_data_do_not_starve_the_variance():
    posterior = GP(lengthscales=0.3, noise=0.1).fit(table(200))
    decisions, contexts = uniform(3, 2, seed=11), uniform(2, 2, seed=12)
    source = torch.Generator().manual_seed(0)
    samples = torch.cat([posterior.paths(contexts, 1, source, 64)(decisions).reshape(1, -1) for _ in range(1000)])
    mean, covariance = exact(posterior, decisions, contexts)
    assert ((samples.mean(0) - mean).abs() < 5 * (covariance.diagonal() / 1000).sqrt()).all()
    ratio = samples.var(0) / covariance.diagonal()
    assert (ratio > 0.8).all()
    assert (ratio < 1.25).all()


@pytest.mark.parametrize("kernel", ["rbf", "matern52", "matern-columns"])
def test_draws_have_the_posteriors_mean_and_covariance(kernel):
    posterior = GP(kernel, lengthscales=0.4, noise=0.1).fit(table(40))
    decisions, contexts = uniform(1, 2, seed=11), uniform(6, 2, seed=12)
    draws = posterior.draws(decisions, contexts, 20_000, torch.Generator().manual_seed(0))[:, 0]
    check(draws, *exact(posterior, decisions, contexts))


def test_gradients_and_batches():
    posterior = GP("matern").fit(table(20))
    path = posterior.paths(uniform(4, 2), 3, torch.Generator().manual_seed(0))
    decisions = uniform(2, 2, seed=6).requires_grad_()
    assert path(decisions).shape == (3, 2, 4)
    assert torch.autograd.gradcheck(path, decisions, eps=1e-6, atol=1e-5)
    torch.testing.assert_close(path(decisions)[:, :1], path(decisions[:1]))


def test_the_same_generator_gives_the_same_path():
    posterior = GP().fit(table(20))
    draws = [posterior.paths(uniform(4, 2), 1, torch.Generator().manual_seed(3))(uniform(2, 2)) for _ in range(2)]
    assert torch.equal(*draws)


def test_paths_of_a_mean_are_means_of_paths():
    posterior, contexts, decisions = GP("matern").fit(table(12)), uniform(9, 2), uniform(3, 2, seed=2)
    weights = uniform(9, seed=3).softmax(-1)
    whole, means = (torch.Generator().manual_seed(4) for _ in range(2))
    expected = posterior.paths(contexts, 5, whole, 16)(decisions) @ weights
    torch.testing.assert_close(posterior.mean_paths(contexts, weights, 5, means, 16)(decisions)[..., 0], expected)
    whole, means = (torch.Generator().manual_seed(4) for _ in range(2))
    expected = posterior.fourier_paths(contexts, 5, whole, 16)(decisions) @ weights
    found = posterior.fourier_mean_paths(contexts, weights, 5, means, 16)(decisions)
    torch.testing.assert_close(found[..., 0], expected)


def test_cosines_are_added_before_or_after_they_are_weighted():
    posterior, contexts, decisions = GP("matern").fit(table(12)), uniform(9, 2), uniform(3, 2, seed=2)
    few, many = (posterior.paths(contexts[:n], 4, torch.Generator().manual_seed(4), 16)(decisions) for n in (8, 9))
    torch.testing.assert_close(many[..., :8], few)  # 8 contexts are twice as many as samples, 9 are more


def test_the_gradient_is_the_same_where_one_context_of_each_sample_counts():
    draws = torch.Generator().manual_seed(4)
    weights, right, left = (
        torch.randn(shape, generator=draws, dtype=torch.float64) for shape in ((5, 7), (11, 9), (3, 11))
    )
    product, plain = pairwise_weighted(weights, right, 4), weighted(torch.cat([weights[:, :4], weights], -1), right)

    def median(values):
        return values.gather(-1, values.detach().argsort(-1)[..., 4:5])

    for combine in (median, torch.square, lambda values: median(values)[:2]):
        found = []
        for function in (product, plain):
            moved = left.clone().requires_grad_()
            found += torch.autograd.grad(combine(function(moved)).sum(), moved)
        torch.testing.assert_close(*found)
