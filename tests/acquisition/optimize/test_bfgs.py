import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from tests.acquisition.optimize.hills import bowl, branin, hartmann

from allweather.acquisition.optimize.bfgs import climb
from allweather.acquisition.optimize.polytope import Polytope
from allweather.acquisition.optimize.scores import Scores, hinted


def free(b, d):
    return Polytope(np.zeros((0, d)), np.zeros((b, 0)), np.eye(d))


def slopes_of(function, calls=None):
    def slopes(points, starts):
        if calls is not None:
            calls.append(starts.tolist())
        return Scores(hinted(function), 64).slopes(points)

    return slopes


def rosenbrock(u):
    x = 4 * u - 2
    return -(100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(-1)


@pytest.mark.parametrize(("function", "d", "scale"), [(branin, 2, 40), (hartmann, 6, 2), (rosenbrock, 3, 1000)])
def test_every_start_alone_reaches_what_lbfgsb_reaches(function, d, scale):
    starts = np.random.default_rng(d).uniform(size=(5, d))
    slopes = slopes_of(function)
    for start in starts:
        (point,), (value,), _ = climb(slopes, start[None], free(1, d), scale, 100)
        gradient = slopes(point[None], np.zeros(1))[1][0] / scale
        assert abs(np.clip(point + gradient, 0, 1) - point).max() < 1e-4
        run = minimize(
            lambda x: tuple(-part[0] / scale for part in slopes(x[None], np.zeros(1))),
            start,
            jac=True,
            bounds=[(0, 1)] * d,
            method="L-BFGS-B",
        )
        # From one point two climbs may reach two tops.
        same = abs(run.x - point).max() < 0.05
        assert not same or value >= -run.fun * scale - 1e-8 * scale


def test_a_batch_climbs_as_each_would_alone():
    starts = np.array([[0.1, 0.9], [0.9, 0.2]])
    slopes = slopes_of(branin)
    together = climb(slopes, starts, free(2, 2), 40.0, 40)[0]
    alone = np.concatenate([climb(slopes, start[None], free(1, 2), 40.0, 40)[0] for start in starts])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_those_that_arrive_or_follow_drop_out():
    calls = []
    starts = np.array([[0.3, 0.3], [0.3, 0.30001], [0.9, 0.1]])
    climb(slopes_of(bowl([0.3, 0.3]), calls), starts, free(3, 2), 1.0, 40)
    assert calls[0] == [0, 1, 2]
    assert calls[1] == [2]
    assert len(calls) < 8


def test_values_never_fall_and_steps_stay_inside():
    normals = np.array([[0.6, 0.8]])
    starts = np.random.default_rng(0).uniform(0, 0.4, size=(6, 2))
    seen = []

    def slopes(points, names):
        seen.append(points)
        return Scores(hinted(branin), 64).slopes(points)

    points, values, _ = climb(slopes, starts, Polytope(normals, np.full((6, 1), 0.56), np.eye(2)), 40.0, 30)
    visited = np.concatenate([*seen, points])
    assert (visited @ normals.T <= 0.56 + 1e-12).all()
    assert ((visited >= 0) & (visited <= 1)).all()
    assert (values >= branin(torch.from_numpy(starts)).numpy()).all()
    np.testing.assert_allclose(values, branin(torch.from_numpy(points)).numpy())


def test_gradients_that_are_not_finite_end_a_climb():
    def root(u):
        return -(u[:, 0] - 0.5).abs().sqrt()

    points, values, _ = climb(slopes_of(root), np.array([[0.5], [0.9]]), free(2, 1), 1.0, 30)
    assert values[0] == 0
    assert np.isfinite(points).all()


@pytest.mark.parametrize("size", [1.0, 1e60, 1e150])
def test_a_curvature_that_rounding_made_singular_ends_no_climb(size):
    free = Polytope(np.zeros((0, 2)), np.zeros((2, 0)), np.eye(2))
    starts = np.array([[0.1, 0.5], [0.9, 0.2]])

    def hill(x, start):
        return -size * ((x - 0.3) ** 2).sum(-1), -2 * size * (x - 0.3)

    reached = climb(hill, starts, free, size, 20, curvature=np.ones((2, 2, 2)))
    assert np.allclose(reached.points, 0.3, atol=1e-4)
