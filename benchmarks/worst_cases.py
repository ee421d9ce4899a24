"""Worst cases of 1024 decisions over 64 contexts, against a compiled cvxpy problem called once per decision."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import cvxpy as cp
import numpy as np
import torch
from rich.table import Table

import allweather as aw
from benchmarks.stored_tables import show

DECISIONS, CONTEXTS, CALLS = 1024, 64, 40
TARGETS = {"TotalVariation": 1000, "ChiSquared": 1000, "KL": 200, "Wasserstein": 100, "MMD": 30}
LINE = torch.linspace(0, 1, CONTEXTS, dtype=torch.float64)[:, None]
SQUARE = torch.cartesian_prod(LINE[::9, 0], LINE[::9, 0])
CASES = [
    (aw.TotalVariation(0.3), LINE),
    (aw.ChiSquared(0.3), LINE),
    (aw.KL(0.3), LINE),
    (aw.Wasserstein(0.1), LINE),
    (aw.Wasserstein(0.1), SQUARE),
    (aw.MMD(0.0722, lengthscale=0.1), LINE),
    (aw.MMD(0.0586, lengthscale=0.1), SQUARE),
]


def functions(kind: str, points: torch.Tensor) -> torch.Tensor:
    """(1024, 64) draws of a smooth Gaussian process, or independent noise."""
    source = torch.Generator().manual_seed(0)
    noise = torch.randn(DECISIONS, CONTEXTS, generator=source, dtype=torch.float64)
    if kind == "noise":
        return noise
    covariance = torch.exp(-0.5 * (torch.cdist(points, points) / 0.2) ** 2) + 1e-8 * torch.eye(
        CONTEXTS, dtype=torch.float64
    )
    return noise @ torch.linalg.cholesky(covariance).T


def references(points: torch.Tensor) -> dict[str, aw.Reference]:
    """Equal weights, as sampled beliefs have, and unequal ones."""
    bell = torch.exp(-((points - 0.5) ** 2).sum(-1) / 0.1)
    equal = torch.full((CONTEXTS,), 1 / CONTEXTS, dtype=torch.float64)
    return {"equal": aw.Reference(points, equal), "unequal": aw.Reference(points, bell / bell.sum())}


def compiled(distance: aw.Distance, reference: aw.Reference) -> Callable[[np.ndarray], float]:
    """The convex program of one decision, compiled once, with the values as its parameter."""
    p = reference.weights.numpy()
    q, f = cp.Variable(CONTEXTS, nonneg=True), cp.Parameter(CONTEXTS)
    constraints = [cp.sum(q) == 1]
    match distance:
        case aw.TotalVariation():
            d = cp.norm1(q - p)
        case aw.ChiSquared():
            d = cp.sum_squares(cp.multiply(q - p, 1 / np.sqrt(p)))
        case aw.KL():
            d = cp.sum(cp.kl_div(q, p))
        case aw.MMD():
            root = np.linalg.cholesky(distance.gram(reference).numpy()).T
            d = cp.norm(root @ q - root @ p)
        case aw.Wasserstein():
            plan = cp.Variable((CONTEXTS, CONTEXTS), nonneg=True)
            constraints += [cp.sum(plan, axis=1) == p, cp.sum(plan, axis=0) == q]
            d = cp.sum(cp.multiply(plan, distance.costs(reference).numpy()))
    program = cp.Problem(cp.Minimize(f @ q), [*constraints, d <= distance.number])

    def solve(values: np.ndarray) -> float:
        f.value = values
        return float(program.solve(solver=cp.CLARABEL))

    return solve


def seconds(function: Callable[[], object], repeats: int) -> float:
    """The median time of a call, after one to warm up."""
    function()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return statistics.median(times)


def main() -> None:
    """Print the table of ratios."""
    torch.set_num_threads(1)
    table = Table(
        title=f"{DECISIONS} decisions x {CONTEXTS} contexts, one thread: cvxpy + clarabel per decision, ours for all"
    )
    for column in (
        "distance",
        "values",
        "weights",
        "cvxpy ms each",
        "ours ms for all",
        "ratio",
        "target",
        "largest difference",
    ):
        table.add_column(column, justify="right" if column[0] in "corlt" else "left")
    for distance, points in CASES:
        name = type(distance).__name__
        for kind in ("smooth", "noise"):
            values = functions(kind, points)
            for label, reference in references(points).items():
                solve = compiled(distance, reference)
                rows = values[:CALLS].numpy()
                solve(rows[0])
                started = time.process_time()
                answers = [solve(row) for row in rows]
                each = (time.process_time() - started) / CALLS
                ours = seconds(lambda d=distance, v=values, r=reference: d.worst_case(v, r), 9)
                found = distance.worst_case(values[:CALLS], reference).value
                difference = (found - torch.tensor(answers)).abs().max().item()
                ratio = each * DECISIONS / ours
                where = f"{name}, 8 x 8 grid" if points is SQUARE else name
                times = f"{1e3 * each:.2f}", f"{1e3 * ours:.2f}", f"{ratio:.0f}x"
                table.add_row(where, kind, label, *times, f"{TARGETS[name]}x", f"{difference:.0e}")
    show("worst_cases", table, 120)
