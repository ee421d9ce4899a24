"""Uncertainty objectives: from a function's values over the contexts to one number per decision, larger is better."""

from allweather.objectives.base import Objective
from allweather.objectives.expectation import Expectation, WorstCase
from allweather.objectives.regularised import RangeRegularised, VarianceRegularised
from allweather.objectives.risk import CVaR, EntropicRisk, MeanVariance, VaR
from allweather.objectives.robust import DRO, General, MeanRisk, MinimaxApproximation, WorstCaseSensitivity
from allweather.objectives.satisficing import RobustSatisficing

__all__ = [
    "DRO",
    "CVaR",
    "EntropicRisk",
    "Expectation",
    "General",
    "MeanRisk",
    "MeanVariance",
    "MinimaxApproximation",
    "Objective",
    "RangeRegularised",
    "RobustSatisficing",
    "VaR",
    "VarianceRegularised",
    "WorstCase",
    "WorstCaseSensitivity",
]
