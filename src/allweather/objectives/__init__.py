"""Uncertainty objectives: from a function's values over the contexts to one number per decision, larger is better."""

from allweather.objectives.base import Band, Objective
from allweather.objectives.expectation import Expectation, WorstCase
from allweather.objectives.outcomes import AtLeast, AtMost, Maximize, Minimize, Outcome
from allweather.objectives.probability import Probability
from allweather.objectives.regularised import LipschitzRegularised, RangeRegularised, VarianceRegularised
from allweather.objectives.risk import CVaR, EntropicRisk, MeanVariance, VaR
from allweather.objectives.robust import (
    DRO,
    General,
    GeneralAtUpper,
    GeneralByDifference,
    MeanRisk,
    MinimaxApproximation,
    WorstCaseSensitivity,
)
from allweather.objectives.satisficing import RobustSatisficing

__all__ = [
    "DRO",
    "AtLeast",
    "AtMost",
    "Band",
    "CVaR",
    "EntropicRisk",
    "Expectation",
    "General",
    "GeneralAtUpper",
    "GeneralByDifference",
    "LipschitzRegularised",
    "Maximize",
    "MeanRisk",
    "MeanVariance",
    "MinimaxApproximation",
    "Minimize",
    "Objective",
    "Outcome",
    "Probability",
    "RangeRegularised",
    "RobustSatisficing",
    "VaR",
    "VarianceRegularised",
    "WorstCase",
    "WorstCaseSensitivity",
]
