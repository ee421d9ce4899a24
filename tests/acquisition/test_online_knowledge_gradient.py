"""What a trial earns, and what it adds to those to come."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.acquisition.beliefs import GRID, belief, observations

import allweather as aw
from allweather import GP, OnlineKnowledgeGradient, Reference
from allweather.acquisition.online_knowledge_gradient import ClosedGain, LinearGain, _own_step
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior


def both(known, horizon=7.0, contexts=3):
    best, state = known.incumbents(1), known.generator.get_state()
    closed = ClosedGain(_own_step(known, best[0], contexts), horizon)
    known.generator.set_state(state)  # the same few contexts
    return closed, LinearGain(known, horizon, best, contexts)


def skewed():
    """A belief about outcomes that are transformed, at more contexts than tangents are taken in."""
    table = observations(14)
    table = replace(table, values=torch.exp(8 * table.values))
    points = torch.linspace(0, 1, 90, dtype=torch.float64)[:, None]
    surrogate = GP("matern", outputscale="fit", transform="auto").fit(table)
    assert isinstance(surrogate, TransformedPosterior)
    reference = Reference(points, torch.full((90,), 1 / 90, dtype=torch.float64))
    return replace(belief(), surrogate=surrogate, reference=reference, observations=table)


@pytest.mark.parametrize("transformed", [False, True])
def test_the_closed_form_is_that_of_lines_with_its_gradient(transformed):
    closed, lines = both(skewed() if transformed else belief())
    decisions = GRID[3:9].clone().requires_grad_()
    expected = lines(decisions)
    (gradient,) = torch.autograd.grad(expected.sum(), decisions)
    values, slopes = closed.slopes(decisions.detach().numpy())
    torch.testing.assert_close(torch.from_numpy(values), expected.detach(), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(torch.from_numpy(slopes), gradient, rtol=1e-7, atol=1e-8)
    torch.testing.assert_close(closed(decisions.detach()), expected.detach(), rtol=1e-9, atol=1e-9)
    (again,) = torch.autograd.grad((2 * closed(decisions)).sum(), decisions)
    torch.testing.assert_close(again, 2 * gradient, rtol=1e-7, atol=1e-8)


def test_the_gain_is_that_of_outcomes_that_are_drawn():
    known = belief()
    best, decision = known.incumbents(1), GRID[6:7]
    score = LinearGain(known, 1.0, best, 1)
    state = known.generator.get_state()
    point = torch.cat([decision[0], score._step.contexts[0]])[None]
    mean, sd = known.surrogate.field(point[:, decision.shape[1] :])(decision)
    spread = (sd[0, 0] ** 2 + known.surrogate.data.noise * known.surrogate.data.scale**2).sqrt()
    drawn = mean[0, 0] + spread * torch.randn(400, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights, gains = known.reference.weights, []
    for outcome in drawn:
        after = known.surrogate.given(point, outcome[None]).field(known.reference.points)
        ours, theirs = (float(after.mean(each) @ weights) for each in (decision, best))
        before = float(known.expected(best))
        gains.append(max(ours - theirs, 0.0))
        assert np.isfinite(before)
    known.generator.set_state(state)
    expected = float(score(decision)) - float(known.expected(decision))
    assert expected == pytest.approx(np.mean(gains), abs=4 * np.std(gains) / 20 + 1e-6)


@pytest.mark.parametrize("objective", [aw.Expectation(), aw.DRO(aw.TotalVariation(0.2)), aw.CVaR(0.3)], ids=repr)
def test_it_goes_with_every_objective(objective):
    score = OnlineKnowledgeGradient(5.0).build(belief(objective))
    decisions = GRID[3:8].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(score(decisions).sum(), decisions)
    assert torch.isfinite(gradient).all()


def test_the_gain_is_earned_in_every_trial_to_come():
    first, second, third = (OnlineKnowledgeGradient(horizon).build(belief())(GRID) for horizon in (1.0, 2.0, 10.0))
    gains = second - first
    assert (gains >= 0).all()
    assert gains.max() > 1e-3
    torch.testing.assert_close(third - first, 9 * gains)


def test_a_horizon_that_is_negative_is_refused():
    with pytest.raises(
        aw.InvalidInput, match=r"OnlineKnowledgeGradient\(horizon=...\) at step \d+` must be at least 0"
    ):
        OnlineKnowledgeGradient(lambda t: -1.0).build(belief())
