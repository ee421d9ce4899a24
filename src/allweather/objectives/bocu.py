"""The heuristic upper bounds that bocu compares with (App. C.2): for comparison, `General` has the better one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from allweather.contexts import Reference
from allweather.errors import require_number
from allweather.objectives.base import Band
from allweather.objectives.robust import General


@dataclass(frozen=True)
class GeneralByDifference(General):
    """`General` whose slope is bounded by a difference between upper and lower bound (UCB-BOCU-1).

    The difference is divided by a small step, so it is dominated by how uncertain the values are.
    """

    step: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number(self.step, "GeneralByDifference(step=...)", above=0)

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """`alpha v(upper) + beta (v(upper, radius + step) - v(lower, radius)) / step`."""
        distance = self.distance
        most = distance.worst_case(band.upper, reference).value
        further = distance.worst_case(band.upper, reference, distance.number + self.step).value
        least = distance.worst_case(band.lower, reference).value
        return self.alpha * most + self.beta * (further - least) / self.step

    @property
    def mean_factor(self) -> float | None:
        """The difference may be positive: only without it."""
        return super().mean_factor if self.beta == 0 else None

    def ceiling(self, reference: Reference) -> Callable[[Band], Tensor] | None:
        """There is none."""
        return None


@dataclass(frozen=True)
class GeneralAtUpper(General):
    """`General` whose slope is taken at the upper bound itself (UCB-BOCU-2)."""

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """The objective of the upper bound: for its slope no bound at all."""
        return self(band.upper, reference)
