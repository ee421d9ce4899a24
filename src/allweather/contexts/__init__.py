"""Belief about the context: each model turns what was seen into a weighted set of points, the `Reference`."""

from allweather.contexts.base import ContextModel, Reference, fitted
from allweather.contexts.conditional import Conditional
from allweather.contexts.discretised import Discretised
from allweather.contexts.empirical import Drifting, Empirical
from allweather.contexts.finite import Finite
from allweather.contexts.forecast import Forecast
from allweather.contexts.ignored import Ignored
from allweather.contexts.independent import Independent
from allweather.contexts.kde import KDE
from allweather.contexts.known import Known, truncated_normal
from allweather.contexts.learned import LearnedModel
from allweather.contexts.spread import MeanBox, Uniform

__all__ = [
    "KDE",
    "Conditional",
    "ContextModel",
    "Discretised",
    "Drifting",
    "Empirical",
    "Finite",
    "Forecast",
    "Ignored",
    "Independent",
    "Known",
    "LearnedModel",
    "MeanBox",
    "Reference",
    "Uniform",
    "fitted",
    "truncated_normal",
]
