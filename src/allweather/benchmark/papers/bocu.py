"""Figures of bocu."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import Beats, Least, Sublinear
from allweather.benchmark.figures import Figure
from allweather.benchmark.regret import Measure
from allweather.distances import MMD, Distance, TotalVariation
from allweather.objectives import General
from allweather.problems import problem

PROBLEMS = ("hartmann3", "gp-sample", "plant-ph", "infection")
SEEDS = range(10)
CELLS = {"DRO": (1.0, 0.0, True), "WCS": (0.0, 1.0, False), "GEN": (1.0, 1.0, True)}
"""Objectives: alpha, beta, and whether the radius is the margin."""


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


def _objectives() -> Iterator[tuple[str, list[_Objective]]]:
    """Yield each problem with the three objectives of each distance."""
    for name in PROBLEMS:
        margins = problem(name).margins
        for distance, make in (("TV", TotalVariation), ("MMD", _mmd)):
            margin = margins[distance.lower()]
            yield (
                name,
                [
                    _Objective(f"{label} {distance}", alpha, beta, make(margin if at_margin else 0.0))
                    for label, (alpha, beta, at_margin) in CELLS.items()
                ],
            )


def _fig2() -> list[Campaign]:
    """One campaign per objective."""
    campaigns = []
    for name, objectives in _objectives():
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
            campaigns.append(Campaign([name], methods, SEEDS, 1000, measures=(objective.measure,)))
    return campaigns


def _fig3() -> list[Campaign]:
    """Thompson sampling for one objective, evaluated by all three."""
    campaigns = []
    for name, objectives in _objectives():
        methods = {f"TS-{each.label.split()[0]}": ("ts-bocu", each.settings) for each in objectives}
        measures = tuple(each.measure for each in objectives)
        campaigns.append(Campaign([name], methods, SEEDS, 1000, measures=measures))
    return campaigns


FIGURES = (
    Figure(
        "bocu-fig2",
        "bocu, Fig. 2",
        "TS-BOCU has sublinear regret for every objective, and low regret relative to the baselines.",
        _fig2,
        (
            Sublinear("TS-BOCU"),
            *(Beats("TS-BOCU", other) for other in ("UCB-BOCU-1", "UCB-BOCU-2", "UCB-SO", "UCB-RO", "Random")),
        ),
    ),
    Figure(
        "bocu-fig3",
        "bocu, Fig. 3",
        "Sampling for the objective of the evaluation is best.",
        _fig3,
        tuple(Least((f"TS-{label}",), f", {label} ", f"evaluated by {label}") for label in CELLS),
    ),
)
