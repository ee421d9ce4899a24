import numpy as np
import pytest
import torch

from allweather import Drifting, Empirical, InvalidInput
from allweather.testing import ContextModelSuite

SEEN = torch.tensor([[0.2, 0.5], [0.9, 0.1], [0.2, 0.5], [0.2, 0.6]], dtype=torch.float64)


class TestEmpirical(ContextModelSuite):
    def make(self, dimension):
        return Empirical()


class TestEmpiricalWithUnseen(ContextModelSuite):
    def make(self, dimension):
        return Empirical(unseen=16)


class TestDrifting(ContextModelSuite):
    def make(self, dimension):
        return Drifting(half_life=3.0)


def test_repeated_contexts_become_one_point():
    points, weights = Empirical().reference(SEEN, 4, torch.Generator())
    assert points.tolist() == [[0.2, 0.5], [0.2, 0.6], [0.9, 0.1]]
    assert weights.tolist() == [0.5, 0.25, 0.25]


def test_unseen_points_have_no_weight_and_cover_the_box():
    points, weights = Empirical(unseen=64).reference(SEEN, 4, torch.Generator().manual_seed(0))
    assert weights[3:].count_nonzero() == 0
    assert points[3:].min() < 0.05
    assert points[3:].max() > 0.95


def test_old_contexts_fade_by_half():
    contexts = torch.tensor([[0.0], [0.5], [1.0]], dtype=torch.float64)
    weights = Drifting(half_life=2).reference(contexts, 3, torch.Generator()).weights
    assert weights[0] / weights[2] == pytest.approx(0.5)
    assert weights[1] / weights[2] == pytest.approx(2**-0.5)


def test_contexts_in_other_units_are_refused_with_a_hint():
    for model in (Empirical(), Drifting(1.0)):
        with pytest.raises(InvalidInput, match="encode"):
            model.reference(torch.tensor([[14.0], [229.0]]), 2, torch.Generator())


def test_arrays_and_lists_will_do():
    for contexts in ([[0.1], [0.2]], np.array([[0.1], [0.2]], dtype=np.float32)):
        assert Empirical().reference(contexts, 2, torch.Generator()).points.dtype == torch.float64


def test_nothing_seen_is_an_error():
    for model in (Empirical(), Drifting(1.0)):
        with pytest.raises(InvalidInput, match="at least one context"):
            model.reference(torch.empty(0, 1), 1, torch.Generator())


@pytest.mark.parametrize(
    "declaration", [lambda: Drifting(0), lambda: Drifting(float("nan")), lambda: Empirical(unseen=-1)]
)
def test_bad_declarations_are_refused(declaration):
    with pytest.raises(InvalidInput):
        declaration()
