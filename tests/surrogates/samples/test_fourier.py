"""Linear models on random Fourier features: their prior against the kernel, their samples against the posterior."""

import pytest
import torch
from tests.surrogates.samples.test_paths import exact
from tests.surrogates.tables import table, uniform

from allweather.surrogates import GP
from allweather.surrogates.samples.fourier import Pairs


@pytest.mark.parametrize("kernel", ["rbf", "matern52", "matern-columns"])
def test_the_covariance_of_many_samples_is_the_kernel(kernel):
    data = GP(kernel, lengthscales=0.5, noise=0.1).fit(table(5)).data
    points, source = uniform(6, 4, seed=3), torch.Generator().manual_seed(0)
    features = Pairs.draw(data, 2048, source)
    weights = torch.randn(4000, features.weights, generator=source, dtype=torch.float64)
    samples = weights @ features.at(points[:, :2], points[:, 2:]).T
    found = samples.T @ samples / len(samples)
    assert (found - data.kernel(points, points)).abs().max() < 0.12 * float(data.kernel.outputscale)


def test_pairs_are_cosine_and_sine_of_the_same_frequencies():
    data = GP(lengthscales=0.5, noise=0.1).fit(table(5)).data
    pairs = Pairs.draw(data, 7, torch.Generator().manual_seed(0))
    assert pairs.weights == 14
    points = uniform(3, 4)
    frequencies = torch.cat([pairs.waves.decision, pairs.waves.context], -1)
    cosine, sine = (pairs.at(points[:, :2], points[:, 2:]) / pairs.waves.amplitude).chunk(2, -1)
    torch.testing.assert_close(cosine, (points @ frequencies.T).cos())
    torch.testing.assert_close(sine, (points @ frequencies.T).sin())
    # So the prior variance is the same everywhere, which single cosines reach only on average.
    variance = pairs.at(points[:, :2], points[:, 2:]).square().sum(-1)
    torch.testing.assert_close(variance, data.kernel.outputscale.expand(3))


def test_functions_bound_to_contexts_are_the_weighted_features():
    data = GP("matern", lengthscales=0.5, noise=0.1).fit(table(5)).data
    features = Pairs.draw(data, 16, torch.Generator().manual_seed(0))
    weights = uniform(3, features.weights)
    decisions, contexts = uniform(4, 2, seed=2), uniform(5, 2, seed=3)
    values = features.functions(weights, contexts)(decisions)
    joint = features.at(decisions.repeat_interleave(5, 0), contexts.repeat(4, 1))
    torch.testing.assert_close(values, (weights @ joint.T).reshape(3, 4, 5))


def spread(posterior, features, decisions, contexts, draws=40, each=25):
    """The standard deviation of samples relative to the exact posterior's, averaged over points."""
    source = torch.Generator().manual_seed(0)
    drawn = [posterior.fourier_paths(contexts, each, source, features)(decisions) for _ in range(draws)]
    within = torch.stack([block.flatten(1).var(0) for block in drawn]).mean(0).sqrt()
    _, covariance = exact(posterior, decisions, contexts)
    return float((within / covariance.diagonal().sqrt()).mean())


def test_few_weights_starve_the_variance():
    posterior = GP(lengthscales=0.3, noise=1e-3).fit(table(200))
    where = uniform(3, 2, seed=11), uniform(2, 2, seed=12)
    ratios = [spread(posterior, features, *where) for features in (64, 128, 512)]
    assert ratios[0] < ratios[1] < ratios[2]
    assert ratios[0] < 0.5


@pytest.mark.slow
def test_with_many_features_samples_are_those_of_the_posterior():
    posterior = GP(lengthscales=0.6, noise=0.1).fit(table(20))
    decisions, contexts = uniform(3, 2, seed=11), uniform(2, 2, seed=12)
    source = torch.Generator().manual_seed(0)
    drawn = torch.cat(
        [posterior.fourier_paths(contexts, 1, source, 2048)(decisions).reshape(1, -1) for _ in range(600)]
    )
    mean, covariance = exact(posterior, decisions, contexts)
    assert ((drawn.mean(0) - mean).abs() < 6 * (covariance.diagonal() / 600).sqrt() + 0.02).all()
    assert ((drawn.var(0) / covariance.diagonal()).mean() - 1).abs() < 0.2
