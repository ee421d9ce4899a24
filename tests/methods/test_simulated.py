"""Published methods of simulators: which parts they are, and that they run."""

import pytest
import torch
from tests.acquisition.beliefs import GRID, belief

import allweather as aw

SPACE = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
PARTS = {
    "borisk": (aw.CVaR(0.3), aw.KnowledgeGradient(), aw.LargestGain()),
    "v-ucb": (aw.VaR(0.1), aw.UCB(2.0), aw.LacingValue(2.0)),
    "cv-ucb": (aw.CVaR(0.1), aw.UCB(2.0), aw.LacingTail(2.0)),
    "drbqo": (aw.DRO(aw.ChiSquared(0.5)), aw.Thompson(), aw.LargestDeviation()),
    "mva-bo": (aw.MeanVariance(1.0), aw.UCB(2.0), aw.LargestDeviation()),
    "robust-entropy-search": (aw.WorstCase(), aw.KnowledgeGradient(), aw.LargestGain()),
    "robos": (aw.RobustSatisficing(0.0, aw.MMD(0.0)), aw.UCB(2.0), None),
    "drbo-simulator": (aw.DRO(aw.MMD(0.1)), aw.UCB(2.0), aw.LargestDeviation()),
}


@pytest.mark.parametrize("name", PARTS)
def test_the_parts(name):
    made = aw.method(name)
    assert (made.objective, made.acquisition, made.simulator) == PARTS[name]


@pytest.mark.parametrize("name", PARTS)
def test_runs_by_name_on_observed_contexts(name):
    study = aw.Study(SPACE, method=name, context=aw.Empirical(), surrogate=aw.GP(), initial=2, seed=1)
    study.observe_contexts([{"c": c / 8} for c in range(1, 8)])
    for _ in range(2):
        trial = study.ask()
        c = 0.4 if trial.context is None else trial.context["c"]
        study.tell(trial, 1 - (trial.decision["x"] - c) ** 2, context={"c": c})
    trial = study.ask()
    assert 0 <= trial.decision["x"] <= 1
    assert trial.context is None if name == "robos" else 0.125 <= trial.context["c"] <= 0.875


def test_the_tail_is_laced_where_it_is_widest():
    known = belief(aw.CVaR(0.4), t=5)
    place = aw.LacingTail(2.0).choose(known, GRID[10])
    mean, sd = known.field(GRID[10][None])
    low, high = (mean - 2 * sd)[0], (mean + 2 * sd)[0]
    levels = [0.4 * (k + 1) / 16 for k in range(16)]
    bounds = [tuple(aw.VaR(level)(each, known.reference) for each in (low, high)) for level in levels]
    worst, best = max(bounds, key=lambda pair: float(pair[1] - pair[0]))
    laced = (low <= worst + 1e-9) & (high >= best - 1e-9)
    assert bool(laced[place])
    assert float(sd[0, place]) == pytest.approx(float(torch.where(laced, sd[0], 0).max()))
