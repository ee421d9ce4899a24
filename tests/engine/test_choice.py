"""Which decision is recommended where worst cases of the mean function mislead."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import allweather as aw
from allweather.acquisition.optimize import Search
from allweather.engine.choice import likely_best
from allweather.engine.objective_draws import objective_draws

SPACE = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))


def study(goal: str = "every-trial", objective: aw.Objective | None = None) -> aw.Study:
    """Outcomes that vary with the context near x = 0, and nothing known elsewhere."""
    rng = np.random.default_rng(0)
    made = aw.Study(
        SPACE,
        context=aw.KDE(),
        objective=aw.CVaR(0.2) if objective is None else objective,
        surrogate=aw.GP("matern", lengthscales=[0.1, 0.3], outputscale=4.0, noise=0.05),
        seed=1,
        goal=goal,
    )
    rows = [
        {"x": float(x), "c": float(c), "value": float(np.sin(6 * c) + 0.05 * rng.standard_normal())}
        for x, c in zip(rng.uniform(0, 0.2, 24), rng.random(24), strict=True)
    ]
    made.add(rows)
    return made


def test_an_untried_decision_is_no_better_for_being_unknown():
    # The mean function is flat where nothing was tried: its worst fifth is its mean.
    assert study("published").recommend().decision["x"] > 0.4
    assert study().recommend().decision["x"] < 0.4


def test_the_recommended_decision_has_the_best_median():
    given = study()
    best = given.recommend()
    others = [{"x": x / 20} for x in range(21)]
    low, high = best.interval
    assert best.value >= given.outlook().objectives(others).middle.max() - 0.05 * (high - low)


def test_a_mean_is_recommended_by_the_posterior_mean():
    given = study(objective=aw.Expectation())
    belief = given.outlook().belief
    first = torch.tensor([0.25], dtype=torch.float64)
    assert likely_best(belief, first, Search(SPACE.decisions)) is first


def test_only_candidates_are_recommended():
    candidates = [{"x": 0.05}, {"x": 0.15}, {"x": 0.9}]
    made = aw.Study(SPACE, objective=aw.CVaR(0.2), candidates=candidates, seed=1)
    made.add([{**candidates[n % 3], "c": n / 9, "value": -(n % 3) + 0.1 * n % 0.3} for n in range(10)])
    made.add([{"x": 0.5, "c": n / 5, "value": 9.0} for n in range(6)])  # tried once, but no candidate
    assert made.recommend().decision in candidates


def test_what_the_constraints_exclude_is_not_recommended():
    limit = aw.LinearConstraint({"x": 1}, upper=0.4)
    made = aw.Study(SPACE, objective=aw.CVaR(0.2), constraints=[limit], seed=1)
    made.add([{"x": n / 10, "c": c, "value": n / 10 + 0.1 * c} for n in range(5) for c in (0.2, 0.5, 0.8)])
    assert made.recommend().decision["x"] <= 0.4 + 1e-9


@pytest.mark.parametrize("count", [1, 65])
def test_draws_may_be_few(count):
    belief = study().outlook().belief
    drawn = objective_draws(belief, torch.rand(3, 1, dtype=torch.float64), count)
    assert drawn.shape == (count, 3)
    assert bool(drawn.isfinite().all())
