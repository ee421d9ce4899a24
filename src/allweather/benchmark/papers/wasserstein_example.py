"""wasserstein, Fig. 1a: the function of the example with a shifted distribution, and its optima."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from allweather.benchmark.ask_times import Wanted
from allweather.benchmark.regret import Measure
from allweather.contexts import Reference
from allweather.distances import Wasserstein
from allweather.objectives import DRO, Expectation, Objective
from allweather.problems import Problem, problem

RADIUS = 0.1
DECISIONS = 401
"""The function is even in x, so that x >= 0 is enough."""


def table(wanted: Wanted) -> tuple[pd.DataFrame, str]:
    """Find the optimum of the expectation under the reference and the true distribution, and of the robust objective.

    Args:
        wanted: not used; it has no seeds.

    Returns:
        One row per objective: the optimum |x|, its value, and its regret in expectation under the true distribution.
    """
    chosen = problem("shift-example")
    believed, true = (_thinned(Measure(under=under).reference(chosen)) for under in ("belief", "truth"))
    objectives: dict[str, tuple[Objective, Reference]] = {
        "expectation, reference": (Expectation(), believed),
        "expectation, truth": (Expectation(), true),
        f"worst case within {RADIUS} of the reference": (DRO(Wasserstein(RADIUS)), believed),
    }
    grid = torch.linspace(0.5, 1, DECISIONS, dtype=torch.float64)[:, None]
    under_truth = Expectation()(chosen.values(grid, true.points), true)
    rows: list[dict[str, Any]] = []
    for name, (objective, reference) in objectives.items():
        scores = objective(chosen.values(grid, reference.points), reference)
        best = int(scores.argmax())
        regret = float(under_truth.max() - under_truth[best])
        at = {"x": float(2 * grid[best, 0] - 1), "value": float(scores[best])}
        rows.append({"objective": name, **at, "regret": regret})
    plain, _, robust = (float(row["regret"]) for row in rows)
    verdict = "holds" if robust < plain else "fails"
    sentence = f"the robust optimum has less regret under the truth than the reference's: {verdict}"
    return pd.DataFrame(rows), f"{sentence} ({robust:.3g} and {plain:.3g} per step)"


def draw(found: pd.DataFrame, path: Path) -> Path:
    """Draw the function and the optima.

    Args:
        found: of `table`.
        path: of the file.
    """
    import matplotlib.figure

    drawing = matplotlib.figure.Figure(figsize=(5.5, 4), layout="constrained")
    axis: Any = drawing.subplots()
    x, c, values = _surface(problem("shift-example"))
    filled = axis.contourf(x, c, values.T, levels=24, cmap="viridis")
    drawing.colorbar(filled, ax=axis, label="f(x, c)")
    looks = (("#D55E00", "--"), ("white", "-"), ("#E69F00", ":"))
    for name, best, (colour, style) in zip(found["objective"], found["x"].astype(float), looks, strict=True):
        axis.axvline(best, color=colour, linestyle=style, label=f"{name}: |x| = {best:.2f}")
        axis.axvline(-best, color=colour, linestyle=style)
    axis.set(title="optima by objective", xlabel="x", ylabel="c")
    axis.legend(fontsize=6)
    drawing.savefig(path, dpi=130)
    return path


def _surface(chosen: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x (n,), c (m,) in the problem's units and the values (n, m)."""
    units = torch.linspace(0, 1, 121, dtype=torch.float64)[:, None]
    values = chosen.values(units, units).numpy()
    return 2 * units[:, 0].numpy() - 1, units[:, 0].numpy(), values


def _thinned(reference: Reference) -> Reference:
    """Return at most 512 of equally likely quasi-random contexts."""
    return Reference(reference.points[:512], reference.weights[:512] / reference.weights[:512].sum())
