import numpy as np
import pytest
import torch

from allweather.contexts import Reference
from allweather.problems.bumps import Bumps
from allweather.problems.expansion import KernelExpansion
from allweather.problems.gp_sample import PriorSample
from allweather.problems.hartmann import HEIGHTS, PEAKS, STEEPNESS, Hartmann

NOTHING = torch.zeros(1, 0, dtype=torch.float64)


def expansion(kernel):
    generator = torch.Generator().manual_seed(0)
    centres = torch.rand(40, 3, dtype=torch.float64, generator=generator)
    weights = torch.randn(40, dtype=torch.float64, generator=generator)
    return KernelExpansion(kernel, centres, weights, torch.tensor([0.1, 0.2, 0.9], dtype=torch.float64), offset=0.3)


def points(n, d=3, seed=1):
    return torch.rand(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_the_same_as_a_kernel_expansion(kernel):
    one = expansion(kernel)
    x = points(50)
    torch.testing.assert_close(Bumps.of(one)(x, NOTHING), one(x, NOTHING), rtol=0, atol=1e-8)
    torch.testing.assert_close(Bumps.of(one)(x[:, :1], x[:, 1:]), one(x[:, :1], x[:, 1:]), rtol=0, atol=1e-8)


def test_hartmann_is_one():
    parts = (torch.tensor(part, dtype=torch.float64) for part in (HEIGHTS, STEEPNESS[3], PEAKS[3]))
    heights, steepness, peaks = parts
    x = points(20)
    torch.testing.assert_close(
        Bumps(heights, steepness, 1e-4 * peaks)(x[:, :2], x[:, 2:]), Hartmann(3)(x[:, :2], x[:, 2:])
    )


def finite_law(n, seed):
    weights = torch.rand(n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return Reference(points(n, 1, seed), weights / weights.sum())


@pytest.mark.parametrize("make", [lambda: Bumps.of(expansion("rbf")), lambda: PriorSample.drawn(3, 0, seed=2)])
@pytest.mark.parametrize("left", [(), (0,), (1,), (2,), (0, 2), (1, 2)])
def test_averages_are_sums_over_the_law(make, left):
    one = make()
    laws = {column: finite_law(3, column) for column in left}
    kept = [column for column in range(3) if column not in left]
    decisions = points(5, len(kept))
    expected = np.zeros(5)
    for places in np.ndindex(*[3] * len(left)):
        x, weight = torch.zeros(5, 3, dtype=torch.float64), 1.0
        x[:, kept] = decisions
        for column, place in zip(left, places, strict=True):
            x[:, column] = laws[column].points[place, 0]
            weight *= laws[column].weights[place].item()
        expected += weight * one(x, NOTHING)[:, 0].numpy()
    np.testing.assert_allclose(one.averaged(laws)(decisions, NOTHING)[:, 0].numpy(), expected, atol=1e-9)


def test_equal_bumps_are_merged():
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 4, dtype=torch.float64)] * 2)
    one = Bumps(torch.ones(16, dtype=torch.float64), torch.ones_like(grid), grid)
    assert len(one.averaged({1: finite_law(5, 0)}).heights) == 4


def test_gradients():
    one = Bumps.of(expansion("matern52"))
    x = points(3).requires_grad_()
    torch.autograd.gradcheck(lambda at: one(at, NOTHING), (x,), atol=1e-5)
