import numpy as np
import pytest
import scipy.stats
import torch

from allweather.problems.hartmann import COMPLICATED
from allweather.problems.laws import BurrXII, Discrete, Independent, Normal

PROBABILITIES = np.array([1e-9, 0.01, 0.3, 0.5, 0.77, 0.999])


def test_quantiles_are_scipys():
    np.testing.assert_allclose(BurrXII(2, 20)(PROBABILITIES), scipy.stats.burr12(2, 20).ppf(PROBABILITIES), rtol=1e-9)
    np.testing.assert_allclose(Normal(0.5, 0.1)(PROBABILITIES), scipy.stats.norm(0.5, 0.1).ppf(PROBABILITIES))


def test_laws_are_clipped():
    law = Independent((Normal(0.5, 2.0), BurrXII(1, 1)))
    draws = law.sample(1000, np.random.default_rng(0))
    assert draws.min() == 0
    assert draws.max() == 1
    assert (law.quantile(np.array([[0.0, 0.0], [1.0, 1.0]])) == [[0, 0], [1, 1]]).all()


def test_the_mixture_inverts_its_distribution_function():
    inside = np.linspace(0.05, 0.9, 40)
    np.testing.assert_allclose(COMPLICATED(COMPLICATED.cumulative(inside)), inside, atol=1e-9)
    share = COMPLICATED.cumulative(np.array([0.0, 1.0]))
    assert COMPLICATED(share * [0.5, 1] + [0, 0.5 * (1 - share[1])]).tolist() == pytest.approx([0, 1])


def test_the_mixture_is_kdes():
    rng, n = np.random.default_rng(1), 200_000
    centres, sds = [0.1, 0.3, 0.4, 0.5, 0.7, 0.8], [0.02, 0.075, 0.1, 0.1, 0.075, 0.03]
    parts = [rng.normal(m, s, n) for m, s in zip(centres, sds, strict=True)]
    parts += [place + 0.02 * rng.standard_cauchy(n) for place in (0.2, 0.8)]
    drawn = np.clip(np.stack(parts)[rng.integers(8, size=n), np.arange(n)], 0, 1)
    ours = Independent((COMPLICATED,)).sample(n, rng)[:, 0]
    levels = np.linspace(0, 1, 41)
    np.testing.assert_allclose(
        [(ours <= level).mean() for level in levels], [(drawn <= level).mean() for level in levels], atol=0.006
    )


def test_the_mixtures_density_is_the_derivative():
    at, step = np.linspace(0.05, 0.95, 19), 1e-6
    slope = (COMPLICATED.cumulative(at + step) - COMPLICATED.cumulative(at - step)) / (2 * step)
    np.testing.assert_allclose(COMPLICATED.density(at), slope, rtol=1e-5)


def test_discrete_laws_draw_by_weight():
    law = Discrete(torch.tensor([[0.0], [1.0]]), torch.tensor([0.25, 0.75], dtype=torch.float64))
    assert law.sample(4000, np.random.default_rng(0)).mean() == pytest.approx(0.75, abs=0.03)
