"""One `ask` against the straightforward way: BoTorch's posterior on all joint points inside `optimize_acqf`.

The straightforward way calls the model with one point per batch, the fastest of the forms tried, and for DRO solves a
compiled, parametrised cvxpy problem per decision, whose gradient is the adversary's distribution. It is timed with
`optimize_acqf` as it comes, and (`lean`) with its raw samples in batches of 16, which spares it page faults. All times
are CPU times; ours is the median over five seeds.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import cvxpy as cp
import pandas as pd
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann
from gpytorch.mlls import ExactMarginalLogLikelihood
from rich.table import Table
from torch import Tensor

import allweather as aw
from allweather._utils.timing import threads
from benchmarks.stored_tables import show

CONTEXTS, WIDTH = 1024, 1.5
SEEDS = 5
"""Of our searches; the median is compared."""
SPACE = aw.Space(x1=aw.Real(0, 1), x2=aw.Real(0, 1), c1=aw.Context(0, 1), c2=aw.Context(0, 1))
OBJECTIVES = {"Expectation": aw.Expectation(), "DRO(TV)": aw.DRO(aw.TotalVariation(aw.DensityRadius()))}
TARGETS = {"Expectation": 20, "DRO(TV)": 100}
"""At 100 observations."""

Inner = Callable[[Tensor], Tensor]
"""Upper bounds (b, n) to the objective (b,)."""


def data(observations: int) -> pd.DataFrame:
    """Noisy values of Hartmann's function in four dimensions; contexts around the middle."""
    source = torch.Generator().manual_seed(observations)
    points = torch.rand(observations, 4, generator=source, dtype=torch.float64)
    points[:, 2:] = (0.5 + 0.2 * torch.randn(observations, 2, generator=source, dtype=torch.float64)).clamp(0, 1)
    values = -Hartmann(dim=4)(points) + 0.02 * torch.randn(observations, generator=source, dtype=torch.float64)
    return pd.DataFrame(points.numpy(), columns=list(SPACE.variables)).assign(value=values.numpy())


class Straightforward(AcquisitionFunction):
    """The objective of the upper bound, from the model's posterior at every decision and context."""

    def __init__(self, model: SingleTaskGP, contexts: Tensor, inner: Inner) -> None:
        super().__init__(model)
        self.contexts, self.inner = contexts, inner

    def forward(self, X: Tensor) -> Tensor:
        """Decisions (b, 1, d_x) to (b,)."""
        b, n = len(X), len(self.contexts)
        points = torch.cat([X.expand(b, n, -1), self.contexts.expand(b, n, -1)], -1)
        posterior = self.model.posterior(points[..., None, :])
        upper = (posterior.mean + WIDTH * posterior.variance.sqrt()).reshape(b, n)
        return self.inner(upper)


def solver(weights: Tensor, radius: float, compiled: bool = True) -> Inner:
    """The worst expectation within a total variation by a convex program per decision, the same or a new one."""
    p, n = weights.numpy(), len(weights)
    q, f = cp.Variable(n, nonneg=True), cp.Parameter(n)
    rules = [cp.sum(q) == 1, cp.norm1(q - p) <= radius]
    program = cp.Problem(cp.Minimize(f @ q), rules)

    def inner(upper: Tensor) -> Tensor:
        worst = []
        for row in upper.detach().numpy():
            f.value = row
            (program if compiled else cp.Problem(cp.Minimize(row @ q), rules)).solve(solver=cp.CLARABEL)
            worst.append(torch.from_numpy(q.value))
        return (torch.stack(worst) * upper).sum(-1)

    return inner


def straightforward(
    table: pd.DataFrame, reference: aw.Reference, inner: Inner, options: dict[str, int]
) -> tuple[float, Tensor, Straightforward]:
    """How long it took, the decision found, and the acquisition it maximises."""
    torch.manual_seed(0)
    started = time.process_time()
    points = torch.tensor(table[list(SPACE.variables)].to_numpy())
    model = SingleTaskGP(points, torch.tensor(table["value"].to_numpy())[:, None])
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    acquisition = Straightforward(model, reference.points, inner)
    box = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    found, _ = optimize_acqf(acquisition, box, q=1, num_restarts=10, raw_samples=128, options=options)
    return time.process_time() - started, found, acquisition


def study_of(objective: aw.Objective, table: pd.DataFrame, seed: int) -> aw.Study:
    """A study that knows the table."""
    study = aw.Study(SPACE, context=aw.KDE(CONTEXTS), objective=objective, acquisition=aw.UCB(WIDTH), seed=seed)
    study.add(table)
    return study


def compare(name: str, observations: int) -> list[str]:
    """One row of the table."""
    objective, table = OBJECTIVES[name], data(observations)
    times = []
    for seed in range(SEEDS):
        study = study_of(objective, table, seed)
        started = time.process_time()
        trial = study.ask()
        times.append(time.process_time() - started)
    ours = sorted(times)[SEEDS // 2]
    shares = {stage: seconds / sum(study.timings.values()) for stage, seconds in study.timings.items()}

    again = study_of(objective, table, SEEDS - 1)
    belief = again._engine.joint_beliefs(again.history)[0].main
    reference = belief.reference
    distance = getattr(belief.objective, "distance", None)
    inner = (
        (lambda upper: upper @ reference.weights) if distance is None else solver(reference.weights, distance.number)
    )
    lean, _, _ = straightforward(table, reference, inner, {"init_batch_limit": 16})
    theirs, found, acquisition = straightforward(table, reference, inner, {})
    with torch.no_grad():
        here = SPACE.decisions.encode(trial.decision)
        best, reached = (float(acquisition(point.reshape(1, 1, -1))) for point in (found, here))
    lost = (best - reached) / abs(best)
    target = f"{TARGETS[name]}x" if observations == 100 else ""
    stages = " ".join(f"{stage} {share:.0%}" for stage, share in shares.items())
    ratios = [f"{theirs / ours:.0f}x", f"{lean / ours:.0f}x"]
    return [name, f"{observations}", f"{theirs:.1f}", f"{ours:.3f}", *ratios, target, f"{lost:+.3%}", stages]


def main() -> None:
    """Print the table of ratios."""
    table = Table(title=f"one ask, 2 decisions, 2 contexts, {CONTEXTS} context samples, one thread")
    columns = ("objective", "data", "straightforward s", "ours s", "ratio", "lean", "target", "worse by", "our stages")
    for column in columns:
        table.add_column(column, justify="left" if column in ("objective", "our stages") else "right")
    with threads(1):
        for name in OBJECTIVES:
            for observations in (25, 50, 100, 200):
                table.add_row(*compare(name, observations))
    show("asks", table, 160)
