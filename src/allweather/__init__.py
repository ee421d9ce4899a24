"""Bayesian optimization for decisions that must hold in all weather.

Notation, the same everywhere: `decisions` are chosen, `contexts` happen; `values` (..., n) are a function's values,
leading dimensions decisions and the last one contexts; `weights` (n,) are probabilities of contexts; `radius` is how
far an adversary may shift them (the papers' epsilon); `width` multiplies a posterior standard deviation. `alpha` and
`beta` appear in `General` only.
"""

from allweather.acquisition import UCB, Acquisition, Belief, ExpectedImprovement, Random, Thompson
from allweather.constraints import LinearConstraint
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
    Band,
    CVaR,
    EntropicRisk,
    Expectation,
    General,
    LipschitzRegularised,
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
from allweather.observations import Observations
from allweather.recommendation import Recommendation
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
from allweather.study import Study
from allweather.surrogates import GP, BoTorch, Surrogate
from allweather.trials import Trial

__version__ = "0.1.0"

__all__ = [
    "DRO",
    "GP",
    "KDE",
    "KL",
    "MMD",
    "UCB",
    "Acquisition",
    "AllweatherError",
    "Band",
    "BayesianWidth",
    "Belief",
    "BoTorch",
    "CVaR",
    "ChiSquared",
    "Choice",
    "Constant",
    "Context",
    "ContextModel",
    "CoveringRadius",
    "DensityRadius",
    "Distance",
    "DivergenceRadius",
    "Drifting",
    "Empirical",
    "EntropicRisk",
    "Expectation",
    "ExpectedImprovement",
    "Finite",
    "FiniteWidth",
    "Forecast",
    "General",
    "InformationGainWidth",
    "Integer",
    "InvalidInput",
    "Known",
    "LinearConstraint",
    "LipschitzRegularised",
    "MeanRisk",
    "MeanVariance",
    "MinimaxApproximation",
    "Objective",
    "Observations",
    "Phi",
    "PowerLaw",
    "Progress",
    "RKHSWidth",
    "Random",
    "RangeRegularised",
    "Real",
    "Recommendation",
    "Reference",
    "RobustSatisficing",
    "SampleMMDRadius",
    "Schedule",
    "SelfNormalisedWidth",
    "Space",
    "Study",
    "Surrogate",
    "Thompson",
    "TotalVariation",
    "TransportRadius",
    "Trial",
    "VaR",
    "VarianceRegularised",
    "Wasserstein",
    "Worst",
    "WorstCase",
    "WorstCaseSensitivity",
    "worst_case",
]
