"""Whole runs of published methods against the straightforward way, on the same problems in the same run.

Ours is timed over all iterations. The straightforward way (BoTorch's fit, posterior on all joint points and
`optimize_acqf` with 10 restarts and 128 raw samples; cvxpy for worst cases) is timed at three of the steps, on the
data that our run had then, and their mean is multiplied by the number of iterations: whole runs would take long.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import cvxpy as cp
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling.pathwise import draw_matheron_paths
from gpytorch.mlls import ExactMarginalLogLikelihood
from rich.console import Console
from rich.table import Table
from torch import Tensor

import allweather as aw
from allweather.benchmark import Run
from allweather.benchmark.runner import _step
from allweather.clock import threads
from allweather.engine import ASK, Situation
from allweather.problems import problem
from benchmarks.asks import WIDTH, Straightforward, solver

TARGETS = {"sbo-kde": 30, "drbo-kde": 100, "wdrbo": 20, "ts-bocu": 200}


class SteepUCB(AcquisitionFunction):
    """The mean of the upper bound less the radius times its steepest gradient, by automatic differentiation."""

    def __init__(self, model: SingleTaskGP, reference: aw.Reference, radius: float) -> None:
        super().__init__(model)
        self.reference, self.radius = reference, radius

    def forward(self, X: Tensor) -> Tensor:
        """Decisions (b, 1, d_x) to (b,)."""
        points, weights = self.reference
        b, n = len(X), len(points)
        joint = torch.cat([X.expand(b, n, -1), points.expand(b, n, -1)], -1)
        joint = joint if joint.requires_grad else joint.requires_grad_()
        with torch.enable_grad():
            posterior = self.model.posterior(joint[..., None, :])
            upper = (posterior.mean + WIDTH * posterior.variance.sqrt()).reshape(b, n)
            (slope,) = torch.autograd.grad(upper.sum(), joint, create_graph=True)
        steepest = slope[..., X.shape[-1] :].norm(dim=-1).amax(-1)
        return upper @ weights - self.radius * steepest


def fitted(belief: aw.Belief) -> SingleTaskGP:
    """BoTorch's model of the same data, fitted by BoTorch."""
    data = belief.observations
    model = SingleTaskGP(data.joint, data.values[:, None])
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def continuous(belief: aw.Belief) -> None:
    """One ask of a method on a box."""
    model, (points, weights) = fitted(belief), belief.reference
    if isinstance(belief.objective, aw.LipschitzRegularised):
        acquisition: AcquisitionFunction = SteepUCB(model, belief.reference, belief.objective.radius)
    elif isinstance(belief.objective, aw.DRO):
        acquisition = Straightforward(model, points, solver(weights, belief.objective.distance.number))
    else:
        acquisition = Straightforward(model, points, lambda upper: upper @ weights)
    box = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    optimize_acqf(acquisition, box, q=1, num_restarts=10, raw_samples=128)


def on_a_grid(belief: aw.Belief, grid: Tensor) -> None:
    """One ask of Thompson sampling for `v + delta` in MMD: a sample at all points, two conic programs per decision."""
    points, weights = belief.reference
    joint = torch.cat([grid[:, None].expand(-1, len(points), -1), points.expand(len(grid), -1, -1)], -1)
    with torch.no_grad():
        path = draw_matheron_paths(belief.surrogate.model(), torch.Size([1]))
        values = path(joint.reshape(-1, joint.shape[-1])).reshape(len(grid), len(points)).numpy()
    distance, step = belief.objective.distance, 1e-3
    root = torch.linalg.cholesky(distance.gram(belief.reference)).T.numpy()
    q, f, radius = cp.Variable(len(points), nonneg=True), cp.Parameter(len(points)), cp.Parameter(nonneg=True)
    ball = cp.norm(root @ q - root @ weights.numpy()) <= radius
    program = cp.Problem(cp.Minimize(f @ q), [cp.sum(q) == 1, ball])
    for row in values:
        for size in (distance.number, distance.number + step):
            f.value, radius.value = row, size
            program.solve(solver=cp.CLARABEL)


def compare(run: Run, straightforward: Callable[[aw.Belief], None]) -> list[str]:
    """One row of the table."""
    chosen = problem(run.problem, **run.options)
    study, seconds, theirs = run.study(chosen), 0.0, []
    marks = {chosen.initial + round(share * (run.iterations - 1)) for share in (0, 0.5, 1)}
    for number in range(chosen.initial + run.iterations):
        if number in marks:
            engine, history = study._engine, study._history
            belief = engine._belief(history, engine.parts, engine._generator(ASK, number), Situation())
            engine._fitted = None
            started = time.perf_counter()
            straightforward(belief)
            theirs.append(time.perf_counter() - started)
        entry = _step(study, chosen, [], run, number)
        seconds += entry["seconds"] if number >= chosen.initial else 0.0
    whole = sum(theirs) / len(theirs) * run.iterations
    times = f"{whole:.0f}", f"{seconds:.2f}", f"{whole / seconds:.0f}x"
    return [run.method, run.problem, f"{run.iterations}", *times, f"{TARGETS[run.method]}x"]


def main() -> None:
    """Print the table of ratios."""
    table = Table(title="whole runs, one thread; the straightforward way from three of the steps")
    for column in ("method", "problem", "iterations", "straightforward s", "ours s", "ratio", "target"):
        table.add_column(column, justify="left" if column in ("method", "problem") else "right")
    hartmann = problem("hartmann3")
    settings = {"alpha": 1.0, "beta": 1.0, "distance": aw.MMD(hartmann.margins["mmd"], lengthscale=0.1)}
    with threads(1):
        for name in ("sbo-kde", "drbo-kde", "wdrbo"):
            table.add_row(*compare(Run("ackley", name, 100, 30), continuous))
        run = Run("hartmann3", "ts-bocu", 0, 20, settings=settings)
        table.add_row(*compare(run, lambda belief: on_a_grid(belief, hartmann.candidates)))
    Console(width=120).print(table)
