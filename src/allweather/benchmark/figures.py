"""Figures and tables of the papers that are campaigns: problems, methods and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import Report, report_by_iteration
from allweather.benchmark.regret import Measure
from allweather.distances import KL, MMD, ChiSquared, Distance, TotalVariation
from allweather.objectives import DRO, General
from allweather.problems import problem
from allweather.surrogates import GP

Settings = Mapping[str, tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper: what to run, and what the paper claims."""

    name: str
    source: str
    """Paper and number."""
    claim: str
    campaigns: Callable[[], list[Campaign]]
    """With the paper's seeds and iterations."""
    first: str = ""
    """The method that the paper prefers ..."""
    second: str = ""
    """... to this one."""
    report: Callable[[pd.DataFrame, Path | None], Report] | None = None
    """Summarises the results, with the figure in a file if one is given; by default regret by iteration."""

    def summarise(self, results: pd.DataFrame, path: Path | None) -> Report:
        """Return the table, the verdict on the claim, and the figure written to `path`."""
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
    """Return problems with a context standard deviation of 0.2, as everywhere in wasserstein."""
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


def _mmd(radius: float) -> Distance:
    return MMD(radius, lengthscale=0.1)


class _Objective(NamedTuple):
    """An objective of bocu, with the radius at which the belief is from the truth."""

    label: str
    alpha: float
    beta: float
    distance: Distance

    @property
    def settings(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "beta": self.beta, "distance": self.distance}

    @property
    def measure(self) -> Measure:
        """The objective under the context distribution that the learner is told."""
        return Measure(self.label, General(self.alpha, self.beta, self.distance), "belief")


def _bocu_objectives() -> Iterator[tuple[str, list[_Objective]]]:
    """Yield each problem of bocu with the three objectives of each distance."""
    cells = {"DRO": (1.0, 0.0, True), "WCS": (0.0, 1.0, False), "GEN": (1.0, 1.0, True)}
    for name in ("hartmann3", "gp-sample", "plant-ph", "infection"):
        margins = problem(name).margins
        for distance, make in (("TV", TotalVariation), ("MMD", _mmd)):
            margin = margins[distance.lower()]
            yield (
                name,
                [
                    _Objective(f"{label} {distance}", alpha, beta, make(margin if at_margin else 0.0))
                    for label, (alpha, beta, at_margin) in cells.items()
                ],
            )


def _bocu_fig2() -> list[Campaign]:
    """One campaign per objective."""
    campaigns = []
    for name, objectives in _bocu_objectives():
        for objective in objectives:
            methods: dict[str, tuple[str, Mapping[str, Any]]] = {
                "TS-BOCU": ("ts-bocu", objective.settings),
                "UCB-BOCU": ("ucb-bocu", objective.settings),
                "UCB-BOCU-1": ("ucb-bocu-1", objective.settings),
                "UCB-BOCU-2": ("ucb-bocu-2", objective.settings),
                "UCB-SO": ("ucb-so", {}),
                "UCB-RO": ("ucb-ro", {}),
                "Random": ("random", {}),
            }
            campaigns.append(Campaign([name], methods, range(10), 1000, measures=(objective.measure,)))
    return campaigns


def _bocu_fig3() -> list[Campaign]:
    """Thompson sampling for one objective, evaluated by all three."""
    campaigns = []
    for name, objectives in _bocu_objectives():
        methods = {f"TS-{each.label.split()[0]}": ("ts-bocu", each.settings) for each in objectives}
        measures = tuple(each.measure for each in objectives)
        campaigns.append(Campaign([name], methods, range(10), 1000, measures=measures))
    return campaigns


PHI_PROBLEMS = ("branin", "goldstein-price", "six-hump-camel", "three-hump-camel")


def _robust(distance: Distance) -> Measure:
    return Measure(f"robust {type(distance).__name__} {distance.number:g}", DRO(distance))


def _phi_fig1() -> list[Campaign]:
    """Fixed radii against the schedule, evaluated at a radius of 1."""
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
    belief = problem("shift-example").belief
    methods = {
        "WDRBO": ("wdrbo", {"radius": 0.1, "context": belief}),
        "WDRBO exact": ("wdrbo-exact", {"radius": 0.1, "context": belief}),
        "ERBO": ("wdrbo", {"radius": 0.0, "context": belief}),
    }
    return [Campaign(_plain("shift-example"), methods, range(15), 100)]


def _wasserstein_fig2() -> list[Campaign]:
    problems = {
        **_wide("ackley", "modified-branin", "hartmann6", "portfolio-normal"),
        "three-hump-camel": ("three-hump-camel", {"law": "normal"}),
        **_plain("newsvendor", "portfolio-uniform"),
    }
    ours: dict[str, tuple[str, Mapping[str, Any]]] = dict(_plain("wdrbo", "wdrbo-exact", "erbo", "gp-ucb"))
    # The paper runs the methods of kde with its own surrogate.
    shared = {"samples": 512, "surrogate": GP()}
    methods = {**ours, "sbo-kde": ("sbo-kde", shared), "drbo-kde": ("drbo-kde", shared)}
    return [Campaign(problems, methods, range(15), 100, initial=5)]


def _wasserstein_table2() -> list[Campaign]:
    methods = ("wdrbo", "erbo", "gp-ucb", "sbo-kde", "drbo-kde", "drbo-mmd", "drbo-mmd-minimax", "stableopt")
    return [Campaign(_wide("ackley", "modified-branin"), methods, range(5), 100, initial=5)]


PAPER_FIGURES = (
    Figure(
        "bocu-fig2",
        "bocu, Fig. 2",
        "TS-BOCU has sublinear regret for every objective.",
        _bocu_fig2,
        "TS-BOCU",
        "Random",
    ),
    Figure("bocu-fig3", "bocu, Fig. 3", "Sampling for the objective of the evaluation is best.", _bocu_fig3),
    Figure("kde-fig1", "kde, Fig. 1", "SBO-KDE and DRBO-KDE have the least regret.", _kde_fig1, "sbo-kde", "stableopt"),
    Figure("kde-fig2", "kde, Fig. 2", "The same holds with four context variables.", _kde_fig2, "sbo-kde", "stableopt"),
    Figure("kde-table1", "kde, Table 1", "GP-UCB takes the least time, DRBO-MMD the most.", _kde_table1),
    Figure("phi-fig1", "phi, Fig. 1", "The adaptive radius is stable, fixed ones are not.", _phi_fig1),
    Figure("phi-fig2", "phi, Fig. 2", "chi2 and TV take equal time, MMD much more.", _phi_fig2),
    Figure("phi-fig3", "phi, Fig. 3", "chi2 and TV have the least robust regret.", _phi_fig3, "drbo-tv", "random"),
    Figure("phi-fig4", "phi, Fig. 4", "All divergences improve with more contexts.", _phi_fig4),
    Figure("phi-fig5", "phi, Fig. 5", "TV and chi2 have less regret than KL.", _phi_fig5, "drbo-tv", "drbo-kl"),
    Figure(
        "wasserstein-fig1",
        "wasserstein, Fig. 1",
        "WDRBO has less regret than ERBO.",
        _wasserstein_fig1,
        "WDRBO",
        "ERBO",
    ),
    Figure("wasserstein-fig2", "wasserstein, Fig. 2", "WDRBO, ERBO and SBO-KDE have low regret.", _wasserstein_fig2),
    Figure(
        "wasserstein-table2", "wasserstein, Table 2", "DRBO-KDE and DRBO-MMD take the most time.", _wasserstein_table2
    ),
)
