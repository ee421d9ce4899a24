import math

import cvxpy as cp
import numpy as np
import pytest
import torch

from allweather import (
    KL,
    MMD,
    ChiSquared,
    InvalidInput,
    Reference,
    RobustSatisficing,
    TotalVariation,
    Wasserstein,
)
from allweather.distances.base import Distance
from allweather.testing import ObjectiveSuite


class TestRobustSatisficing(ObjectiveSuite):
    def make(self):
        return RobustSatisficing(0.2, TotalVariation(0))

    def of_constant(self, constant):
        return 0.0  # 2.5 is above the target everywhere


class TestRobustSatisficingWasserstein(TestRobustSatisficing):
    def make(self):
        return RobustSatisficing(0.2, Wasserstein(0))


SOURCE = np.random.default_rng(3)
P = SOURCE.dirichlet(np.ones(9))
REFERENCE = Reference.checked(SOURCE.uniform(size=(9, 2)), P)
VALUES = torch.tensor(SOURCE.normal(size=(4, 9)))
MEAN, LOWEST = VALUES @ REFERENCE.weights, VALUES.amin(-1)


def penalised(distance, values, k):
    """h(k) = min over q of q.f + k d(q, p), by a conic solver."""
    q = cp.Variable(9, nonneg=True)
    d, constraints = {
        TotalVariation: lambda: (cp.norm1(q - P), []),
        ChiSquared: lambda: (cp.sum_squares(cp.multiply(q - P, 1 / np.sqrt(P))), []),
        KL: lambda: (cp.sum(cp.kl_div(q, P)), []),
        MMD: lambda: (cp.norm(np.linalg.cholesky(distance.gram(REFERENCE).numpy()).T @ (q - P)), []),
        Wasserstein: lambda: transport(q, distance.costs(REFERENCE).numpy()),
    }[type(distance)]()
    return cp.Problem(cp.Minimize(values.numpy() @ q + k * d), [cp.sum(q) == 1, *constraints]).solve(solver=cp.CLARABEL)


def transport(q, costs):
    plan = cp.Variable((9, 9), nonneg=True)
    return cp.sum(cp.multiply(plan, costs)), [cp.sum(plan, axis=1) == P, cp.sum(plan, axis=0) == q]


@pytest.mark.parametrize("share", [0.1, 0.6, 0.95])
@pytest.mark.parametrize(
    "distance",
    [TotalVariation(0), ChiSquared(0), KL(0), MMD(0, lengthscale=0.5), Wasserstein(0)],
    ids=lambda d: type(d).__name__,
)
def test_the_loss_per_distance_is_the_least_that_reaches_the_target(distance, share):
    for row in range(4):
        target = (LOWEST[row] + share * (MEAN[row] - LOWEST[row])).item()
        k = -RobustSatisficing(target, distance)(VALUES[row], REFERENCE).item()
        scale = (MEAN[row] - LOWEST[row]).item()
        assert penalised(distance, VALUES[row], k * (1 + 1e-4)) >= target - 1e-6 * scale
        assert penalised(distance, VALUES[row], k * (1 - 1e-2)) < target


def test_total_variation_by_sorting_equals_the_general_way():
    for target in (-1.5, -0.5, -0.1, 0.1):
        exact = TotalVariation(0).fragility(VALUES, REFERENCE, target)
        general = Distance.fragility(TotalVariation(0), VALUES, REFERENCE, target)
        torch.testing.assert_close(exact, general, rtol=1e-9, atol=1e-9)


def test_out_of_reach_and_always_reached():
    assert RobustSatisficing(99.0, KL(0))(VALUES, REFERENCE).tolist() == [-math.inf] * 4
    assert RobustSatisficing(-99.0, KL(0))(VALUES, REFERENCE).tolist() == [0.0] * 4


def test_bad_declarations_are_refused():
    with pytest.raises(InvalidInput, match="target"):
        RobustSatisficing(math.nan, KL(0))
    with pytest.raises(InvalidInput, match="distance"):
        RobustSatisficing(1.0, "kl")


@pytest.mark.parametrize(
    "distance", [TotalVariation(0), Wasserstein(0), MMD(0, lengthscale=0.5)], ids=lambda d: type(d).__name__
)
@pytest.mark.parametrize("offset", [0.0, 100.0, 5e3])
def test_a_target_at_the_mean_costs_the_sensitivity(distance, offset):
    """bocu, Eq. 12, also where rounding puts the mean a little above or below itself."""
    values = VALUES + offset
    for row in values:
        target = (row @ REFERENCE.weights).item()
        expected = distance.sensitivity(row, REFERENCE).item()
        assert RobustSatisficing(target, distance)(row, REFERENCE).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("distance", [ChiSquared(0), KL(0)], ids=lambda d: type(d).__name__)
def test_a_target_at_the_mean_is_out_of_reach_where_v_falls_vertically(distance):
    assert RobustSatisficing(MEAN[0].item(), distance)(VALUES[0], REFERENCE).item() == -math.inf


