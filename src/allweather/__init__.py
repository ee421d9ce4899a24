"""Bayesian optimization for decisions that must hold in all weather.

Notation, the same everywhere: `decisions` are chosen, `contexts` happen; `values` (..., n) are a function's values, the
leading dimensions decisions and the last one contexts; `weights` (n,) are probabilities of contexts; `radius` is how far
an adversary may shift them (the papers' epsilon); `width` multiplies a posterior standard deviation. `alpha` and `beta`
appear in `General` only.
"""

from allweather.contexts import KDE, ContextModel, Drifting, Empirical, Finite, Forecast, Known, Reference
from allweather.distances import (
    KL,
    MMD,
    ChiSquared,
    Distance,
    Phi,
    TotalVariation,
    Wasserstein,
    Worst,
    worst_case,
)
from allweather.errors import AllweatherError, InvalidInput
from allweather.objectives import (
    DRO,
    CVaR,
    EntropicRisk,
    Expectation,
    General,
    MeanRisk,
    MeanVariance,
    MinimaxApproximation,
    Objective,
    RangeRegularised,
    RobustSatisficing,
    VaR,
    VarianceRegularised,
    WorstCase,
    WorstCaseSensitivity,
)
from allweather.schedules import (
    BayesianWidth,
    Constant,
    CoveringRadius,
    DensityRadius,
    DivergenceRadius,
    FiniteWidth,
    InformationGainWidth,
    PowerLaw,
    Progress,
    RKHSWidth,
    SampleMMDRadius,
    Schedule,
    SelfNormalisedWidth,
    TransportRadius,
)
from allweather.space import Choice, Context, Integer, Real, Space

__version__ = "0.1.0"

__all__ = [
    "AllweatherError",
    "BayesianWidth",
    "CVaR",
    "ChiSquared",
    "Choice",
    "Constant",
    "Context",
    "ContextModel",
    "CoveringRadius",
    "DRO",
    "DensityRadius",
    "Distance",
    "DivergenceRadius",
    "Drifting",
    "Empirical",
    "EntropicRisk",
    "Expectation",
    "Finite",
    "FiniteWidth",
    "Forecast",
    "General",
    "InformationGainWidth",
    "Integer",
    "InvalidInput",
    "KDE",
    "KL",
    "Known",
    "MMD",
    "MeanRisk",
    "MeanVariance",
    "MinimaxApproximation",
    "Objective",
    "Phi",
    "PowerLaw",
    "Progress",
    "RKHSWidth",
    "RangeRegularised",
    "Real",
    "Reference",
    "RobustSatisficing",
    "SampleMMDRadius",
    "Schedule",
    "SelfNormalisedWidth",
    "Space",
    "TotalVariation",
    "TransportRadius",
    "VaR",
    "VarianceRegularised",
    "Wasserstein",
    "Worst",
    "WorstCase",
    "WorstCaseSensitivity",
    "worst_case",
]
