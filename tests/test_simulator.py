"""Studies of a simulator, whose contexts are chosen too."""

import numpy as np
import pytest
import scipy.stats

import allweather as aw

SPACE = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
LAW = scipy.stats.truncnorm(-5, 5, 0.5, 0.1)
RULES = [True, aw.LargestDeviation(), aw.LacingValue(), aw.FromLaw(), aw.LargestGain()]


def rare_failure(x, c):
    """Larger x earns more, and fails in contexts that are rare."""
    return x - 3 / (1 + np.exp(-40 * (c - (1.15 - 0.5 * x))))


def make(simulator=True, **words):
    given = {"context": aw.Known(LAW, 64), "objective": aw.CVaR(0.05), "initial": 4, "seed": 2, **words}
    return aw.Study(SPACE, simulator=simulator, **given)


def run(study, trials):
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, float(rare_failure(trial.decision["x"], trial.context["c"])))
    return study


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_context_is_chosen_and_need_not_be_told(rule):
    study = run(make(rule), 6)
    table = study.trials()
    assert (table["state"] == "complete").all()
    assert table["c"].between(0, 1).all()
    assert table["c"].nunique() > 1
    assert 0 <= study.outlook().decision["x"] <= 1


@pytest.mark.slow
def test_rare_failures_are_found():
    law = LAW.ppf((np.arange(2000) + 0.5) / 2000)

    def worst(x):
        return np.sort(rare_failure(x, law))[:100].mean()

    best = max(worst(x) for x in np.linspace(0, 1, 201))
    chosen, drawn = (run(make(rule, context=aw.Known(LAW, 128)), 20) for rule in (True, aw.FromLaw()))
    lost = [best - worst(study.outlook().decision["x"]) for study in (chosen, drawn)]
    assert lost[0] < 0.05
    assert lost[0] < 0.5 * lost[1]


def test_trials_of_a_batch_differ_in_decision_or_context():
    trials = run(make(), 6).ask(3)
    assert len({(trial.decision["x"], trial.context["c"]) for trial in trials}) == 3


def test_a_context_that_is_given_is_kept():
    trial = run(make(), 5).ask(context={"c": 0.25})
    assert trial.context == {"c": 0.25}


def test_a_stored_study_goes_on_as_if_it_had_not_stopped(tmp_path):
    place = f"sqlite:///{tmp_path}/study.db"
    run(make(storage=place), 6)
    resumed = aw.Study.load(place)
    assert resumed.spec["simulator"] == {"name": "most-influential"}
    assert run(resumed, 2).trials().equals(run(make(), 8).trials())


def test_chosen_contexts_do_not_change_the_law():
    law = {"context": aw.Finite([{"c": 0.2}, {"c": 0.8}], [0.9, 0.1])}
    outlook = run(make(aw.LargestDeviation(), **law), 6).outlook()
    assert outlook.contexts()["believed"].tolist() == pytest.approx([0.9, 0.1])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"context": aw.KDE()}, r"Study\(context=...\).*Finite\(rows\)"),
        ({"context": aw.Independent(c=aw.KDE())}, r"Study\(context=...\).*Finite\(rows\)"),
        ({"context": None}, r"Study\(context=...\).*Known\(...\)"),
        ({"simulator": "yes"}, r"Study\(simulator=...\).*MostInfluential\(\)"),
    ],
)
def test_mistakes_are_refused_with_a_remedy(words, named):
    with pytest.raises(aw.InvalidInput, match=named):
        make(**words)


def test_without_contexts_there_is_nothing_to_choose():
    with pytest.raises(aw.InvalidInput, match="contexts, which it chooses"):
        aw.Study(aw.Space(x=aw.Real(0, 1)), simulator=True)