@pytest.mark.parametrize("below", [1e-3, 1e-5, 1e-7])
def test_close_to_the_mean_chi_squared_costs_a_quarter_of_the_variance(below):
    """Near radius 0 v is mean - sqrt(radius variance), whose tangents start at mean - sqrt(radius variance)/2."""
    values, p = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64)
    mean = (values @ p).item()
    variance = (p @ (values - mean) ** 2).item()
    found = RobustSatisficing(mean - below, ChiSquared(0))(values, Reference.checked(torch.rand(3, 1), p)).item()
    assert found == pytest.approx(-variance / (4 * below), rel=1e-5)


def test_tiny_values_and_tiny_weights():
    values, p = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), [1e-14, 0.5, 0.5 - 1e-14]
    reference = Reference.checked(torch.rand(3, 1), p)
    assert RobustSatisficing(2.3, ChiSquared(0))(values, reference).item() == pytest.approx(-0.3125, rel=1e-6)
    small = RobustSatisficing(1.7500001e-9, TotalVariation(0))
    assert small(1e-9 * values, Reference.checked(torch.rand(3, 1), [0.5, 0.25, 0.25])).item() == -math.inf


MAKE = {
    "ChiSquared": lambda: ChiSquared(0.1),
    "KL": lambda: KL(0.1),
    "Wasserstein": lambda: Wasserstein(0.1),
    "MMD": lambda: MMD(0.1, lengthscale=0.3),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
@pytest.mark.parametrize("columns", [1, 2])
def test_duals_agree_with_the_search_over_radii(make, columns):
    """The distance's own way against the way that works for any distance."""
    source = torch.Generator().manual_seed(3)
    points = torch.rand(12, columns, generator=source, dtype=torch.float64)
    weights = torch.rand(12, generator=source, dtype=torch.float64)
    reference = Reference(points, weights / weights.sum())
    values = torch.randn(20, 12, generator=source, dtype=torch.float64, requires_grad=True)
    for target in (-1.0, -0.3, 0.0, 0.4):
        own = make().fragility(values, reference, target)
        general = Distance.fragility(make(), values, reference, target)
        torch.testing.assert_close(own, general, rtol=1e-6, atol=1e-8)
        finite = torch.isfinite(own)
        slopes = [torch.autograd.grad(k[finite].sum(), values)[0] for k in (own, general)]
        torch.testing.assert_close(*slopes, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.3, 0.999, 1 - 1e-6])
@pytest.mark.parametrize("shape", ["normal", "ties", "skewed", "empty points"])
def test_chi_squared_by_sorting_equals_the_search_from_the_lowest_value_to_the_mean(shape, share):
    source = torch.Generator().manual_seed(5)
    values = torch.randn(30, 200, generator=source, dtype=torch.float64)
    weights = torch.rand(200, generator=source, dtype=torch.float64)
    if shape == "ties":
        values = values.round()
    elif shape == "skewed":
        values = (3 * values).exp()
    elif shape == "empty points":
        weights = weights * (weights > 0.4)
    reference = Reference(torch.rand(200, 1, generator=source, dtype=torch.float64), weights / weights.sum())
    distance = ChiSquared(0)
    for each in values:
        row = each.clone().requires_grad_()
        low = each[reference.weights > 0].min()
        target = (low + share * (each @ reference.weights - low)).item()
        own = distance.fragility(row, reference, target)
        general = Distance.fragility(distance, row, reference, target)
        torch.testing.assert_close(own, general, rtol=1e-6 + 1e-11 / share, atol=0)
        slopes = [torch.autograd.grad(k, row)[0] for k in (own, general)]
        torch.testing.assert_close(*slopes, rtol=1e-4, atol=1e-5 * float(slopes[1].abs().max()))


def test_targets_next_to_the_mean_are_searched_for_together():
    """Where the interior point method gives up: one by one and under laws of their own."""
    source = torch.Generator().manual_seed(2)
    points = torch.rand(128, 2, generator=source, dtype=torch.float64)
    laws = torch.rand(3, 128, generator=source, dtype=torch.float64) + 0.5
    laws = laws / laws.sum(-1, keepdim=True)
    waves = (4 * points @ torch.randn(2, 36, generator=source, dtype=torch.float64)).T.sin().reshape(12, 3, 128)
    each = laws[torch.arange(12) % 3]
    values = waves - (waves * each[:, None]).sum(-1, keepdim=True)
    distance = MMD(0.1, lengthscale=0.3)
    for target in (-1e-2, -1e-4, -1e-6):
        together = distance.fragilities(values, points, laws, target)
        for function in (0, 5, 11):
            reference = Reference(points, each[function])
            alone = Distance.fragility(distance, values[function], reference, target)
            torch.testing.assert_close(together[function], alone, rtol=1e-6, atol=0)
