"""Eq. 6 of phi: regret over a ball whose radius shrinks with the step."""

import pytest
import torch

import allweather as aw
from allweather.benchmark import Judge, Measure, Run, execute
from allweather.benchmark.regret import ScheduledJudge
from allweather.problems import problem

BALL = aw.TotalVariation(aw.DivergenceRadius("total-variation"))
EQUATION_6 = Measure("Eq. 6", aw.DRO(BALL))


def test_as_many_contexts_as_the_regret_needs():
    chosen = problem("modified-branin", sd=0.2)
    decisions = torch.rand(64, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    few, many = (chosen.values(decisions, chosen.truth(n).points).mean(1) for n in (4096, 2**17))
    best = few.argmax()
    assert ((few[best] - few) - (many[best] - many)).abs().max() < 3e-3


def test_every_step_is_judged_by_its_own_radius(tmp_path):
    chosen = problem("hartmann3")
    judge = ScheduledJudge.of(chosen, EQUATION_6, tmp_path)
    decision = torch.tensor([0.4, 0.7], dtype=torch.float64)
    for step in (1, 7):
        radius = 1 / (step**0.5 + (step + 1) ** 0.5)
        fixed = Judge.of(chosen, Measure("fixed", aw.DRO(aw.TotalVariation(radius))))
        assert judge.regret(decision, step) == pytest.approx(fixed.regret(decision), abs=1e-6)
    kept = ScheduledJudge.of(chosen, EQUATION_6, tmp_path)
    assert kept.best == judge.best


def test_measures_say_whether_they_change():
    assert EQUATION_6.scheduled
    assert not Measure().scheduled
    assert not Measure("fixed", aw.DRO(aw.TotalVariation(0.5))).scheduled


def test_a_run_is_measured_step_by_step():
    table = execute(Run("hartmann3", "random", 0, 2, measures=(Measure(), EQUATION_6), initial=2))
    assert table["measure"].tolist() == ["expected", "expected", "Eq. 6", "Eq. 6"]
    assert (table["regret"] > -1e-9).all()


def test_the_best_push_is_straight_towards_the_goal():
    """Hands at the same distance from the disc: the one opposite to the goal is best in every context."""
    pytest.importorskip("pymunk")
    chosen = problem("robot-push")
    start, end = chosen.ridge
    durations = chosen.truth().points[::97]
    opposite = start + 0.6 * (end - start)
    reach = torch.linalg.vector_norm(opposite - start)
    angles = torch.linspace(0.4, 5.8, 5, dtype=torch.float64)
    towards = torch.atan2(*(end - start).flip(0)) + angles
    others = 0.5 + reach * torch.stack([towards.cos(), towards.sin()], -1)
    best, rest = chosen.values(opposite[None], durations), chosen.values(others, durations)
    assert (rest <= best + 1e-6).all()
