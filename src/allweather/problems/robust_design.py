"""Designs whose uncertain conditions can be chosen in simulation: functions of the literature, and a rare failure."""

from __future__ import annotations

import torch
from botorch.test_functions import synthetic
from torch import Tensor

from allweather.problems.base import Problem, registered
from allweather.problems.formula import Formula
from allweather.problems.laws import Discrete, Independent, Normal, Uniform
from allweather.space import Space
from allweather.space.variables import Context, Real


@registered("branin-williams")
def branin_williams() -> Problem:
    """Minus the product of two Branin functions, two decisions and twelve contexts with given probabilities."""
    first, second = (0.2, 0.4, 0.6, 0.8), (0.25, 0.5, 0.75)
    points = [(a, b) for b in second for a in first]
    shares = [p * q for q in (0.25, 0.5, 0.25) for p in (0.15, 0.35, 0.35, 0.15)]
    law = Discrete(torch.tensor(points, dtype=torch.float64), torch.tensor(shares, dtype=torch.float64))
    return Problem(
        name="branin-williams",
        space=Space(x1=Real(0, 1), x2=Real(0, 1), c1=Context(0, 1), c2=Context(0, 1)),
        function=Formula(branin_product, (0.0,) * 4, (1.0,) * 4),
        sample=law.sample,
        support=law.reference,
        source="Williams, Santner and Notz (2000), as in Cakmak et al. (2020), Sec. 5, with its sign turned",
    )


@registered("marzat-f4")
def marzat_f4() -> Problem:
    """Minus f4 of Marzat et al. (2013): two decisions in [-5, 5], three uniform contexts in [-3, 3]."""
    return _marzat("marzat-f4", f4, 2, 3.0)


@registered("marzat-f6")
def marzat_f6() -> Problem:
    """Minus f6 of Marzat et al. (2013): four decisions in [-5, 5], three uniform contexts in [-2, 2]."""
    return _marzat("marzat-f6", f6, 4, 2.0)


def _marzat(name: str, formula: object, decisions: int, reach: float) -> Problem:
    law = Independent((Uniform(),) * 3)
    lower = (-5.0,) * decisions + (-reach,) * 3
    variables = {f"x{i + 1}": Real(-5, 5) for i in range(decisions)}
    conditions = {f"c{i + 1}": Context(-reach, reach) for i in range(3)}
    return Problem(
        name=name,
        space=Space(**variables, **conditions),
        function=Formula(formula, lower, tuple(-bound for bound in lower)),  # type: ignore[arg-type]
        sample=law.sample,
        quantile=law.quantile,
        source="Marzat, Walter and Piet-Lahanier (2013), from Rustem and Howe (2002); f6 as in Cakmak et al. (2020)",
    )


@registered("rare-failure")
def rare_failure(sd: float = 0.1) -> Problem:
    """A slender part saves money and fails beyond a load that is rarely reached; loads are N(0.5, sd^2), clipped."""
    law = Independent((Normal(0.5, sd),))
    return Problem(
        name="rare-failure",
        source="ours",
        space=Space(slender=Real(0, 1), load=Context(0, 1)),
        initial=5,
        function=Formula(saving, (0.0, 0.0), (1.0, 1.0)),
        sample=law.sample,
        quantile=law.quantile,
    )


def branin_product(joint: Tensor) -> Tensor:
    """Minus `h(x1, c1) h(c2, x2)` of joint points (..., 4) ordered x1, x2, c1, c2, h the Branin function."""
    x1, x2, c1, c2 = joint.unbind(-1)
    h = synthetic.Branin()
    first = h(torch.stack([15 * x1 - 5, 15 * c1], -1))
    second = h(torch.stack([15 * c2 - 5, 15 * x2], -1))
    product: Tensor = -first * second
    return product


def f4(joint: Tensor) -> Tensor:
    """Minus f4 of joint points (..., 5); its worst case over the contexts is best, 0.1348, at x1 = x2 = 0.4181.

    Example:
        >>> worst = torch.tensor([0.4181, 0.4181, 0.709, 1.0874, 0.709])
        >>> round(f4(worst).item(), 4)
        0.1348
    """
    x1, x2, c1, c2, c3 = joint.unbind(-1)
    squares = (x1 - 1) ** 2 + (x2 - 1) ** 2 - (c1 - 1) ** 2 - (c2 - 1) ** 2 - (c3 - 1) ** 2
    found: Tensor = -(squares + c3 * (x2 - 1) + c1 * (x1 - 1) + c2 * x1 * x2)
    return found


def f6(joint: Tensor) -> Tensor:
    """Minus f6 of joint points (..., 7), after Rustem and Howe (2002).

    Example:
        >>> worst = torch.tensor([-0.2316, 0.2228, -0.6755, -0.0838, 0.6195, 0.3535, 1.478])
        >>> round(f6(worst).item(), 3)
        -4.543
    """
    x1, x2, x3, x4, c1, c2, c3 = joint.unbind(-1)
    first = c1 * (x1**2 - x2 + x3 - x4 + 2)
    second = c2 * (-x1 + 2 * x2**2 - x3**2 + 2 * x4 + 1)
    third = c3 * (2 * x1 - x2 + 2 * x3 - x4**2 + 5)
    squares = 5 * x1**2 + 4 * x2**2 + 3 * x3**2 + 2 * x4**2 - c1**2 - c2**2 - c3**2
    found: Tensor = -(first + second + third + squares)
    return found


def saving(joint: Tensor) -> Tensor:
    """`x - 3 / (1 + exp(-40 (c - 1.15 + x / 2)))`: what a design saves, less what its failure costs.

    Example:
        >>> round(saving(torch.tensor([0.5, 0.5])).item(), 3)
        0.5
    """
    x, c = joint.unbind(-1)
    found: Tensor = x - 3 * torch.sigmoid(40 * (c - 1.15 + x / 2))
    return found
