import cvxpy as cp
import numpy as np

from allweather import ChiSquared
from allweather.testing import DistanceSuite


class TestChiSquared(DistanceSuite):
    def make(self, radius):
        return ChiSquared(radius)

    def convex(self, q, reference):
        p = reference.weights.numpy()
        on = p > 0
        terms = cp.multiply(q[on] - p[on], 1 / np.sqrt(p[on]))
        return cp.sum_squares(terms), [q[~on] == 0] if (~on).any() else []
