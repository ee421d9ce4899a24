"""Worst cases and a large ask on a GPU against one CPU core, in the same run.

python -m benchmarks gpu
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table

import allweather as aw
from allweather._utils.timing import threads
from benchmarks.trials import SPACE, table

DECISIONS = CONTEXTS = 1024
OUTCOMES, MANY = 5_000, 10_000
REPEATS = 3
TARGET = 10


def worst_cases(distance: aw.Distance, decisions: int, contexts: int, device: str) -> Callable[[], object]:
    """Worst cases of smooth random functions of two contexts, prepared on a device."""
    source = torch.Generator().manual_seed(0)
    points = torch.rand(contexts, 2, generator=source, dtype=torch.float64)
    waves = torch.randn(2, 32, generator=source, dtype=torch.float64) * 4
    values = torch.randn(decisions, 32, generator=source, dtype=torch.float64) @ (points @ waves).cos().T
    weights = torch.full((contexts,), 1 / contexts, dtype=torch.float64)
    moved = aw.Reference(points.to(device), weights.to(device))
    there = values.to(device)
    return lambda: distance.worst_case(there, moved).value.sum().item()


def large_ask(outcomes: int, contexts: int, device: str) -> Callable[[], object]:
    """The default's ask, its fit included, each time of a study that has not been asked before."""
    rows = table(outcomes)

    def prepared() -> aw.Study:
        study = aw.Study(SPACE, context=aw.KDE(contexts), device=device)
        study.add(rows)
        _ = study.history.observations  # reading rows is no matter of the device
        return study

    studies = [prepared() for _ in range(REPEATS + 1)]
    return lambda: studies.pop().ask()


def seconds(prepare: Callable[[str], Callable[[], object]], device: str) -> float:
    """The shortest of some calls after one that is not counted; on a GPU results are waited for."""
    call = prepare(device)
    if device != "cpu":
        call()
    taken = []
    for _ in range(REPEATS if device != "cpu" else 1):
        started = time.perf_counter()
        call()
        if device != "cpu":
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - started)
    return min(taken)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sizes, for a trial run")
    chosen = parser.parse_args(arguments or [])
    decisions, contexts, outcomes, many = (
        max(8, int(chosen.scale * each)) for each in (DECISIONS, CONTEXTS, OUTCOMES, MANY)
    )
    cases = {
        f"Wasserstein, {decisions} decisions x {contexts} contexts": lambda device: worst_cases(
            aw.Wasserstein(0.1), decisions, contexts, device
        ),
        f"MMD, {decisions} decisions x {contexts} contexts": lambda device: worst_cases(
            aw.MMD(0.1), decisions, contexts, device
        ),
        f"default ask, {outcomes:,} outcomes x {many:,} contexts": lambda device: large_ask(outcomes, many, device),
    }
    shown = Table(title=f"{chosen.device} against one CPU core, seconds")
    for column in ("computation", "CPU s", f"{chosen.device} s", "ratio", "target"):
        shown.add_column(column, justify="left" if column == "computation" else "right")
    for name, prepare in cases.items():
        with threads(1):
            slow, fast = seconds(prepare, "cpu"), seconds(prepare, chosen.device)
        shown.add_row(name, f"{slow:.2f}", f"{fast:.3f}", f"{slow / fast:.1f}", f"{TARGET}")
        print(name, slow, fast, flush=True)
    Console(width=120).print(shown)
