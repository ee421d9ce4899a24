import math

import cvxpy as cp
import pytest

from allweather import Wasserstein
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


class TestWassersteinL1(TestWasserstein):
    norm = 1


class TestWassersteinMax(TestWasserstein):
    norm = math.inf
