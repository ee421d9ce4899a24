"""CPU time of one `ask` with 100 observations, beside that of the published code (subsets, App. C.4)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from allweather.benchmark.run import Run
from allweather.benchmark.summaries import standard_error
from allweather.errors import require
from allweather.problems import SubsetProblem

OBSERVATIONS = 100
PUBLISHED = {
    "gp-sample-3d": {"ts-psq": 6.27, "ucb-cvs": 37.92},
    "hartmann3-subsets": {"ts-psq": 4.14, "ucb-cvs": 52.34},
    "plant-5d": {"ts-psq": 8.96, "ucb-cvs": 61.96},
    "airfoil": {"ts-psq": 232.27, "ucb-cvs": 87.09},
}
"""CPU seconds of one iteration with 100 observations, on the paper's server."""
RERUN = {
    "gp-sample-3d": {"ts-psq": 0.85, "ucb-psq": 0.74, "etc-ada": 2.8},
    "hartmann3-subsets": {"ts-psq": 0.83, "ucb-psq": 2.2, "etc-ada": 5.3},
}
"""CPU seconds per iteration of the published code on one thread, over whole runs at moderate costs."""
METHODS = ("ts-psq", "ucb-cvs", "ucb-psq", "etc-ada")
"""ucb-cvs and ucb-psq evaluate all seven control sets, etc-ada at first the three cheapest."""


class Wanted(NamedTuple):
    """What of a table is wanted."""

    seeds: int | None = None
    """How many repetitions; as in the paper if None."""
    quick: bool = False
    """Whether a miniature is enough."""
    problems: Sequence[str] | None = None
    """Only these."""
    methods: Sequence[str] | None = None
    """Only these."""


def ask_times(wanted: Wanted) -> tuple[pd.DataFrame, str]:
    """Measure CPU seconds by problem and method; each seed is one `ask` of a study with other data.

    Args:
        wanted: its seeds are the asks, 3 by default; quick is one problem and one ask.

    Returns:
        The table, and how it compares with the published times.
    """
    quick = wanted.quick
    names = _select(list(PUBLISHED)[: 1 if quick else None], wanted.problems, "problems")
    rows = []
    for name in names:
        for method in _select(list(METHODS), wanted.methods, "methods"):
            found = pd.Series([_seconds(name, method, seed) for seed in range(1 if quick else wanted.seeds or 3)])
            rows.append(
                {
                    "problem": name,
                    "method": method,
                    "mean": found.mean(),
                    "standard_error": standard_error(found),
                    "asks": len(found),
                    "published": PUBLISHED[name].get(method, np.nan),
                    "published_rerun": RERUN.get(name, {}).get(method, np.nan),
                }
            )
    table = pd.DataFrame(rows)
    ratios = (table["published"] / table["mean"]).dropna()
    verdict = f"{ratios.min():.3g} to {ratios.max():.3g} times faster than on the paper's server" if len(ratios) else ""
    return table, verdict


def _seconds(name: str, method: str, seed: int) -> float:
    run = Run(name, method, seed, iterations=None, initial=OBSERVATIONS)
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
