"""Test problems and their registry."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from allweather._utils.registry import unknown as no_such
from allweather._utils.tensors import as_tensor
from allweather.contexts import ContextModel, Reference
from allweather.contexts.base import sobol
from allweather.errors import require, require_count, require_number
from allweather.space import Space
from allweather.space.constraints import LinearConstraint
from allweather.space.variables import Value
from allweather.surrogates import Surrogate

Function = Callable[[Tensor, Tensor], Tensor]
"""Decisions (b, d_x) and contexts (n, d_c) of the unit cube to values (b, n); larger is better."""
Builder = TypeVar("Builder", bound=Callable[..., "Problem"])
TRUTH_SEED = 715_517
"""Seed of the evaluation points; no learner draws from it."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A test problem: the function, the true law of the contexts, and what the learner is told about it.

    Example:
        >>> newsvendor = problem("newsvendor")
        >>> rng = np.random.default_rng(0)
        >>> context = newsvendor.draw(rng)
        >>> round(newsvendor.observe({"order": 0.2}, context, rng), 3)
        0.8
    """

    name: str
    space: Space
    """Named variables in the problem's own units."""
    function: Function = field(repr=False)
    """Decisions (b, d_x) and contexts (n, d_c), both in the unit cube, to (b, n); larger is better."""
    sample: Callable[[int, np.random.Generator], np.ndarray] = field(repr=False)
    """True contexts (n, d_c) of the unit cube; learner and function see the same, clipped ones (errata E8)."""
    quantile: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False)
    """Uniforms (n, d_c) to contexts of the true law, where it is continuous."""
    support: Reference | None = field(default=None, repr=False)
    """Every context and its probability, where there are finitely many."""
    noise: float = 0.0
    """Standard deviation of the outcome's noise."""
    initial: int = 10
    """Number of free initial trials of the paper."""
    constraints: tuple[LinearConstraint, ...] = ()
    candidates: Tensor | None = field(default=None, repr=False)
    """(m, d_x) of the unit cube: the paper's grid of decisions."""
    ridge: tuple[Tensor, Tensor] | None = field(default=None, repr=False)
    """Two decisions (d_x,) of the unit cube: for every other decision, one on the segment between them is at least as
    good in every context. Where the function is expensive, the optimum is searched there."""
    belief: ContextModel | None = field(default=None, repr=False)
    """What the learner is told about the context, in the user's units, where the paper tells it something."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """Distance between belief and truth by name: `tv` (the L1 norm), `mmd` (RBF, lengthscale 0.1)."""
    surrogate: Surrogate | None = None
    """The paper's surrogate, where it fixes one."""
    source: str = field(default="", repr=False)
    """Paper, section, and the errata it follows."""

    def __post_init__(self) -> None:
        require_number(self.noise, "Problem(noise=...)", low=0)
        require_count(self.initial, "Problem(initial=...)", low=1)
        uncertain = len(self.space.contexts) > 0 or self.support is not None
        require(uncertain, "Problem(space=...)", "have a context", self.space)

    def values(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """Return the function without noise, (b, n).

        Args:
            decisions: (b, d_x) of the unit cube.
            contexts: (n, d_c) of the unit cube.

        Example:
            >>> problem("newsvendor").values(torch.tensor([[0.2], [0.4]]), torch.tensor([[0.5]]))
            tensor([[0.8000],
                    [1.6000]], dtype=torch.float64)
        """
        decisions = _points(decisions, self.space.decisions.columns, f"{self.name}.values(decisions=...)")
        contexts = _points(contexts, self.space.contexts.columns, f"{self.name}.values(contexts=...)")
        return self.function(decisions, contexts)

    def draw(self, rng: np.random.Generator) -> dict[str, Value]:
        """Draw a context from the true law, in the user's units."""
        return self.space.contexts.decode(torch.from_numpy(self.sample(1, rng)))[0]

    def observe(self, decision: Mapping[str, Any], context: Mapping[str, Any], rng: np.random.Generator) -> float:
        """Return the noisy outcome of a decision in a context.

        Args:
            decision: by name, in the user's units; must meet the constraints.
            context: by name, in the user's units.
            rng: of the noise.
        """
        points = self.space.decisions.encode(decision), self.space.contexts.encode(context)
        for constraint in self.constraints:
            met = constraint.holds(decision, tolerance=1e-9)
            require(met, f"{self.name}.observe(decision=...)", f"meet {constraint}", dict(decision))
        outcome = self.function(*points).item()
        return outcome + self.noise * float(rng.standard_normal()) if self.noise else outcome

    def truth(self, n: int = 4096, seed: int = TRUTH_SEED) -> Reference:
        """Return the true law, to evaluate decisions on: exact if it is discrete, else `n` quasi-random points.

        Args:
            n: number of points for a continuous law; best a power of two.
            seed: of the points, which are independent of those that a learner sees.

        Example:
            >>> problem("hartmann3").truth().points.shape, problem("hartmann6").truth(256).points.shape
            (torch.Size([64, 1]), torch.Size([256, 1]))
        """
        require_count(n, f"{self.name}.truth(n=...)", low=1)
        require_count(seed, f"{self.name}.truth(seed=...)")
        if self.support is not None:
            return self.support
        if self.quantile is not None:
            uniforms = sobol(n, self.space.contexts.columns, torch.Generator().manual_seed(seed)).numpy()
            points = self.quantile(uniforms)
        else:
            points = self.sample(n, np.random.default_rng(seed))
        return Reference(torch.from_numpy(points), torch.full((n,), 1 / n, dtype=torch.float64))


def problem(name: str, **options: Any) -> Problem:
    """Return a test problem by name; `problems()` lists them.

    Args:
        name: of the problem.
        options: of the problem, such as `sd=0.2` for `ackley` or `seed=3` for `gp-sample`.

    Example:
        >>> list(problem("ackley", sd=0.2).space.decisions)
        ['x1', 'x2']
        >>> problem("akley")
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `problem(...)` knows no 'akley'; did you mean 'ackley'?
    """
    builder = _BUILDERS.get(name) if isinstance(name, str) else None
    if builder is None:
        raise no_such("problem(...)", name, _BUILDERS)
    known = list(inspect.signature(builder).parameters)
    unknown = [option for option in options if option not in known]
    requirement = f"have options among {known}" if known else "have no options"
    require(not unknown, f"problem({name!r}, ...)", requirement, unknown)
    return builder(**options)


def problems() -> list[str]:
    """Return the names of all test problems.

    Example:
        >>> "newsvendor" in problems()
        True
    """
    return sorted(_BUILDERS)


def registered(name: str) -> Callable[[Builder], Builder]:
    """Register a function without required arguments as the builder of the problem called `name`."""

    def register(builder: Builder) -> Builder:
        _BUILDERS[name] = builder
        return builder

    return register


def _points(points: Any, columns: int, where: str) -> Tensor:
    rows = as_tensor(points, where)
    require(rows.ndim == 2 and rows.shape[1] == columns, where, f"have shape (rows, {columns})", tuple(rows.shape))
    low, high = (rows.min().item(), rows.max().item()) if rows.numel() else (0.0, 1.0)
    require(low >= -1e-9 and high <= 1 + 1e-9, where, "lie in the unit cube", f"{low:g} to {high:g}")
    return rows


_BUILDERS: dict[str, Callable[..., Problem]] = {}
