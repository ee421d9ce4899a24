"""Every distance on random awkward problems: sizes, scales, offsets, ties, tiny and missing weights, any radius."""

import numpy as np
import pytest
import torch

import allweather as aw


def awkward(seed):
    source = np.random.default_rng(seed)
    n, d = int(source.choice([1, 2, 3, 5, 10, 40])), int(source.integers(1, 4))
    points = source.random((n, d))
    if source.random() < 0.3:
        points = np.round(points, 1)
    weights = source.dirichlet(np.full(n, source.choice([0.05, 0.5, 5])))
    if source.random() < 0.4 and n > 1:
        weights[source.permutation(n)[: source.integers(1, n)]] = 0
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(n, 1 / n)
    offset = 10.0 ** source.integers(-3, 6) if source.random() < 0.5 else 0.0
    values = source.normal(size=(4, n)) * 10.0 ** source.integers(-9, 10) + offset
    if source.random() < 0.3:
        values = np.round(values / np.abs(values).max(), 1)
    radius = 10.0 ** source.uniform(-10, 1.3) if source.random() < 0.9 else 0.0
    return torch.tensor(values), aw.Reference.checked(points, weights), radius


@pytest.mark.parametrize(
    "make",
    [
        aw.TotalVariation,
        aw.ChiSquared,
        aw.KL,
        aw.Wasserstein,
        aw.MMD,
        lambda r: aw.MMD(r, lengthscale=0.05),
        lambda r: aw.MMD(r, lengthscale=0.3, kernel="matern52"),
    ],
    ids=["tv", "chi2", "kl", "wasserstein", "mmd", "mmd-short", "mmd-matern"],
)
@pytest.mark.parametrize("first", range(0, 200, 50))
@pytest.mark.slow
def test_awkward_problems(make, first):
    for seed in range(first, first + 50):
        values, reference, radius = awkward(seed)
        value, slope, weights = make(radius).worst_case(values, reference)
        farther = make(radius).worst_case(values, reference, radius * 1.001 + 1e-12).value
        scale = values.amax(-1) - values.amin(-1) + 1e-7 * values.abs().max()
        assert bool(torch.isfinite(value).all())
        assert not bool(torch.isnan(slope).any())
        assert bool((weights >= 0).all())
        torch.testing.assert_close(weights.sum(-1), torch.ones(4, dtype=torch.float64), rtol=0, atol=1e-8)
        assert bool((value <= values @ reference.weights + 1e-7 * scale).all())
        assert bool((farther <= value + 1e-7 * scale).all())
        if not isinstance(make(radius), aw.Wasserstein):  # its own measure is a linear program, tested elsewhere
            assert bool((make(radius).between(weights, reference) <= radius * (1 + 1e-4) + 1e-7).all())
