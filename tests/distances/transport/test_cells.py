"""Looking targets up by cells finds the worst cases that comparing all pairs finds."""

import math

import pytest
import torch

from allweather.distances.transport.cells import POINTS_PER_CELL, Cells
from allweather.distances.transport.targets import AllPairs

SOURCE = torch.Generator().manual_seed(0)
N = 5 * POINTS_PER_CELL
POINTS = torch.rand(N, 2, generator=SOURCE, dtype=torch.float64)
POINTS[1] = POINTS[0]
WAVES = torch.stack([(7 * POINTS[:, 0] + k).sin() + (9 * POINTS.prod(1) - k).cos() for k in range(4)])
ROUGH = torch.randn(2, N, generator=SOURCE, dtype=torch.float64).round(decimals=1)


def both(points, weights, norm):
    sources = (weights > 0).nonzero()[:, 0]
    return [kind(points, sources, norm, (0, 0.0)) for kind in (Cells, AllPairs)]


@pytest.mark.parametrize("norm", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("radius", [0.0, 0.02, 0.1, 0.5])
def test_worst_cases_are_those_of_all_pairs(norm, radius):
    weights = torch.rand(N, generator=SOURCE, dtype=torch.float64)
    weights[: N // 3] = 0  # where mass may go, and none is
    weights /= weights.sum()
    values, radii = torch.cat([WAVES, ROUGH]), torch.full((6,), radius, dtype=torch.float64)
    found, expected = (way.solve(values, weights, radii) for way in both(POINTS, weights, norm))
    torch.testing.assert_close(found.value, expected.value, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(found.slope[:4], expected.slope[:4], rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(6, dtype=torch.float64))


def test_prices_are_those_of_all_pairs():
    weights = torch.full((N,), 1 / N, dtype=torch.float64)
    found, expected = (way.price(WAVES, weights, -0.5) for way in both(POINTS, weights, 2.0))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_several_lowest_values_and_a_flat_function():
    weights = torch.full((N,), 1 / N, dtype=torch.float64)
    values = torch.stack([torch.ones(N), torch.arange(N) % 7 != 0]).double()
    radii = torch.full((2,), 0.03, dtype=torch.float64)
    found, expected = (way.solve(values, weights, radii) for way in both(POINTS, weights, 2.0))
    torch.testing.assert_close(found.value, expected.value, rtol=1e-12, atol=1e-13)
