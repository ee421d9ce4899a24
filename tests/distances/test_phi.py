"""A divergence of the user's own: phi, its conjugate, and the conformance suite."""

from dataclasses import dataclass

import cvxpy as cp

from allweather import Phi
from allweather.distances.phi import Function
from allweather.testing import DistanceSuite


@dataclass(frozen=True)
class Hellinger(Phi):
    """`sum (sqrt(q) - sqrt(p))^2`; a unit of mass where the reference has none costs 1."""

    phi: Function = lambda u: (u.sqrt() - 1) ** 2
    conjugate: Function = lambda s: s / (1 - s)
    recession: float = 1.0


class TestHellinger(DistanceSuite):
    def make(self, radius):
        return Hellinger(radius)

    def convex(self, q, reference):
        return 2 - 2 * cp.sum(cp.sqrt(cp.multiply(q, reference.weights.numpy()))), []
