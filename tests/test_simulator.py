"""Studies of a simulator, whose contexts are chosen too."""

import numpy as np
import pytest
import scipy.stats

import allweather as aw
from allweather.storage import Database
from allweather.storage.backup import backup_lines, restore_lines
from allweather.storage.export import export_lines, import_lines
from allweather.storage.journal import Journal
from allweather.storage.summary import study_summaries

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

    def lost(rule):
        studies = [run(make(rule, context=aw.Known(LAW, 128), seed=seed), 20) for seed in range(3)]
        return np.mean([best - worst(study.outlook().decision["x"]) for study in studies])

    chosen = lost(True)
    assert chosen < 0.05
    assert chosen < 0.5 * lost(aw.FromLaw())


def test_trials_of_a_batch_differ_in_decision_or_context():
    trials = run(make(), 6).ask(3)
    assert len({(trial.decision["x"], trial.context["c"]) for trial in trials}) == 3


def test_contexts_are_chosen_for_each_trial_or_given_for_all():
    with pytest.raises(aw.InvalidInput, match=r"Study.ask\(same_context=...\).*ask\(n, context="):
        make().ask(2, same_context=True)
    assert {trial.context["c"] for trial in make().ask(2, context={"c": 0.5}, same_context=True)} == {0.5}


def test_a_context_that_is_given_is_kept():
    trial = run(make(), 5).ask(context={"c": 0.25})
    assert trial.context == {"c": 0.25}


def test_a_stored_study_goes_on_as_if_it_had_not_stopped(tmp_path):
    place = f"sqlite:///{tmp_path}/study.db"
    run(make(storage=place), 6)
    resumed = aw.Study.load(place)
    assert resumed.spec.composition.goal == "simulation"
    assert run(resumed, 2).trials().equals(run(make(), 8).trials())


def test_chosen_contexts_do_not_change_the_law():
    law = {"context": aw.Finite([{"c": 0.2}, {"c": 0.8}], [0.9, 0.1])}
    outlook = run(make(aw.LargestDeviation(), **law), 6).outlook()
    assert outlook.contexts()["believed"].tolist() == pytest.approx([0.9, 0.1])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"context": aw.Ignored()}, r"Study\(context=...\).*Known\(...\)"),
        ({"simulator": "yes"}, r"Study\(simulator=...\).*MostInfluential\(\)"),
        ({"simulator": ("z",)}, r"Study\(simulator=...\).*\['c'\]"),
        ({"simulator": ()}, r"ChooseOnly\(variables=...\)"),
    ],
)
def test_mistakes_are_refused_with_a_remedy(words, named):
    with pytest.raises(aw.InvalidInput, match=named):
        make(**words)


@pytest.mark.parametrize("law", [aw.KDE(), aw.Independent(c=aw.KDE()), None], ids=["joint", "independent", "default"])
def test_a_learned_law_needs_contexts_that_were_observed(law):
    study = make(context=law)
    with pytest.raises(aw.InvalidInput, match="observe_contexts"):
        study.ask()
    assert study.observe_contexts([{"c": 0.4}, {"c": 0.5}, {"c": 0.6}]) == 3
    assert 0.2 < study.ask().context["c"] < 0.8


def test_without_contexts_there_is_nothing_to_choose():
    with pytest.raises(aw.InvalidInput, match="contexts, which it chooses"):
        aw.Study(aw.Space(x=aw.Real(0, 1)), simulator=True)


