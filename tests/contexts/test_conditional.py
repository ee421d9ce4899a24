import pytest
import scipy.stats
import torch

import allweather as aw
from allweather.contexts.conditional import Conditional, real_columns

SPACE = aw.Space(
    dose=aw.Real(0, 1),
    lot=aw.Context(aw.Choice("A", "B", "C")),
    ambient=aw.Context(0, 40),
    n=aw.Context(aw.Integer(0, 5)),
)
ROWS = [{"lot": "A", "ambient": 10 + i, "n": 1} for i in range(5)] + [
    {"lot": "B", "ambient": 30 + i, "n": 2} for i in range(5)
]
SEEN = SPACE.contexts.encode(ROWS)
KNOWN = aw.Known({"lot": {"A": 0.2, "B": 0.8}, "ambient": scipy.stats.norm(20, 5), "n": scipy.stats.randint(0, 6)})
INDEPENDENT = aw.Independent(
    lot=aw.Finite(["A", "B", "C"], [0.2, 0.3, 0.5]), ambient=aw.KDE(), n=aw.Known(scipy.stats.binom(5, 0.4))
)


def generator():
    return torch.Generator().manual_seed(0)


def given(model, **known):
    return Conditional(model.on(SPACE), SPACE.contexts.encode_partly(known), real_columns(SPACE.contexts))


def ambient(model, **known):
    points, weights = given(model, **known).reference(SEEN, 10, generator())
    assert float(weights.sum()) == pytest.approx(1)
    fixed = SPACE.contexts.encode_partly(known)
    assert bool((points == fixed)[:, ~fixed.isnan()].all())
    return 40 * float(weights @ points[:, 3])


@pytest.mark.parametrize("model", [aw.KDE(), aw.Empirical(), aw.Drifting(1000), aw.Finite(ROWS)])
def test_an_option_selects_the_contexts_that_had_it(model):
    assert ambient(model, lot="B") == pytest.approx(32, abs=0.1)
    assert ambient(model, n=1) == pytest.approx(12, abs=0.1)


@pytest.mark.parametrize("model", [aw.KDE(), aw.Empirical(), aw.Finite(ROWS)])
def test_a_number_selects_the_contexts_nearby(model):
    points, weights = given(model, ambient=33.2).reference(SEEN, 10, generator())
    assert float(weights @ points[:, 1]) > 0.95  # lot B


def test_a_value_that_was_never_seen_says_nothing_where_the_law_is_learned():
    assert ambient(aw.KDE(), lot="C") == pytest.approx(22, abs=0.1)
    with pytest.raises(aw.InvalidInput, match="have a point with the known values"):
        ambient(aw.Finite(ROWS), lot="C")


@pytest.mark.parametrize(("model", "mean"), [(aw.Uniform(), 20), (KNOWN, 20), (INDEPENDENT, 22), (aw.MeanBox(), 22)])
def test_independent_variables_keep_their_law(model, mean):
    assert ambient(model, lot="B") == pytest.approx(mean, abs=0.1)


def test_the_uncertainty_of_a_learned_law_is_that_of_the_matching_contexts():
    for known, spread in (({"lot": "B"}, 0.1), ({}, 1.0)):
        model = given(aw.Empirical(), **known) if known else aw.Empirical().on(SPACE)
        reference = model.reference(SEEN, 10, generator())
        drawn = 40 * model.resample(SEEN, reference, 400, generator()) @ reference.points[:, 3]
        assert (drawn.std() > 2) == (spread == 1.0)
        assert float(drawn.mean()) == pytest.approx(32 if known else 22, abs=0.5)


def test_a_study_is_asked_and_told_variable_by_variable():
    study = aw.Study(SPACE, context=INDEPENDENT, initial=3)
    trial = study.ask(context={"lot": "B"})
    assert (trial.context, trial.partial) == (None, {"lot": "B"})
    assert study.tell(trial, 1.0, context={"ambient": 20}).state == "pending"
    assert study.trials()["ambient"][0] == 20
    with pytest.raises(aw.InvalidInput, match="be told once"):
        study.tell(trial, context={"lot": "A"})
    with pytest.raises(aw.InvalidInput, match=r"lacks.*has unknown 'ambeint'"):
        study.tell(trial, context={"ambeint": 20})
    told = study.tell(trial, context={"n": 3})
    assert (told.state, told.context, told.partial) == ("complete", {"lot": "B", "ambient": 20, "n": 3}, None)
    study.add([{**row, "dose": 0.1 * i, "value": row["ambient"]} for i, row in enumerate(ROWS)])
    study.ask(context={"lot": "A"})
    assert study.ask(context={"lot": "B"}).partial == {"lot": "B"}
    worst = study.recommend(context={"lot": "B"}).worst
    assert set(worst["lot"]) == {"B"}
    assert study.correct(trial, context={"n": 4}).context["n"] == 4
