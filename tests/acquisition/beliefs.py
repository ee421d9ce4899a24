"""A small belief that the tests of acquisitions share."""

import torch

from allweather import GP, Expectation, Observations, Progress, Reference
from allweather.acquisition import Belief


def observations(t=12, noise=0.1):
    source = torch.Generator().manual_seed(0)
    points = torch.rand(t, 2, generator=source, dtype=torch.float64)
    values = torch.sin(5 * points[:, 0]) + points[:, 1] * points[:, 0]
    values = values + noise * torch.randn(t, generator=source, dtype=torch.float64)
    return Observations.of(points[:, :1], points[:, 1:], values)


def belief(objective=None, seed=0, t=12):
    table = observations(t)
    points = torch.linspace(0, 1, 9, dtype=torch.float64)[:, None]
    weights = torch.full((9,), 1 / 9, dtype=torch.float64)
    return Belief(
        surrogate=GP().fit(table),
        reference=Reference(points, weights),
        objective=objective or Expectation(),
        observations=table,
        progress=Progress(step=t, information_gain=3.0),
        generator=torch.Generator().manual_seed(seed),
    )


GRID = torch.linspace(0, 1, 41, dtype=torch.float64)[:, None]
