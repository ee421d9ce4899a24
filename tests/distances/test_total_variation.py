import cvxpy as cp

from allweather import TotalVariation
from allweather.testing import DistanceSuite


class TestTotalVariation(DistanceSuite):
    def make(self, radius):
        return TotalVariation(radius)

    def convex(self, q, reference):
        return cp.norm1(q - reference.weights.numpy()), []
