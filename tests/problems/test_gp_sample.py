import torch

from allweather.problems import problem
from allweather.problems.gp_sample import PriorSample


def uniform(count, d, seed):
    return torch.rand(count, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_features_reproduce_the_kernel_everywhere():
    sample = PriorSample.drawn(decisions=2, contexts=1, seed=0)
    a, b = uniform(50, 2, 0), uniform(60, 2, 1)
    kernel = torch.exp(-0.5 * torch.cdist(a, b).square() / 0.1**2)
    torch.testing.assert_close(sample.embedded(a) @ sample.embedded(b).T, kernel, rtol=0, atol=1e-7)


def test_samples_have_the_priors_moments():
    x, c = uniform(40, 2, 2), uniform(40, 2, 3)
    draws = torch.stack([problem("gp-sample", seed=seed).values(x, c).diagonal() for seed in range(60)])
    assert abs(draws.mean().item()) < 0.08
    assert abs(draws.std().item() - 1) < 0.05  # the paper's own has 0.68 (errata E37)


def test_seeds_differ():
    x, c = uniform(3, 2, 2), uniform(3, 2, 3)
    first, second = (problem("gp-sample", seed=seed).values(x, c) for seed in (1, 2))
    assert not torch.allclose(first, second)
