"""The comparison of recommendations with those of the exact posterior, in miniature."""

import torch
from benchmarks import trials
from benchmarks.trials import recommended, regret, table

from allweather.surrogates.gp import gp


def test_both_posteriors_recommend_a_decision_with_a_known_regret(monkeypatch):
    monkeypatch.setattr(gp, "MAX_EXACT_OUTCOMES", gp.MAX_EXACT_OUTCOMES)  # which is put back afterwards
    monkeypatch.setattr(trials, "GRID", 21)
    found = [recommended("mean", 300, 100, exact)[0] for exact in (True, False)]
    assert gp.MAX_EXACT_OUTCOMES == 0
    assert all(0 <= each < 0.6 for each in found)
    assert abs(found[0] - found[1]) < 0.1


def test_tables_of_another_seed_have_other_outcomes():
    assert not table(10, 1).equals(table(10, 2))
    assert table(10).equals(table(10, 10))


def test_corners_have_more_regret_than_the_middle(monkeypatch):
    monkeypatch.setattr(trials, "GRID", 21)
    middle = regret(torch.tensor([0.45, 0.5], dtype=torch.float64))
    corner = regret(torch.tensor([1.0, 1.0], dtype=torch.float64))
    assert 0 <= middle < corner
