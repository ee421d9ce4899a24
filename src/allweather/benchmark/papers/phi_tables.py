"""Figures of phi that are not campaigns: run time by dimension and contexts (Fig. 2), and the radii (Fig. 6)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from botorch.test_functions import synthetic

from allweather.benchmark.ask_times import Wanted
from allweather.benchmark.summaries import standard_error
from allweather.benchmark.tables import Table
from allweather.methods import method
from allweather.problems.base import Problem
from allweather.problems.formula import Formula
from allweather.problems.laws import Independent, Uniform
from allweather.schedules import DivergenceRadius, Progress
from allweather.space import Space
from allweather.space.variables import Context, Real
from allweather.study import Study

DIMENSIONS = (2, 3, 4, 5, 6)
CONTEXTS = (30, 100, 500)
OBSERVATIONS = 30
METHODS = {"drbo-chi2": "contexts", "drbo-tv": "contexts", "drbo-kl": "contexts", "drbo-mmd": "size"}
"""With the setting that is the number of contexts."""
LAST = 100
"""Iterations of Fig. 6."""


def run_times(wanted: Wanted) -> tuple[pd.DataFrame, str]:
    """Measure CPU seconds of one `ask` with 30 observations of the Ackley function, the last variable its context.

    The number of inputs varies with 30 contexts, and the number of contexts with 2 inputs.

    Args:
        wanted: its seeds are the asks, each with other data, 3 by default; quick is one ask with two and three inputs.

    Returns:
        The table, and how much faster chi-squared and total variation are than MMD.
    """
    sizes = [(d, 30) for d in DIMENSIONS] + [(2, contexts) for contexts in CONTEXTS[1:]]
    rows, quick, methods = [], wanted.quick, wanted.methods
    for d, contexts in sizes[: 2 if quick else None]:
        for name, setting in METHODS.items():
            if methods is None or name in methods:
                found = pd.Series(
                    [_seconds(name, {setting: contexts}, d, seed) for seed in range(1 if quick else wanted.seeds or 3)]
                )
                keys = {"method": name, "inputs": d, "contexts": contexts}
                times = {"mean": found.mean(), "standard_error": standard_error(found), "asks": len(found)}
                rows.append({**keys, **times})
    table = pd.DataFrame(rows)
    return table, _ratios(table)


def _ratios(table: pd.DataFrame) -> str:
    wide = table.pivot(index=["inputs", "contexts"], columns="method", values="mean")
    if not {"drbo-mmd", "drbo-chi2", "drbo-tv"} <= set(wide):
        return ""
    parts = []
    for name in ("drbo-chi2", "drbo-tv"):
        ratio = wide["drbo-mmd"] / wide[name]
        largest = ratio.loc[wide.index.max() if len(wide) < 3 else (max(DIMENSIONS), 30)]
        verdict = "holds" if (ratio > 1).all() else "fails"
        parts.append(
            f"{name} takes less time than drbo-mmd: {verdict} (ratios {ratio.min():.2g} to {ratio.max():.2g},"
            f" {float(largest):.2g} with the most inputs; the paper says about 10 with six)"
        )
    return "; ".join(parts)


def _seconds(name: str, settings: dict[str, Any], d: int, seed: int) -> float:
    """Return the CPU seconds of one `ask`."""
    problem = _ackley(d)
    study = Study(problem.space, method=method(name, **settings), initial=1, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(OBSERVATIONS):
        decision = {each: float(rng.random()) for each in problem.space.decisions}
        context = problem.draw(rng)
        study.add([{**decision, **context, "value": problem.observe(decision, context, rng)}])
    started = time.process_time()
    study.ask()
    return time.process_time() - started


def _ackley(d: int) -> Problem:
    """The Ackley function of d inputs, the last of them the context, uniform."""
    names = {f"x{i + 1}": Real(0, 1) for i in range(d - 1)}
    function = Formula(synthetic.Ackley(d, negate=True), (-32.768,) * d, (32.768,) * d)
    law = Independent((Uniform(),))
    return Problem("ackley", Space(**names, c=Context(0, 1)), function, law.sample, quantile=law.quantile)


def draw_times(table: pd.DataFrame, path: Path) -> Path:
    """Draw seconds against the number of inputs and against the number of contexts.

    Args:
        table: of `run_times`.
        path: of the file.
    """
    import matplotlib.figure

    drawing = matplotlib.figure.Figure(figsize=(10, 3.8), layout="constrained")
    left, right = drawing.subplots(1, 2)
    for axis, varied, fixed, value in ((left, "inputs", "contexts", 30), (right, "contexts", "inputs", 2)):
        for name, block in table[table[fixed] == value].groupby("method", sort=False):
            error = block["standard_error"].fillna(0.0)
            axis.errorbar(block[varied], block["mean"], yerr=error, marker="o", label=str(name), capsize=3)
        axis.set(xlabel=varied, ylabel="CPU seconds per iteration", yscale="log")
    left.legend(frameon=False, fontsize=7)
    drawing.savefig(path, dpi=130)
    return path


def radii(wanted: Wanted) -> tuple[pd.DataFrame, str]:
    """Tabulate the adaptive radius of Sec. 4.2 by iteration.

    Args:
        wanted: not used; it has no seeds.

    Returns:
        The table, and whether the radii tend to 0: the exponent with which they fall over the last half.
    """
    names = {"total-variation": "TV", "chi-squared": "chi2", "kl": "KL"}
    rows = [
        {"divergence": label, "step": step, "mean": DivergenceRadius(name)(Progress(step))}
        for name, label in names.items()
        for step in range(1, LAST + 1)
    ]
    table = pd.DataFrame(rows)
    wide = table.pivot(index="step", columns="divergence", values="mean")
    parts = []
    for name in wide:
        values = wide[name].to_numpy()
        exponent = float(np.log(values[-1] / values[LAST // 2 - 1]) / np.log(2))
        verdict = "holds" if (np.diff(values) < 0).all() and exponent < 0 else "fails"
        parts.append(f"the radius of {name} falls to 0: {verdict} (as t to the power {exponent:.2f})")
    return table, "; ".join(parts)


def draw_radii(table: pd.DataFrame, path: Path) -> Path:
    """Draw the radii against the iteration.

    Args:
        table: of `radii`.
        path: of the file.
    """
    import matplotlib.figure

    drawing = matplotlib.figure.Figure(figsize=(5, 3.8), layout="constrained")
    axis = drawing.subplots()
    for name, block in table.groupby("divergence", sort=False):
        axis.plot(block["step"], block["mean"], label=str(name))
    axis.set(xlabel="iteration", ylabel="adaptive radius")
    axis.legend(frameon=False)
    drawing.savefig(path, dpi=130)
    return path


TABLES = (
    Table(
        "phi-fig2",
        "phi, Fig. 2",
        "chi2 and TV take similar time per iteration, MMD five times as much with five inputs and ten with six.",
        run_times,
        draw_times,
    ),
    Table("phi-fig6", "phi, Fig. 6", "The adaptive radii tend to 0.", radii, draw_radii),
)
