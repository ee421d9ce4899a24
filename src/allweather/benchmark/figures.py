"""The papers' figures and tables that are campaigns: which problems, which methods, what was claimed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.regret import Measure
from allweather.benchmark.report import Report, report_by_iteration
from allweather.distances import KL, MMD, ChiSquared, Distance, TotalVariation
from allweather.objectives import DRO, General
from allweather.problems import problem
from allweather.surrogates import GP

Settings = Mapping[str, tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper: what to run, and what the paper says it shows."""

    name: str
    source: str
    claim: str
    campaigns: Callable[[], list[Campaign]]
    """With the paper's seeds and iterations."""
    first: str = ""
    """The method that the claim prefers ..."""
    second: str = ""
    """... to this one."""
    report: Callable[[pd.DataFrame, Path | None], Report] | None = None
    """What is made of the results, with the figure in a file if one is given; by default regret by iteration."""

    def reported(self, results: pd.DataFrame, path: Path | None) -> Report:
        """The table, the verdict on the claim, and the figure."""
        if self.report is not None:
            return self.report(results, path)
        return report_by_iteration(results, path, self.first, self.second)


def _kde(problems: Settings) -> list[Campaign]:
    others = _plain("sbo-kde", "drbo-kde", "drbo-mmd", "drbo-mmd-minimax", "stableopt")
    methods = {**others, "gp-ucb": ("gp-ucb", {"surrogate": GP("matern", outputscale="fit")})}
    return [Campaign(problems, methods, range(100, 105), 100)]


def _plain(*names: str) -> Settings:
    return {name: (name, {}) for name in names}


def _wide(*names: str) -> Settings:
    """Wasserstein uses a context deviation of .2 everywhere."""
    return {name: (name, {"sd": 0.2}) for name in names}


def _kde_fig1() -> list[Campaign]:
    return _kde(
        _plain(
            "ackley",
            "modified-branin",
            "hartmann6",
            "complicated-hartmann",
            "newsvendor",
            "portfolio-normal",
            "portfolio-uniform",
        )
    )


def _kde_fig2() -> list[Campaign]:
    return _kde(_plain("ackley-4c"))


def _kde_table1() -> list[Campaign]:
    return _kde(_plain("ackley"))


def _bocu(cells: Mapping[str, tuple[float, float, bool]]) -> list[Campaign]:
    """One campaign per objective and distance; a measure is the objective under the reference the learner knows."""
    campaigns = []
    for name in ("hartmann3", "gp-sample", "plant-ph", "infection"):
        margins = problem(name).margins
        for distance_name, make in (("TV", TotalVariation), ("MMD", _mmd)):
            for label, (alpha, beta, at_margin) in cells.items():
                distance = make(margins[distance_name.lower()] if at_margin else 0.0)
                objective = {"alpha": alpha, "beta": beta, "distance": distance}
                methods: dict[str, tuple[str, Mapping[str, Any]]] = {
                    "TS-BOCU": ("ts-bocu", objective),
                    "UCB-BOCU": ("ucb-bocu", objective),
                    "UCB-BOCU-1": ("ucb-bocu-1", objective),
                    "UCB-BOCU-2": ("ucb-bocu-2", objective),
                    "UCB-SO": ("ucb-so", {}),
                    "UCB-RO": ("ucb-ro", {}),
                    "Random": ("random", {}),
                }
                measure = Measure(f"{label} {distance_name}", General(alpha, beta, distance), "belief")
                campaigns.append(Campaign([name], methods, range(10), 1000, measures=(measure,)))
    return campaigns


def _mmd(radius: float) -> Distance:
    return MMD(radius, lengthscale=0.1)


CELLS = {"DRO": (1.0, 0.0, True), "WCS": (0.0, 1.0, False), "GEN": (1.0, 1.0, True)}


def _bocu_fig2() -> list[Campaign]:
    return _bocu(CELLS)


def _bocu_fig3() -> list[Campaign]:
    """Thompson sampling for one objective, judged by all three."""
    campaigns = []
    for name in ("hartmann3", "gp-sample", "plant-ph", "infection"):
        margins = problem(name).margins
        for distance_name, make in (("TV", TotalVariation), ("MMD", _mmd)):
            balls = {label: make(margins[distance_name.lower()] if at else 0.0) for label, (_, _, at) in CELLS.items()}
            methods = {
                f"TS-{label}": ("ts-bocu", {"alpha": alpha, "beta": beta, "distance": balls[label]})
                for label, (alpha, beta, _) in CELLS.items()
            }
            measures = tuple(
                Measure(f"{label} {distance_name}", General(alpha, beta, balls[label]), "belief")
                for label, (alpha, beta, _) in CELLS.items()
            )
            campaigns.append(Campaign([name], methods, range(10), 1000, measures=measures))
    return campaigns


PHI_PROBLEMS = ("branin", "goldstein-price", "six-hump-camel", "three-hump-camel")


def _robust(distance: Distance) -> Measure:
    return Measure(f"robust {type(distance).__name__} {distance.number:g}", DRO(distance))


