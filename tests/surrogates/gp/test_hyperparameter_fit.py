"""The likelihood over pairs agrees with the one over whole matrices."""

import numpy as np
import pytest
import torch

from allweather.surrogates.gp.hyperparameter_fit import OutcomeNoise, Pairs, minus_log_likelihood

SOURCE = np.random.default_rng(0)
POINTS, TARGETS = SOURCE.random((12, 4)), SOURCE.standard_normal(12)
RATIONAL = ["rational-quadratic", "rational-quadratic-columns"]
LOGARITHMS = np.log([0.3, 0.5, 0.7, 1.1, 1.4, 0.05])


@pytest.mark.parametrize("family", ["rbf", "matern32", "matern52", "matern32-columns", "matern-columns", *RATIONAL])
@pytest.mark.parametrize("split", [0, 2, 4])
@pytest.mark.parametrize("mean", [None, 0.3])
def test_value_gradient_and_mean_are_those_of_whole_matrices(family, split, mean):
    found = Pairs.of(family, split, POINTS).minus_log_likelihood(TARGETS, LOGARITHMS, mean)
    points, targets = torch.from_numpy(POINTS), torch.from_numpy(TARGETS)
    expected = minus_log_likelihood(family, split, points, targets, LOGARITHMS, mean)
    assert found.value == pytest.approx(expected.value, rel=1e-11)
    assert found.mean == pytest.approx(expected.mean, rel=1e-9)
    assert found.gradient == pytest.approx(expected.gradient, rel=1e-8, abs=1e-9)


def test_gradients_with_some_known_noise_are_differences():
    unknown = np.arange(12) % 3 == 0
    noise = OutcomeNoise(unknown * 2.0, np.where(unknown, 0.0, 0.2))
    pairs = Pairs.of("matern52", 2, POINTS)
    gradient = pairs.minus_log_likelihood(TARGETS, LOGARITHMS, None, noise).gradient
    for place, step in enumerate(1e-6 * np.eye(6)):
        ahead, behind = (
            pairs.minus_log_likelihood(TARGETS, at, None, noise).value for at in (LOGARITHMS + step, LOGARITHMS - step)
        )
        assert (ahead - behind) / 2e-6 == pytest.approx(gradient[place], rel=1e-6, abs=1e-7)


def test_points_that_coincide_and_a_single_point_are_no_obstacle():
    points = np.concatenate([POINTS, POINTS])
    twice = Pairs.of("rbf", 2, points).minus_log_likelihood(np.tile(TARGETS, 2), np.log([*[1e3] * 4, 1.0, 1e-18]), None)
    assert np.isfinite(twice.value)
    assert np.isfinite(twice.gradient).all()
    alone = Pairs.of("matern52", 2, POINTS[:1]).minus_log_likelihood(TARGETS[:1], LOGARITHMS, 0.0)
    assert alone.gradient[:4].tolist() == [0.0] * 4
