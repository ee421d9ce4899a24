"""Conformance suites for your own parts: inherit one and implement `make`, and pytest runs all its tests.

    from allweather.testing import DistanceSuite

    class TestHellinger(DistanceSuite):
        def make(self, radius):
            return Hellinger(radius)

        def convex(self, q, reference):
            return 2 - 2 * np.sqrt(reference.weights.numpy()) @ cp.sqrt(q), []

Requires pytest, hypothesis, and for distances cvxpy with clarabel: the extra `test`.
"""

from allweather.testing.contexts import ContextModelSuite
from allweather.testing.distances import DistanceSuite
from allweather.testing.objectives import ObjectiveSuite
from allweather.testing.problems import Problem, problems

__all__ = ["ContextModelSuite", "DistanceSuite", "ObjectiveSuite", "Problem", "problems"]
