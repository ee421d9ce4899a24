"""CVaR and distributional robustness in BoTorch's own loop, with qLogNoisyExpectedImprovement.

A delivery service chooses how many vans to send before it knows the day's orders. It simulates days of each kind in
turn; history says how likely each kind is. It wants a good mean, few bad days (CVaR), or a mean that stays good when
the mix of days shifts (DRO).
"""

from __future__ import annotations

import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import AppendFeatures
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

import allweather as aw
from allweather.integrations.botorch import RobustAcquisition, RobustMCObjective

SPACE = aw.Space(vans=aw.Real(0, 20), orders=aw.Context(0, 400))
KINDS = aw.Finite([{"orders": 80}, {"orders": 160}, {"orders": 240}, {"orders": 360}], [0.3, 0.4, 0.2, 0.1])
CUBE = torch.tensor([[0.0], [1.0]], dtype=torch.float64)


def earned(vans: float, orders: float) -> float:
    """A van costs 150 a day and delivers 20 orders at 14; a late order costs 6."""
    served = min(20 * vans, orders)
    return 14 * served - 150 * vans - 6 * (orders - served)


def run(objective: aw.Objective, days: int, seed: int = 0) -> tuple[float, Tensor]:
    """The recommended number of vans after some days, and what it earns in each kind of day."""
    torch.manual_seed(seed)  # optimize_acqf draws its starting points globally
    generator = torch.Generator().manual_seed(seed)
    kinds = KINDS.on(SPACE).reference(torch.empty(0, 1), 1, generator)
    tried = torch.rand(4, 1, dtype=torch.float64, generator=generator)
    happened = kinds.points[torch.arange(days) % len(kinds.points)]
    while True:
        contexts = happened[: len(tried)]
        rows = zip(SPACE.decisions.decode(tried), SPACE.contexts.decode(contexts), strict=True)
        values = [earned(float(x["vans"]), float(c["orders"])) for x, c in rows]
        scale = 1000.0  # outcomes of about 1 suit the model's priors
        seen = aw.Observations.of(tried, contexts, [value / scale for value in values])
        if len(tried) == days:
            break
        model = SingleTaskGP(seen.joint, seen.values[:, None], input_transform=AppendFeatures(kinds.points))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = qLogNoisyExpectedImprovement(model, tried, objective=RobustMCObjective(objective, kinds))
        candidate, _ = optimize_acqf(acquisition, CUBE, q=1, num_restarts=2, raw_samples=32)
        tried = torch.cat([tried, candidate])
    final = RobustAcquisition(aw.GP().fit(seen), seen, aw.UCB(0.0), objective, kinds)
    best, _ = optimize_acqf(final, CUBE, q=1, num_restarts=4, raw_samples=64)
    vans = float(SPACE.decisions.decode(best)[0]["vans"])
    return vans, torch.tensor([earned(vans, row["orders"]) for row in KINDS.points], dtype=torch.float64)


def main(days: int = 16) -> None:
    """Three wishes, three answers."""
    kinds = KINDS.on(SPACE).reference(torch.empty(0, 1), 1, torch.Generator())
    for objective in (aw.Expectation(), aw.CVaR(0.3), aw.DRO(aw.TotalVariation(0.4))):
        vans, outcomes = run(objective, days)
        mean, worth = float(outcomes @ kinds.weights), float(objective(outcomes, kinds))
        print(f"{objective!r:48} {vans:4.1f} vans: {mean:5.0f} a day on average, objective {worth:5.0f}")


if __name__ == "__main__":
    main()
