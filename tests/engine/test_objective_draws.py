"""Intervals of objectives account for a context law that is learned."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import allweather as aw
from allweather.engine import intervals
from allweather.engine import objective_draws as draws
from allweather.engine.objective_draws import mean_laws, objective_draws
from allweather.engine.recommendation import INTERVAL_IN_PRINT

SPACE = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
SOURCE = np.random.default_rng(3)
CONTEXTS = SOURCE.beta(2, 4, size=40)
DECISIONS = SOURCE.uniform(size=40)
EXACT = aw.GP("rbf", lengthscales=1.0, outputscale=4.0, noise=1e-3, mean=0.0)


def outcome(x, c):
    return 2 * c - (x - 0.5) ** 2


def study(context, objective=None, direction="maximize", sign=1, t=40, **settings):
    made = aw.Study(
        SPACE,
        context=context,
        objective=objective or aw.Expectation(),
        surrogate=EXACT,
        direction=direction,
        seed=1,
        **settings,
    )
    rows = [{"x": x, "c": c, "value": sign * outcome(x, c)} for x, c in zip(DECISIONS[:t], CONTEXTS[:t], strict=True)]
    made.add(rows)
    return made


def width(recommendation):
    low, high = recommendation.interval
    return high - low


@pytest.mark.parametrize("context", [aw.KDE(512), aw.Empirical()])
def test_a_well_known_function_is_as_uncertain_as_the_mean_of_the_contexts(context, monkeypatch):
    """The outcome is linear in the context, so the interval is Student's of a mean, to the noise of 257 draws."""
    monkeypatch.setattr(intervals, "ALLOWANCE", 1.0)  # this function is a draw of the model
    best = study(context).recommend()
    sd = 2 * CONTEXTS.std(ddof=1) / np.sqrt(40)
    assert width(best) == pytest.approx(2 * 1.685 * sd, rel=0.18)
    assert width(study(replace(context, bootstrap=False)).recommend()) < 0.1 * width(best)


def test_a_law_that_is_given_adds_nothing():
    learned = study(aw.KDE(256))
    given = aw.Finite([[0.2], [0.4]])
    assert width(learned.recommend(forecast=given)) < 0.05
    assert width(learned.recommend(context={"c": 0.3})) < 0.05
    assert width(study(given).recommend()) < 0.05


@pytest.mark.parametrize(
    "objective",
    [
        aw.DRO(aw.TotalVariation(0.2)),
        aw.DRO(aw.KL(0.1)),
        aw.DRO(aw.ChiSquared(0.1)),
        aw.DRO(aw.MMD(0.1, lengthscale=0.2)),
        aw.DRO(aw.Wasserstein(0.05)),
        aw.CVaR(0.3),
        aw.VaR(0.3),
        aw.EntropicRisk(1.0),
        aw.MeanVariance(0.5),
        aw.WorstCase(),
    ],
)
def test_every_objective_pairs_function_and_law(objective):
    """Each draw is the objective of one function under one law, here computed one by one."""
    belief = study(aw.KDE(48), objective, t=12).outlook().belief
    decisions = torch.tensor([[0.2], [0.6]], dtype=torch.float64)
    drawn = objective_draws(belief, decisions)
    assert drawn.shape == (257, 2)
    torch.testing.assert_close(objective_draws(belief, decisions[1:])[:, 0], drawn[:, 1])
    if not isinstance(objective, aw.WorstCase):
        certain = objective_draws(replace(belief, context_model=None), decisions)
        assert bool((drawn.std(0) > certain.std(0)).all())


def test_fewer_contexts_make_wider_intervals():
    few, many = (study(aw.KDE(256), t=t).recommend() for t in (8, 40))
    assert width(few) > 1.3 * width(many)


def test_value_mean_outcome_and_curve_are_one_number_for_a_mean():
    made = study(aw.KDE(256))
    best, outlook = made.recommend(), made.outlook()
    assert best.value == best.expected == pytest.approx(best.curve["value"].iloc[0], rel=1e-12)
    likely = outlook.objectives([best.decision])
    assert (likely.low[0], likely.high[0]) == best.interval
    assert likely.middle[0] == best.value


