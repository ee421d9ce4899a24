import math

import numpy as np
import pytest
import torch

from allweather.acquisition.optimize.scores import Scores, hinted, spread_of, starts_among


def test_blocks_and_nan():
    sizes = []

    def function(u):
        sizes.append(len(u))
        return torch.where(u[:, 0] > 3, torch.nan, u[:, 0])

    values = Scores(hinted(function), 2).values(np.arange(5.0)[:, None])
    assert sizes == [2, 2, 1]
    assert values.tolist() == [0, 1, 2, 3, -math.inf]


def test_slopes_row_by_row():
    values, gradients = Scores(hinted(lambda u: (u**2).sum(-1)), 2).slopes(np.array([[1.0, 2.0], [3.0, 0.0]]))
    assert values.tolist() == [5, 9]
    assert gradients.tolist() == [[2, 4], [6, 0]]
    assert Scores(hinted(lambda u: torch.zeros(len(u))), 2).slopes(np.ones((2, 1)))[1].tolist() == [[0], [0]]


@pytest.mark.parametrize(
    ("values", "spread"),
    [
        ([1, 2, 3], 1),
        ([-1e30, 0, 0, 2], 2),
        ([3, 3, 1, 3], 2),
        ([-math.inf, 1, 2, 3], 1),
        ([-math.inf], 1),
        ([0, 0], 1),
    ],
)
def test_spread(values, spread):
    assert spread_of(np.array(values, dtype=np.float64)) == spread


def test_starts_come_from_different_hills():
    points = np.linspace(0, 1, 101)[:, None]
    values = np.maximum(1 - 10 * abs(points[:, 0] - 0.2), 0.9 - 10 * abs(points[:, 0] - 0.8))
    chosen = starts_among(points, values, 2)
    assert points[chosen, 0].tolist() == pytest.approx([0.2, 0.8])


def test_starts_are_distinct_and_finite():
    points = np.array([[0.1], [0.1], [0.5], [0.9]])
    assert starts_among(points, np.array([2.0, 2.0, 1.0, -math.inf]), 4).tolist() == [0, 2]
    assert len(starts_among(points, np.full(4, -math.inf), 3)) == 0
