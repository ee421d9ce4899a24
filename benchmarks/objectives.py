"""What every objective and distance costs: CPU time as a multiple of what total variation takes, in the same run.

A study of 30 trials, two decisions and two contexts under `KDE()` is asked for the next trial, for a recommendation,
for the objectives of 500 decisions and for each figure. Each is timed on a study of its own, so that the fit counts
every time, and nothing is remembered from another. Objectives without a distance are compared with `DRO` in total
variation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from rich.table import Table

import allweather as aw
from allweather import plots
from allweather._utils.timing import threads
from benchmarks.stored_tables import show

LIMIT, AIM = 5, 3
FIGURES = ("robustness", "contexts", "profile", "slices", "progress", "check")
DISTANCES: dict[str, Callable[[], aw.Distance]] = {
    "TotalVariation": lambda: aw.TotalVariation(0.2),
    "ChiSquared": lambda: aw.ChiSquared(0.2),
    "KL": lambda: aw.KL(0.1),
    "Phi": lambda: aw.Phi(0.1, phi=lambda u: torch.special.xlogy(u, u) - u + 1, conjugate=torch.expm1),
    "Wasserstein": lambda: aw.Wasserstein(0.1),
    "MMD": lambda: aw.MMD(0.1),
}
ROBUST: dict[str, Callable[[aw.Distance], aw.Objective]] = {
    "DRO": aw.DRO,
    "General": lambda distance: aw.General(1.0, 0.5, distance),
    "MeanRisk": lambda distance: aw.MeanRisk(0.3, distance),
    "WorstCaseSensitivity": aw.WorstCaseSensitivity,
    "MinimaxApproximation": aw.MinimaxApproximation,
    "RobustSatisficing": lambda distance: aw.RobustSatisficing(-0.2, distance),
}
PLAIN: dict[str, Callable[[], aw.Objective]] = {
    "Expectation": aw.Expectation,
    "WorstCase": aw.WorstCase,
    "CVaR": lambda: aw.CVaR(0.2),
    "VaR": lambda: aw.VaR(0.2),
    "MeanVariance": lambda: aw.MeanVariance(0.5),
    "EntropicRisk": lambda: aw.EntropicRisk(1.0),
}
SPACE = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1), u=aw.Context(0, 1), v=aw.Context(0, 1))


def rows(count: int) -> list[dict[str, float]]:
    """Trials whose outcome depends on decisions and contexts together."""
    source, found = np.random.default_rng(0), []
    for _ in range(count):
        x, c = source.random(2), source.normal(0.5, 0.15, 2).clip(0, 1)
        value = -((x - c) ** 2).sum() + 0.3 * np.sin(5 * x[0] * c[1]) + 0.05 * source.normal()
        found.append({"a": x[0], "b": x[1], "u": c[0], "v": c[1], "value": float(value)})
    return found


def study(objective: aw.Objective, trials: int, contexts: int) -> aw.Study:
    """A study with data and without a fit."""
    made = aw.Study(SPACE, context=aw.KDE(contexts), objective=objective, seed=1)
    made.add(rows(trials))
    return made


def measures(decisions: int, figures: Sequence[str]) -> dict[str, Callable[[aw.Study], object]]:
    """What is timed, by name."""
    places = np.random.default_rng(1).random((decisions, 2))
    wanted = [{"a": float(a), "b": float(b)} for a, b in places]
    found: dict[str, Callable[[aw.Study], object]] = {
        "ask": lambda made: made.ask(),
        "recommend": lambda made: made.recommend(),
        f"objectives of {decisions}": lambda made: made.outlook().objectives(wanted),
    }
    for name in figures:
        found[name] = lambda made, draw=plots.STUDY_FIGURES[name]: draw(made)
    return found


def seconds(action: Callable[[aw.Study], object], objective: aw.Objective, trials: int, contexts: int) -> float:
    """CPU seconds of an action on a fresh study."""
    made = study(objective, trials, contexts)
    started = time.process_time()
    action(made)
    return time.process_time() - started


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table of ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks objectives", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="in miniature: few trials, contexts and decisions")
    parser.add_argument("--objectives", nargs="*", help="only these", choices=[*ROBUST, *PLAIN])
    parser.add_argument("--distances", nargs="*", help="only these, besides total variation", choices=[*DISTANCES])
    parser.add_argument("--figures", nargs="*", default=FIGURES, help="only these", choices=FIGURES)
    parser.add_argument("--decisions", type=int, default=500, help="of `outlook().objectives`")
    chosen = parser.parse_args(arguments)
    trials, contexts, decisions = (8, 32, 5) if chosen.quick else (30, 1024, chosen.decisions)
    timed = measures(decisions, chosen.figures)
    title = f"CPU time in units of total variation's; aim {AIM}, limit {LIMIT} ({trials} trials, {contexts} contexts)"
    table = Table(title=title)
    for column in ("objective", "distance", *timed):
        table.add_column(column, justify="left" if column in ("objective", "distance") else "right")
    with threads(1):
        for action in timed.values():  # imports and caches
            seconds(action, aw.DRO(aw.TotalVariation(0.2)), 8, 32)
        for name, cells in compared(chosen, timed, trials, contexts):
            table.add_row(*name, *cells)
    show("objectives", table, 40 + 14 * len(timed))


def compared(
    chosen: argparse.Namespace, timed: dict[str, Callable[[aw.Study], object]], trials: int, contexts: int
) -> list[tuple[tuple[str, str], list[str]]]:
    """One row per objective and distance: seconds in total variation, and ratios elsewhere."""
    found = []
    for name in chosen.objectives or [*ROBUST, *PLAIN]:
        build = ROBUST.get(name, aw.DRO)
        unit = [seconds(action, build(aw.TotalVariation(0.2)), trials, contexts) for action in timed.values()]
        if name in ROBUST:
            found.append(((name, "TotalVariation"), [f"{each:.2f} s" for each in unit]))
            others = [(key, build(DISTANCES[key]())) for key in chosen.distances or list(DISTANCES)[1:]]
        else:
            others = [("", PLAIN[name]())]
        for key, objective in others:
            spent = [seconds(action, objective, trials, contexts) for action in timed.values()]
            ratios = [f"{mine / one:.1f}x" for mine, one in zip(spent, unit, strict=True)]
            found.append(((name, key), ratios))
            print(name, key, *ratios, flush=True)
    return found
