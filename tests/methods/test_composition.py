import pytest

import allweather as aw
from allweather.methods.composition import Composition


def test_what_papers_leave_open_fits_the_space():
    real = Composition(goal="published").on(aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), 1)
    assert isinstance(real.context, aw.KDE)
    assert isinstance(real.objective, aw.DRO)
    mixed = Composition(goal="published").on(aw.Space(x=aw.Real(0, 1), c=aw.Context(aw.Choice("dry", "wet"))), 1)
    assert isinstance(mixed.context, aw.Empirical)
    plain = Composition(goal="published").on(aw.Space(x=aw.Real(0, 1)), 1)
    assert plain.context is None
    assert isinstance(plain.objective, aw.Expectation)
    assert isinstance(plain.acquisition, aw.UCB)
    assert isinstance(plain.surrogate, aw.GP)


@pytest.mark.parametrize(
    ("goal", "acquisition"),
    [
        ("every-trial", aw.OnlineKnowledgeGradient()),
        ("recommendation", aw.ObjectiveUCB(1.0)),
        ("simulation", aw.ObjectiveUCB(2.0)),
    ],
)
def test_defaults_fit_the_goal_and_the_space(goal, acquisition):
    space = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1), lot=aw.Context(aw.Choice("dry", "wet")))
    parts = Composition(goal=goal).on(space, 1)
    assert isinstance(parts.context, aw.KDE)
    assert parts.objective == aw.Expectation()
    assert parts.acquisition == acquisition
    assert parts.surrogate.kernel == "matern"
    assert parts.surrogate.transform == "auto"
    choices = Composition(goal=goal).on(aw.Space(x=aw.Real(0, 1), c=aw.Context(aw.Choice("dry", "wet"))), 1)
    assert isinstance(choices.context, aw.Empirical)
    assert Composition(goal=goal).on(aw.Space(x=aw.Real(0, 1)), 1).context is None


def test_goals_are_checked_and_published_methods_have_their_own():
    with pytest.raises(aw.InvalidInput, match="goal"):
        Composition(goal="fame")
    assert aw.method("gp-ucb").goal == "published"
    parts = aw.method("ts-bocu").on(aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), 1)
    assert parts.surrogate.kernel == "rbf"
    assert parts.context.bounds == "clip"


def test_targets_and_prior_means_face_the_direction():
    composition = Composition(objective=aw.RobustSatisficing(2.0, aw.TotalVariation(0)), surrogate=aw.GP(mean=1.0))
    parts = composition.on(aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), -1)
    assert parts.objective.target == -2.0
    assert parts.surrogate.mean == -1.0
