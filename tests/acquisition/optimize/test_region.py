"""Constraints: what the region keeps, and what the search finds at its edge."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.acquisition.optimize.hills import bowl, branin, hartmann

from allweather import Choice, Integer, InvalidInput, Real, Space
from allweather.acquisition.optimize import Search
from allweather.acquisition.optimize.region import Region
from allweather.space.constraints import LinearConstraint


def cube(d):
    return Space(**{f"x{i}": Real(0, 1) for i in range(d)}).decisions


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def total(d, **bounds):
    return LinearConstraint({f"x{i}": 1.0 for i in range(d)}, **bounds)


def by_slsqp(function, rows, d, tries=12):
    """The best of several runs of SciPy's SLSQP."""

    def slope(x):
        u = torch.tensor(x[None], dtype=torch.float64, requires_grad=True)
        value = function(u)
        return -value.item(), -torch.autograd.grad(value.sum(), u)[0][0].numpy()

    rule = {"type": "ineq", "fun": lambda x: rows.limits - rows.normals @ x, "jac": lambda x: -rows.normals}
    found = []
    for x in np.random.default_rng(0).uniform(size=(tries, d)):
        run = minimize(
            slope, x, jac=True, bounds=[(0, 1)] * d, constraints=rule, method="SLSQP", options={"ftol": 1e-12}
        )
        if run.success and (rows.normals @ run.x <= rows.limits + 1e-8).all():
            found.append(-run.fun)
    return max(found)


def test_the_nearest_point_of_a_simplex():
    best = Search(cube(3), (total(3, upper=1),)).best(bowl([0.9, 0.6, -0.2]), seeded())
    torch.testing.assert_close(best.decision, torch.tensor([0.65, 0.35, 0], dtype=torch.float64), rtol=0, atol=1e-6)


def test_a_corner_of_two_constraints():
    constraints = (LinearConstraint({"x0": 1, "x1": 2}, upper=1.2), LinearConstraint({"x0": 2, "x1": 1}, upper=1.2))
    best = Search(cube(2), constraints).best(lambda u: u.sum(-1), seeded())
    torch.testing.assert_close(best.decision, torch.tensor([0.4, 0.4], dtype=torch.float64), rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("function", "d"), [(branin, 2), (hartmann, 6)])
def test_as_good_as_slsqp(function, d, seed):
    weights = np.random.default_rng(seed).normal(size=(2, d))
    constraints = tuple(
        LinearConstraint({f"x{i}": w for i, w in enumerate(row)}, upper=float(row.sum() / 2 + 0.1)) for row in weights
    )
    search = Search(cube(d), constraints)
    best = search.best(function, seeded(seed))
    assert best.value >= by_slsqp(function, search.region.rows, d) - 1e-6
    assert search.region.feasible(best.decision[None].numpy()).all()


def test_an_equation():
    search = Search(cube(3), (total(3, lower=1, upper=1), LinearConstraint({"x0": 1, "x1": -1}, lower=0, upper=0)))
    best = search.best(bowl([0.1, 0.3, 0.9]), seeded())
    torch.testing.assert_close(best.decision, torch.tensor([0.1, 0.1, 0.8], dtype=torch.float64), rtol=0, atol=1e-6)
    drawn = search.sample(50, seeded())
    torch.testing.assert_close(drawn.sum(-1), torch.ones(50, dtype=torch.float64), rtol=0, atol=1e-8)
    assert drawn[:, 0].std() > 0.05


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-8, 0])
def test_thin_regions(width):
    search = Search(cube(4), (total(4, upper=1), total(4, lower=1 - width)))
    best = search.best(bowl([0.9, 0.6, -0.2, 0.1]), seeded())
    assert best.value == pytest.approx(-0.175, abs=2e-6)
    assert search.region.feasible(search.sample(40, seeded()).numpy()).all()


