import cvxpy as cp

from allweather import KL
from allweather.testing import DistanceSuite


class TestKL(DistanceSuite):
    def make(self, radius):
        return KL(radius)

    def convex(self, q, reference):
        p = reference.weights.numpy()
        on = p > 0
        return cp.sum(cp.kl_div(q[on], p[on])), [q[~on] == 0] if (~on).any() else []
