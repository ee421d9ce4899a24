"""Regrets of the papers' published code in our runs of it, and ours under the same settings.

`benchmarks/results/published_code.json` holds the regrets of the published code, which is not part of this repository.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from allweather.benchmark import Campaign, at_costs
from allweather.benchmark.figures import Figure
from allweather.benchmark.papers import CATALOGUE
from benchmarks import defaults, paired, stored_runs
from benchmarks.stored_runs import Record

NAME = "published-code"
"""Of the runs that no figure has, in the place of a figure's name."""
RESULTS = Path(__file__).parent / "results" / "published_code.json"
DEFAULTS = "defaults"
"""Of the runs of `python -m benchmarks defaults`, which have the initial trials, laws and seeds of kde."""
FEW = 5
"""With fewer seeds on either side, both sides are assumed to have the same variance."""
KDE_METHODS = {
    "SBOKDE": "sbo-kde",
    "DRBOKDE": "drbo-kde",
    "MMD": "drbo-mmd",
    "MMD_Minimax_Approx": "drbo-mmd-minimax",
    "Stable": "stableopt",
    "UCB": "gp-ucb",
    "EmpiricalUCB": "erbo",
    "WassersteinUCB": "wdrbo",
}
SUBSET_METHODS = {"ETC-Ada": "etc-ada", "UCB-PSQ": "ucb-psq", "TS-PSQ": "ts-psq"}
PROBLEMS = {
    "sbokde": {"Ackley": "ackley", "Modified_Branin": "modified-branin"},
    "WDRBO": {"Ackley": "ackley", "Modified_Branin": "modified-branin"},
    "unified-framework-BOCU": {"Hartmann": "hartmann3", "GP": "gp-sample"},
    "bocvs": {"Hartmann": "hartmann3-subsets", "GP": "gp-sample-3d"},
}
FIGURES = {
    "sbokde": ("kde-fig1", DEFAULTS),
    "WDRBO": ("wasserstein-fig2",),
    "unified-framework-BOCU": (NAME, "bocu-fig2"),
    "bocvs": (NAME, "subsets-fig2"),
}
"""Where the runs with the same settings are stored; that with the most seeds counts."""
REASONS = {
    "MMD_Minimax_Approx": "the published approximation is another formula (E10)",
    "MMD": "one seed; the search and the surrogate are ours (E12)",
    "Stable": "the published box is [m - 3s, m - s] (E4)",
    "DRBOKDE": "the published infimum is taken outside the context box (E4)",
    "GP": "functions are exact draws here and interpolated there, with less variance (E37)",
}
"""Known differences, by method or problem of the published code."""


LONG = (("hartmann3", "DRO TV"), ("hartmann3", "GEN TV"), ("gp-sample", "DRO TV"))
"""Problems and measures of which the published code was run for 400 iterations, too."""


class Comparison(NamedTuple):
    """Regrets of the published code and ours under the same settings."""

    code: str
    problem: str
    method: str
    at: float
    """Iterations after the initial trials; with control sets, the cost spent."""
    published: np.ndarray
    """By seed."""
    ours: np.ndarray
    """By seed; empty where nothing is stored."""

    @property
    def difference(self) -> float:
        """Ours less the published mean."""
        return float(self.ours.mean() - self.published.mean())

    @property
    def standard_error(self) -> float:
        """Of the difference, from the errors of both sides."""
        sizes = (len(self.published), len(self.ours))
        squares = [float(((side - side.mean()) ** 2).sum()) for side in (self.published, self.ours)]
        if min(sizes) >= FEW:
            return self.separate_error
        freedom = sum(sizes) - 2
        return math.sqrt(sum(squares) / freedom * sum(1 / size for size in sizes)) if freedom > 0 else math.nan

    @property
    def separate_error(self) -> float:
        """Of the difference, where each side has a variance of its own; NaN where one has a single seed."""
        sides = (self.published, self.ours)
        return math.sqrt(sum(float(side.var(ddof=1)) / len(side) if len(side) > 1 else math.nan for side in sides))

    @property
    def agrees(self) -> bool:
        """Whether the difference is within two of its standard errors."""
        return abs(self.difference) <= 2 * self.standard_error

    @property
    def reason(self) -> str:
        """A known difference that may explain a disagreement, or that there are few seeds."""
        known = REASONS.get(self.method) or REASONS.get(self.problem.split(",")[0])
        freedom = len(self.published) + len(self.ours) - 2
        few = abs(self.difference) <= scipy.stats.t.ppf(0.975, freedom) * self.standard_error
        if known or few:
            return known or "within the 95% interval of Student's t for so few seeds"
        wide = abs(self.difference) <= 2 * self.separate_error
        return "within two standard errors if each side has a variance of its own" if wide else "unexplained"


