"""One `ask` with the default against one with what published methods leave open, on the same data in the same run."""

from __future__ import annotations

import time

import pandas as pd
from rich.console import Console
from rich.table import Table

import allweather as aw
from allweather._utils.timing import threads
from allweather.methods.composition import Composition
from benchmarks.asks import CONTEXTS, SPACE, data

OBSERVATIONS, REPEATS = 100, 7


def seconds(goal: str, context: aw.ContextModel, table: pd.DataFrame) -> float:
    """The median of some asks from a cold start."""
    taken = []
    for seed in range(REPEATS):
        study = aw.Study(SPACE, method=Composition(goal=goal), context=context, seed=seed)
        study.add(table)
        started = time.perf_counter()
        study.ask()
        taken.append(time.perf_counter() - started)
    return sorted(taken)[REPEATS // 2]


def main() -> None:
    """Print seconds and their ratio, for outcomes with light and with heavy tails."""
    title = f"one ask after {OBSERVATIONS} trials, {CONTEXTS} contexts, one thread; medians of {REPEATS}"
    shown = Table(title=title)
    for column in ("outcomes", "published s", "every trial s", "recommendation s", "ratio", "target"):
        shown.add_column(column, justify="left" if column == "outcomes" else "right")
    light = data(OBSERVATIONS)
    light["value"] = light["value"].rank() / OBSERVATIONS
    heavy = light.assign(value=-((2 - light["value"]) ** 20))
    with threads(1):
        for name, table in {"light tails": light, "heavy tails": heavy}.items():
            before = seconds("published", aw.KDE(CONTEXTS, bandwidth="silverman", bounds="clip"), table)
            now, final = (seconds(goal, aw.KDE(CONTEXTS), table) for goal in ("every-trial", "recommendation"))
            shown.add_row(name, f"{before:.3f}", f"{now:.3f}", f"{final:.3f}", f"{now / before:.2f}", "1.00")
    Console(width=120).print(shown)