def _phi_fig1() -> list[Campaign]:
    """The radius held at several values, against the schedule; judged at a radius of 1."""
    fixed = {f"radius {radius:g}": ("drbo-tv", {"radius": radius}) for radius in (0.0, 0.1, 0.3, 0.5, 1.0)}
    methods = {**fixed, "adaptive": ("drbo-tv", {}), "gp-ucb": ("gp-ucb", {})}
    return [
        Campaign(_plain("branin", "six-hump-camel"), methods, range(10), 50, measures=(_robust(TotalVariation(1.0)),))
    ]


def _phi_fig3() -> list[Campaign]:
    methods = ("drbo-chi2", "drbo-tv", "drbo-mmd", "stableopt", "gp-ucb", "random")
    measures = (_robust(ChiSquared(0.5)), _robust(TotalVariation(0.5)))
    return [Campaign(_plain(*PHI_PROBLEMS), methods, range(30), 60, measures=measures)]


def _phi_fig2() -> list[Campaign]:
    methods = ("drbo-chi2", "drbo-tv", "drbo-kl", "drbo-mmd")
    return [Campaign(_plain("branin", "ackley", "hartmann6"), methods, range(5), 30)]


def _phi_fig4() -> list[Campaign]:
    methods = {
        f"{name}, {size} contexts": (name, {"contexts": size})
        for name in ("drbo-chi2", "drbo-tv", "drbo-kl")
        for size in (30, 100, 500)
    } | {f"drbo-mmd, {size} contexts": ("drbo-mmd", {"size": size}) for size in (30, 100)}
    return [Campaign(_plain("wind"), methods, range(10), 50, measures=(_robust(TotalVariation(0.5)),))]


def _phi_fig5() -> list[Campaign]:
    methods = ("drbo-chi2", "drbo-tv", "drbo-kl")
    measures = (_robust(TotalVariation(0.5)), _robust(KL(0.3)))
    return [Campaign(_plain(*PHI_PROBLEMS), methods, range(30), 60, measures=measures)]


def _wasserstein_fig1() -> list[Campaign]:
    told = problem("shift-example").belief
    methods = {
        "WDRBO": ("wdrbo", {"radius": 0.1, "context": told}),
        "WDRBO exact": ("wdrbo-exact", {"radius": 0.1, "context": told}),
        "ERBO": ("wdrbo", {"radius": 0.0, "context": told}),
    }
    return [Campaign(_plain("shift-example"), methods, range(15), 100)]


def _wasserstein_fig2() -> list[Campaign]:
    problems = {
        **_wide("ackley", "modified-branin", "hartmann6", "portfolio-normal"),
        "three-hump-camel": ("three-hump-camel", {"law": "normal"}),
        **_plain("newsvendor", "portfolio-uniform"),
    }
    ours: dict[str, tuple[str, Mapping[str, Any]]] = dict(_plain("wdrbo", "wdrbo-exact", "erbo", "gp-ucb"))
    # Their runs of the other paper's methods share this paper's surrogate.
    shared = {"samples": 512, "surrogate": GP()}
    methods = {**ours, "sbo-kde": ("sbo-kde", shared), "drbo-kde": ("drbo-kde", shared)}
    return [Campaign(problems, methods, range(15), 100, initial=5)]


def _wasserstein_table2() -> list[Campaign]:
    methods = ("wdrbo", "erbo", "gp-ucb", "sbo-kde", "drbo-kde", "drbo-mmd", "drbo-mmd-minimax", "stableopt")
    return [Campaign(_wide("ackley", "modified-branin"), methods, range(5), 100, initial=5)]


PAPER_FIGURES = (
    Figure("bocu-fig2", "bocu, Fig. 2", "TS-BOCU is sublinear on every objective.", _bocu_fig2, "TS-BOCU", "Random"),
    Figure("bocu-fig3", "bocu, Fig. 3", "Sampling for the objective one is judged by is best.", _bocu_fig3),
    Figure("kde-fig1", "kde, Fig. 1", "SBO-KDE and DRBO-KDE beat the others.", _kde_fig1, "sbo-kde", "stableopt"),
    Figure("kde-fig2", "kde, Fig. 2", "So they do with four context variables.", _kde_fig2, "sbo-kde", "stableopt"),
    Figure("kde-table1", "kde, Table 1", "GP-UCB is the cheapest, DRBO-MMD the dearest.", _kde_table1),
    Figure("phi-fig1", "phi, Fig. 1", "The adaptive radius is stable where fixed ones are not.", _phi_fig1),
    Figure("phi-fig2", "phi, Fig. 2", "chi2 and TV cost alike, MMD much more.", _phi_fig2),
    Figure("phi-fig3", "phi, Fig. 3", "chi2 and TV have the least robust regret.", _phi_fig3, "drbo-tv", "random"),
    Figure("phi-fig4", "phi, Fig. 4", "All divergences improve with more contexts.", _phi_fig4),
    Figure("phi-fig5", "phi, Fig. 5", "TV and chi2 do better than KL.", _phi_fig5, "drbo-tv", "drbo-kl"),
    Figure("wasserstein-fig1", "wasserstein, Fig. 1", "Robust beats not.", _wasserstein_fig1, "WDRBO", "ERBO"),
    Figure("wasserstein-fig2", "wasserstein, Fig. 2", "WDRBO, ERBO and SBO-KDE do well.", _wasserstein_fig2),
    Figure("wasserstein-table2", "wasserstein, Table 2", "DRBO-KDE and DRBO-MMD are dear.", _wasserstein_table2),
)
