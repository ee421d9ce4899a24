"""CPU time and peak memory of one `ask` and one `recommend` with many contexts, each in a process of its own."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Sequence

import torch
from rich.console import Console
from rich.table import Table

import allweather as aw
from benchmarks.asks import SPACE, data
from benchmarks.growth import peak_memory

TRIALS = 30
OBJECTIVES: dict[str, tuple[Callable[[], aw.Objective], int]] = {
    "Expectation": (aw.Expectation, 10**5),
    "CVaR": (lambda: aw.CVaR(0.2), 10**5),
    "TotalVariation": (lambda: aw.DRO(aw.TotalVariation(0.2)), 10**5),
    "ChiSquared": (lambda: aw.DRO(aw.ChiSquared(0.2)), 10**5),
    "KL": (lambda: aw.DRO(aw.KL(0.1)), 10**5),
    "Wasserstein": (lambda: aw.DRO(aw.Wasserstein(0.1)), 10**4),
    "MMD": (lambda: aw.DRO(aw.MMD(0.1)), 10**4),
}
"""Each with the most contexts it is asked for."""


def measure(name: str, contexts: int, action: str) -> tuple[float, float]:
    """CPU seconds of one call on a study without a fit, and the process's peak memory in GiB."""
    torch.set_num_threads(1)
    build, _ = OBJECTIVES[name]
    study = aw.Study(SPACE, context=aw.KDE(contexts), objective=build(), seed=1)
    study.add(data(TRIALS))
    started = time.process_time()
    getattr(study, action)()
    return time.process_time() - started, peak_memory()


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks contexts", description=__doc__)
    parser.add_argument("--objectives", nargs="*", default=list(OBJECTIVES), choices=list(OBJECTIVES))
    parser.add_argument("--contexts", nargs="*", type=int, default=[10**4, 10**5])
    chosen = parser.parse_args(arguments)
    table = Table(title=f"{TRIALS} trials, 2 decisions, 2 contexts, one thread: CPU s, peak memory of the process")
    for column in ("objective", "contexts", "ask", "recommend"):
        table.add_column(column, justify="left" if column == "objective" else "right")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for name in chosen.objectives:
            for contexts in chosen.contexts:
                if contexts <= OBJECTIVES[name][1]:
                    cells = [pool.apply(measure, (name, contexts, action)) for action in ("ask", "recommend")]
                    shown = [f"{seconds:.2f} s  {memory:.2f} GiB" for seconds, memory in cells]
                    table.add_row(name, f"{contexts:,}", *shown)
                    print(name, contexts, *shown, flush=True)
    Console(width=100).print(table)
