"""Figures of subsets: control sets at three levels of cost, with three variances of the others; times of an `ask`."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pandas as pd

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import Beats, Claim, CloseToBest, InMost, Relative, Sentence
from allweather.benchmark.figures import Figure, Settings, Table, Wanted
from allweather.benchmark.papers.subsets_claims import (
    FULL,
    GainShrinksWithCost,
    LargeVarianceHelps,
    NeverSettles,
    SpendsLessOnCheapSets,
)
from allweather.benchmark.run import Run
from allweather.benchmark.summaries import standard_error
from allweather.errors import require
from allweather.problems import SubsetProblem
from allweather.problems.subsets import COSTS, VARIANCES

METHODS = ("ts-psq", "ucb-psq", "etc-50", "etc-100", "etc-ada")
NAIVE = ("ts-psq-per-cost", "ucb-psq-per-cost", "ei-psq-per-cost")
SEEDS = range(10)


def _settings(name: str, costs: Sequence[str]) -> Settings:
    return {
        f"{name}, {level}, {variance:g}": (name, {"costs": level, "variance": variance})
        for level in costs
        for variance in VARIANCES
    }


def _fig2() -> list[Campaign]:
    """Each run on the GP sample draws its own function, as in the published code."""
    given = ("hartmann3-subsets", "plant-5d", "airfoil")
    others = {label: setting for name in given for label, setting in _settings(name, list(COSTS)).items()}
    return [
        Campaign(_settings("gp-sample-3d", list(COSTS)), METHODS, SEEDS, redrawn=True),
        Campaign(others, METHODS, SEEDS),
    ]


def _fig3() -> list[Campaign]:
    """Add two methods that the paper does not have: EI without costs, and information per unit cost."""
    methods = (*METHODS, *NAIVE, "ei-psq", "kg-cvs")
    return [Campaign(_settings("gp-sample-3d", ["moderate"]), methods, SEEDS, redrawn=True)]


def _kg() -> list[Campaign]:
    """Our rule beside those of Fig. 2, with twice the seeds, since differences between them are small."""
    return [Campaign(_settings("hartmann3-subsets", list(COSTS)), (*METHODS, "kg-cvs"), range(20))]


TIMED_OBSERVATIONS = 100
PUBLISHED_SECONDS = {
    "gp-sample-3d": {"ts-psq": 6.27, "ucb-cvs": 37.92},
    "hartmann3-subsets": {"ts-psq": 4.14, "ucb-cvs": 52.34},
    "plant-5d": {"ts-psq": 8.96, "ucb-cvs": 61.96},
    "airfoil": {"ts-psq": 232.27, "ucb-cvs": 87.09},
}
"""CPU seconds of one iteration with 100 observations, on the paper's server."""
RERUN_SECONDS = {
    "gp-sample-3d": {"ts-psq": 0.85, "ucb-psq": 0.74, "etc-ada": 2.8},
    "hartmann3-subsets": {"ts-psq": 0.83, "ucb-psq": 2.2, "etc-ada": 5.3},
}
"""CPU seconds per iteration of the published code on one thread, over whole runs at moderate costs."""
TIMED_METHODS = ("ts-psq", "ucb-cvs", "ucb-psq", "etc-ada")
"""ucb-cvs and ucb-psq evaluate all seven control sets, etc-ada at first the three cheapest."""


def _ask_times(wanted: Wanted) -> tuple[pd.DataFrame, str]:
    """Measure CPU seconds by problem and method; each seed is one `ask` of a study with other data.

    Args:
        wanted: its seeds are the asks, 3 by default; quick is one problem and one ask.

    Returns:
        The table, and how it compares with the published times.
    """
    quick = wanted.quick
    names = _select(list(PUBLISHED_SECONDS)[: 1 if quick else None], wanted.problems, "problems")
    rows = []
    for name in names:
        for method in _select(list(TIMED_METHODS), wanted.methods, "methods"):
            found = pd.Series([_ask_seconds(name, method, seed) for seed in range(1 if quick else wanted.seeds or 3)])
            rows.append(
                {
                    "problem": name,
                    "method": method,
                    "mean": found.mean(),
                    "standard_error": standard_error(found),
                    "asks": len(found),
                    "published": PUBLISHED_SECONDS[name].get(method, np.nan),
                    "published_rerun": RERUN_SECONDS.get(name, {}).get(method, np.nan),
                }
            )
    table = pd.DataFrame(rows)
    against = {"the paper's server": "published", "the published code on one thread": "published_rerun"}
    return table, "; ".join(_compared(table, column, what) for what, column in against.items())


def _compared(table: pd.DataFrame, column: str, what: str) -> str:
    """Say by which factors the asks are faster, or slower, than known times."""
    ratios = (table[column] / table["mean"]).dropna()
    if not len(ratios):
        return f"not compared with {what}: no times are known"
    slower = int((ratios < 1).sum())
    factors = f"{ratios.min():.3g} to {ratios.max():.3g} times as fast as {what}"
    return f"an ask is {factors} (slower in {slower} of {len(ratios)})"


