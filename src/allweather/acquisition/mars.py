"""MARS: the value at risk of a scalarisation of several outcomes (Daulton et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from allweather.acquisition.base import Acquisition, Belief, Score
from allweather.acquisition.joint import LIMIT_OPTIMISM, JointBelief
from allweather.acquisition.limits import believed_feasible, likely_feasible, penalised
from allweather.acquisition.scalarisation import chebyshev, random_weights, reference_corner
from allweather.errors import MAX_COUNT, InvalidInput, require, require_count, require_number
from allweather.objectives import VaR

FEATURES = 256
"""Random cosines of each sample's prior part."""
SMOOTHING = 1e-4
"""The improvement begins this softly, in units of the scalarisation."""


@dataclass(frozen=True)
class MARS(Acquisition):
    """Expected improvement of the value at risk of a random augmented Chebyshev scalarisation.

    Outcomes are scalarised in every context, and then their value at risk is taken: its optima over all weights are
    the multivariate value at risk of the outcomes (Daulton et al. 2022). `Maximize(VaR(level))` with other
    acquisitions takes the value at risk of each outcome first. The improvement is over the best decision tried, under
    the same posterior samples.

    Example:
        >>> MARS(0.1).level
        0.1
    """

    fewest_objectives: ClassVar[int] = 2

    level: float = 0.1
    """Probability of doing worse; one less the paper's alpha."""
    samples: int = 32
    """Posterior samples."""
    reference_point: tuple[float, ...] | None = None
    """What outcomes shall exceed, in their order, times -1 where they are minimized; a little below what was tried
    if None."""

    def __post_init__(self) -> None:
        require_number(self.level, "MARS(level=...)", above=0)
        require(self.level < 1, "MARS(level=...)", "be below 1", self.level)
        require_count(self.samples, "MARS(samples=...)", low=2, high=MAX_COUNT)
        if self.reference_point is not None:
            object.__setattr__(self, "reference_point", tuple(float(each) for each in self.reference_point))

    def build(self, belief: Belief) -> Score:
        """Refuse a single outcome."""
        remedy = "give `Study(outcomes=...)` two or more to maximize or minimize"
        raise InvalidInput("needs several outcomes", where="MARS", remedy=remedy)

    def joint(self, belief: JointBelief) -> Score:
        """The improvement on the tried decisions that are believed feasible, where limits allow for one."""
        tried = belief.tried()
        found = believed_feasible(belief.limits, tried)
        if not bool(found.any()):
            return likely_feasible(belief.limits)
        width = -LIMIT_OPTIMISM if belief.cautious is None else belief.width
        return penalised(self.improvement(belief.objectives, tried[found]), belief.limits, 1.0, width)

    def improvement(self, beliefs: Sequence[Belief], tried: Tensor) -> Score:
        """Return the score of decisions (b, d_x), the logarithm (b,) of the improvement.

        Args:
            beliefs: about each outcome, with a common reference.
            tried: (k, d_x) decisions to improve on, one at least.
        """
        given = self.reference_point
        fits = given is None or len(given) == len(beliefs)
        require(fits, "MARS(reference_point=...)", f"be {len(beliefs)} numbers, one for each outcome", given)
        reference, generator = beliefs[0].reference, beliefs[0].generator
        corner, units = reference_corner(beliefs, tried, self.reference_point)
        weights, risk = random_weights(len(beliefs), generator), VaR(self.level)
        drawn = [each.surrogate.paths(reference.points, self.samples, generator, FEATURES) for each in beliefs]

        def values(decisions: Tensor) -> Tensor:
            outcomes = torch.stack([paths(decisions) for paths in drawn], -1)  # (samples, b, n, m)
            return risk(chebyshev((outcomes - corner) / units, weights), reference)

        with torch.no_grad():
            best = torch.cat([values(block) for block in tried.split(64)], 1).amax(1)

        def improvement(decisions: Tensor) -> Tensor:
            gained = softplus((values(decisions) - best[:, None]) / SMOOTHING)
            return (SMOOTHING * gained.mean(0) + 1e-30).log()

        return improvement
