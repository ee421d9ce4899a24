"""Distances between context distributions, each with its exact worst case."""

from allweather.distances.arrays import worst_case
from allweather.distances.base import Distance, Worst
from allweather.distances.divergences.chi_squared import ChiSquared
from allweather.distances.divergences.kl import KL
from allweather.distances.divergences.phi import Phi
from allweather.distances.mmd.mmd import MMD
from allweather.distances.total_variation import TotalVariation
from allweather.distances.transport.wasserstein import Wasserstein

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
