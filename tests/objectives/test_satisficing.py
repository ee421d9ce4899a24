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
