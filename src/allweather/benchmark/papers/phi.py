"""Figures of phi."""

from __future__ import annotations

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import Beats, Faster, Least
from allweather.benchmark.figures import Figure, plain
from allweather.benchmark.regret import Measure
from allweather.distances import KL, ChiSquared, Distance, TotalVariation
from allweather.objectives import DRO

PROBLEMS = ("branin", "goldstein-price", "six-hump-camel", "three-hump-camel")
SEEDS = range(30)


def _robust(distance: Distance) -> Measure:
    return Measure(f"robust {type(distance).__name__} {distance.number:g}", DRO(distance))


def _fig1() -> list[Campaign]:
    """Fixed radii against the schedule, evaluated at a radius of 1."""
    fixed = {f"radius {radius:g}": ("drbo-tv", {"radius": radius}) for radius in (0.0, 0.1, 0.3, 0.5, 1.0)}
    methods = {**fixed, "adaptive": ("drbo-tv", {}), "gp-ucb": ("gp-ucb", {})}
    measures = (_robust(TotalVariation(1.0)),)
    return [Campaign(plain("branin", "six-hump-camel"), methods, range(10), 50, measures=measures)]


def _fig2() -> list[Campaign]:
    methods = ("drbo-chi2", "drbo-tv", "drbo-kl", "drbo-mmd")
    return [Campaign(plain("branin", "ackley", "hartmann6"), methods, range(5), 30)]


def _fig3() -> list[Campaign]:
    methods = ("drbo-chi2", "drbo-tv", "drbo-mmd", "stableopt", "gp-ucb", "random")
    measures = (_robust(ChiSquared(0.5)), _robust(TotalVariation(0.5)))
    return [Campaign(plain(*PROBLEMS), methods, SEEDS, 60, measures=measures)]


def _fig4() -> list[Campaign]:
    methods = {
        f"{name}, {size} contexts": (name, {"contexts": size})
        for name in ("drbo-chi2", "drbo-tv", "drbo-kl")
        for size in (30, 100, 500)
    } | {f"drbo-mmd, {size} contexts": ("drbo-mmd", {"size": size}) for size in (30, 100)}
    return [Campaign(plain("wind"), methods, range(10), 50, measures=(_robust(TotalVariation(0.5)),))]


def _fig5() -> list[Campaign]:
    methods = ("drbo-chi2", "drbo-tv", "drbo-kl")
    measures = (_robust(TotalVariation(0.5)), _robust(KL(0.3)))
    return [Campaign(plain(*PROBLEMS), methods, SEEDS, 60, measures=measures)]


FIGURES = (
    Figure("phi-fig1", "phi, Fig. 1", "The adaptive radius is stable, fixed ones are not.", _fig1),
    Figure(
        "phi-fig2",
        "phi, Fig. 2",
        "chi2 and TV take equal time, MMD much more.",
        _fig2,
        (Faster("drbo-chi2", "drbo-mmd"), Faster("drbo-tv", "drbo-mmd")),
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
        "All divergences improve with more contexts.",
        _fig4,
        tuple(
            Beats(f"{name}, 100 contexts", f"{name}, 30 contexts")
            for name in ("drbo-chi2", "drbo-tv", "drbo-kl", "drbo-mmd")
        ),
    ),
    Figure(
        "phi-fig5",
        "phi, Fig. 5",
        "TV and chi2 have less regret than KL.",
        _fig5,
        (Beats("drbo-tv", "drbo-kl"), Beats("drbo-chi2", "drbo-kl")),
    ),
)
