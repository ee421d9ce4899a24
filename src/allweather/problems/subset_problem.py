"""Problems with control sets: each variable is controlled at a cost, or follows its own law."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from allweather.contexts import Reference
from allweather.errors import require
from allweather.methods.control import Control
from allweather.problems.base import Problem
from allweather.space import Space
from allweather.space.variables import Real, Value

NODES = 512
"""Of the Gauss-Legendre rule over a variable, exact to rounding for bumps wider than a hundredth."""
NOTHING = Reference(torch.zeros(1, 0, dtype=torch.float64), torch.ones(1, dtype=torch.float64))
"""The reference of a problem without contexts."""


class Averageable(Protocol):
    """A function of the unit cube that can be averaged over some of its variables exactly."""

    def __call__(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """Return values (b, n) at decisions (b, d_x) and contexts (n, d_c), which are the last columns."""

    def averaged(self, laws: Mapping[int, Reference]) -> Self:
        """Return the mean over the columns with a law, as a function of the other columns."""


@dataclass(frozen=True, eq=False)
class SubsetProblem(Problem):
    """A problem with control sets: in each trial some variables are controlled at a cost, the others are random.

    As a `Problem`, all variables are decisions. The value of a decision is its mean over the laws of the variables that
    are not controlled, by a quadrature that is exact to rounding.

    Example:
        >>> from allweather.problems import problem
        >>> hartmann = problem("hartmann3-subsets")
        >>> [each.cost for each in hartmann.control.sets]
        [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 1.0]
        >>> rng = np.random.default_rng(0)
        >>> natural = hartmann.draw(rng)
        >>> left = {name: natural[name] for name in ("x2", "x3")}
        >>> round(hartmann.observe({"x1": 0.1}, left, rng), 3)
        0.278
        >>> alone = hartmann.averaged(["x1"])
        >>> alone.values(torch.tensor([[0.1]]), torch.zeros(1, 0)).round(decimals=2)
        tensor([[1.2100]], dtype=torch.float64)
    """

    function: Averageable = field(repr=False)
    control: Control = field(kw_only=True)
    """The paper's control sets, their costs, and the budget."""
    laws: Mapping[str, Any] = field(kw_only=True, repr=False)
    """The law of every variable when it is not controlled: frozen SciPy distributions in the user's units."""

    def __post_init__(self) -> None:
        super().__post_init__()
        where = "SubsetProblem(space=...)"
        real = all(isinstance(variable, Real) for variable in self.space.variables.values())
        require(real, where, "have real variables only, none of them a Context", self.space)
        same = set(self.laws) == set(self.space.variables)
        require(same, "SubsetProblem(laws=...)", f"name exactly {list(self.space.variables)}", list(self.laws))
        self.control.on(self.space)

    def at(self, points: Tensor) -> Tensor:
        """Return the function without noise, (n,), at points (n, d) of the unit cube."""
        return self.values(points, NOTHING.points)[:, 0]

    def draw(self, rng: np.random.Generator) -> dict[str, Value]:
        """Draw every variable from its law, in the user's units."""
        return self.space.decisions.decode(torch.from_numpy(self.sample(1, rng)))[0]

    def observe(self, decision: Mapping[str, Any], context: Mapping[str, Any], rng: np.random.Generator) -> float:
        """Return the noisy outcome of a decision.

        Args:
            decision: the controlled variables, in the user's units.
            context: the others, in the user's units.
            rng: of the noise.
        """
        both = [name for name in decision if name in context]
        require(not both, f"{self.name}.observe(context=...)", "name only variables that are not controlled", both)
        return super().observe({**decision, **context}, {}, rng)

    def initial_data(self, rng: np.random.Generator) -> list[dict[str, Value]]:
        """Return free initial observations: rows with every variable, uniform in its bounds, and a noisy `value`."""
        points = torch.from_numpy(rng.random((self.initial, self.space.decisions.columns)))
        rows = self.space.decisions.decode(points)
        return [{**row, "value": self.observe(row, {}, rng)} for row in rows]

    def averaged(self, names: Collection[str]) -> Problem:
        """Return the problem of controlling exactly these variables: the mean over the others."""
        variables = self.space.variables
        unknown = [name for name in names if name not in variables]
        require(not unknown, f"{self.name}.averaged(names=...)", f"be among {list(variables)}", unknown)
        left = {i: self._quadrature(name) for i, name in enumerate(variables) if name not in names}
        decided = {name: variable for name, variable in variables.items() if name in names}
        return Problem(
            name=f"{self.name}-{'-'.join(decided)}",
            space=Space(**decided),
            function=self.function.averaged(left),
            sample=_nothing,
            support=NOTHING,
            noise=self.noise,
            initial=self.initial,
            source=self.source,
        )

    def _quadrature(self, name: str) -> Reference:
        """Return the law of a variable as weighted points of the unit interval."""
        nodes, weights = _rule()
        units = (nodes + 1) / 2
        variable = self.space.variables[name]
        assert isinstance(variable, Real)
        density = weights * self.laws[name].pdf([variable.decode([unit]) for unit in units])
        return Reference(torch.from_numpy(units[:, None]), torch.from_numpy(density / density.sum()))


@cache
def _rule() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(NODES)


def _nothing(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.zeros((n, 0))
