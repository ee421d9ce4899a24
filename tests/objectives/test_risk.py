import math

import numpy as np
import pytest
import torch
from botorch.acquisition.risk_measures import CVaR as BotorchCVaR
from botorch.acquisition.risk_measures import VaR as BotorchVaR

from allweather import CVaR, EntropicRisk, Expectation, InvalidInput, MeanVariance, Reference, VaR, WorstCase
from allweather.testing import ObjectiveSuite


class TestCVaR(ObjectiveSuite):
    def make(self):
        return CVaR(0.3)


class TestVaR(ObjectiveSuite):
    def make(self):
        return VaR(0.3)


class TestMeanVariance(ObjectiveSuite):
    def make(self):
        return MeanVariance(0.7)


class TestEntropicRisk(ObjectiveSuite):
    def make(self):
        return EntropicRisk(2.0)


VALUES = torch.randn(6, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
EQUAL = Reference.checked(torch.rand(20, 1), [1 / 20] * 20)


@pytest.mark.parametrize("level", [0.05, 0.1, 0.25, 0.5, 0.75, 0.9])
def test_equal_weights_agree_with_botorch(level):
    """Its CVaR averages the quantile's own sample too, so it is ours at the next level up."""
    for ours, theirs, shift in ((VaR, BotorchVaR, 0), (CVaR, BotorchCVaR, 1 / 20)):
        expected = theirs(alpha=1 - level, n_w=20)(VALUES.reshape(6 * 20, 1)).reshape(6)
        torch.testing.assert_close(ours(level + shift)(VALUES, EQUAL), expected)


@pytest.mark.parametrize("level", [0.03, 0.1, 0.37, 1.0])
def test_cvar_is_its_variational_definition(level):
    """max over t of t - E[(t - f)+] / level (Rockafellar and Uryasev), attained at one of the values."""
    reference = Reference.checked(torch.rand(20, 1), torch.softmax(torch.randn(20, dtype=torch.float64), 0))
    shortfall = (VALUES[:, :, None] - VALUES[:, None, :]).clamp_min(0) @ reference.weights
    expected = (VALUES - shortfall / level).amax(-1)
    torch.testing.assert_close(CVaR(level)(VALUES, reference), expected)


@pytest.mark.parametrize("level", [0.05, 0.3, 1.0])
def test_a_weight_is_a_number_of_copies(level):
    counts = torch.tensor([1, 3, 2, 4])
    values = torch.tensor([2.0, -1.0, 0.5, 1.0], dtype=torch.float64)
    weighted = Reference.checked(torch.rand(4, 1), counts.double() / 10)
    copies = Reference.checked(torch.rand(10, 1), [0.1] * 10)
    for objective in (CVaR(level), VaR(level), MeanVariance(1.0), EntropicRisk(1.0)):
        repeated = objective(values.repeat_interleave(counts), copies)
        torch.testing.assert_close(objective(values, weighted), repeated)


def test_the_ends_of_the_scale():
    reference = Reference.checked([[0.0], [0.5], [1.0]], [0.4, 0.6, 0.0])
    values = torch.tensor([1.0, 2.0, -7.0], dtype=torch.float64)
    assert CVaR(1.0)(values, reference) == pytest.approx(Expectation()(values, reference).item())
    assert CVaR(1e-9)(values, reference).item() == 1.0  # the -7 cannot happen
    assert VaR(1.0)(values, reference).item() == 2.0
    assert WorstCase()(values, reference).item() == -7.0
    assert EntropicRisk(1e-9)(values, reference) == pytest.approx(1.6)
    assert EntropicRisk(1e4)(values, reference) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("aversion", [1e-17, 1e-12, 1e-6])
def test_little_aversion_is_almost_the_mean(aversion):
    reference = Reference.checked([[0.0], [1.0]], [0.25, 0.75])
    values = torch.tensor([1.0, 2.0], dtype=torch.float64)
    expected = 1.75 - aversion * (0.25 * 0.75) / 2
    assert EntropicRisk(aversion)(values, reference).item() == pytest.approx(expected, abs=1e-12)


def test_more_caution_is_never_more():
    levels = np.linspace(0.05, 1, 20)
    table = torch.stack([CVaR(float(level))(VALUES, EQUAL) for level in levels])
    assert bool((table.diff(dim=0) >= -1e-12).all())


@pytest.mark.parametrize("level", [0.0, -0.1, 1.1, math.nan, "low", True])
def test_levels_are_probabilities(level):
    for objective in (CVaR, VaR):
        with pytest.raises(InvalidInput, match=r"aR\(level"):
            objective(level)


def test_other_bad_declarations():
    with pytest.raises(InvalidInput, match="penalty"):
        MeanVariance(-1)
    with pytest.raises(InvalidInput, match="aversion"):
        EntropicRisk(0)


def test_cvar_is_the_same_with_and_without_gradient():
    source = torch.Generator().manual_seed(0)
    values = torch.randn(5, 3, 30, generator=source, dtype=torch.float64).round(decimals=1)
    weights = torch.rand(30, generator=source, dtype=torch.float64)
    reference = Reference.checked(torch.zeros(30, 1), weights / weights.sum())
    expected = CVaR(0.3)(values.clone().requires_grad_(), reference).detach()
    torch.testing.assert_close(CVaR(0.3)(values, reference), expected)
