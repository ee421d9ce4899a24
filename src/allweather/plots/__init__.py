"""Figures of studies and benchmarks: one call each, in the user's units, in colours that everyone can tell apart."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from allweather.plots.comparison import comparison
from allweather.plots.contexts import contexts
from allweather.plots.frontier import frontier
from allweather.plots.marks import Bars, Dots, Heat, Line, Mark, Panel, Ribbon, Rule
from allweather.plots.picture import Picture
from allweather.plots.profile import profile
from allweather.plots.progress import progress
from allweather.plots.robustness import robustness
from allweather.plots.slices import slices

STUDY_FIGURES: Mapping[str, Callable[..., Picture]] = MappingProxyType(
    {
        "robustness": robustness,
        "contexts": contexts,
        "profile": profile,
        "slices": slices,
        "progress": progress,
        "frontier": frontier,
    }
)
"""Those of a study, in the order in which a person wants to see them."""

__all__ = [
    "STUDY_FIGURES",
    "Bars",
    "Dots",
    "Heat",
    "Line",
    "Mark",
    "Panel",
    "Picture",
    "Ribbon",
    "Rule",
    "comparison",
    "contexts",
    "frontier",
    "profile",
    "progress",
    "robustness",
    "slices",
]
