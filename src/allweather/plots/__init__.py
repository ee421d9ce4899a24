"""Figures of studies and benchmarks, in the user's units and in colours for colour-blind readers."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from allweather._utils.lazy import lazy_names
from allweather.plots.check import check
from allweather.plots.comparison import comparison
from allweather.plots.contexts import contexts
from allweather.plots.feasibility import feasibility
from allweather.plots.front import front
from allweather.plots.frontier import frontier
from allweather.plots.limits import limits
from allweather.plots.marks import Bars, Dots, Heat, Line, Mark, Panel, Ribbon, Rule
from allweather.plots.picture import Picture
from allweather.plots.policy import policy
from allweather.plots.profile import profile
from allweather.plots.progress import progress
from allweather.plots.robustness import robustness
from allweather.plots.slices import slices

if TYPE_CHECKING:
    from allweather.plots.report import report_html, write_report

__getattr__, __dir__ = lazy_names(__name__, {"report": "report_html write_report"})
STUDY_FIGURES: Mapping[str, Callable[..., Picture]] = MappingProxyType(
    {
        "robustness": robustness,
        "contexts": contexts,
        "profile": profile,
        "slices": slices,
        "progress": progress,
        "frontier": frontier,
        "feasibility": feasibility,
        "limits": limits,
        "front": front,
        "check": check,
    }
)
"""Figures of a study by name, the most important first."""

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
    "check",
    "comparison",
    "contexts",
    "feasibility",
    "front",
    "frontier",
    "limits",
    "policy",
    "profile",
    "progress",
    "report_html",
    "robustness",
    "slices",
    "write_report",
]
