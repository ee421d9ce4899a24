"""A problem whose true context law differs from the belief (wasserstein Fig. 1)."""

from __future__ import annotations

import scipy.stats
from torch import Tensor

from allweather.contexts import Known
from allweather.problems.base import Problem, registered
from allweather.problems.formula import Formula
from allweather.problems.laws import Independent, Normal
from allweather.space import Space
from allweather.space.variables import Context, Real


@registered("shift-example")
def shift_example() -> Problem:
    """Believed N(0.5, 0.1), true N(0.6, 0.2), clipped to [0, 1]; x in [-1, 1].

    The second number is read as a standard deviation: then the Wasserstein distance of the two is 0.115, a little more
    than the paper's radius of 0.1, which is the difference of the means (errata E21).
    """
    law = Independent((Normal(0.6, 0.2),))
    return Problem(
        name="shift-example",
        space=Space(x=Real(-1, 1), c=Context(0, 1)),
        function=Formula(robust_or_good, (-1.0, 0.0), (1.0, 1.0)),
        sample=law.sample,
        quantile=law.quantile,
        initial=5,
        belief=Known(scipy.stats.norm(0.5, 0.1)),
        source="wasserstein Sec. 5; errata E21; the paper states no box",
    )


def robust_or_good(joint: Tensor) -> Tensor:
    """`1 - |c - 0.5| / (|x| + 0.2) - sqrt(|x| + 0.05)`: a small x is best for c = 0.5 and worst elsewhere."""
    x, c = joint.unbind(-1)
    return 1 - (c - 0.5).abs() / (x.abs() + 0.2) - (x.abs() + 0.05).sqrt()
