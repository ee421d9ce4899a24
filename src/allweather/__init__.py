"""Bayesian optimization for decisions that must hold in all weather.

Notation, the same everywhere: `decisions` are chosen, `contexts` happen; `values` (..., n) are a function's values,
leading dimensions decisions and the last one contexts; `weights` (n,) are probabilities of contexts; `radius` is how
far an adversary may shift them (the papers' epsilon); `width` multiplies a posterior standard deviation. `alpha` and
`beta` appear in `General` only.
"""

from typing import TYPE_CHECKING

from allweather._utils.lazy import lazy_names
from allweather.errors import AllweatherError, BudgetSpent, InvalidInput
from allweather.methods import method, methods  # at once: the package of this name would replace the function later

if TYPE_CHECKING:
    from allweather.acquisition import (
        MARS,
        UCB,
        Acquisition,
        Belief,
        ChooseOnly,
        ContextRule,
        ExpectedImprovement,
        FourierThompson,
        FromLaw,
        KnowledgeGradient,
        LacingTail,
        LacingValue,
        LargestDeviation,
        LargestGain,
        LowestBound,
        MostInfluential,
        ObjectiveUCB,
        OnlineKnowledgeGradient,
        Random,
        Thompson,
    )
    from allweather.acquisition.base import HintedScore
    from allweather.acquisition.joint import JointBelief
    from allweather.contexts import (
        KDE,
        ContextModel,
        Discretised,
        Drifting,
        Empirical,
        Finite,
        Forecast,
        Ignored,
        Independent,
        Known,
        LearnedModel,
        MeanBox,
        Reference,
        Uniform,
        truncated_normal,
    )
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
    from allweather.engine.check import Check
    from allweather.engine.recommendation import Recommendation
    from allweather.methods.composition import Composition
    from allweather.methods.control import (
        BestValue,
        Control,
        ControlSet,
        CostAdaptive,
        ExploreThenCommit,
        GainPerCost,
        InformationPerCost,
        NearBest,
        Rule,
        ValuePerCost,
    )
    from allweather.objectives import (
        DRO,
        AtLeast,
        AtMost,
        Band,
        CVaR,
        EntropicRisk,
        Expectation,
        General,
        GeneralAtUpper,
        GeneralByDifference,
        LipschitzRegularised,
        Maximize,
        MeanRisk,
        MeanVariance,
        MinimaxApproximation,
        Minimize,
        Objective,
        Outcome,
        Probability,
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
        GrowingWidth,
        InformationGainWidth,
        PowerLaw,
        Progress,
        RKHSWidth,
        SampleMMDRadius,
        Schedule,
        SelfNormalisedWidth,
        SmoothedRadius,
        TransportRadius,
    )
    from allweather.space import Choice, Context, Integer, Real, Space
    from allweather.space.constraints import LinearConstraint
    from allweather.study import Spec, Study, StudyLog
    from allweather.surrogates import GP, BoTorch, KernelAverage, Surrogate
    from allweather.surrogates.gp.priors import DimensionScaledPriors, LogNormalPriors
    from allweather.surrogates.observations import Observations
    from allweather.trials import Trial

__version__ = "0.1.0"

