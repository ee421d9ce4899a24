"""Ten problems that no default was chosen on: each is hard in one way that users' problems are.

Nothing but `python -m benchmarks league --second` may run them, and only to report. Each has a known law of its
contexts; mean outcomes are computed over quasi-random contexts, so that noise of mean 0 does not enter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from scipy.special import betaincinv, ndtr, ndtri
from torch import Tensor

import allweather as aw
from allweather.problems import Problem
from allweather.problems.formula import Formula
from allweather.problems.laws import Independent, Normal, Uniform
from allweather.space.constraints import LinearConstraint

Disturbance = Callable[[np.ndarray, np.ndarray, np.random.Generator], float]
"""A decision (d_x,) and a context (d_c,) of the unit cube to the noise of the outcome, of mean 0."""


@dataclass(frozen=True, eq=False)
class DisturbedProblem(Problem):
    """A problem whose noise is not normal, or depends on the decision."""

    disturbance: Disturbance | None = field(default=None, repr=False)

    def observe(self, decision: Mapping[str, Any], context: Mapping[str, Any], rng: np.random.Generator) -> float:
        """Return the noisy outcome of a decision in a context.

        Args:
            decision: by name, in the user's units.
            context: by name, in the user's units.
            rng: of the noise.
        """
        outcome = super().observe(decision, context, rng)
        if self.disturbance is None:
            return outcome
        points = self.space.decisions.encode(decision), self.space.contexts.encode(context)
        return outcome + self.disturbance(*(each[0].numpy() for each in points), rng)


@dataclass(frozen=True)
class Beta:
    """The quantiles of a beta law."""

    a: float
    b: float

    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        """Return the quantiles."""
        return np.asarray(betaincinv(self.a, self.b, uniforms))


def _reals(count: int, contexts: int) -> aw.Space:
    decisions = {f"x{i + 1}": aw.Real(0, 1) for i in range(count)}
    return aw.Space(**decisions, **{f"c{i + 1}": aw.Context(0, 1) for i in range(contexts)})


def _problem(
    name: str,
    space: aw.Space,
    formula: Callable[[Tensor], Tensor],
    quantile: Callable[[np.ndarray], np.ndarray],
    disturbance: Disturbance | None = None,
    constraints: tuple[LinearConstraint, ...] = (),
    noise: float = 0.0,
) -> Problem:
    d, contexts = space.decisions.columns, space.contexts.columns
    return DisturbedProblem(
        name=name.replace(" ", "-"),
        space=space,
        function=Formula(formula, (0.0,) * (d + contexts), (1.0,) * (d + contexts)),
        sample=lambda n, rng: quantile(rng.random((n, contexts))),
        quantile=quantile,
        noise=noise,
        initial=5,
        constraints=constraints,
        source="ours",
        disturbance=disturbance,
    )


def trip() -> Problem:
    """Output rises with the load of a line until it trips: a jump whose place depends on the context."""

    def formula(joint: Tensor) -> Tensor:
        load, cooling, heat = joint.unbind(-1)
        running = load + 0.35 * cooling < 0.55 + 0.8 * cooling - 0.35 * heat
        return torch.where(running, 2 * load - 0.7 * cooling**2, -1.0 - 0.7 * cooling**2)

    return _problem("trip", _reals(2, 1), formula, Independent((Beta(2, 3),)).quantile)


def rare_breakdown() -> Problem:
    """Speed earns a little every day; a breakdown, on 1% to 13% of days by the decision, costs a lot."""

    def chance(speed: Any, care: Any, stress: Any) -> Any:
        return 0.01 + 0.12 * speed * (1 - 0.7 * care**0.5) * 3 * stress**2

    def formula(joint: Tensor) -> Tensor:
        speed, care, stress = joint.unbind(-1)
        return 0.9 * speed**0.5 - 0.45 * care - 8.0 * chance(speed, care, stress)

    def disturbance(decision: np.ndarray, context: np.ndarray, rng: np.random.Generator) -> float:
        expected = float(chance(*decision, *context))
        return -8.0 * (float(rng.random() < expected) - expected)

    return _problem("rare breakdown", _reals(2, 1), formula, Independent((Uniform(),)).quantile, disturbance)


def noisy_corner() -> Problem:
    """The second best region is quiet, the best one noisy: the deviation grows from 0.02 to 0.6."""

    def formula(joint: Tensor) -> Tensor:
        x1, x2, c = joint.unbind(-1)
        quiet = (-18 * ((x1 - 0.25) ** 2 + (x2 - 0.3 - 0.2 * c) ** 2)).exp()
        noisy = 1.25 * (-18 * ((x1 - 0.8) ** 2 + (x2 - 0.75 + 0.2 * c) ** 2)).exp()
        return quiet + noisy

    def disturbance(decision: np.ndarray, context: np.ndarray, rng: np.random.Generator) -> float:
        return float((0.02 + 0.58 * decision[0] ** 3) * rng.standard_normal())

    return _problem("noisy corner", _reals(2, 1), formula, Independent((Normal(0.4, 0.2),)).quantile, disturbance)


def irrelevant() -> Problem:
    """Five decisions and three contexts, of which two and one matter."""

    def formula(joint: Tensor) -> Tensor:
        x2, x4, c3 = joint[..., 1], joint[..., 3], joint[..., 7]
        return -((3 * (x2 - 0.2 - 0.5 * c3)) ** 2) - (2 * (x4 - 0.7)).abs() + 0.3 * (9 * x2 * x4).sin()

    law = Independent((Uniform(), Beta(2, 2), Beta(4, 2)))
    return _problem("irrelevant variables", _reals(5, 3), formula, law.quantile, noise=0.05)


def mixed() -> Problem:
    """A recipe: a material, a number of layers and a temperature, in weather that is dry, humid or wet."""
    space = aw.Space(
        material=aw.Choice("a", "b", "c", "d"),
        layers=aw.Integer(1, 8),
        temperature=aw.Real(0, 1),
        weather=aw.Context(aw.Choice("dry", "humid", "wet")),
        load=aw.Context(0, 1),
    )
    strength = ((1.0, 0.9, 0.2), (0.7, 0.75, 0.7), (1.2, 0.3, 0.1), (0.5, 0.8, 1.1))
    best = (0.3, 0.6, 0.5, 0.75)
    layers = torch.linspace(0, 1, 8, dtype=torch.float64)

    def formula(joint: Tensor) -> Tensor:
        material, weather = joint[..., :4].argmax(-1), joint[..., 6:9].argmax(-1)
        table, ideal = joint.new_tensor(strength), joint.new_tensor(best)
        number = 1.0 + (joint[..., 4, None] - layers).abs().argmin(-1)
        temperature, load = joint[..., 5], joint[..., 9]
        holds = table[material, weather] * (1 - 2 * (temperature - ideal[material]) ** 2) * (1 - (-0.5 * number).exp())
        return holds - 0.6 * torch.relu(load - 0.12 * number) - 0.03 * number

    def quantile(uniforms: np.ndarray) -> np.ndarray:
        kind = np.digitize(uniforms[:, 0], [0.5, 0.8])
        return np.column_stack([np.eye(3)[kind], betaincinv(2, 4, uniforms[:, 3])])

    return _problem("mixed kinds", space, formula, quantile, noise=0.03)


def heavy_tails() -> Problem:
    """Losses over orders of magnitude, and noise with the tails of Student's law with three degrees of freedom."""

    def formula(joint: Tensor) -> Tensor:
        cover, price, claim = joint.unbind(-1)
        size = 0.1 * (4.5 * claim).exp()
        kept = torch.relu(size - 6 * cover)
        return 3 * price * (1 - price) + 0.4 * price * cover - 1.1 * cover - kept

    def disturbance(decision: np.ndarray, context: np.ndarray, rng: np.random.Generator) -> float:
        return float(0.15 * rng.standard_t(3))

    return _problem("heavy tails", _reals(2, 1), formula, Independent((Beta(1.5, 4),)).quantile, disturbance)


