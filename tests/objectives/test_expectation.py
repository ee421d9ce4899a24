import torch

from allweather import Expectation, Reference, WorstCase
from allweather.testing import ObjectiveSuite


class TestExpectation(ObjectiveSuite):
    def make(self):
        return Expectation()


class TestWorstCase(ObjectiveSuite):
    def make(self):
        return WorstCase()


def test_by_hand():
    reference = Reference.checked([[0.0], [0.5], [1.0]], [0.2, 0.8, 0.0])
    values = torch.tensor([[1.0, 2.0, -5.0], [4.0, 4.0, 9.0]])
    assert Expectation()(values, reference).tolist() == [1.8, 4.0]
    assert WorstCase()(values, reference).tolist() == [-5.0, 4.0]
