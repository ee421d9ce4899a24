"""The setting of bocu App. C.1: contexts on a grid, a Gaussian belief about them, and a uniform truth."""

from __future__ import annotations

from typing import NamedTuple

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
"""Of the Gaussian belief; the variance makes it nearly uniform (ERRATA bocu 4)."""


class Told(NamedTuple):
    """A discrete truth, what the learner believes instead, and how far apart the two are."""

    law: Discrete
    belief: Finite
    margins: dict[str, float]


def grid(dimension: int, per_dimension: int) -> Tensor:
    """The full grid (per_dimension**dimension, dimension) over the unit cube, bounds included.

    Example:
        >>> grid(2, 2).tolist()
        [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    line = torch.linspace(0, 1, per_dimension, dtype=torch.float64)
    return torch.cartesian_prod(*[line] * dimension).reshape(-1, dimension)


def told(space: Space, contexts: Tensor) -> Told:
    """Truth uniform on `contexts` (n, d_c) of the unit cube, belief a Gaussian density there, normalised."""
    n = len(contexts)
    density = (-0.5 * (contexts - MEAN).square().sum(-1) / VARIANCE).exp()
    uniform = torch.full((n,), 1 / n, dtype=torch.float64)
    return apart(space, Reference(contexts, density / density.sum()), uniform)


def apart(space: Space, believed: Reference, true: Tensor) -> Told:
    """A belief and true weights (n,) on the same points of the unit cube.

    Example:
        >>> from allweather import Context, Real
        >>> space = Space(x=Real(0, 1), c=Context(0, 1))
        >>> reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        >>> round(apart(space, reference, torch.tensor([0.75, 0.25], dtype=torch.float64)).margins["tv"], 9)
        0.5
    """
    distances = {"tv": TotalVariation(0.0), "mmd": MMD(0.0, lengthscale=0.1)}
    return Told(
        law=Discrete(believed.points, true),
        belief=Finite(space.contexts.decode(believed.points), believed.weights),
        margins={name: distance.between(true, believed).item() for name, distance in distances.items()},
    )
