"""Problems whose functions were fitted to simulators and measurements: plants, infections, portfolios."""

from __future__ import annotations

from allweather.problems.base import Problem, registered
from allweather.problems.data import load
from allweather.problems.expansion import KernelExpansion
from allweather.problems.grids import gaussian_belief, grid
from allweather.problems.laws import Independent, Uniform, normals
from allweather.space import Space
from allweather.space.constraints import LinearConstraint
from allweather.space.variables import Context, Real


@registered("plant-ph")
def plant_ph() -> Problem:
    """Leaf area over the decision pH and the context NH3 (in uM), standardised."""
    data = load("plant_ph_nh3")
    (low_ph, low_nh3), (high_ph, high_nh3) = data["lower"].tolist(), data["upper"].tolist()
    space = Space(ph=Real(low_ph, high_ph), nh3=Context(low_nh3, high_nh3))
    setting = gaussian_belief(space, grid(1, 64))
    return Problem(
        name="plant-ph",
        space=space,
        function=KernelExpansion.of(data),
        **setting.arguments,
        candidates=grid(1, 1024),
        source="bocu App. C.1; errata E35; data/README",
    )


@registered("infection")
def infection(as_published: bool = False) -> Problem:
    """Minus infections, for shares of test kits x1, x2, shares of cases c1, c2 and a transmission probability c3.

    Shares of two of three groups sum to at most 1, for decisions as for contexts. The published code ignores that
    (`as_published`), and far from all data its function is 0.
    """
    space = Space(x1=Real(0, 1), x2=Real(0, 1), c1=Context(0, 1), c2=Context(0, 1), c3=Context(0, 1))
    decisions, contexts = grid(2, 32), grid(3, 4)
    if not as_published:
        decisions = decisions[decisions.sum(-1) <= 1 + 1e-9]
        contexts = contexts[contexts[:, :2].sum(-1) <= 1 + 1e-9]
    setting = gaussian_belief(space, contexts)
    return Problem(
        name="infection",
        space=space,
        function=KernelExpansion.of(load("infection")),
        **setting.arguments,
        constraints=() if as_published else (LinearConstraint({"x1": 1, "x2": 1}, upper=1),),
        candidates=decisions,
        source="bocu App. C.1; errata E35, E36; data/README",
    )


@registered("portfolio-normal")
def portfolio_normal(sd: float = 0.1) -> Problem:
    """Spread and borrow cost from N(0.5, sd^2), clipped; wasserstein has sd 0.2."""
    return _portfolio("portfolio-normal", normals(2, sd, "portfolio-normal"))


@registered("portfolio-uniform")
def portfolio_uniform() -> Problem:
    """Spread and borrow cost uniform."""
    return _portfolio("portfolio-uniform", Independent((Uniform(), Uniform())))


def _portfolio(name: str, law: Independent) -> Problem:
    """The annualised return in percent; the data are its negative, and the published code maximises their negative."""
    variables = ("risk_aversion", "trade_aversion", "holding_cost", "spread", "borrow_cost")
    space = {each: Context(0, 1) if i >= 3 else Real(0, 1) for i, each in enumerate(variables)}
    return Problem(
        name=name,
        space=Space(**space),
        function=KernelExpansion.of(load("portfolio"), sign=-1),
        sample=law.sample,
        quantile=law.quantile,
        source="kde App. B.2, wasserstein App. 9; errata E13 (its optima ask for this sign); data/README",
    )
