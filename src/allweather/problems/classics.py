"""Classic test functions of two and more variables, some of which become contexts (kde, wasserstein, phi)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from botorch.test_functions import synthetic
from torch import Tensor

from allweather.problems.base import Problem, registered
from allweather.problems.formula import Formula
from allweather.problems.laws import Independent, Uniform, chosen, normals
from allweather.space import Space
from allweather.space.variables import Context, Real


@registered("ackley")
def ackley(sd: float = 0.15) -> Problem:
    """Two decisions, one context from N(0.5, sd^2), clipped; wasserstein has sd 0.2."""
    return _ackley("ackley", 1, sd, "kde App. B.2, wasserstein App. 9; errata E11 (sign, d_x = 2), E18")


@registered("ackley-4c")
def ackley_four_contexts(sd: float = 0.15) -> Problem:
    """Two decisions, four independent contexts from N(0.5, sd^2), clipped."""
    return _ackley("ackley-4c", 4, sd, "kde App. D; errata E11 (sign)")


def _ackley(name: str, contexts: int, sd: float, source: str) -> Problem:
    law = normals(contexts, sd, name)
    names = ["c"] if contexts == 1 else [f"c{i + 1}" for i in range(contexts)]
    d = 2 + contexts
    return Problem(
        name=name,
        space=Space(x1=Real(0, 1), x2=Real(0, 1), **{each: Context(0, 1) for each in names}),
        function=Formula(synthetic.Ackley(d, negate=True), (-32.768,) * d, (32.768,) * d),
        sample=law.sample,
        quantile=law.quantile,
        source=source,
    )


@registered("modified-branin")
def modified_branin(sd: float = 0.1) -> Problem:
    """The geometric mean of two Branin functions, two decisions and two contexts; wasserstein has sd 0.2."""
    law = normals(2, sd, "modified-branin")
    return Problem(
        name="modified-branin",
        space=Space(x1=Real(0, 1), x2=Real(0, 1), c1=Context(0, 1), c2=Context(0, 1)),
        function=Formula(branin_mean, (-5.0, 0.0, 0.0, -5.0), (10.0, 15.0, 15.0, 10.0)),
        sample=law.sample,
        quantile=law.quantile,
        source="kde App. B.2, wasserstein App. 9; errata E12, E18",
    )


@registered("three-hump-camel")
def three_hump_camel(law: str = "uniform", sd: float = 0.2) -> Problem:
    """On [-1, 1]^2; the paper says the context is uniform, its code draws N(0.5, 0.2^2) in the unit cube."""
    function = synthetic.ThreeHumpCamel(negate=True)
    source = "wasserstein Eq. 83; errata E19 (sign, law)"
    return _planar("three-hump-camel", function, ((-1.0, -1.0), (1.0, 1.0)), source, law, sd, initial=5)


@registered("six-hump-camel")
def six_hump_camel(law: str = "uniform", sd: float = 0.2) -> Problem:
    """On [-3, 3] x [-2, 2], the same box for observations and regret."""
    function = synthetic.SixHumpCamel(negate=True)
    source = "phi Sec. 5, App. 9.1; errata E19 (one box)"
    return _planar("six-hump-camel", function, ((-3.0, -2.0), (3.0, 2.0)), source, law, sd)


@registered("branin")
def branin(law: str = "uniform", sd: float = 0.2) -> Problem:
    """On [-5, 10] x [0, 15]."""
    function = synthetic.Branin(negate=True)
    return _planar("branin", function, ((-5.0, 0.0), (10.0, 15.0)), "phi Sec. 5, App. 9.1", law, sd)


@registered("goldstein-price")
def goldstein_price(law: str = "uniform", sd: float = 0.2) -> Problem:
    """On [-2, 2]^2; values from -3 down to about minus a million."""
    source = "phi Sec. 5, App. 9.1"
    return _planar("goldstein-price", goldstein_price_formula, ((-2.0, -2.0), (2.0, 2.0)), source, law, sd)


def _planar(
    name: str,
    formula: Callable[[Tensor], Tensor],
    box: tuple[tuple[float, float], tuple[float, float]],
    source: str,
    law: str,
    sd: float,
    initial: int = 10,
) -> Problem:
    """Return a problem of two variables whose last is the context (phi Sec. 5)."""
    chosen(law, ("uniform", "normal"), name)
    drawn = Independent((Uniform(),)) if law == "uniform" else normals(1, sd, name)
    lower, upper = box
    return Problem(
        name=name,
        space=Space(x=Real(lower[0], upper[0]), c=Context(lower[1], upper[1])),
        function=Formula(formula, lower, upper),
        sample=drawn.sample,
        quantile=drawn.quantile,
        initial=initial,
        source=source,
    )


def branin_mean(joint: Tensor) -> Tensor:
    """`-sqrt(h(x1, c1) h(c2, x2))` of joint points (..., 4) ordered x1, x2, c1, c2, h the Branin function."""
    x1, x2, c1, c2 = joint.unbind(-1)
    h = synthetic.Branin()
    product: Tensor = h(torch.stack([x1, c1], -1)) * h(torch.stack([c2, x2], -1))
    return -product.sqrt()


def goldstein_price_formula(joint: Tensor) -> Tensor:
    """The negative of the Goldstein-Price function of joint points (..., 2).

    Example:
        >>> goldstein_price_formula(torch.tensor([0.0, -1.0])).item()
        -3.0
    """
    x, y = joint.unbind(-1)
    near = 19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2
    far = 18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2
    return -(1 + (x + y + 1) ** 2 * near) * (30 + (2 * x - 3 * y) ** 2 * far)