class TestObservedContexts:
    ROWS = ({"c": 0.2}, {"c": 0.2}, {"c": 0.8})

    def test_the_law_learns_from_these_and_not_from_those_chosen(self):
        study = make(aw.LargestDeviation(), context=aw.Empirical())
        study.observe_contexts(list(self.ROWS))
        believed = run(study, 6).outlook().contexts()
        assert believed.groupby("c")["believed"].sum().tolist() == pytest.approx([2 / 3, 1 / 3])

    def test_they_are_stored_exported_and_imported(self, tmp_path):
        place = f"sqlite:///{tmp_path}/study.db"
        study = make(context=aw.Empirical(), storage=place)
        study.observe_contexts(list(self.ROWS))
        run(study, 5)
        study.observe_contexts([{"c": 0.5}])
        database = Database(place)
        assert study_summaries(database, 1)[0].trials == 5
        import_lines(database, export_lines(Journal.open(database, "study")), "copy")
        restored = Database(f"sqlite:///{tmp_path}/restored.db")
        assert restore_lines(restored, backup_lines(database)) == ["copy", "study"]
        resumed, *others = (aw.Study.load(place, name) for name in ("study", "copy"))
        others.append(aw.Study.load(restored.address, "study"))
        assert len(resumed.history.observed) == 4
        assert [other.trials().equals(resumed.trials()) for other in others] == [True, True]
        asked = resumed.ask()
        assert [(each.decision, each.context) for each in (other.ask() for other in others)] == [
            (asked.decision, asked.context)
        ] * 2

    def test_they_count_beside_those_of_trials_without_a_simulator(self):
        study = aw.Study(SPACE, context=aw.Empirical(), seed=1)
        study.observe_contexts([{"c": 0.2, "note": "rain"}, {"c": 0.4, "note": "sun"}], columns=["c"])
        study.tell(study.ask(), 1.0, context={"c": 0.9})
        assert sorted(study.outlook().contexts()["c"]) == pytest.approx([0.2, 0.4, 0.9])

    @pytest.mark.parametrize(
        ("rows", "named"),
        [([{"c": 2.0}], "row 1, column 'c'"), ([{"d": 0.5}], "row 1"), ([{"c": 0.1, "sd": 1}], "columns c only")],
    )
    def test_what_is_wrong_is_named(self, rows, named):
        with pytest.raises(aw.InvalidInput, match=named):
            make().observe_contexts(rows)


class TestControlSets:
    SPACE = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1), c=aw.Context(0, 1))
    SETS = aw.Control({"x": 1.0, ("x", "y"): 3.0}, budget=40)
    LAWS = aw.Known({"x": LAW, "y": scipy.stats.uniform(0, 1), "c": LAW}, 32)

    def make(self, simulator=True, **words):
        given = {"context": self.LAWS, "objective": aw.CVaR(0.2), "initial": 3, "seed": 1, **words}
        return aw.Study(self.SPACE, control=self.SETS, simulator=simulator, **given)

    def run(self, study, trials):
        for _ in range(trials):
            trial = study.ask()
            row = {**trial.decision, **trial.context}
            study.tell(trial, float(rare_failure(row["x"], row["c"]) - (row["y"] - 0.4) ** 2))
        return study

    def test_a_trial_has_what_its_set_leaves_as_context(self, tmp_path):
        place = f"sqlite:///{tmp_path}/study.db"
        study = self.run(self.make(storage=place, method="ucb-cvs"), 6)
        trials = study.history.trials
        assert all(set(trial.context) == set(trial.left) and trial.cost in (1, 3) for trial in trials)
        assert len({trial.context["c"] for trial in trials}) > 3
        best = study.recommend()
        assert set(best.decision) == set(best.control)
        assert list(best.frontier["cost"]) == [1, 3]
        assert aw.Study.load(place).ask().context == self.run(self.make(method="ucb-cvs"), 6).ask().context

    def test_trials_of_a_batch_differ(self):
        asked = self.run(self.make(), 4).ask(2)
        assert asked[0].context != asked[1].context

    def test_a_law_is_learned_from_contexts_that_were_observed_only(self):
        study = self.make(context=aw.Empirical())
        with pytest.raises(aw.InvalidInput, match="observe_contexts"):
            study.ask()
        study.observe_contexts([{"x": 0.5, "y": place, "c": place} for place in (0.2, 0.4, 0.4, 0.6, 0.6)])
        found = self.run(study, 5).outlook().contexts()
        assert found.groupby("c")["believed"].sum().to_dict() == pytest.approx({0.2: 0.2, 0.4: 0.4, 0.6: 0.4})

    def test_some_are_chosen_and_the_others_told(self):
        study = self.make(("c",))
        for _ in range(5):
            trial = study.ask()
            assert list(trial.partial or trial.context) == ["c"]
            told = {"y": 0.3} if "y" in trial.left else None
            assert study.tell(trial, 1.0, context=told).state == "complete"
        both = next(side for side in study._engine.sides if side.control.names == {"x", "y"})
        assert both.main.simulator.variables == ("c",)

    @pytest.mark.parametrize(
        ("words", "named"),
        [({"simulator": ("x",)}, r"leaves: \['y', 'c'\]"), ({"context": aw.Ignored()}, r"Study\(context=...\)")],
    )
    def test_what_cannot_be_chosen_is_refused(self, words, named):
        with pytest.raises(aw.InvalidInput, match=named):
            self.make(**words)

    def test_sets_that_control_everything_leave_nothing_to_choose(self):
        with pytest.raises(aw.InvalidInput, match="leaves variables, which it chooses"):
            aw.Study(aw.Space(x=aw.Real(0, 1)), control=aw.Control({"x": 1.0}), simulator=True)