def test_minimising_reads_forwards():
    assert " rises to " in str(study(aw.KDE(64), direction="minimize", sign=-1).recommend())
    assert " falls to " in str(study(aw.KDE(64)).recommend())


def test_control_sets_account_for_the_law_of_what_is_left_alone():
    space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1))
    control = aw.Control([aw.ControlSet(("a",), 1.0)])
    made = aw.Study(space, control=control, context=aw.KDE(128), objective=aw.Expectation(), initial=2, seed=2)
    for c in CONTEXTS[:8]:
        trial = made.ask()
        made.tell(trial, 2 * c, context={"b": c})
    sure = aw.Study(space, control=control, context=aw.KDE(128, bootstrap=False), objective=aw.Expectation(), seed=2)
    sure.restore([made.trial(number) for number in range(8)] if hasattr(made, "trial") else list(made.history.trials))
    assert width(made.recommend()) > width(sure.recommend())


def test_one_context_or_equal_ones_or_two_trials_are_no_trouble():
    for contexts in ([0.3], [0.3] * 5, [0.2, 0.4]):
        made = aw.Study(SPACE, seed=1)
        made.add([{"x": 0.1 * i, "c": c, "value": float(i)} for i, c in enumerate(contexts)])
        low, high = made.recommend().interval
        assert np.isfinite([low, high]).all()
        assert low <= high


def _recommended_belief(objective, context=None):
    return study(context or aw.KDE(128), objective).outlook().belief


@pytest.mark.parametrize(
    ("objective", "possible"),
    [
        (aw.Expectation(), True),
        (aw.CVaR(0.2), True),
        (aw.Probability(0.1), True),
        (aw.DRO(aw.ChiSquared(0.1)), True),
        (aw.DRO(aw.TotalVariation(0.1)), False),  # nature would go there whatever the law
        (aw.WorstCase(), False),
    ],
    ids=repr,
)
def test_what_was_not_seen_is_possible(objective, possible):
    belief = _recommended_belief(objective)
    assert len(belief.wide.reference.points) == 128 + 64 * possible
    drawn = belief.wide.laws(4000, torch.Generator().manual_seed(0))
    torch.testing.assert_close(drawn.sum(-1), torch.ones(4000, dtype=torch.float64))
    unseen = drawn[:, 128:].sum(-1)
    assert unseen.mean().item() == pytest.approx(possible / 41, abs=2e-3)
    assert (unseen < 3 / 40).double().mean().item() >= 0.94


def test_laws_that_are_given_and_those_without_bootstrap_are_taken_as_they_are():
    for context in (aw.Finite([[0.2], [0.4]]), aw.KDE(128, bootstrap=False), aw.Uniform(64)):
        belief = _recommended_belief(aw.Expectation(), context)
        assert belief.wide is belief


def test_objectives_that_ignore_unlikely_contexts_do():
    source = np.random.default_rng(0)
    values, weights = torch.from_numpy(source.normal(size=(5, 9))), torch.from_numpy(source.dirichlet(np.ones(8)))
    points = torch.from_numpy(source.random((9, 1)))
    likely = aw.Reference(points[:8], weights)
    everything = aw.Reference(points, torch.cat([weights, torch.zeros(1, dtype=torch.float64)]))
    values[:, 8] = -1e3
    objectives = [aw.Expectation(), aw.CVaR(0.3), aw.VaR(0.3), aw.MeanVariance(0.5), aw.EntropicRisk(1.0)]
    objectives += [aw.Probability(0.0), aw.DRO(aw.KL(0.1)), aw.DRO(aw.ChiSquared(0.1))]
    for objective in objectives:
        assert objective.ignores_unlikely
        torch.testing.assert_close(objective(values, everything), objective(values[:, :8], likely))
    for distance in (aw.TotalVariation(0.1), aw.MMD(0.1, lengthscale=0.3), aw.Wasserstein(0.1)):
        assert not aw.DRO(distance).ignores_unlikely


