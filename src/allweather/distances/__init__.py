"""Distances between context distributions, each with its exact worst case."""

from allweather.distances.arrays import worst_case
from allweather.distances.base import Distance, Worst
from allweather.distances.chi_squared import ChiSquared
from allweather.distances.kl import KL
from allweather.distances.mmd import MMD
from allweather.distances.phi import Phi
from allweather.distances.total_variation import TotalVariation
from allweather.distances.wasserstein import Wasserstein

__all__ = [
    "KL",
    "MMD",
    "ChiSquared",
    "Distance",
    "Phi",
    "TotalVariation",
    "Wasserstein",
    "Worst",
    "worst_case",
]
