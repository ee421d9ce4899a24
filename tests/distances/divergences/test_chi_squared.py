import cvxpy as cp
import numpy as np
import pytest
import torch

from allweather import ChiSquared, Reference, VarianceRegularised, worst_case
from allweather.testing import DistanceSuite


class TestChiSquared(DistanceSuite):
    def make(self, radius):
        return ChiSquared(radius)

    def convex(self, q, reference):
        p = reference.weights.numpy()
        on = p > 0
        terms = cp.multiply(q[on] - p[on], 1 / np.sqrt(p[on]))
        return cp.sum_squares(terms), [q[~on] == 0] if (~on).any() else []


VALUES = torch.tensor([0.0, 1.0, 2.0, 9.0], dtype=torch.float64)
REFERENCE = Reference.checked([[0.0], [0.3], [0.6], [1.0]], [0.25] * 4)


def test_small_radii_give_the_papers_formula_and_large_ones_do_not():
    paper = VarianceRegularised
    assert ChiSquared(0.1).worst_case(VALUES, REFERENCE).value == pytest.approx(paper(0.1)(VALUES, REFERENCE).item())
    exact = ChiSquared(1.0).worst_case(VALUES, REFERENCE)
    assert exact.value > paper(1.0)(VALUES, REFERENCE) + 0.1
    assert exact.weights[3] == 0


def test_vertical_at_zero_unless_constant():
    assert ChiSquared(0).worst_case(VALUES, REFERENCE).slope == -torch.inf
    assert ChiSquared(0).worst_case(0 * VALUES + 3, REFERENCE).slope == 0
    assert ChiSquared(0).sensitivity(VALUES, REFERENCE).item() == pytest.approx(-VALUES.std(correction=0).item())


@pytest.mark.parametrize(("weights", "radius"), [([0.5, 0.5], 1.0), ([0.25, 0.75], 3.0), ([0.5, 0.25, 0.25], 1.0)])
def test_where_all_is_lost_the_slope_is_zero(weights, radius):
    """At radius 1/p - 1 everything is on the lowest value, and the right derivative is 0."""
    values = torch.arange(len(weights), dtype=torch.float64)
    worst = ChiSquared(radius).worst_case(values, Reference.checked(torch.rand(len(weights), 1), weights))
    assert (worst.value.item(), worst.slope.item()) == (pytest.approx(0, abs=1e-9), 0.0)
    assert (
        ChiSquared(0.999 * radius).worst_case(values, Reference.checked(torch.rand(len(weights), 1), weights)).slope < 0
    )


@pytest.mark.parametrize(
    ("values", "weights", "radius", "expected"),
    [
        ([1e9, 5.0, 5.0], [0.0, 0.5, 0.5], 0.1, 5.0),
        ([0.0, 1.0, 1.0], [1e-17, 0.5, 0.5], 0.1, 1.0),
        ([-1e9, 0.0, 1.0], [1e-16, 0.5, 0.5], 0.1, -2.6662278),
        ([96.54, -79.09, -232.1, 64.14, -79.21], [1e-4, 5.6e-13, 1.9e-23, 0.04, 0.9599 - 5.6e-13], 4.77, -79.21),
        ([8.8e8, 15.8e8], [1e-12, 1 - 1e-12], 1e9, 8.8e8 + 7e8 * (1 - 1e-12 - np.sqrt(1e9 * 1e-12 * (1 - 1e-12)))),
    ],
)
def test_weights_many_orders_of_magnitude_apart(values, weights, radius, expected):
    reference = Reference.checked(torch.rand(len(values), 1), weights)
    worst = ChiSquared(radius).worst_case(torch.tensor(values, dtype=torch.float64), reference)
    assert worst.value.item() == pytest.approx(expected, rel=1e-6)
    assert worst.weights.sum().item() == pytest.approx(1, abs=1e-9)
    assert worst.weights.min() >= 0


def test_a_tiny_radius_keeps_its_digits():
    """mean - v is sqrt(radius * variance) to many digits, which a difference of large sums would lose."""
    worst = ChiSquared(1e-12).worst_case(VALUES + 1e3, REFERENCE)
    deviation = VALUES.std(correction=0).item()
    assert worst.slope.item() == pytest.approx(-0.5 * deviation / 1e-6, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-280, 1e-160, 1e155, 1e280])
def test_extreme_scales_give_the_same_worst_case(scale):
    values, weights = np.array([-1.0, 1.0, 0.0, 2.0]), [0.3, 0.2, 0.4, 0.1]
    plain, scaled = (worst_case(each, weights, ChiSquared(0.2)) for each in (values, values * scale))
    assert scaled.value / scale == pytest.approx(plain.value, rel=1e-9)
    assert scaled.slope / scale == pytest.approx(plain.slope, rel=1e-9)
    assert scaled.weights == pytest.approx(plain.weights, abs=1e-9)
