"""How the time and memory of one `ask` grow with observations and contexts, each size in a process of its own."""

from __future__ import annotations

import multiprocessing
import time

from rich.console import Console
from rich.table import Table

import allweather as aw
from benchmarks.asks import OBJECTIVES, SPACE, data
from benchmarks.growth import peak_memory

OBSERVATIONS = (100, 300, 1000)
CONTEXTS = (1_000, 10_000)


def measure(name: str, observations: int, contexts: int) -> tuple[float, float]:
    """Seconds of one ask after all those observations, and the process's peak memory in GiB."""
    study = aw.Study(SPACE, context=aw.KDE(contexts), objective=OBJECTIVES[name])
    study.add(data(observations))
    started = time.perf_counter()
    study.ask()
    return time.perf_counter() - started, peak_memory()


def main() -> None:
    """Print the table of growth."""
    table = Table(title="one ask from a cold start, 2 decisions, 2 contexts, one thread: seconds, peak memory")
    table.add_column("objective")
    sizes = [(t, n) for n in CONTEXTS for t in OBSERVATIONS]
    for observations, contexts in sizes:
        table.add_column(f"{observations:,} data, {contexts:,} contexts", justify="right")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for name in OBJECTIVES:
            cells = [pool.apply(measure, (name, *size)) for size in sizes]
            table.add_row(name, *(f"{seconds:.2f} s  {memory:.2f} GiB" for seconds, memory in cells))
    Console(width=160).print(table)
