"""Whole runs of published methods against the straightforward way, on the same problems in the same run.

Times are CPU times. Ours is that of all iterations. The straightforward way (BoTorch's fit, posterior on all joint
points, `optimize_acqf`, cvxpy for worst cases) is timed at five of the steps, on the data that our run had then, and
their mean is multiplied by the number of iterations: whole runs would take long. "As published" it searches as hard
as the papers do (errata E12) and makes a new conic program for every worst case; "lean" it has 10 restarts and 128
raw samples, and one compiled program with parameters.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import cvxpy as cp
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling.pathwise import draw_matheron_paths
from gpytorch.mlls import ExactMarginalLogLikelihood
from rich.table import Table
from torch import Tensor

import allweather as aw
from allweather._utils.timing import threads
from allweather.benchmark import Run
from allweather.benchmark.runner import play_step
from allweather.problems import problem
from benchmarks.asks import WIDTH, Straightforward, solver
from benchmarks.stored_tables import show

TARGETS = {"sbo-kde": 30, "drbo-kde": 100, "wdrbo": 20, "ts-bocu": 200}
PUBLISHED = {"sbo-kde": (50, 1024, False), "drbo-kde": (5, 32, False), "wdrbo": (50, 1024, False)}
"""Restarts, raw samples, and whether lean."""
LEAN = (10, 128, True)


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


def continuous(belief: aw.Belief, restarts: int, raw: int, lean: bool) -> float:
    """Seconds of one ask of a method on a box."""
    started = time.process_time()
    model, (points, weights) = fitted(belief), belief.reference
    if isinstance(belief.objective, aw.LipschitzRegularised):
        acquisition: AcquisitionFunction = SteepUCB(model, belief.reference, belief.objective.radius)
    elif isinstance(belief.objective, aw.DRO):
        acquisition = Straightforward(model, points, solver(weights, belief.objective.distance.number, lean))
    else:
        acquisition = Straightforward(model, points, lambda upper: upper @ weights)
    box = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    options = {} if lean else {"batch_limit": 10}  # 1024 raw samples at once would not fit in memory
    optimize_acqf(acquisition, box, q=1, num_restarts=restarts, raw_samples=raw, options=options)
    return time.process_time() - started


def on_a_grid(belief: aw.Belief, grid: Tensor, compiled: bool) -> float:
    """Seconds of one ask of Thompson sampling for `v + delta` in MMD: a sample at all points, two programs a decision.

    Programs are solved for every sixteenth decision only, and their time is multiplied by sixteen.
    """
    started = time.process_time()
    points, weights = belief.reference
    joint = torch.cat([grid[:, None].expand(-1, len(points), -1), points.expand(len(grid), -1, -1)], -1)
    with torch.no_grad():
        path = draw_matheron_paths(belief.surrogate.model(), torch.Size([1]))
        values = path(joint.reshape(-1, joint.shape[-1])).reshape(len(grid), len(points)).numpy()
    sampled = time.process_time() - started
    distance, step = belief.objective.distance, 1e-3
    root = torch.linalg.cholesky(distance.gram(belief.reference)).T.numpy()
    n, p = len(points), weights.numpy()
    q, f, radius = cp.Variable(n, nonneg=True), cp.Parameter(n), cp.Parameter(nonneg=True)
    program = cp.Problem(cp.Minimize(f @ q), [cp.sum(q) == 1, cp.norm(root @ (q - p)) <= radius])
    started = time.process_time()
    for row in values[::16]:
        for size in (distance.number, distance.number + step):
            if compiled:
                f.value, radius.value = row, size
            else:
                program = cp.Problem(cp.Minimize(row @ q), [cp.sum(q) == 1, cp.norm(root @ (q - p)) <= size])
            program.solve(solver=cp.CLARABEL)
    return sampled + 16 * (time.process_time() - started)


def compare(run: Run, ways: list[Callable[[aw.Belief], float]]) -> list[str]:
    """One row of the table: the seconds each straightforward way takes, ours, and the ratios."""
    chosen = problem(run.problem, **run.options)
    study, seconds, theirs = run.build_study(chosen), 0.0, []
    marks = {chosen.initial + round(share * (run.iterations - 1)) for share in (0, 0.25, 0.5, 0.75, 1)}
    for number in range(chosen.initial + run.iterations):
        if number in marks:
            beliefs = replace(study._engine.beliefs, _fitted={})  # a copy: the study fits again
            belief = replace(study._engine, beliefs=beliefs).joint_beliefs(study.history)[0].main
            theirs.append([way(belief) for way in ways])
        started = time.process_time()
        play_step(study, chosen, run.seed, number)
        seconds += time.process_time() - started if number >= chosen.initial else 0.0
    wholes = [sum(times) / len(times) * run.iterations for times in zip(*theirs, strict=True)]
    ratios = [text for whole in wholes for text in (f"{whole:.0f}", f"{whole / seconds:.0f}x")]
    return [run.method, run.problem, f"{run.iterations}", f"{seconds:.2f}", *ratios, f"{TARGETS[run.method]}x"]


def main() -> None:
    """Print the table of ratios."""
    table = Table(title="whole runs, one thread; the straightforward ways from five of the steps")
    for column in ("method", "problem", "iterations", "ours s", "as published s", "ratio", "lean s", "ratio", "target"):
        table.add_column(column, justify="left" if column in ("method", "problem") else "right")
    hartmann = problem("hartmann3")
    settings = {"alpha": 1.0, "beta": 1.0, "distance": aw.MMD(hartmann.margins["mmd"], lengthscale=0.1)}
    with threads(1):
        for name, effort in PUBLISHED.items():
            searches = [partial(continuous, restarts=r, raw=s, lean=lean) for r, s, lean in (effort, LEAN)]
            table.add_row(*compare(Run("ackley", name, 100, 30), searches))
        run = Run("hartmann3", "ts-bocu", 0, 20, settings=settings)
        grid = hartmann.candidates
        table.add_row(*compare(run, [partial(on_a_grid, grid=grid, compiled=lean) for lean in (False, True)]))
    show("methods", table, 130)
