"""Few contexts stand for all where worst cases take long, and few evaluations for many."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import allweather as aw
from allweather.engine.condensed import condensed, correction
from allweather.engine.gain import sampled_functions
from allweather.engine.objective_draws import draws_to_compare, objective_draws
from allweather.engine.screening import highest, leading_medians, tangent_values

SPACE = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))


def outlook(objective: aw.Objective, samples: int = 300):
    """The view of twelve trials."""
    source = np.random.default_rng(0)
    study = aw.Study(SPACE, context=aw.KDE(samples), objective=objective, seed=1)
    study.add([{"x": x, "c": c, "value": -((x - c) ** 2)} for x, c in source.random((12, 2))])
    return study.outlook()


@pytest.fixture(scope="module")
def view():
    return outlook(aw.DRO(aw.Wasserstein(0.05)))


def test_only_slow_distances_take_few_contexts_and_say_so(view):
    assert "128 of 300 contexts" in view.approximation
    assert "128 of 300 contexts" in str(view.recommendation())
    assert condensed(outlook(aw.DRO(aw.TotalVariation(0.2))).belief) is None
    assert outlook(aw.DRO(aw.Wasserstein(0.05)), 64).approximation == ""


def test_draws_on_few_contexts_have_the_centre_and_spread_of_those_on_all(view):
    belief, decisions = view.belief, torch.tensor([[0.3], [0.8]], dtype=torch.float64)
    drawn = objective_draws(belief, decisions, 1025)
    with torch.no_grad():
        values = (belief.averaged or belief.surrogate).draws(
            decisions, belief.reference.points, 1025, torch.Generator().manual_seed(belief.generator.initial_seed())
        )
    laws = belief.laws(129, torch.Generator().manual_seed(3))
    exact = belief.objective.under(values, belief.reference.points, laws)
    error = exact.std(0) / 1025**0.5
    assert bool(((drawn.mean(0) - exact.mean(0)).abs() < 4 * error).all())
    torch.testing.assert_close(drawn.std(0), exact.std(0), rtol=0.25, atol=0)
    few = condensed(belief)
    assert few is not None
    assert float(correction(belief, few, decisions).abs().max()) < 0.01


def test_tangents_find_what_all_evaluations_find(view):
    belief = view.lighter().belief
    decisions = torch.linspace(0, 1, 9, dtype=torch.float64)[:, None]
    with torch.no_grad():
        values = sampled_functions(belief, decisions, torch.Generator().manual_seed(0))
        estimate = tangent_values(belief, decisions, values)
        exact = belief.objective(values, belief.reference)
        assert bool((estimate >= exact - 1e-9).all())  # the objective is concave
        torch.testing.assert_close(highest(belief, values, estimate), exact.amax(-1), atol=1e-3, rtol=0)
        medians = leading_medians(belief, values, estimate, 3)
    best = exact.median(0).values.topk(3)
    torch.testing.assert_close(medians[best.indices], best.values)


def test_only_decisions_that_may_be_looked_for_are_drawn(view):
    belief = view.belief
    decisions = torch.linspace(0, 1, 9, dtype=torch.float64)[[4, 0, 1, 2, 3, 5, 6, 7, 8], None]
    exact = objective_draws(belief, decisions)
    medians = exact.median(0).values
    for level in (-torch.inf, medians.sort().values[5], medians[0], medians.max()):
        drawn = draws_to_compare(belief, decisions, lambda first, level=level: first[0] * 0 + level)
        found = drawn[0].isfinite()
        torch.testing.assert_close(drawn[:, found], exact[:, found])
        assert bool(found[0])
        wanted = medians == medians.max()
        assert bool((found | ~wanted).all()) or float(medians.max()) <= float(level)
    assert int(found.sum()) < len(decisions)


@pytest.mark.parametrize(
    "distance",
    [
        aw.Wasserstein(0.1),
        aw.MMD(0.1, lengthscale=0.3),
        aw.KL(0.1),
        aw.Phi(0.1, phi=lambda u: torch.special.xlogy(u, u) - u + 1, conjugate=torch.expm1),
    ],
)
@pytest.mark.parametrize("dimension", [1, 2])
def test_many_laws_at_once_are_each_by_itself(distance, dimension):
    source = np.random.default_rng(2)
    points, values = torch.tensor(source.random((14, dimension))), torch.tensor(source.normal(size=(5, 2, 14)))
    laws = torch.tensor(source.dirichlet(np.ones(14), 3))
    together = distance.worst_cases(values, points, laws)
    for place in range(5):
        alone = distance.worst_case(values[place], aw.Reference(points, laws[place % 3]))
        torch.testing.assert_close(together.value[place], alone.value, atol=1e-7, rtol=0)
        torch.testing.assert_close(together.slope[place], alone.slope, atol=1e-4, rtol=1e-4)