def high_frequency() -> Problem:
    """Seven ripples over each of two decisions on a broad hill; the context shifts their phase."""

    def formula(joint: Tensor) -> Tensor:
        x1, x2, c = joint.unbind(-1)
        hill = 1.5 * (-3 * ((x1 - 0.65) ** 2 + (x2 - 0.35) ** 2)).exp()
        ripples = (14 * math.pi * x1 + 1.5 * c).cos() + (14 * math.pi * x2 - 1.5 * c).cos()
        return hill + 0.35 * ripples

    return _problem("high frequency", _reals(2, 1), formula, Independent((Normal(0.5, 0.15),)).quantile)


def six_decisions() -> Problem:
    """Six decisions that act together, and two contexts that move the best of them."""
    turn = torch.linalg.qr(torch.randn(6, 6, generator=torch.Generator().manual_seed(11), dtype=torch.float64))[0]
    stretch = torch.tensor([6.0, 4.0, 2.5, 1.5, 1.0, 0.5], dtype=torch.float64)
    centre = torch.tensor([0.3, 0.6, 0.45, 0.7, 0.35, 0.55], dtype=torch.float64)

    def formula(joint: Tensor) -> Tensor:
        first, second = joint[..., 6], joint[..., 7]
        shift = torch.stack([0.2 * (first - 0.5), 0.15 * (second - 0.5), *[torch.zeros_like(first)] * 4], -1)
        apart = (joint[..., :6] - centre - shift) @ turn
        far = (stretch * apart.square()).sum(-1)
        return 2 / (1 + 2 * far) - 0.4 * second * joint[..., 0]

    law = Independent((Uniform(), Beta(2, 5)))
    return _problem("six decisions", _reals(6, 2), formula, law.quantile)