class TestSomeContextsAreChosen:
    SPACE = aw.Space(x=aw.Real(0, 1), pressure=aw.Context(0, 1), ambient=aw.Context(0, 1))

    def make(self, **words):
        law = aw.Independent(pressure=aw.Uniform(16), ambient=aw.KDE(samples=16))
        return aw.Study(self.SPACE, context=law, simulator=("pressure",), initial=3, seed=1, **words)

    def test_the_others_are_told_and_learned_from(self, tmp_path):
        study = self.make(storage=f"sqlite:///{tmp_path}/study.db")
        study.observe_contexts([{"pressure": 0.5, "ambient": 0.3}])
        for ambient in (0.3, 0.4, 0.35, 0.3, 0.4):
            trial = study.ask()
            assert trial.context is None
            assert set(trial.partial) == {"pressure"}
            done = study.tell(trial, trial.decision["x"] * ambient, context={"ambient": ambient})
            assert done.state == "complete"
            assert done.context["pressure"] == trial.partial["pressure"]
        assert study._engine.sides[0].observations(study.history).seen.isnan().sum() == 5
        assert study.outlook().contexts()["ambient"].between(0.1, 0.6).all()
        resumed = aw.Study.load(f"sqlite:///{tmp_path}/study.db")
        assert resumed.spec.fields["simulator"]["variables"] == ["pressure"]
        assert resumed.ask(n=2)[0].partial == study.trial(5).partial

    def test_a_part_that_is_given_is_kept_and_the_rest_chosen(self):
        study = aw.Study(self.SPACE, context=aw.Uniform(16), simulator=True, initial=2, seed=1)
        trial = study.ask(context={"ambient": 0.25})
        assert trial.context["ambient"] == 0.25
        assert set(trial.context) == {"pressure", "ambient"}


def test_a_table_of_contexts_is_not_counted_twice_by_a_script_that_starts_again():
    study = aw.Study(aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), simulator=True, seed=1)
    rows = [{"c": c / 7} for c in range(7)]
    study.observe_contexts([{"c": 0.5}])
    assert study.observe_contexts(rows) == 7
    with pytest.raises(aw.InvalidInput, match=r"these 7 contexts were observed before.*again=True"):
        study.observe_contexts(rows)
    assert len(study.history.observed) == 8
    assert study.observe_contexts(rows, again=True) == study.observe_contexts([*rows, {"c": 0.3}]) - 1 == 7
    with pytest.raises(aw.InvalidInput, match="must be True or False"):
        study.observe_contexts(rows, again="no")
