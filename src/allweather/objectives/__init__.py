"""Uncertainty objectives: from a function's values over the contexts to one number per decision, larger is better."""

from allweather.objectives.base import Band, Objective
from allweather.objectives.bocu import GeneralAtUpper, GeneralByDifference
from allweather.objectives.expectation import Expectation, WorstCase
from allweather.objectives.probability import Probability
from allweather.objectives.regularised import LipschitzRegularised, RangeRegularised, VarianceRegularised
from allweather.objectives.risk import CVaR, EntropicRisk, MeanVariance, VaR
from allweather.objectives.robust import DRO, General, MeanRisk, MinimaxApproximation, WorstCaseSensitivity
from allweather.objectives.satisficing import RobustSatisficing

__all__ = [
    "DRO",
    "Band",
    "CVaR",
    "EntropicRisk",
    "Expectation",
    "General",
    "GeneralAtUpper",
    "GeneralByDifference",
    "LipschitzRegularised",
    "MeanRisk",
    "MeanVariance",
    "MinimaxApproximation",
    "Objective",
    "Probability",
    "RangeRegularised",
    "RobustSatisficing",
    "VaR",
    "VarianceRegularised",
    "WorstCase",
    "WorstCaseSensitivity",
]
