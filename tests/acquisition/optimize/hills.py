"""Functions of the unit cube whose best points are known."""

import math

import torch

A = torch.tensor(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]],
    dtype=torch.float64,
)
P = 1e-4 * torch.tensor(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ],
    dtype=torch.float64,
)


def branin(u):
    x, y = 15 * u[:, 0] - 5, 15 * u[:, 1]
    return (
        -((y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2) - 10 * (1 - 1 / (8 * math.pi)) * x.cos() - 10
    )


def hartmann(u):
    heights = torch.tensor([1, 1.2, 3, 3.2], dtype=torch.float64)
    return (heights * torch.exp(-(A * (u[:, None] - P) ** 2).sum(-1))).sum(-1)


def ackley(u):
    x = 20 * (u - 0.4)
    root = (x.square().mean(-1) + 1e-20).sqrt()
    return 20 * torch.exp(-0.2 * root) + torch.exp(torch.cos(2 * math.pi * x).mean(-1)) - 20 - math.e


def bowl(centre):
    """A hill that falls off like a distance squared from `centre`."""
    return lambda u: -((u - torch.as_tensor(centre, dtype=torch.float64)) ** 2).sum(-1)


class Counted:
    """A function that knows how often it was called, and on how many rows."""

    def __init__(self, function):
        self.function = function
        self.calls = {True: 0, False: 0}  # with gradient or without
        self.rows = {True: 0, False: 0}

    def __call__(self, u):
        self.calls[u.requires_grad] += 1
        self.rows[u.requires_grad] += len(u)
        return self.function(u)
