"""Published methods of several outcomes: which parts they are, and that they run."""

import pytest
import torch
from tests.acquisition.beliefs import GRID, belief

import allweather as aw
from allweather.acquisition.scalarisation import chebyshev

SPACE = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
BALL = aw.TotalVariation(0.1)
PARTS = {
    "drcc": (None, aw.UCB(2.0), aw.LargestDeviation()),
    "bpt-ucb": (aw.Probability(0.0), aw.UCB(2.0), None),
    "carbo": (None, aw.UCB(2.0), aw.LowestBound(2.0)),
    "mars": (None, aw.MARS(0.1), None),
}
WANTED = {
    "drcc": {"gain": aw.Maximize(aw.DRO(BALL)), "purity": aw.AtLeast(0.5, probability=0.8, distance=BALL)},
    "carbo": {"gain": aw.Maximize(aw.WorstCase()), "purity": aw.AtLeast(0.5, aw.WorstCase())},
    "mars": {"gain": aw.Maximize(aw.VaR(0.1)), "purity": aw.Maximize(aw.VaR(0.1))},
}


@pytest.mark.parametrize("name", PARTS)
def test_the_parts(name):
    made = aw.method(name)
    assert (made.objective, made.acquisition, made.simulator) == PARTS[name]


@pytest.mark.parametrize("name", WANTED)
def test_runs_by_name(name):
    law = None if name == "carbo" else aw.Finite([[c / 8] for c in range(9)])
    study = aw.Study(SPACE, method=name, outcomes=WANTED[name], context=law, initial=2, seed=1)
    for _ in range(4):
        trial = study.ask()
        c, x = (trial.context or {"c": 0.4})["c"], trial.decision["x"]
        study.tell(trial, {"gain": x + 0.1 * c, "purity": 1 - x + 0.2 * (c - 0.5)}, context={"c": c})
    assert (trial.context is None) == (name == "mars")
    assert 0 <= study.recommend(radii=[0.0]).decision["x"] <= 0.75


def test_a_threshold_is_reached_as_often_as_possible():
    study = aw.Study(SPACE, method=aw.method("bpt-ucb", threshold=0.9), context=aw.Finite([[0.2], [0.3], [0.9]]))
    study.add([{"x": x / 6, "c": c, "value": 1 - abs(x / 6 - c)} for x in range(7) for c in (0.2, 0.3, 0.9)])
    assert 0.19 < study.recommend(radii=[0.0]).decision["x"] < 0.31


def test_an_adversary_goes_where_the_bound_is_lowest():
    known = belief(aw.WorstCase(), t=5)
    mean, sd = known.field(GRID[10][None])
    assert aw.LowestBound(2.0).choose(known, GRID[10]) == (mean - 2 * sd)[0].argmin()


def test_mars_scalarises_in_every_context_first():
    """Two outcomes that are low in different contexts: no context is bad in both, but each alone has one."""
    law = aw.Reference.checked([[0.0], [1.0]], [0.5, 0.5])
    values = torch.tensor([[-1.0, 0.0], [0.0, -1.0]], dtype=torch.float64)  # context by outcome
    weights = torch.tensor([0.5, 0.5], dtype=torch.float64)
    assert float(aw.VaR(0.1)(chebyshev(values, weights), law)) == pytest.approx(-0.525)
    each = torch.stack([aw.VaR(0.1)(values[:, place], law) for place in (0, 1)])
    assert float(chebyshev(each, weights)) == pytest.approx(-0.55)
    with pytest.raises(aw.InvalidInput, match="several outcomes"):
        aw.MARS().build(belief(aw.Expectation(), t=5))
    with pytest.raises(aw.InvalidInput, match="several outcomes to maximize"):
        aw.Study(SPACE, method="mars", outcomes={"gain": aw.Maximize()})
