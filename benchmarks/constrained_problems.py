"""Constrained problems with an uncontrolled context and known answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

import allweather as aw
from allweather.objectives import Outcome

CONTEXTS, DECISIONS = 2048, 20_000
"""Contexts that stand for the true law, and decisions among which the best is looked for."""


@dataclass(frozen=True, eq=False)
class ConstrainedProblem:
    """Outcomes of a decision in a context, what is wanted of each, and the law of the contexts."""

    name: str
    bounds: Mapping[str, tuple[float, float]]
    """Of the decision's variables."""
    wanted: Mapping[str, Outcome]
    """The first is maximized or minimized, the others are limits."""
    outcomes: Callable[[np.ndarray, np.ndarray], Mapping[str, np.ndarray]]
    """Decisions (..., d) and contexts (...,) to each outcome (...,)."""
    draw: Callable[[np.random.Generator, int], np.ndarray]
    """Contexts (n,), between 0 and 1."""
    noise: float = 0.01
    """Standard deviation of the noise, as a share of the spread of each outcome."""

    @property
    def space(self) -> aw.Space:
        """The variables."""
        return aw.Space(**{name: aw.Real(*ends) for name, ends in self.bounds.items()}, context=aw.Context(0, 1))

    @property
    def objective(self) -> str:
        """The outcome that is maximized or minimized."""
        return next(iter(self.wanted))

    @cached_property
    def contexts(self) -> np.ndarray:
        """Contexts (n,) that stand for the true law."""
        return np.clip(self.draw(np.random.default_rng(12345), CONTEXTS), 0, 1)

    def measures(self, decisions: np.ndarray) -> dict[str, np.ndarray]:
        """The true objective of each outcome (b,) of decisions (b, d), times its sign: larger is better."""
        law = aw.Reference.checked(self.contexts[:, None], np.full(CONTEXTS, 1 / CONTEXTS))
        found: dict[str, list[np.ndarray]] = {name: [] for name in self.wanted}
        for block in np.array_split(decisions, max(1, len(decisions) // 500)):
            values = self.outcomes(block[:, None, :], self.contexts)
            for name, want in self.wanted.items():
                signed = torch.from_numpy(want.sign * np.broadcast_to(values[name], (len(block), CONTEXTS)).copy())
                found[name].append(want.measure.facing(want.sign)(signed, law).numpy())
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def feasible(self, measures: Mapping[str, np.ndarray]) -> np.ndarray:
        """Whether (b,) true objectives keep all limits."""
        limits = [name for name in self.wanted if self.wanted[name].constrains]
        kept = [measures[name] >= self.wanted[name].level(self.wanted[name].measure) for name in limits]
        return np.all(kept, axis=0)

    @cached_property
    def answer(self) -> tuple[float, float]:
        """The best true objective among feasible decisions, and the median of it: the regret of giving up."""
        rng = np.random.default_rng(54321)
        low, high = (np.array([ends[side] for ends in self.bounds.values()]) for side in (0, 1))
        decisions = low + (high - low) * rng.uniform(size=(DECISIONS // 4, len(low)))
        best = -np.inf
        middle = np.nan
        for step in (1.0, 0.1, 0.03, 0.01):
            measures = self.measures(decisions)
            fits = self.feasible(measures)
            values = np.where(fits, measures[self.objective], -np.inf)
            if step == 1.0:
                middle = float(np.median(values[fits]))
            top = decisions[np.argsort(-values)[:20]]
            best = max(best, float(values.max()))
            around = top[rng.integers(len(top), size=DECISIONS // 4)]
            decisions = np.clip(around + step / 3 * (high - low) * rng.normal(size=around.shape), low, high)
        return best, best - middle

    def spreads(self) -> dict[str, float]:
        """The standard deviation of each outcome over decisions and contexts."""
        rng = np.random.default_rng(7)
        low, high = (np.array([ends[side] for ends in self.bounds.values()]) for side in (0, 1))
        values = self.outcomes(low + (high - low) * rng.uniform(size=(CONTEXTS, len(low))), self.contexts)
        return {name: float(np.std(values[name])) for name in self.wanted}

    def observe(self, decision: Mapping[str, Any], context: float, rng: np.random.Generator) -> dict[str, float]:
        """Measure every outcome of a decision in a context."""
        values = self.outcomes(np.array([[decision[name] for name in self.bounds]]), np.array([context]))
        return {name: float(values[name][0]) + self.noise * sd * rng.normal() for name, sd in self.spreads().items()}


def _reactor(x: np.ndarray, c: np.ndarray) -> dict[str, np.ndarray]:
    heat, time = x[..., 0], x[..., 1]
    rate = np.exp(3 * (heat - 0.5)) * (0.7 + 0.6 * c)
    made = 1 - np.exp(-rate * (0.5 + 2 * time))
    spoilt = 0.25 * heat**2 * time * (1.5 - c) + 0.1 * heat
    return {"yield": 100 * made * (1 - spoilt), "purity": 1 - spoilt}


def _field(x: np.ndarray, c: np.ndarray) -> dict[str, np.ndarray]:
    nitrogen, water = x[..., 0], x[..., 1]
    wet = np.clip(c + 0.6 * water, 0, 1.6)
    grown = nitrogen * (2 - nitrogen) * (1 - (wet - 0.9) ** 2)
    return {"profit": 10 * grown - 2.5 * nitrogen - 2 * water, "leached": 4 * nitrogen**2 * wet**2}


def _gardner(x: np.ndarray, c: np.ndarray) -> dict[str, np.ndarray]:
    a, b = x[..., 0] + 0.6 * (c - 0.5), x[..., 1]
    return {"cost": np.sin(a) + b, "limit": np.sin(a) * np.sin(b)}


def _gramacy(x: np.ndarray, c: np.ndarray) -> dict[str, np.ndarray]:
    a, b = x[..., 0], x[..., 1]
    shift = 0.5 * (c - 0.5)
    wave = 1.5 - a - 2 * b - 0.5 * np.sin(2 * np.pi * (a**2 - 2 * b)) + shift
    return {"cost": a + b + 0 * c, "wave": wave, "disc": a**2 + b**2 - 1.5 + 0.2 * shift}


def _newsvendor(x: np.ndarray, c: np.ndarray) -> dict[str, np.ndarray]:
    order, price = x[..., 0], x[..., 1]
    demand = np.maximum((0.3 + 0.7 * c) * (1.6 - price), 1e-3)
    sold = np.minimum(order, demand)
    return {"profit": price * sold - 0.3 * order, "service": sold / demand}


def _beam(x: np.ndarray, c: np.ndarray) -> dict[str, np.ndarray]:
    h, length, t, b = (x[..., place] for place in range(4))
    load, arm = 6000 * (0.7 + 0.6 * c), 14.0
    radius = np.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
    polar = 2 * np.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
    first, second = load / (np.sqrt(2) * h * length), load * (arm + length / 2) * radius / polar
    shear = np.sqrt(first**2 + first * second * length / radius + second**2)
    price = 1.10471 * h**2 * length + 0.04811 * t * b * (14 + length)
    bending = 6 * load * arm / (b * t**2)
    return {"price": price + 0 * c, "shear": np.log(shear / 13600), "bending": np.log(bending / 30000)}


def _beta(a: float, b: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: rng.beta(a, b, size=n)


UNIT, SIX = (0.0, 1.0), (0.0, 6.0)
PROBLEMS = [
    ConstrainedProblem(
        "reactor",
        {"heat": UNIT, "time": UNIT},
        {"yield": aw.Maximize(), "purity": aw.AtLeast(0.9, probability=0.9)},
        _reactor,
        _beta(4, 2),
    ),
    ConstrainedProblem(
        "field",
        {"nitrogen": UNIT, "water": UNIT},
        {"profit": aw.Maximize(), "leached": aw.AtMost(1.5, aw.CVaR(0.2))},
        _field,
        _beta(2, 3),
    ),
    ConstrainedProblem(
        "gardner",
        {"a": SIX, "b": SIX},
        {"cost": aw.Minimize(), "limit": aw.AtMost(-0.6, probability=0.8)},
        _gardner,
        _beta(3, 3),
    ),
    ConstrainedProblem(
        "gramacy",
        {"a": UNIT, "b": UNIT},
        {"cost": aw.Minimize(), "wave": aw.AtMost(0, probability=0.8), "disc": aw.AtMost(0)},
        _gramacy,
        _beta(3, 3),
    ),
    ConstrainedProblem(
        "newsvendor",
        {"order": UNIT, "price": (0.3, 1.3)},
        {"profit": aw.Maximize(), "service": aw.AtLeast(0.97, probability=0.9)},
        _newsvendor,
        _beta(2, 3),
    ),
    ConstrainedProblem(
        "welded beam",
        {"h": (0.15, 1.0), "length": (1.0, 8.0), "t": (3.0, 10.0), "b": (0.2, 1.5)},
        {"price": aw.Minimize(), "shear": aw.AtMost(0, probability=0.9), "bending": aw.AtMost(0, probability=0.9)},
        _beam,
        _beta(3, 3),
    ),
]
BY_NAME = {problem.name: problem for problem in PROBLEMS}
