"""Radii, widths and other numbers that change as a study goes on.

A schedule maps the progress of a study to one number. The papers' choices are here by name; their keys are those
of `papers/`: kde (Huang et al. 2024), wasserstein (Micheli et al. 2025), phi (Husain et al. 2023), bocu (Tay et
al. 2024), subsets (Tay et al. 2023).
"""

from allweather.schedules.base import Constant, Custom, PowerLaw, Progress, Schedule, as_schedule
from allweather.schedules.radii import (
    CoveringRadius,
    DensityRadius,
    DivergenceRadius,
    SampleMMDRadius,
    SmoothedRadius,
    TransportRadius,
)
from allweather.schedules.widths import (
    BayesianWidth,
    FiniteWidth,
    GrowingWidth,
    InformationGainWidth,
    RKHSWidth,
    SelfNormalisedWidth,
)

__all__ = [
    "BayesianWidth",
    "Constant",
    "CoveringRadius",
    "Custom",
    "DensityRadius",
    "DivergenceRadius",
    "FiniteWidth",
    "GrowingWidth",
    "InformationGainWidth",
    "PowerLaw",
    "Progress",
    "RKHSWidth",
    "SampleMMDRadius",
    "Schedule",
    "SelfNormalisedWidth",
    "SmoothedRadius",
    "TransportRadius",
    "as_schedule",
]
