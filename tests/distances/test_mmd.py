import cvxpy as cp
import numpy as np

from allweather import MMD
from allweather.testing import DistanceSuite


class TestMMD(DistanceSuite):
    def make(self, radius):
        return MMD(radius, lengthscale=0.3)

    def convex(self, q, reference):
        root = np.linalg.cholesky(self.make(1.0).gram(reference).numpy()).T
        return cp.norm(root @ q - root @ reference.weights.numpy()), []