def campaigns() -> list[Campaign]:
    """Runs with the settings of the published code that no figure has."""
    figure = CATALOGUE["bocu-fig2"]
    assert isinstance(figure, Figure)
    found = []
    for each in figure.campaigns():
        name, measure = next(iter(each.problems)), each.measures[0]
        methods: Any = each.methods
        if name in ("hartmann3", "gp-sample") and measure.name.endswith("TV") and "TS-BOCU" in methods:
            wide = {**methods["TS-BOCU"][1], "width": 2.0}
            chosen = {"TS-BOCU": methods["TS-BOCU"], "Random": ("random", {})}
            chosen["UCB-BOCU-2 (width 2)"] = ("ucb-bocu-2", wide)
            redrawn = name == "gp-sample"
            found.append(Campaign([name], chosen, range(10), 50, measures=each.measures, redrawn=redrawn))
            if (name, measure.name) in LONG:
                some = {label: chosen[label] for label in ("TS-BOCU", "Random")}
                found.append(Campaign([name], some, range(5), 400, measures=each.measures, redrawn=redrawn))
    options = {"costs": "moderate", "variance": 0.04, "interpolated": True}
    problems = {"gp-sample-3d, moderate, 0.04": ("gp-sample-3d", options)}
    return [*found, Campaign(problems, list(SUBSET_METHODS.values()), range(10), redrawn=True)]


def comparisons(records: Sequence[Record], path: Path = RESULTS) -> list[Comparison]:
    """Every regret of the published code beside ours.

    Args:
        records: the stored runs.
        path: the regrets of the published code.
    """
    known = [*records, *_defaults()]
    found = []
    for entry in json.loads(path.read_text()):
        code, problem, method, at = (entry[name] for name in ("code", "problem", "method", "at"))
        ours = _ours(known, code, problem, method, float(at))
        found.append(Comparison(code, problem, method, at, np.array(entry["regret"], dtype=float), ours))
    return found


def _ours(records: Sequence[Record], code: str, problem: str, method: str, at: float) -> np.ndarray:
    """Our regrets (seeds,) under the settings of an entry."""
    first, *rest = problem.split(", ")
    name, measure = PROBLEMS[code][first], None
    if code == "bocvs":
        name = ", ".join([name, *rest])
    elif rest:
        measure = rest[0]
    label = {**KDE_METHODS, **SUBSET_METHODS}.get(method, method)
    sources = []
    for figure in FIGURES[code]:
        values = [
            _at(each, at)
            for each in records
            if (each["figure"], each["problem"], each["method"]) == (figure, name, label)
            and measure in (None, each.get("measure"))
        ]
        sources.append(np.array([value for value in values if value is not None]))
    return max(sources, key=len)


def _defaults() -> list[Record]:
    """Runs of the campaign of the defaults as records, without GP-UCB, whose surrogate is not that of kde there."""
    return [
        {"figure": DEFAULTS, **{name: each[name] for name in ("problem", "method", "seed")}, "measure": "expected"}
        | {"steps": [each["trials"]], "cumulative": [each["cumulative"][0]]}
        for each in paired.read(defaults.RESULTS)
        if each["method"] != "gp-ucb"
    ]


def _at(record: Record, at: float) -> float | None:
    """The regret at an iteration, or the simple regret at a cost; None where the run did not reach it."""
    if "spent" in record:
        table = stored_runs.table([record])
        return float(at_costs(table, [at])["simple"].iloc[0]) if record["spent"][-1] >= at - 1 else None
    return record["cumulative"][record["steps"].index(at)] if at in record["steps"] else None
