"""One `ask` among seven control sets against the straightforward way, on the same data in the same run.

Hartmann's function of three variables, every subset of them a control set, 1024 samples of what is left alone, 60
observations, fixed hyperparameters. The straightforward way calls GPyTorch's posterior on all joint points of each set
and maximises with SciPy's L-BFGS-B, whose gradients are finite differences, from the best five of 100 random points, as
the published code does (errata E49; it takes 10,000 points for the full set). "Lean" it starts from five random points
and asks for each point's variance alone instead of reading it off the joint posterior of all samples.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.optimize
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from rich.console import Console
from rich.table import Table
from torch import Tensor

import allweather as aw
from allweather._utils.timing import threads
from allweather.problems.hartmann import Hartmann

NAMES = ("x1", "x2", "x3")
COSTS = {1: 0.1, 2: 0.2, 3: 1.0}
OBSERVATIONS, SAMPLES, WIDTH, RAW, STARTS, TARGET = 60, 1024, 2.0, 100, 5, 30


def function(points: Tensor) -> Tensor:
    """Hartmann's function (n,) of points (n, 3)."""
    return Hartmann(3)(points, torch.zeros(1, 0, dtype=torch.float64))[:, 0]


def model(points: Tensor, values: Tensor) -> SingleTaskGP:
    """The same GP with GPyTorch."""
    likelihood = GaussianLikelihood().double()
    likelihood.noise = torch.tensor(1e-4, dtype=torch.float64)
    kernel = ScaleKernel(RBFKernel(ard_num_dims=3)).double()
    kernel.base_kernel.lengthscale, kernel.outputscale = 0.1, 1.0
    parts = {"likelihood": likelihood, "covar_module": kernel, "mean_module": ZeroMean(), "outcome_transform": None}
    return SingleTaskGP(points, values[:, None], **parts).eval()


def straightforward(gp: SingleTaskGP, sets: list[tuple[str, ...]], draws: Tensor, lean: bool) -> tuple[float, float]:
    """Seconds, and the best expected upper bound over all sets."""
    started, best, rng = time.perf_counter(), -np.inf, np.random.default_rng(0)
    for each in sets:
        columns = [NAMES.index(name) for name in each]

        def loss(decision: np.ndarray, columns: list[int] = columns) -> float:
            points = draws.clone()
            points[:, columns] = torch.from_numpy(decision)
            return -float(upper(gp, points[:, None, :] if lean else points))

        starts = rng.random((STARTS if lean else RAW, len(columns)))
        if not lean:
            starts = starts[np.argsort([loss(start) for start in starts])[:STARTS]]
        for start in starts:
            found = scipy.optimize.minimize(loss, start, method="L-BFGS-B", bounds=[(0, 1)] * len(columns))
            best = max(best, -found.fun)
    return time.perf_counter() - started, best


def ours(rows: list[dict[str, float]], control: aw.Control, law: Any) -> tuple[float, aw.Trial]:
    """The median seconds of five asks, and the last trial."""
    surrogate = aw.GP(lengthscales=0.1, outputscale=1.0, noise=0.01, mean=0.0)
    space = aw.Space(**{name: aw.Real(0, 1) for name in NAMES})
    context = aw.Known(dict.fromkeys(NAMES, law), samples=SAMPLES)
    seconds = []
    for seed in range(5):
        study = aw.Study(space, method="ucb-psq", control=control, context=context, surrogate=surrogate, seed=seed)
        study.add(rows)
        started = time.perf_counter()
        trial = study.ask()
        seconds.append(time.perf_counter() - started)
    return sorted(seconds)[2], trial


def main() -> None:
    """Print the ratios."""
    law = aw.truncated_normal(0.5, 0.04)
    points = torch.from_numpy(np.random.default_rng(0).random((OBSERVATIONS, 3)))
    values = function(points)
    table = torch.cat([points, values[:, None]], 1).tolist()
    rows = [dict(zip((*NAMES, "value"), row, strict=True)) for row in table]
    control = aw.Control.every(NAMES, cost=lambda names: COSTS[len(names)])
    sets = [each.variables for each in control.sets]
    draws, gp = torch.from_numpy(law.rvs((SAMPLES, 3), random_state=1)), model(points, values)
    with threads(1):
        seconds, trial = ours(rows, control, law)
        ways = {"as published": False, "lean": True}
        theirs = {name: straightforward(gp, sets, draws, lean) for name, lean in ways.items()}
        decision = torch.tensor([[trial.decision[name] for name in NAMES]], dtype=torch.float64)  # all are controlled
        found = float(upper(gp, decision))
    shown = Table(title="one ask among seven control sets, one thread; ours is the median of five")
    for column in ("straightforward", "seconds", "ours s", "ratio", "target", "their best bound", "ours"):
        shown.add_column(column, justify="right")
    for name, (taken, best) in theirs.items():
        ratio = f"{taken / seconds:.0f}x"
        shown.add_row(name, f"{taken:.1f}", f"{seconds:.3f}", ratio, f"{TARGET}x", f"{best:.4f}", f"{found:.4f}")
    Console(width=120).print(shown)


def upper(gp: SingleTaskGP, points: Tensor) -> Tensor:
    """The mean upper bound over points."""
    with torch.no_grad():
        posterior = gp.posterior(points)
        return (posterior.mean + WIDTH * posterior.variance.sqrt()).mean()
