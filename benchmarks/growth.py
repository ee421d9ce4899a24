"""How time and memory grow with the number of contexts, each size in a process of its own."""

from __future__ import annotations

import multiprocessing
import re
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

import allweather as aw

DECISIONS = 64
SIZES = (10**2, 10**3, 10**4, 10**5)
DISTANCES = {
    "TotalVariation": (aw.TotalVariation(0.3), SIZES),
    "ChiSquared": (aw.ChiSquared(0.3), SIZES),
    "KL": (aw.KL(0.3), SIZES),
    "Wasserstein, 1-D": (aw.Wasserstein(0.1), SIZES),
    "MMD": (aw.MMD(0.1, lengthscale=0.1), SIZES[:2]),
}


def peak_memory() -> float:
    """This process's peak memory in GiB; unlike `getrusage` it forgets what the parent used."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 2**20


def measure(distance: aw.Distance, n: int) -> tuple[float, float]:
    """Seconds of one call, and the process's peak memory in GiB."""
    torch.set_num_threads(1)
    source = torch.Generator().manual_seed(0)
    values = torch.randn(DECISIONS, n, generator=source, dtype=torch.float64).cumsum(-1) / n**0.5
    points = torch.linspace(0, 1, n, dtype=torch.float64)[:, None]
    reference = aw.Reference(points, torch.full((n,), 1 / n, dtype=torch.float64))
    distance.worst_case(
        values[:, : min(n, 100)],
        aw.Reference(points[:100], torch.full((min(n, 100),), 1 / min(n, 100), dtype=torch.float64)),
    )
    started = time.perf_counter()
    distance.worst_case(values, reference)
    return time.perf_counter() - started, peak_memory()


def main() -> None:
    """Print the table of growth."""
    table = Table(title=f"{DECISIONS} decisions, one thread: seconds, and peak memory of the whole process")
    table.add_column("distance")
    for size in SIZES:
        table.add_column(f"{size:,} contexts", justify="right")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for name, (distance, sizes) in DISTANCES.items():
            cells = [pool.apply(measure, (distance, size)) for size in sizes]
            table.add_row(name, *(f"{s:.4f} s  {memory:.2f} GiB" for s, memory in cells))
    Console(width=120).print(table)
