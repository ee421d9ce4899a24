"""Fit, ask and recommend after thousands of trials: CPU time as multiples of one Cholesky factorisation, and memory.

Every size runs in a process of its own. The Cholesky factorisation is that of a covariance matrix of all outcomes in
double precision. Regret is that of the recommended decision, on a function that is known.

    OMP_NUM_THREADS=1 python -m benchmarks trials --sizes 2000 5000 10000

With `--regret` the recommendation of inducing points is compared with that of the exact posterior on the same outcomes,
at sizes where the exact one can be computed: the regret of both, their difference, and standard errors over seeds.

    OMP_NUM_THREADS=1 python -m benchmarks trials --regret --sizes 2000 --seeds 8
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Sequence
from multiprocessing.pool import Pool
from typing import NamedTuple

import pandas as pd
import torch
from rich.table import Table
from torch import Tensor

import allweather as aw
from allweather._utils.timing import threads
from allweather.surrogates.gp import gp
from benchmarks.growth import peak_memory
from benchmarks.stored_tables import show

SPACE = aw.Space(x1=aw.Real(0, 1), x2=aw.Real(0, 1), c1=aw.Context(0, 1), c2=aw.Context(0, 1))
SIZES, QUICK = (2_000, 5_000, 10_000, 20_000), (2_000, 5_000)
NOISE, GRID = 0.1, 201
FIRST_SEED = 100
"""Of the comparison of regrets."""
OBJECTIVES = {"mean": aw.Expectation(), "total variation": aw.DRO(aw.TotalVariation(0.2))}


COLUMNS = ("outcomes", "objective", "Cholesky s", "ask s", "x", "recommend s", "x", "peak GiB", "regret", "note")


class Measured(NamedTuple):
    """One size and objective."""

    ask: float
    """CPU seconds of the first ask, with its fit."""
    recommend: float
    """CPU seconds of a recommendation after it."""
    memory: float
    """GiB, peak of the process."""
    regret: float
    """Mean outcome of the best decision less that of the recommended one, over 512 contexts."""
    approximation: str


def outcome(points: Tensor) -> Tensor:
    """A smooth function (t,) of two decisions and two contexts (t, 4), with several hills."""
    x1, x2, c1, c2 = points.unbind(-1)
    hills = torch.exp(-8 * ((x1 - 0.3 - 0.3 * c1).square() + (x2 - 0.7 + 0.4 * c2).square()))
    return hills + 0.3 * torch.sin(5 * x1 + 3 * c2) * torch.cos(4 * x2 - 2 * c1)


def contexts(n: int, source: torch.Generator) -> Tensor:
    """Contexts (n, 2) around the middle."""
    return (0.5 + 0.2 * torch.randn(n, 2, generator=source, dtype=torch.float64)).clamp(0, 1)


def table(n: int, seed: int | None = None) -> pd.DataFrame:
    """Outcomes with noise: half of the decisions spread, half near the best ones, as searches have them."""
    source = torch.Generator().manual_seed(n if seed is None else seed)
    decisions = torch.rand(n, 2, generator=source, dtype=torch.float64)
    near = 0.45 + 0.1 * torch.randn(n // 2, 2, generator=source, dtype=torch.float64)
    decisions[: n // 2] = near.clamp(0, 1)
    points = torch.cat([decisions, contexts(n, source)], 1)
    values = outcome(points) + NOISE * torch.randn(n, generator=source, dtype=torch.float64)
    return pd.DataFrame(points.numpy(), columns=list(SPACE.variables)).assign(value=values.numpy())


def regret(decision: Tensor) -> float:
    """How much the mean outcome of a decision (2,) is below the best on a grid."""
    law = contexts(512, torch.Generator().manual_seed(0))
    line = torch.linspace(0, 1, GRID, dtype=torch.float64)
    grid = torch.cat([torch.cartesian_prod(line, line), decision[None]])
    means = torch.cat(
        [
            outcome(torch.cat([rows[:, None].expand(-1, 512, -1), law.expand(len(rows), -1, -1)], -1)).mean(-1)
            for rows in grid.split(512)
        ]
    )
    return float(means.max() - means[-1])


def measure(name: str, size: int) -> Measured:
    """Measure one size in this process."""
    study = aw.Study(SPACE, objective=OBJECTIVES[name])
    study.add(table(size))
    times = [time.process_time()]
    study.ask()
    times.append(time.process_time())
    best = study.recommend()
    times.append(time.process_time())
    decision = torch.tensor(list(best.decision.values()), dtype=torch.float64)
    ask, recommend = times[1] - times[0], times[2] - times[1]
    return Measured(ask, recommend, peak_memory(), regret(decision), best.approximation)


def recommended(name: str, size: int, seed: int, exact: bool) -> tuple[float, float]:
    """Regret of what is recommended after so many outcomes, by the exact posterior or by inducing points; CPU s."""
    gp.MAX_EXACT_OUTCOMES = size if exact else 0  # the process is this call's own
    study = aw.Study(SPACE, objective=OBJECTIVES[name], seed=seed)
    study.add(table(size, seed))
    started = time.process_time()
    best = study.recommend()
    spent = time.process_time() - started
    return regret(torch.tensor(list(best.decision.values()), dtype=torch.float64)), spent


def compare(pool: Pool, name: str, sizes: Sequence[int], seeds: int) -> Table:
    """The regret of recommendations by both kinds of posterior, in pairs."""
    shown = Table(title=f"regret of the recommendation, {name}, {seeds} seeds: mean (standard error)")
    for column in ("outcomes", "exact", "inducing points", "difference", "exact CPU s", "inducing points CPU s"):
        shown.add_column(column, justify="right")
    for size in sizes:
        pairs = torch.tensor(
            [
                [pool.apply(recommended, (name, size, FIRST_SEED + seed, exact)) for exact in (True, False)]
                for seed in range(seeds)
            ],
            dtype=torch.float64,
        )  # (seeds, 2, 2)
        exact, inducing = pairs[:, 0, 0], pairs[:, 1, 0]
        cells = [f"{each.mean():.5f} ({each.std() / seeds**0.5:.5f})" for each in (exact, inducing, inducing - exact)]
        shown.add_row(f"{size:,}", *cells, *(f"{each:.1f}" for each in pairs[..., 1].mean(0).tolist()))
    return shown


def cholesky(size: int) -> float:
    """CPU seconds of one Cholesky factorisation of a covariance matrix."""
    points = torch.rand(size, 4, dtype=torch.float64)
    matrix = torch.cdist(points, points).neg_().exp_()
    matrix.diagonal().add_(0.01)
    with threads(1):
        started = time.process_time()
        torch.linalg.cholesky(matrix, out=matrix)
        return time.process_time() - started


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks trials")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--quick", action="store_true", help=f"sizes {QUICK} only")
    parser.add_argument("--objectives", nargs="+", choices=OBJECTIVES, default=list(OBJECTIVES))
    parser.add_argument("--regret", action="store_true", help="compare regrets with the exact posterior's, no times")
    parser.add_argument("--seeds", type=int, default=8, help="of that comparison")
    chosen = parser.parse_args(arguments or [])
    if chosen.regret:
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            for name in chosen.objectives:
                sizes = QUICK[:1] if chosen.quick or chosen.sizes is SIZES else chosen.sizes
                show("regret", compare(pool, name, sizes, chosen.seeds), 140)
        return
    shown = Table(title="first ask and recommend after many trials, 2 decisions, 2 contexts, one thread, CPU time")
    for column in COLUMNS:
        shown.add_column(column, justify="left" if column in ("objective", "note") else "right")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for size in QUICK if chosen.quick else chosen.sizes:
            one = pool.apply(cholesky, (size,))
            for name in chosen.objectives:
                found = pool.apply(measure, (name, size))
                cells = [text for each in found[:2] for text in (f"{each:.2f}", f"{each / one:.1f}")]
                cells += [f"{found.memory:.2f}", f"{found.regret:.4f}", found.approximation]
                shown.add_row(f"{size:,}", name, f"{one:.2f}", *cells)
    show("trials", shown, 200)
