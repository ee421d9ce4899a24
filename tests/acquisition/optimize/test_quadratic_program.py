import cvxpy as cp
import numpy as np
import pytest

from allweather.acquisition.optimize.quadratic_program import model_step


def program(seed, k, m, b=6):
    """Random programs around points of the cube, many of them at bounds or constraints."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(b, k, k))
    curvature = (root @ root.transpose(0, 2, 1) + 0.01 * np.eye(k)) * 10 ** rng.uniform(-2, 2, size=(b, 1, 1))
    gradient = rng.normal(size=(b, k)) * 10 ** rng.uniform(-2, 2, size=(b, 1))
    points = rng.uniform(size=(b, k)) * (rng.uniform(size=(b, k)) < 0.7)
    more = rng.normal(size=(m, k))
    normals = np.concatenate([np.eye(k), -np.eye(k), more])
    slack = rng.uniform(size=(b, m)) * (rng.uniform(size=(b, m)) < 0.7)
    return gradient, curvature, normals, np.concatenate([1 - points, points, slack], axis=1)


@pytest.mark.parametrize(("k", "m"), [(1, 0), (2, 1), (6, 3), (10, 4)])
@pytest.mark.parametrize("seed", range(2))
def test_agrees_with_a_conic_solver(seed, k, m):
    gradient, curvature, normals, room = program(seed, k, m)
    steps = model_step(gradient, curvature, normals, room)
    assert (steps @ normals.T <= room + 1e-10).all()
    for g, bend, space, step in zip(gradient, curvature, room, steps, strict=True):
        p = cp.Variable(k)
        energy = cp.Problem(cp.Minimize(g @ p + cp.quad_form(p, cp.psd_wrap(bend)) / 2), [normals @ p <= space])
        energy.solve(solver="CLARABEL")
        found = g @ step + step @ bend @ step / 2
        assert found == pytest.approx(energy.value, rel=1e-6, abs=1e-8)


def test_steps_inside_are_newton_steps():
    gradient, curvature, normals, room = program(0, 3, 0)
    steps = model_step(gradient, curvature, normals, room + 1e9)
    np.testing.assert_allclose((curvature @ steps[..., None])[..., 0], -gradient, rtol=1e-8, atol=1e-10)


def test_rows_that_exclude_each_other_do_no_harm_to_the_others():
    normals, eye = np.array([[1.0], [-1.0]]), np.ones((2, 1, 1))
    steps = model_step(np.array([[-1.0], [-1.0]]), eye, normals, np.array([[0.5, 0.0], [-0.5, -0.5]]))
    assert steps[0, 0] == pytest.approx(0.5)
    assert np.isfinite(steps).all()


def test_a_model_without_curvature_or_slope():
    assert np.isfinite(model_step(np.zeros((1, 2)), np.zeros((1, 2, 2)), np.eye(2), np.ones((1, 2)))).all()


@pytest.mark.parametrize("slope", [1e60, 1e150, 1e300])
def test_a_slope_that_is_too_steep_for_its_curvature_is_not_followed(slope):
    box = np.vstack([np.eye(2), -np.eye(2)])
    for curvature in (np.zeros((1, 2, 2)), np.full((1, 2, 2), 1e-280), 1e-310 * np.eye(2)[None]):
        assert (model_step(slope * np.array([[1.0, -1.0]]), curvature, box, np.full((1, 4), 0.3)) == 0).all()
