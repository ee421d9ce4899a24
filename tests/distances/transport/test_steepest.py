"""The steepest line down, against the general way to a slope at radius 0."""

import pytest
import torch

from allweather import Reference, Wasserstein
from allweather.distances.base import Distance

SHAPES = ("rough", "smooth", "ties", "constant")


def functions(shape: str, points: torch.Tensor, source: torch.Generator) -> torch.Tensor:
    n = len(points)
    if shape == "smooth":
        return (points @ torch.randn(2, 9, generator=source, dtype=torch.float64)).T.sin()
    values = torch.randn(9, n, generator=source, dtype=torch.float64)
    return {"rough": values, "ties": values.round(), "constant": torch.ones_like(values)}[shape]


@pytest.mark.parametrize("norm", [1, 2, float("inf")])
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [2, 5, 200])
def test_it_is_the_slope_of_the_worst_case_at_radius_0(n, shape, empty, norm):
    source = torch.Generator().manual_seed(n)
    points = torch.rand(n, 2, generator=source, dtype=torch.float64)
    weights = torch.rand(n, generator=source, dtype=torch.float64)
    if empty:
        weights[1::2] = 0
    reference, distance = Reference(points, weights / weights.sum()), Wasserstein(0.1, norm=norm)
    quick, general = (functions(shape, points, source.manual_seed(1)).requires_grad_() for _ in range(2))
    found, expected = distance.sensitivity(quick, reference), Distance._sensitivity(distance, general, reference)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    if shape in ("rough", "smooth"):  # where one line is steepest
        slopes = [torch.autograd.grad(s.sum(), f)[0] for s, f in ((found, quick), (expected, general))]
        torch.testing.assert_close(*slopes, rtol=1e-6, atol=1e-6)


def test_points_in_the_same_place_are_left_to_the_general_way():
    points = torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    reference = Reference(points, torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64))
    values = torch.tensor([1.0, 0.0, -3.0], dtype=torch.float64)
    assert Wasserstein(0.1).sensitivity(values, reference).item() == pytest.approx(-3.0)  # mass at 1 has moved to 0
