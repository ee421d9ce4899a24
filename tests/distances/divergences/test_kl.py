import cvxpy as cp
import mpmath
import numpy as np
import pytest
import torch

from allweather import KL, Reference
from allweather.testing import DistanceSuite


class TestKL(DistanceSuite):
    def make(self, radius):
        return KL(radius)

    def convex(self, q, reference):
        p = reference.weights.numpy()
        on = p > 0
        return cp.sum(cp.kl_div(q[on], p[on])), [q[~on] == 0] if (~on).any() else []


VALUES = torch.tensor([0.3, -1.0, 2.0, 0.9, -0.2], dtype=torch.float64)
WEIGHTS = [0.1, 0.3, 0.2, 0.25, 0.15]
REFERENCE = Reference.checked(torch.rand(5, 2), WEIGHTS)


@pytest.mark.parametrize("radius", [1e-14, 1e-8, 1e-3, 0.4, 1.1, 1.203, 1.20397])
def test_value_and_multiplier_in_fifty_digits(radius):
    """From far below rounding to just before the ceiling log(1/0.3) = 1.20397280..."""
    with mpmath.workdps(50):
        f, p = [mpmath.mpf(v) for v in VALUES.tolist()], [mpmath.mpf(w) for w in WEIGHTS]
        total = mpmath.fsum(p)
        p = [w / total for w in p]

        def divergence(theta):
            mass = mpmath.fsum(w * mpmath.exp(-theta * v) for w, v in zip(p, f, strict=True))
            mean = mpmath.fsum(w * v * mpmath.exp(-theta * v) for w, v in zip(p, f, strict=True)) / mass
            return -theta * mean - mpmath.log(mass), mean

        low, high = mpmath.mpf(10) ** -12, mpmath.mpf(10) ** 6
        for _ in range(250):
            middle = mpmath.sqrt(low * high)
            low, high = (middle, high) if divergence(middle)[0] < radius else (low, middle)
        expected_value, expected_slope = float(divergence(low)[1]), float(-1 / low)
    worst = KL(radius).worst_case(VALUES, REFERENCE)
    assert worst.value.item() == pytest.approx(expected_value, abs=1e-12)
    assert worst.slope.item() == pytest.approx(expected_slope, rel=1e-6)


def test_beyond_the_ceiling_everything_is_on_the_worst():
    value, slope, weights = KL(1.21).worst_case(VALUES, REFERENCE)
    assert (value.item(), slope.item()) == (-1.0, 0.0)
    assert weights.tolist() == [0, 1, 0, 0, 0]


def test_vertical_at_zero_unless_constant():
    assert KL(0).worst_case(VALUES, REFERENCE).slope == -torch.inf
    assert KL(0.5).worst_case(0 * VALUES + 3, REFERENCE).slope == 0
    deviation = np.sqrt(np.cov(VALUES.numpy(), aweights=WEIGHTS, ddof=0))
    assert KL(0).sensitivity(VALUES, REFERENCE).item() == pytest.approx(-np.sqrt(2) * deviation)


def test_weights_over_many_orders_of_magnitude():
    weights = torch.logspace(-300, 0, 40, dtype=torch.float64)
    reference = Reference.checked(torch.rand(40, 1), weights / weights.sum())
    worst = KL(5.0).worst_case(torch.arange(40, dtype=torch.float64), reference)
    assert KL(5.0).between(worst.weights, reference).item() == pytest.approx(5.0)
