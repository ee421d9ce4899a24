"""Rules that choose the context of a simulator's trial."""

import math

import pytest
import torch
from tests.acquisition.beliefs import GRID, belief

import allweather as aw
from allweather import DRO, CVaR, Expectation, InvalidInput, TotalVariation

RULES = [
    aw.LargestDeviation(),
    aw.MostInfluential(),
    aw.MostInfluential(samples=16),
    aw.MostInfluential(drawn=3),
    aw.LacingValue(),
    aw.FromLaw(),
    aw.LargestGain(),
]
OBJECTIVES = [Expectation(), DRO(TotalVariation(0.4)), CVaR(0.3), aw.VaR(0.2), aw.WorstCase()]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_a_point_of_the_reference_is_chosen(rule, objective):
    known = belief(objective)
    place = rule.choose(known, GRID[20])
    assert 0 <= int(place) < len(known.reference.points)
    assert int(rule.choose(belief(objective), GRID[20])) == int(place)


def test_the_largest_deviation():
    known = belief()
    assert int(aw.LargestDeviation().choose(known, GRID[7])) == int(known.field(GRID[7:8]).sd[0].argmax())


@pytest.mark.parametrize("objective", [Expectation(), DRO(TotalVariation(0.4)), CVaR(0.3)], ids=repr)
def test_the_most_influential_context_leaves_least_variance(objective):
    known = belief(objective)
    decision = GRID[11:12]
    weights = known.weights(decision).expand(1, -1)
    left = []
    for context in known.reference.points:
        updated = known.surrogate.given(torch.cat([decision[0], context])[None]).field(known.reference.points)
        left.append(float(updated.combination(decision, weights).sd))
    assert int(aw.MostInfluential().choose(known, decision[0])) == left.index(min(left))


@pytest.mark.parametrize("objective", [CVaR(0.3), aw.VaR(0.2)], ids=repr)
def test_averaged_tangents_give_the_covariance_with_the_objective_itself(objective):
    known, decision = belief(objective), GRID[11]
    rule = aw.MostInfluential(samples=4000)
    drawn = known.surrogate.draws(decision[None], known.reference.points, 20_000, torch.Generator().manual_seed(5))[
        :, 0
    ]
    reached = known.objective(drawn, known.reference)
    covariance = ((reached - reached.mean())[:, None] * (drawn - drawn.mean(0))).mean(0)
    noisy = (
        known.field(decision[None]).sd[0].square() + known.surrogate.data.noise * known.surrogate.data.scale**2
    ).sqrt()
    found = rule.scores(known, decision, known.reference.points)
    assert torch.allclose(found, (covariance / noisy).abs(), atol=0.05 * float(reached.std()))
    assert found.max() > 0.3 * reached.std()


def test_contexts_that_are_compared_are_drawn_from_the_worst_distribution():
    known = belief(CVaR(0.3))
    weights = known.weights(GRID[11:12])[0]
    rule = aw.MostInfluential(drawn=1)
    counts = torch.stack([rule.choose(known, GRID[11]) for _ in range(400)]).bincount(minlength=len(weights))
    assert (counts[weights == 0] == 0).all()
    assert torch.allclose(counts.double() / 400, weights / weights.sum(), atol=0.1)
    many = {int(aw.MostInfluential(drawn=200).choose(known, GRID[11])) for _ in range(5)}
    assert len(many) == 1


def test_a_lacing_value_of_var_is_between_its_bounds():
    known, decision = belief(aw.VaR(0.2)), GRID[11]
    mean, sd = (each[0] for each in known.field(decision[None]))
    low, high = mean - 2 * sd, mean + 2 * sd
    worst, best = (float(known.objective(each[None], known.reference)) for each in (low, high))
    place = int(aw.LacingValue(2.0).choose(known, decision))
    assert low[place] <= worst + 1e-12
    assert best <= high[place] + 1e-12


def test_contexts_drawn_from_the_law_follow_it():
    known = belief()
    drawn = torch.stack([aw.FromLaw().choose(known, GRID[0]) for _ in range(900)])
    assert drawn.bincount(minlength=9).float().std() < 3 * math.sqrt(100)


@pytest.mark.parametrize(
    "make",
    [
        lambda: aw.LacingValue(-1),
        lambda: aw.MostInfluential(0),
        lambda: aw.MostInfluential(8, 0, -1),
        lambda: aw.LargestGain("all"),
    ],
)
def test_bad_numbers_are_refused(make):
    with pytest.raises(InvalidInput, match=r"\(\w+=...\)"):
        make()
