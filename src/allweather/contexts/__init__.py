"""Belief about the context: each model turns what was seen into a weighted set of points, the `Reference`."""

from allweather.contexts.base import ContextModel, Reference, fitted
from allweather.contexts.empirical import Drifting, Empirical
from allweather.contexts.finite import Finite
from allweather.contexts.forecast import Forecast
from allweather.contexts.kde import KDE
from allweather.contexts.known import Known

__all__ = ["KDE", "ContextModel", "Drifting", "Empirical", "Finite", "Forecast", "Known", "Reference", "fitted"]
