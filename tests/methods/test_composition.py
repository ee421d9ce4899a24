import allweather as aw
from allweather.methods.composition import Composition


def test_defaults_fit_the_space():
    real = Composition().on(aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), 1)
    assert isinstance(real.context, aw.KDE)
    assert isinstance(real.objective, aw.DRO)
    mixed = Composition().on(aw.Space(x=aw.Real(0, 1), c=aw.Context(aw.Choice("dry", "wet"))), 1)
    assert isinstance(mixed.context, aw.Empirical)
    plain = Composition().on(aw.Space(x=aw.Real(0, 1)), 1)
    assert plain.context is None
    assert isinstance(plain.objective, aw.Expectation)
    assert isinstance(plain.acquisition, aw.UCB)
    assert isinstance(plain.surrogate, aw.GP)


def test_targets_and_prior_means_face_the_direction():
    composition = Composition(objective=aw.RobustSatisficing(2.0, aw.TotalVariation(0)), surrogate=aw.GP(mean=1.0))
    parts = composition.on(aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), -1)
    assert parts.objective.target == -2.0
    assert parts.surrogate.mean == -1.0
