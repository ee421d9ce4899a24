"""Data that several tests of surrogates use."""

import torch

from allweather.surrogates.observations import Observations


def wavy(points):
    return (3 * points[:, 0]).sin() + (5 * points[:, 1] * points[:, 2]).cos() + 2 * points[:, 3] ** 2


def table(t, noise=0.05, seed=0):
    source = torch.Generator().manual_seed(seed)
    points = torch.rand(t, 4, generator=source, dtype=torch.float64)
    values = wavy(points) + noise * torch.randn(t, generator=source, dtype=torch.float64)
    return Observations.of(points[:, :2], points[:, 2:], values)


def uniform(*shape, seed=1):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
