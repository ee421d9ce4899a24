"""Hartmann functions: sums of four bumps, each a product over the variables (bocu, kde)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from allweather.problems.base import Problem, registered
from allweather.problems.grids import gaussian_belief, grid
from allweather.problems.laws import Independent, Mixture, normals
from allweather.space import Space
from allweather.space.variables import Context, Real

HEIGHTS = (1.0, 1.2, 3.0, 3.2)
STEEPNESS = {
    3: ((3.0, 10, 30), (0.1, 10, 35), (3.0, 10, 30), (0.1, 10, 35)),
    6: ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14)),
}
PEAKS = {
    3: ((3689, 1170, 2673), (4699, 4387, 7470), (1091, 8732, 5547), (381, 5743, 8828)),
    6: (
        (1312, 1696, 5569, 124, 8283, 5886),
        (2329, 4135, 8307, 3736, 1004, 9991),
        (2348, 1451, 3522, 2883, 3047, 6650),
        (4047, 8828, 8732, 5743, 1091, 381),
    ),
}
"""In units of 1e-4."""
COMPLICATED = Mixture(
    normals=((0.1, 0.02), (0.3, 0.075), (0.4, 0.1), (0.5, 0.1), (0.7, 0.075), (0.8, 0.03)),
    cauchys=((0.2, 0.02), (0.8, 0.02)),
)
"""The context law of kde's complicated Hartmann problem."""


@dataclass(frozen=True)
class Hartmann:
    """The (positive) Hartmann function, evaluated as one small matrix product.

    Example:
        >>> import torch
        >>> best = torch.tensor([[0.114614, 0.555649, 0.852547]], dtype=torch.float64)
        >>> round(Hartmann(3)(best[:, :2], best[:, 2:]).item(), 4)
        3.8628
    """

    dimension: int

    def __call__(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """Return values (b, n) at decisions (b, d_x) and contexts (n, d_c); the last columns are the contexts."""
        split = decisions.shape[1]
        heights = decisions.new_tensor(HEIGHTS)
        return (heights * self._bumps(decisions, 0)) @ self._bumps(contexts, split).T

    def _bumps(self, points: Tensor, first: int) -> Tensor:
        columns = slice(first, first + points.shape[1])
        steepness = points.new_tensor(STEEPNESS[self.dimension])[:, columns]
        peaks = 1e-4 * points.new_tensor(PEAKS[self.dimension])[:, columns]
        return (-(steepness * (points[:, None] - peaks) ** 2).sum(-1)).exp()


@registered("hartmann3")
def hartmann3() -> Problem:
    """Two decisions on a grid, 64 contexts; the belief is Gaussian, the true law uniform."""
    space = Space(x1=Real(0, 1), x2=Real(0, 1), c=Context(0, 1))
    setting = gaussian_belief(space, grid(1, 64))
    return Problem(
        name="hartmann3",
        space=space,
        function=Hartmann(3),
        **setting.arguments,
        candidates=grid(2, 32),
        source="bocu App. C.1; errata E35",
    )


@registered("hartmann6")
def hartmann6(sd: float = 0.1) -> Problem:
    """Five decisions, one context from N(0.5, sd^2), clipped; wasserstein has sd 0.2."""
    law = normals(1, sd, "hartmann6")
    return _hartmann6("hartmann6", law, "kde App. B.2, wasserstein App. 9; errata E11 (heights)")


@registered("complicated-hartmann")
def complicated_hartmann() -> Problem:
    """Five decisions, one context from a mixture of six normal and two Cauchy laws, clipped."""
    return _hartmann6("complicated-hartmann", Independent((COMPLICATED,)), "kde App. B.2; errata E11 (heights)")


def _hartmann6(name: str, law: Independent, source: str) -> Problem:
    return Problem(
        name=name,
        space=Space(**{f"x{i + 1}": Real(0, 1) for i in range(5)}, c=Context(0, 1)),
        function=Hartmann(6),
        sample=law.sample,
        quantile=law.quantile,
        source=source,
    )