def test_laws_of_means_have_the_moments_of_draws(monkeypatch):
    monkeypatch.setattr(draws, "UNSEEN_DEVIATIONS", 0.0)  # else their law has no variance
    belief = _recommended_belief(aw.Expectation())
    decisions = torch.tensor([[0.1], [0.5], [0.9]], dtype=torch.float64)
    laws, drawn = mean_laws(belief, decisions), objective_draws(belief, decisions, 4096, surprises=True)
    sd = (laws.sd.square().mean(0) + laws.mean.var(0)).sqrt()
    torch.testing.assert_close(drawn.std(0), sd, rtol=0.1, atol=0)
    assert ((drawn.mean(0) - laws.mean.mean(0)).abs() < 0.1 * sd).all()


@pytest.mark.parametrize("count", [2, 100])
def test_every_law_is_taken_with_hyperparameters(count):
    belief = _recommended_belief(aw.Expectation())
    decisions, points = torch.tensor([[0.5]], dtype=torch.float64), belief.reference.points
    laws = belief.reference.weights.expand(count, -1)
    assert count % len(belief.averaged.parts)
    found = belief.averaged.mean_moments(decisions, points, laws)
    assert found.mean.shape == found.sd.shape == (count, 1)


def test_wide_intervals_are_said_where_they_can_be_compared_with_outcomes():
    made = aw.Study(aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), surrogate=aw.GP(outputscale=1e4, noise=1e-3))
    made.add([{"x": x / 4, "c": x * 3 % 5 / 5, "value": 0.1 * x} for x in range(4)])
    assert "wider than 3 times the range" in made.recommend().warning
    assert "wider" not in made.recommend(objective=aw.Probability(0.2)).warning


def rare(seed, t, chance, cost):
    """A study of a quiet function whose outcomes fail now and then, at every decision."""
    rng = np.random.default_rng(seed)
    made, failed = aw.Study(SPACE, seed=seed), rng.random(t) < chance
    failed[-1] = True
    x, c = rng.random((2, t))
    values = -2 * (x - 0.4 - 0.2 * c) ** 2 + 0.02 * rng.standard_normal(t) - cost * failed
    made.add([{"x": x[i], "c": c[i], "value": values[i]} for i in range(t)])
    return made.outlook()


def test_failures_that_a_transform_takes_for_outliers_lower_the_interval_of_the_mean():
    outlook = rare(2, 40, 0.05, 3.0)
    assert outlook.belief.residuals is not None
    without = replace(outlook, belief=replace(outlook.belief, residuals=None))
    (low, middle, high), (before, same, top) = outlook.chosen_objective, without.chosen_objective
    assert low < before - 0.05
    assert middle == pytest.approx(same)
    assert high == pytest.approx(top, abs=0.1)
    assert outlook.assumption.startswith("transformed outcomes are described by the model")


def test_where_nothing_was_seen_outcomes_may_be_worse_than_a_smooth_function_says():
    """Failures begin beyond the contexts seen: the surrogate goes on flat."""
    made = aw.Study(SPACE, surrogate=EXACT, objective=aw.Expectation(), seed=1)
    x, c = np.random.default_rng(0).random((2, 30))
    made.add([{"x": x[i], "c": 0.4 * c[i], "value": x[i]} for i in range(30)])
    outlook = made.outlook(objective=aw.Expectation())
    low, _, high = outlook.chosen_objective
    sure = replace(outlook, belief=replace(outlook.belief, unlikely=None))
    assert high - low > 3 * (sure.chosen_objective[2] - sure.chosen_objective[0])
    assert low < sure.chosen_objective[0] - 0.03
    assert "0.1 of the probability where none was seen" in outlook.assumption
    probability = made.outlook(objective=aw.CVaR(0.2))
    assert probability.chosen_objective[0] < probability.chosen_objective[1]


def test_a_recommendation_says_what_its_interval_assumes():
    learned, given = (study(context).recommend() for context in (aw.KDE(64), aw.Finite([[0.2], [0.4]])))
    assert "with at most 0.075 of the probability where none was seen" in learned.assumption
    assert "the distribution of contexts is the given one" in given.assumption
    for best in (learned, given):
        assert best.notes["Interval"] == f"it assumes that {best.assumption}"
        assert str(best).endswith(f". Interval: {INTERVAL_IN_PRINT}")
        assert len(f"Interval: {INTERVAL_IN_PRINT}") <= 90
        assert best.to_dict()["assumption"] == best.assumption
