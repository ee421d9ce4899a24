"""The setting of bocu App. C.1: contexts on a grid, a Gaussian belief about them, and a uniform true law."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from allweather.contexts import Finite, Reference
from allweather.distances import MMD, TotalVariation
from allweather.problems.laws import Discrete
from allweather.space import Space
from allweather.surrogates import GP

FIXED_GP = GP(lengthscales=0.1, outputscale=1.0, noise=0.01, mean=0.0)
"""The surrogate of bocu, also the prior of its GP samples."""
MEAN, VARIANCE = 0.5, 0.2
"""Of the Gaussian belief; the variance makes it nearly uniform (errata E35)."""


class GridSetting(NamedTuple):
    """A discrete true law, the belief of the learner, and the distances between the two."""

    law: Discrete
    belief: Finite
    margins: dict[str, float]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `Problem` that all problems of bocu share."""
        return {
            "sample": self.law.sample,
            "support": self.law.reference,
            "noise": 0.01,
            "initial": 5,
            "belief": self.belief,
            "margins": self.margins,
            "surrogate": FIXED_GP,
        }


def grid(dimension: int, per_dimension: int) -> Tensor:
    """Return the full grid (per_dimension**dimension, dimension) over the unit cube, bounds included.

    Args:
        dimension: of the cube.
        per_dimension: points along each axis.

    Example:
        >>> grid(2, 2).tolist()
        [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    line = torch.linspace(0, 1, per_dimension, dtype=torch.float64)
    return torch.cartesian_prod(*[line] * dimension).reshape(-1, dimension)


def gaussian_belief(space: Space, contexts: Tensor) -> GridSetting:
    """Return a uniform true law on contexts and a Gaussian belief there.

    Args:
        space: of the problem.
        contexts: (n, d_c) of the unit cube.
    """
    n = len(contexts)
    density = (-0.5 * (contexts - MEAN).square().sum(-1) / VARIANCE).exp()
    uniform = torch.full((n,), 1 / n, dtype=torch.float64)
    return believed_and_true(space, Reference(contexts, density / density.sum()), uniform)


def believed_and_true(space: Space, believed: Reference, true: Tensor) -> GridSetting:
    """Return a belief, a true law on the same points, and their distances.

    Args:
        space: of the problem.
        believed: on points of the unit cube.
        true: (n,) weights of the true law.

    Example:
        >>> from allweather import Context, Real
        >>> space = Space(x=Real(0, 1), c=Context(0, 1))
        >>> reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        >>> round(believed_and_true(space, reference, torch.tensor([0.75, 0.25], dtype=torch.float64)).margins["tv"], 9)
        0.5
    """
    distances = {"tv": TotalVariation(0.0), "mmd": MMD(0.0, lengthscale=0.1)}
    return GridSetting(
        law=Discrete(believed.points, true),
        belief=Finite(space.contexts.decode(believed.points), believed.weights),
        margins={name: distance.between(true, believed).item() for name, distance in distances.items()},
    )
