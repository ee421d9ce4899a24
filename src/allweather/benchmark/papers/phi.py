"""Figures of phi that are campaigns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import Beats, Least
from allweather.benchmark.figures import Figure, Settings, plain
from allweather.benchmark.papers.phi_panels import draw_panels
from allweather.benchmark.regret import Measure
from allweather.distances import ChiSquared, Distance, TotalVariation
from allweather.objectives import DRO
from allweather.schedules import DivergenceRadius
from allweather.surrogates import GP

PLANAR = ("branin", "goldstein-price", "six-hump-camel", "three-hump-camel")
PROBLEMS = (*PLANAR, "robot-push")
SEEDS = range(30)
RADII = (0.0, 0.1, 0.3, 0.5, 1.0)
SIZES = (30, 100, 500)
DIFFERENT, SAME = "branin|goldstein-price|shift-example", "six-hump-camel|three-hump-camel"
"""Problems whose stochastic and robust solutions differ, or are the same, in Fig. 7 as the paper says."""


def _measures() -> tuple[Measure, ...]:
    """Eq. 6: the worst case over the ball of the step's radius, for chi-squared and total variation."""
    balls: tuple[tuple[str, Distance], ...] = (
        ("chi2", ChiSquared(DivergenceRadius("chi-squared"))),
        ("TV", TotalVariation(DivergenceRadius("total-variation"))),
    )
    return tuple(Measure(f"Eq. 6 {name}", DRO(ball)) for name, ball in balls)


def _radii(problems: Settings) -> list[Campaign]:
    """Fixed radii against the schedule, evaluated at a radius of 1."""
    fixed = {f"radius {radius:g}": ("drbo-tv", {"radius": radius}) for radius in RADII}
    methods = {**fixed, "adaptive": ("drbo-tv", {}), "gp-ucb": ("gp-ucb", {})}
    measures = (Measure("robust TV 1", DRO(TotalVariation(1.0))),)
    return [Campaign(problems, methods, SEEDS, 50, measures=measures)]


def _fig1() -> list[Campaign]:
    """The text does not give the two functions; these have the properties it describes (errata E30)."""
    return _radii(plain("shift-example", "three-hump-camel"))


def _fig7() -> list[Campaign]:
    return _radii(plain("branin", "goldstein-price", "six-hump-camel"))


def _fig3() -> list[Campaign]:
    """Methods with 30 contexts each."""
    methods: Mapping[str, tuple[str, Mapping[str, Any]]] = {
        **plain("drbo-chi2", "drbo-tv"),
        "drbo-mmd": ("drbo-mmd", {"size": 30}),
        "stableopt": ("stableopt", {"everywhere": True, "samples": 30, "surrogate": GP()}),
        **plain("gp-ucb", "random"),
    }
    return [Campaign(plain(*PROBLEMS), methods, SEEDS, 60, measures=_measures())]


def _fig4() -> list[Campaign]:
    methods = {
        f"{name}, {size} contexts": (name, {"contexts": size})
        for name in ("drbo-chi2", "drbo-tv", "drbo-kl")
        for size in SIZES
    } | {f"drbo-mmd, {size} contexts": ("drbo-mmd", {"size": size}) for size in SIZES}
    return [Campaign(plain("wind"), methods, SEEDS, 50, measures=_measures())]


def _fig5() -> list[Campaign]:
    """KL as in Ex. 15, and as printed in Eq. 34."""
    printed = {f"drbo-kl, Eq. 34, lambda {value}": ("drbo-kl", {"multiplier": float(value)}) for value in (1, 5)}
    methods: Settings = {**plain("drbo-chi2", "drbo-tv", "drbo-kl"), **printed}
    return [Campaign(plain(*PLANAR), methods, SEEDS, 60, measures=_measures())]


_KL = ("drbo-kl", "drbo-kl, Eq. 34, lambda 1", "drbo-kl, Eq. 34, lambda 5")
_RADII_CLAIMS = (
    *(Beats(f"radius {radius:g}", "radius 0", DIFFERENT, "where the solutions differ") for radius in (0.5, 1.0)),
    *(Beats("radius 0", f"radius {radius:g}", SAME, "where they are the same") for radius in (0.5, 1.0)),
    *(Beats("adaptive", other) for other in (*(f"radius {radius:g}" for radius in RADII), "gp-ucb")),
)
_CONTEXTS = ("drbo-chi2", "drbo-tv", "drbo-kl", "drbo-mmd")
FIGURES = (
    Figure(
        "phi-fig1",
        "phi, Fig. 1",
        "Large radii are best where the solutions differ, small ones where they coincide; the adaptive one is stable.",
        _fig1,
        _RADII_CLAIMS,
        draw=draw_panels,
    ),
    Figure(
        "phi-fig3",
        "phi, Fig. 3",
        "chi2 and TV have the least robust regret.",
        _fig3,
        (Least(("drbo-chi2", "drbo-tv")),),
    ),
    Figure(
        "phi-fig4",
        "phi, Fig. 4",
        "All divergences improve with more contexts, up to 100.",
        _fig4,
        (
            *(Beats(f"{name}, 100 contexts", f"{name}, 30 contexts") for name in _CONTEXTS),
            *(Beats(f"{name}, 500 contexts", f"{name}, 100 contexts") for name in _CONTEXTS),
        ),
    ),
    Figure(
        "phi-fig5",
        "phi, Fig. 5",
        "TV and chi2 have less regret than KL.",
        _fig5,
        tuple(Beats(first, second) for first in ("drbo-tv", "drbo-chi2") for second in _KL),
    ),
    Figure(
        "phi-fig7",
        "phi, Fig. 7",
        "As Fig. 1, on Branin, Goldstein-Price (solutions differ) and the six-hump camel function (they coincide).",
        _fig7,
        _RADII_CLAIMS,
        draw=draw_panels,
    ),
)