def _ask_seconds(name: str, method: str, seed: int) -> float:
    run = Run(name, method, seed, iterations=None, initial=TIMED_OBSERVATIONS)
    problem = run.build_problem()
    assert isinstance(problem, SubsetProblem)
    study = run.build_study(problem)
    study.add(problem.initial_data(np.random.default_rng([seed, 0])))
    started = time.process_time()
    study.ask()
    return time.process_time() - started


def _select(known: list[str], wanted: Sequence[str] | None, what: str) -> list[str]:
    chosen = [name for name in known if wanted is None or name in wanted]
    require(len(chosen) > 0, f"reproduce({what}=...)", f"name some of {', '.join(known)}", wanted)
    return chosen


VARIANTS = ("etc-50", "etc-100", "etc-ada")
"""Of UCB-CVS."""
PLAIN = ("ts-psq", "ucb-psq")
_CHEAP = (f"({FULL}).*(cheap|moderate)", "with the full set at cheap and moderate costs")
_EXPENSIVE = ("expensive", "at expensive costs")
_FIG2_CLAIMS: tuple[Claim, ...] = (
    Sentence(
        "where all variables can be controlled together, the variants of UCB-CVS do better than TS-PSQ and UCB-PSQ at "
        "cheap and moderate costs",
        "Sec. 5, no. 1",
        tuple(Beats(variant, other, *_CHEAP) for variant in VARIANTS for other in PLAIN),
    ),
    Sentence(
        "TS-PSQ and UCB-PSQ choose only the full set there",
        "Sec. 5, no. 1",
        tuple(SpendsLessOnCheapSets(other, "", f"({FULL})", "with the full set") for other in PLAIN),
    ),
    Sentence(
        "the advantage becomes smaller as costs rise",
        "Sec. 5, no. 1",
        tuple(GainShrinksWithCost(variant, other) for variant in VARIANTS for other in PLAIN),
    ),
    Sentence(
        "ETC-Ada stays competitive with TS-PSQ and UCB-PSQ at expensive costs",
        "Sec. 5, no. 2",
        (CloseToBest("etc-ada", PLAIN, *_EXPENSIVE),),
    ),
    Sentence(
        "ETC-50 and ETC-100 do worse than TS-PSQ and UCB-PSQ at expensive costs",
        "Sec. 5, no. 2",
        tuple(Beats(other, variant, *_EXPENSIVE) for variant in ("etc-50", "etc-100") for other in PLAIN),
    ),
    Sentence(
        "ETC-Ada generally does well at all costs",
        "Sec. 5, no. 2",
        (
            InMost(
                "etc-ada has less regret than the median of the others in more than half of the settings",
                (Relative("etc-ada", ("etc-50", "etc-100", *PLAIN)),),
            ),
        ),
    ),
    Sentence(
        "TS-PSQ and UCB-PSQ do better on airfoil, where no set contains another",
        "Sec. 5, no. 3",
        tuple(Beats(other, variant, "airfoil", "on airfoil") for variant in VARIANTS for other in PLAIN),
    ),
    Sentence("larger variances often lead to less regret", "Sec. 5, no. 4", (LargeVarianceHelps(),)),
)
_FIG3_CLAIMS: tuple[Claim, ...] = (
    Sentence(
        "TS-PSQ and UCB-PSQ per unit cost do not converge",
        "App. B",
        tuple(NeverSettles(method) for method in ("ts-psq-per-cost", "ucb-psq-per-cost")),
    ),
    Sentence(
        "EI per unit cost makes little use of cheap control sets",
        "App. B",
        tuple(SpendsLessOnCheapSets("ei-psq-per-cost", variant) for variant in VARIANTS),
    ),
    Sentence(
        "UCB-CVS uses cheap sets better and finds better solutions",
        "App. B",
        tuple(Beats(variant, naive) for variant in VARIANTS for naive in NAIVE),
    ),
    Sentence(
        "EI is computationally expensive", "App. B", untested="run times of our implementation say nothing about theirs"
    ),
)
_KG_CLAIMS = tuple(
    Beats("kg-cvs", other, level, f"at {level} costs") for level in COSTS for other in ("etc-ada", *PLAIN)
)
FIGURES: tuple[Figure | Table, ...] = (
    Figure(
        "subsets-fig2",
        "subsets, Fig. 2",
        "With the full set, UCB-CVS variants need less than UCB-PSQ and TS-PSQ unless sets are expensive; ETC-Ada is "
        "competitive there too; on airfoil UCB-PSQ and TS-PSQ do well; larger variances often help.",
        _fig2,
        _FIG2_CLAIMS,
    ),
    Figure(
        "subsets-fig3",
        "subsets, Fig. 3",
        "Acquisitions per unit cost do not converge, or do not use cheap control sets.",
        _fig3,
        _FIG3_CLAIMS,
        ours=("ei-psq", "kg-cvs"),
    ),
    Figure(
        "subsets-kg",
        "subsets, Sec. 6 (future work)",
        "Ours, not the paper's: information per unit cost (kg-cvs) is compared with ETC-Ada, UCB-PSQ and TS-PSQ.",
        _kg,
        _KG_CLAIMS,
        ours=("kg-cvs",),
    ),
    Table("subsets-cpu", "subsets, App. C.4", "No algorithm requires a significant amount of compute.", _ask_times),
)