def test_a_single_point_is_left():
    best = Search(cube(2), (total(2, upper=0),)).best(bowl([0.4, 0.4]), seeded())
    torch.testing.assert_close(best.decision, torch.zeros(2, dtype=torch.float64), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("box", "constraints"),
    [
        (cube(2), (total(2, lower=2.1),)),
        (cube(2), (total(2, upper=1), total(2, lower=1.001))),
        (Space(x0=Integer(0, 5), x1=Integer(0, 5)).decisions, (total(2, lower=3.2, upper=3.8),)),
        (Space(x0=Integer(0, 5), x1=Integer(0, 5)).decisions, (total(2, lower=3.0000005, upper=3.8),)),
    ],
)
def test_constraints_that_leave_nothing_are_refused(box, constraints):
    with pytest.raises(InvalidInput, match=r"Search\(constraints=...\)"):
        Search(box, constraints)


def test_samples_fill_a_simplex():
    drawn = Search(cube(3), (total(3, upper=1),)).sample(512, seeded())
    assert (drawn.sum(-1) <= 1).all()
    assert drawn.amax(0).min() > 0.7
    assert (drawn.mean(0) - 0.25).abs().max() < 0.06


def test_whole_numbers_under_an_equation_are_found():
    box = Space(x0=Integer(0, 40), x1=Integer(0, 40), x2=Integer(0, 40), y=Real(0, 1)).decisions
    search = Search(box, (LinearConstraint({"x0": 3, "x1": 5, "x2": 7}, lower=100, upper=100),))
    drawn = box.decode(search.sample(100, seeded()))
    assert all(3 * row["x0"] + 5 * row["x1"] + 7 * row["x2"] == 100 for row in drawn)
    assert len({row["x0"] for row in drawn}) > 5


VARIABLES = st.one_of(
    st.builds(lambda low, width: Real(low, low + width), st.floats(-50, 50), st.floats(0.01, 100)),
    st.builds(lambda low, width: Integer(low, low + width), st.integers(-9, 9), st.integers(1, 12)),
    st.builds(lambda n: Choice(*range(n)), st.integers(2, 4)),
)


@st.composite
def regions(draw):
    """A random box, and random constraints that a random legal decision of it meets, some with nothing to spare."""
    variables = draw(st.lists(VARIABLES, min_size=1, max_size=4))
    box = Space(**{f"v{i}": variable for i, variable in enumerate(variables)}).decisions
    unit = draw(st.lists(st.floats(0, 1), min_size=box.columns, max_size=box.columns))
    (anchor,) = box.decode(torch.tensor([unit], dtype=torch.float64))
    linear = [name for name, variable in box.items() if not isinstance(variable, Choice)]
    constraints = []
    for _ in range(draw(st.integers(0, 3)) if linear else 0):
        weights = {name: draw(st.floats(-3, 3).filter(lambda w: abs(w) > 0.01)) for name in linear}
        value = sum(w * anchor[name] for name, w in weights.items())
        lower, upper = (draw(st.sampled_from([None, 0.0, 0.1, 5.0])) for _ in range(2))
        if (lower, upper) != (None, None):
            bounds = None if lower is None else value - lower, None if upper is None else value + upper
            constraints.append(LinearConstraint(weights, lower=bounds[0], upper=bounds[1]))
    return box, tuple(constraints)


@settings(max_examples=100, deadline=None)
@given(regions(), st.integers(0, 99))
def test_always_legal_and_feasible(region, seed):
    box, constraints = region
    search = Search(box, constraints, raw=32, starts=4, steps=15)
    weights = torch.randn(box.columns, generator=seeded(seed), dtype=torch.float64)
    best = search.best(lambda u: torch.sin(7 * u @ weights) + u @ weights, seeded(seed))
    points = torch.cat([best.decision[None], search.sample(20, seeded(seed))])
    assert torch.equal(box.snap(points), points)
    for row in box.decode(points):
        for constraint in constraints:
            size = sum(abs(w) * (box[name].upper - box[name].lower) for name, w in constraint.coefficients.items())
            assert constraint.holds(row, 2e-8 * size)


def test_points_near_the_region_are_repaired():
    box = Space(x0=Real(0, 1), x1=Integer(0, 4)).decisions
    region = Region.of(box, (total(2, upper=3),))
    repaired = region.legal(np.array([[0.5, 0.9], [0.5, 0.7]]))
    np.testing.assert_allclose(repaired[1], [0, 0.75], atol=1e-8)
    assert region.feasible(repaired).tolist() == [False, True]
