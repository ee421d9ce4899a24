import pytest
import torch

from allweather import Discretised, Ignored, InvalidInput, MeanBox, Uniform
from allweather.testing import ContextModelSuite


class TestUniform(ContextModelSuite):
    def make(self, d):
        return Uniform(32)


class TestMeanBox(ContextModelSuite):
    def make(self, d):
        return MeanBox(32)


class TestDiscretised(ContextModelSuite):
    def make(self, d):
        return Discretised(30)


def test_the_grid_is_full_and_counts_the_nearest():
    seen = torch.tensor([[0.1, 0.9], [0.12, 0.95], [0.5, 0.5], [1.0, 0.0]], dtype=torch.float64)
    points, weights = Discretised(9).reference(seen, 4, torch.Generator())
    assert points.shape == (9, 2)
    assert weights[(points == torch.tensor([0.0, 1.0])).all(-1)].item() == 0.5
    assert weights[(points == torch.tensor([1.0, 0.0])).all(-1)].item() == 0.25
    for size, d, expected in ((100, 1, 100), (100, 2, 100), (100, 3, 125), (1024, 2, 1024)):
        assert (
            len(Discretised(size).reference(torch.rand(2, d, dtype=torch.float64), 2, torch.Generator()).points)
            == expected
        )


def test_stableopt_looks_within_one_deviation():
    seen = torch.tensor([[0.2], [0.4], [0.6], [0.8]], dtype=torch.float64)
    points = MeanBox(256).reference(seen, 4, torch.Generator().manual_seed(0)).points
    sd = seen.std(correction=0).item()
    assert 0.5 - sd <= points.min().item() < 0.5 - 0.9 * sd
    assert 0.5 + 0.9 * sd < points.max().item() <= 0.5 + sd


def test_refuses_by_name():
    for make in (lambda: Uniform(0), lambda: MeanBox(-1), lambda: Discretised(1)):
        with pytest.raises(InvalidInput):
            make()
    assert Ignored().reference(torch.zeros(3, 2), 3, torch.Generator()).points.shape == (1, 0)
