"""Figures of studies and benchmarks, in the user's units and in colours for colour-blind readers."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from allweather._utils.lazy import lazy_names
from allweather.plots.check import check
from allweather.plots.comparison import comparison
from allweather.plots.contexts import contexts
from allweather.plots.control_sets import control_sets
from allweather.plots.feasibility import feasibility
from allweather.plots.front import front
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
        "control_sets": control_sets,
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
    "absent_figures",
    "check",
    "comparison",
    "contexts",
    "control_sets",
    "feasibility",
    "front",
    "limits",
    "policy",
    "profile",
    "progress",
    "report_html",
    "robustness",
    "slices",
    "write_report",
]


def absent_figures(spec: Mapping[str, Any] | None, controlled: bool, contexts: bool) -> set[str]:
    """Return the figures that a study does not have.

    Args:
        spec: of the study.
        controlled: whether it has control sets.
        contexts: whether some variable is a context.

    Example:
        >>> spec = {"outcomes": {"yield": "maximize", "purity": {"name": "at-least", "threshold": 0.9}}}
        >>> sorted(absent_figures(spec, controlled=False, contexts=True))
        ['control_sets', 'front']
    """
    parts = ((spec or {}).get("outcomes") or {}).values()
    names = [part if isinstance(part, str) else part.get("name") for part in parts]
    wanted = sum(name in ("maximize", "minimize") for name in names)
    has = {"control_sets": controlled, "robustness": contexts, "contexts": contexts}
    has |= {"front": wanted > 1, "feasibility": wanted < len(names), "limits": contexts and wanted < len(names)}
    return {name for name, present in has.items() if not present}
