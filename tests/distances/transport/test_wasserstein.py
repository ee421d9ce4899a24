import math

import cvxpy as cp
import numpy as np
import ot
import pytest
import torch

from allweather import InvalidInput, Reference, Wasserstein
from allweather.testing import DistanceSuite


class TestWasserstein(DistanceSuite):
    norm = 2.0

    def make(self, radius):
        return Wasserstein(radius, norm=self.norm)

    def convex(self, q, reference):
        plan = cp.Variable((q.size, q.size), nonneg=True)
        costs = self.make(1.0).costs(reference).numpy()
        marginals = [cp.sum(plan, axis=1) == reference.weights.numpy(), cp.sum(plan, axis=0) == q]
        return cp.sum(cp.multiply(plan, costs)), marginals


@pytest.mark.slow
class TestWassersteinL1(TestWasserstein):
    norm = 1


@pytest.mark.slow
class TestWassersteinMax(TestWasserstein):
    norm = math.inf


@pytest.mark.parametrize("dimension", [1, 3])
def test_the_adversary_is_at_the_radius_as_pot_measures_it(dimension):
    source = np.random.default_rng(0)
    for seed in range(10):
        points, weights = source.uniform(size=(40, dimension)), source.dirichlet(np.ones(40))
        values = torch.tensor(np.random.default_rng(seed).normal(size=40))
        reference = Reference.checked(points, weights)
        distance = Wasserstein(0.05)
        q = distance.worst_case(values, reference).weights
        costs = distance.costs(reference).numpy()
        assert ot.emd2(weights, q.numpy() / q.numpy().sum(), costs) == pytest.approx(0.05, rel=1e-6)
        assert distance.between(q, reference).item() == pytest.approx(0.05, rel=1e-6)


def test_one_dimension_agrees_with_the_table_of_costs():
    source = np.random.default_rng(1)
    line = source.integers(0, 20, size=(50, 1)) / 20
    weights = source.dirichlet(np.ones(50)) * (source.uniform(size=50) > 0.3)
    weights /= weights.sum()
    flat = Reference.checked(line, weights)
    lifted = Reference.checked(np.hstack([line, 0 * line]), weights)
    values = torch.tensor(source.normal(size=(20, 50)))
    for radius in (0.0, 0.01, 0.2, 1.0):
        one, two = (Wasserstein(radius).worst_case(values, reference) for reference in (flat, lifted))
        torch.testing.assert_close(one.value, two.value, rtol=0, atol=1e-12)
        torch.testing.assert_close(one.slope, two.slope, rtol=1e-9, atol=1e-9)


def test_the_slope_at_zero_is_the_steepest_way_down_from_a_point_with_mass():
    reference = Reference.checked([[0.0], [0.5], [0.6], [1.0]], [0.5, 0.5, 0.0, 0.0])
    values = torch.tensor([0.0, 1.0, 0.8, -9.0], dtype=torch.float64)
    worst = Wasserstein(0.0).worst_case(values, reference)
    assert worst.slope.item() == pytest.approx(-20.0)  # from 0.5 straight to 1.0
    assert worst.value.item() == 0.5


@pytest.mark.parametrize("spacing", [1e-9, 1e-7])
def test_points_that_nearly_coincide(spacing):
    source = np.random.default_rng(0)
    points = source.random((30, 2))
    points[:15] = points[0] + spacing * source.random((15, 2))
    values, reference = torch.tensor(source.normal(size=30)), Reference.checked(points, np.full(30, 1 / 30))
    assert Wasserstein(0.0).worst_case(values, reference).value.item() == pytest.approx(values.mean().item())
    assert Wasserstein(0.0).costs(reference).diagonal().abs().max() == 0


def test_it_measures_its_own_adversary_at_any_radius():
    source = np.random.default_rng(5)
    for radius in (1e-12, 1e-9, 1e-3):
        for _ in range(20):
            reference = Reference.checked(source.random((12, 2)), source.dirichlet(np.ones(12)))
            worst = Wasserstein(radius).worst_case(torch.tensor(source.normal(size=12)), reference)
            assert Wasserstein(radius).between(worst.weights, reference).item() <= radius * 1.001 + 1e-15


def test_a_hundred_thousand_contexts_on_a_line():
    points = torch.linspace(0, 1, 100_000, dtype=torch.float64)[:, None]
    reference = Reference(points, torch.full((100_000,), 1e-5, dtype=torch.float64))
    value = Wasserstein(0.1).worst_case(points[:, 0] ** 2, reference).value
    # what lies right of a = 1 - sqrt(0.2) moves to a, at a cost of (1 - a)^2 / 2 = 0.1
    a = 1 - math.sqrt(0.2)
    assert value.item() == pytest.approx(a**3 / 3 + a**2 * (1 - a), abs=1e-5)


def test_costs_that_are_not_kept_give_the_same(monkeypatch):
    source = np.random.default_rng(4)
    points, weights = torch.tensor(source.random((60, 2))), torch.tensor(source.dirichlet(np.ones(60)))
    values = torch.tensor(source.normal(size=(3, 60)))
    kept = Wasserstein(0.1).worst_case(values, Reference(points, weights))
    monkeypatch.setattr("allweather.distances.transport.targets.MAX_KEPT_COSTS", 0)
    monkeypatch.setattr("allweather.distances.transport.targets.BLOCK_ENTRIES", 200)
    computed = Wasserstein(0.1).worst_case(values, Reference(points.clone(), weights))
    for one, other in zip(kept, computed, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm", [0.5, "two", True, -math.inf])
def test_what_is_no_norm_is_refused(norm):
    with pytest.raises(InvalidInput, match=r"Wasserstein\(norm"):
        Wasserstein(0.1, norm=norm)