_NAMES = {
    "acquisition.base": "HintedScore",
    "acquisition.joint": "JointBelief",
    "acquisition": (
        "UCB Acquisition Belief ChooseOnly ContextRule ExpectedImprovement FourierThompson FromLaw KnowledgeGradient "
        "LacingTail LacingValue LargestDeviation LargestGain LowestBound MARS MostInfluential ObjectiveUCB "
        "OnlineKnowledgeGradient Random Thompson"
    ),
    "contexts": (
        "KDE ContextModel Discretised Drifting Empirical Finite Forecast Ignored Independent Known LearnedModel "
        "MeanBox Reference Uniform truncated_normal"
    ),
    "distances": "KL MMD ChiSquared Distance Phi TotalVariation Wasserstein Worst worst_case",
    "engine.check": "Check",
    "engine.recommendation": "Recommendation",
    "methods.composition": "Composition",
    "methods.control": (
        "BestValue Control ControlSet CostAdaptive ExploreThenCommit GainPerCost InformationPerCost "
        "NearBest Rule ValuePerCost"
    ),
    "objectives": (
        "DRO AtLeast AtMost Band CVaR EntropicRisk Expectation General GeneralAtUpper GeneralByDifference "
        "LipschitzRegularised Maximize MeanRisk MeanVariance MinimaxApproximation Minimize Objective Outcome "
        "Probability RangeRegularised RobustSatisficing VaR VarianceRegularised WorstCase WorstCaseSensitivity"
    ),
    "schedules": (
        "BayesianWidth Constant CoveringRadius DensityRadius DivergenceRadius FiniteWidth GrowingWidth "
        "InformationGainWidth PowerLaw Progress RKHSWidth SampleMMDRadius Schedule SelfNormalisedWidth "
        "SmoothedRadius TransportRadius"
    ),
    "space": "Choice Context Integer Real Space",
    "space.constraints": "LinearConstraint",
    "study": "Spec Study StudyLog",
    "surrogates": "GP BoTorch KernelAverage Surrogate",
    "surrogates.gp.priors": "DimensionScaledPriors LogNormalPriors",
    "surrogates.observations": "Observations",
    "trials": "Trial",
}
"""Public names by module: imported when first used, since torch takes longer than most commands."""
_MODULES = (
    "acquisition contexts distances engine objectives plots schedules serialization space storage study "
    "surrogates trials"
)
__getattr__, __dir__ = lazy_names(__name__, {**_NAMES, "": _MODULES})

__all__ = [
    "DRO",
    "GP",
    "KDE",
    "KL",
    "MARS",
    "MMD",
    "UCB",
    "Acquisition",
    "AllweatherError",
    "AtLeast",
    "AtMost",
    "Band",
    "BayesianWidth",
    "Belief",
    "BestValue",
    "BoTorch",
    "BudgetSpent",
    "CVaR",
    "Check",
    "ChiSquared",
    "Choice",
    "ChooseOnly",
    "Composition",
    "Constant",
    "Context",
    "ContextModel",
    "ContextRule",
    "Control",
    "ControlSet",
    "CostAdaptive",
    "CoveringRadius",
    "DensityRadius",
    "DimensionScaledPriors",
    "Discretised",
    "Distance",
    "DivergenceRadius",
    "Drifting",
    "Empirical",
    "EntropicRisk",
    "Expectation",
    "ExpectedImprovement",
    "ExploreThenCommit",
    "Finite",
    "FiniteWidth",
    "Forecast",
    "FourierThompson",
    "FromLaw",
    "GainPerCost",
    "General",
    "GeneralAtUpper",
    "GeneralByDifference",
    "GrowingWidth",
    "HintedScore",
    "Ignored",
    "Independent",
    "InformationGainWidth",
    "InformationPerCost",
    "Integer",
    "InvalidInput",
    "JointBelief",
    "KernelAverage",
    "KnowledgeGradient",
    "Known",
    "LacingTail",
    "LacingValue",
    "LargestDeviation",
    "LargestGain",
    "LearnedModel",
    "LinearConstraint",
    "LipschitzRegularised",
    "LogNormalPriors",
    "LowestBound",
    "Maximize",
    "MeanBox",
    "MeanRisk",
    "MeanVariance",
    "MinimaxApproximation",
    "Minimize",
    "MostInfluential",
    "NearBest",
    "Objective",
    "ObjectiveUCB",
    "Observations",
    "OnlineKnowledgeGradient",
    "Outcome",
    "Phi",
    "PowerLaw",
    "Probability",
    "Progress",
    "RKHSWidth",
    "Random",
    "RangeRegularised",
    "Real",
    "Recommendation",
    "Reference",
    "RobustSatisficing",
    "Rule",
    "SampleMMDRadius",
    "Schedule",
    "SelfNormalisedWidth",
    "SmoothedRadius",
    "Space",
    "Spec",
    "Study",
    "StudyLog",
    "Surrogate",
    "Thompson",
    "TotalVariation",
    "TransportRadius",
    "Trial",
    "Uniform",
    "VaR",
    "ValuePerCost",
    "VarianceRegularised",
    "Wasserstein",
    "Worst",
    "WorstCase",
    "WorstCaseSensitivity",
    "method",
    "methods",
    "truncated_normal",
    "worst_case",
]