def shared_stock() -> Problem:
    """Three products share a store, and their demands move together; a newsvendor problem with a linear constraint."""
    margins, root = (3.0, 2.0, 4.0), np.linalg.cholesky(0.6 * np.ones((3, 3)) + 0.4 * np.eye(3))

    def formula(joint: Tensor) -> Tensor:
        stock, demand = joint[..., :3], joint[..., 3:]
        sold = torch.minimum(stock, demand)
        return (sold * joint.new_tensor(margins)).sum(-1) - 1.2 * stock.sum(-1)

    def quantile(uniforms: np.ndarray) -> np.ndarray:
        uniforms = np.clip(uniforms, 1e-12, 1 - 1e-12)
        return np.asarray(betaincinv((2, 2, 1.2), (4, 3, 4), ndtr(ndtri(uniforms) @ root.T)))

    space = aw.Space(
        **{f"stock{i}": aw.Real(0, 1) for i in (1, 2, 3)}, **{f"demand{i}": aw.Context(0, 1) for i in (1, 2, 3)}
    )
    limit = LinearConstraint({f"stock{i}": 1 for i in (1, 2, 3)}, upper=1)
    return _problem("shared stock", space, formula, quantile, constraints=(limit,))


def narrow_basin() -> Problem:
    """A broad hill, and a narrow one that is a quarter higher on average; the context tilts both."""

    def formula(joint: Tensor) -> Tensor:
        x1, x2, c1, c2 = joint.unbind(-1)
        broad = (1.1 - 0.5 * c1) * (-5 * ((x1 - 0.3) ** 2 + (x2 - 0.6) ** 2)).exp()
        narrow = (0.7 + 0.7 * c1) * (-90 * ((x1 - 0.82) ** 2 + (x2 - 0.22 - 0.05 * (c2 - 0.5)) ** 2)).exp()
        return broad + narrow

    law = Independent((Beta(2, 2), Uniform()))
    return _problem("narrow basin", _reals(2, 2), formula, law.quantile, noise=0.01)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "trip": trip,
    "rare breakdown": rare_breakdown,
    "noisy corner": noisy_corner,
    "irrelevant variables": irrelevant,
    "mixed kinds": mixed,
    "heavy tails": heavy_tails,
    "high frequency": high_frequency,
    "six decisions": six_decisions,
    "shared stock": shared_stock,
    "narrow basin": narrow_basin,
}
"""The second league."""
