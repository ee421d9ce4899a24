import cvxpy as cp
import numpy as np
import pytest
import torch

from allweather import DRO, Reference, TotalVariation
from allweather.testing import DistanceSuite


class TestTotalVariation(DistanceSuite):
    def make(self, radius):
        return TotalVariation(radius)

    def convex(self, q, reference):
        return cp.norm1(q - reference.weights.numpy()), []


VALUES = torch.tensor([3.0, 1.0, 2.0, 0.0], dtype=torch.float64)
REFERENCE = Reference.checked([[0.0], [0.3], [0.6], [1.0]], [0.25, 0.25, 0.5, 0.0])


def test_by_hand():
    """A radius of 0.6 takes 0.25 from the 3, 0.05 from the 2, and brings it to the 0 that had no mass."""
    value, slope, weights = TotalVariation(0.6).worst_case(VALUES, REFERENCE)
    assert value.item() == pytest.approx(0.25 * 1 + 0.45 * 2)
    assert slope.item() == -1.0
    torch.testing.assert_close(weights, torch.tensor([0.0, 0.25, 0.45, 0.3], dtype=torch.float64))


def test_the_slope_at_a_kink_is_the_right_derivative():
    """At radius 0.5 the 3 is just used up, at 2 everything is."""
    slopes = [TotalVariation(r).worst_case(VALUES, REFERENCE).slope.item() for r in (0.5, 0.4999, 1.9999, 2.0, 3.0)]
    assert slopes == [-1.0, -1.5, -0.5, 0.0, 0.0]


def test_the_sensitivity_is_half_the_range():
    assert TotalVariation(0.3).sensitivity(VALUES, REFERENCE).item() == -1.5


@pytest.mark.parametrize("radius", [0.0, 0.6, 2.0, 3.0])
def test_values_alone_are_those_of_worst_cases(radius):
    source = torch.Generator().manual_seed(0)
    values = torch.randn(6, 3, 40, generator=source, dtype=torch.float64).round(decimals=1)
    laws = torch.rand(2, 40, generator=source, dtype=torch.float64)
    laws = (laws * (laws > 0.3)) / (laws * (laws > 0.3)).sum(-1, keepdim=True)
    distance, points = TotalVariation(radius), torch.zeros(40, 1, dtype=torch.float64)
    torch.testing.assert_close(
        distance.worst_values(values, points, laws), distance.worst_cases(values, points, laws).value
    )
    reference = Reference(points, laws[0])
    torch.testing.assert_close(distance.worst_value(values, reference), distance.worst_case(values, reference).value)


def test_numpy_values_are_taken_as_well_as_tensors():
    reference = Reference.checked([[0.0], [0.5], [1.0]], [0.5, 0.25, 0.25])
    values = np.array([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]])
    expected = TotalVariation(0.5).worst_case(torch.from_numpy(values), reference).value
    assert torch.allclose(DRO(TotalVariation(0.5))(values, reference), expected)
