"""The knowledge gradient against brute force."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.acquisition.beliefs import GRID, belief

import allweather as aw
from allweather import DRO, Expectation, InvalidInput, TotalVariation
from allweather.acquisition.expected_maximum import expected_maximum
from allweather.acquisition.optimize import Search
from allweather.surrogates.botorch_model import ModelPosterior

Z = torch.linspace(-9, 9, 20001, dtype=torch.float64)
SHARES = torch.exp(-Z.square() / 2) / math.sqrt(2 * math.pi) * (Z[1] - Z[0])


class TestExpectedMaximum:
    def test_against_quadrature(self):
        generator = torch.Generator().manual_seed(0)
        heights, slopes = torch.randn(2, 40, 9, generator=generator, dtype=torch.float64)
        slopes[0], slopes[1, 3:] = 0.0, slopes[1, 2]  # no slope at all, and parallel lines
        heights[2, 4] = heights[2, 5]
        largest = (heights[..., None] + slopes[..., None] * Z).amax(-2)
        expected = largest @ SHARES - heights.amax(-1)
        torch.testing.assert_close(expected_maximum(heights, slopes), expected, atol=1e-7, rtol=0)

    def test_far_kinks_keep_their_digits(self):
        zero = torch.zeros((), dtype=torch.float64)
        found = expected_maximum(torch.stack([zero, zero - 20]), torch.stack([zero, zero + 1]))
        assert float(found) == pytest.approx(1.3673e-90, rel=1e-3)  # phi(20) / 400, to first order

    def test_gradients(self):
        generator = torch.Generator().manual_seed(1)
        heights, slopes = torch.randn(2, 5, 7, generator=generator, dtype=torch.float64)
        assert torch.autograd.gradcheck(expected_maximum, (heights.requires_grad_(), slopes.requires_grad_()))


def gain_by_updates(known, decision):
    """The expected gain of a trial: the posterior is updated for every coming context, at two outcomes each."""
    points, weights = known.reference
    every = torch.cat([known.incumbents(64), decision[None]])
    before = (known.field.mean(every) @ weights).max()
    data, gained = known.surrogate.data, 0.0
    for context, weight in zip(points, weights, strict=True):
        point = torch.cat([decision, context])[None]
        mean, sd = known.surrogate.field(context[None])(decision[None])
        spread = (sd[0, 0].square() + data.noise * data.scale**2).sqrt()
        low, high = (
            known.surrogate.given(point, mean[0] + z * spread).field(points).mean(every) @ weights for z in (0.0, 1.0)
        )
        largest = (low[:, None] + (high - low)[:, None] * Z).amax(0)
        gained += float(weight * (largest @ SHARES - before))
    return gained


def test_means_are_exact():
    known = belief()
    score = aw.KnowledgeGradient(contexts=9).build(known)
    for decision in GRID[::10]:
        found = float(score(decision[None]).exp())
        assert found == pytest.approx(gain_by_updates(known, decision), rel=1e-4, abs=1e-10)


def gain_by_draws(known, decision, contexts, draws=2000):
    """The expected gain of a trial in each of some contexts, by Monte Carlo over its outcome."""
    points, _ = known.reference
    every = torch.cat([known.incumbents(64), decision[None]])
    data, found = known.surrogate.data, []
    normals = torch.randn(draws, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    normals = torch.cat([normals, -normals]) / normals.square().mean().sqrt()
    for context in contexts:
        point = torch.cat([decision, context])[None]
        mean, sd = known.surrogate.field(context[None])(decision[None])
        spread = (sd[0, 0].square() + data.noise * data.scale**2).sqrt()
        low, high = (
            known.surrogate.given(point, mean[0] + z * spread).field(points).mean(every) for z in (0.0, 1.0)
        )  # the mean function after the trial is a line in its outcome
        moved = low[:, None] + (high - low)[:, None] * normals[:, None]  # (M, draws, n)
        after = known.objective(moved, known.reference)
        found.append(float(after.amax(0).mean() - after.mean(1).max()))
    return np.array(found)


@pytest.mark.parametrize("objective", [Expectation(), DRO(TotalVariation(0.6)), aw.CVaR(0.3)], ids=repr)
def test_brute_force_by_draws(objective):
    known = belief(objective, t=5)
    decisions = GRID[[4, 14]]
    average = aw.KnowledgeGradient(contexts=9, nodes=40).build(known)(decisions).exp()
    largest = aw.KnowledgeGradient(contexts=9, nodes=40).build(replace(known, chooses=True))(decisions).exp()
    for place, decision in enumerate(decisions):
        gains = gain_by_draws(known, decision, known.reference.points)
        assert gains.max() > 1e-3
        assert float(average[place]) == pytest.approx(gains.mean(), rel=0.03)
        assert float(largest[place]) == pytest.approx(gains.max(), rel=0.03)


def test_few_nodes_are_near_many():
    known = belief(DRO(TotalVariation(0.6)), t=5)
    few, many = (aw.KnowledgeGradient(contexts=9, nodes=nodes).build(known)(GRID[4::16]).exp() for nodes in (12, 100))
    torch.testing.assert_close(few, many, atol=0.03 * float(many.max()), rtol=0)


@pytest.mark.parametrize(
    "objective",
    [
        Expectation(),
        DRO(TotalVariation(0.4)),
        aw.CVaR(0.3),
        aw.VaR(0.2),
        aw.WorstCase(),
        aw.General(1.0, 0.3, aw.KL(0.3)),
    ],
    ids=repr,
)
def test_scores_are_finite_and_have_gradients(objective):
    score = aw.KnowledgeGradient().build(belief(objective))
    for each in (score, score.rough):
        decisions = GRID[3:8].clone().requires_grad_()
        values = each(decisions)
        (gradient,) = torch.autograd.grad(values.sum(), decisions)
        assert values.shape == (5,)
        assert torch.isfinite(values).all()
        assert torch.isfinite(gradient).all()


def test_gradients_are_those_of_the_score():
    score = aw.KnowledgeGradient(contexts=9).build(belief())
    assert torch.autograd.gradcheck(score, (GRID[[3, 17, 30]].clone().requires_grad_(),), eps=1e-7, atol=1e-4)


@pytest.mark.parametrize("surrogate", [aw.GP(), aw.GP("matern", outputscale="fit", transform="auto")], ids=repr)
def test_a_study_asks_by_it(surrogate):
    space = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
    study = aw.Study(space, acquisition=aw.KnowledgeGradient(contexts=4), surrogate=surrogate, initial=4, seed=1)
    rng = np.random.default_rng(0)
    study.add([{"x": x, "c": c, "value": math.exp(6 * x * c)} for x, c in rng.random((12, 2))])
    first, second = study.ask(n=2)
    assert first.decision != second.decision
    again = aw.Study(space, acquisition=aw.KnowledgeGradient(contexts=4), surrogate=surrogate, initial=4, seed=1)
    again.add([{"x": x, "c": c, "value": math.exp(6 * x * c)} for x, c in np.random.default_rng(0).random((12, 2))])
    assert again.ask().decision == first.decision


@pytest.mark.parametrize("objective", [Expectation(), aw.CVaR(0.3), DRO(TotalVariation(0.3))], ids=repr)
def test_a_botorch_model_has_the_gains_of_the_same_gp(objective):
    known = belief(objective)
    same = replace(known, surrogate=ModelPosterior(known.surrogate.model(), 1))
    generators = [torch.Generator().manual_seed(3) for _ in range(2)]
    ours, theirs = (
        aw.KnowledgeGradient().build(replace(each, generator=source))
        for each, source in zip((known, same), generators, strict=True)
    )
    for one, other in ((ours, theirs), (ours.rough, theirs.rough)):
        torch.testing.assert_close(other(GRID).exp(), one(GRID).exp(), rtol=1e-6, atol=1e-9)
    search = Search(aw.Space(x=aw.Real(0, 1)).decisions, starts=3)
    found = [search.best(score, torch.Generator().manual_seed(0)).decision for score in (ours, theirs)]
    torch.testing.assert_close(*found, rtol=0, atol=1e-4)


@pytest.mark.parametrize("wrong", [{"contexts": 0}, {"decisions": 0.5}, {"nodes": -1}])
def test_bad_numbers_are_refused(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        aw.KnowledgeGradient(**wrong)


@pytest.mark.parametrize("objective", [Expectation(), aw.CVaR(0.3)], ids=repr)
def test_gains_of_several_sides_are_over_the_best_of_all(objective):
    known, acquisition, decisions = belief(objective=objective), aw.KnowledgeGradient(), GRID[::10]
    worse = replace(known, observations=known.observations.rows(np.arange(2)))
    fresh = [replace(each, generator=torch.Generator().manual_seed(0)) for each in (known, worse)]
    best, low = acquisition.together(fresh)
    assert (best.elsewhere, low.elsewhere) == (low.best, best.best)
    assert best.best > low.best
    alone = [
        acquisition.build(replace(each, generator=torch.Generator().manual_seed(0)))(decisions)
        for each in (known, worse)
    ]
    assert (low(decisions) < alone[1]).all()  # what does not exceed the best elsewhere is no gain
    best.elsewhere = best.best - 1e6
    torch.testing.assert_close(best(decisions), alone[0], rtol=1e-6, atol=1e-6)
    (single,) = acquisition.together(fresh[:1])
    assert single.elsewhere is None
