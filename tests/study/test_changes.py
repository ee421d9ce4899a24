"""A study that changes: other bounds, options, parts, costs and budget."""

import pytest

import allweather as aw
from allweather.storage import Database, Journal, Storage, import_lines
from allweather.storage.backup import backup_lines, restore_lines
from allweather.storage.salvage import salvage_lines
from allweather.storage.summary import study_summaries
from allweather.study import StudyLog

SPACE = aw.Space(order=aw.Real(0, 1), wood=aw.Choice("oak", "ash"), demand=aw.Context(0, 1))
WIDE = {"order": aw.Real(0, 2), "wood": aw.Choice("oak", "ash", "elm")}
NARROW = {"order": aw.Real(0.2, 0.6), "wood": aw.Choice("oak", "elm")}
OBJECTIVE = aw.DRO(aw.TotalVariation(0.2))


def made(url=None, **options):
    given = {"context": aw.Empirical(), "objective": OBJECTIVE, "seed": 3, "initial": 3, "name": "kiosk", **options}
    return aw.Study(options.pop("space", SPACE), storage=url, **{k: v for k, v in given.items() if k != "space"})


def carry_out(study, trial):
    number, order = trial.number, trial.decision["order"]
    return study.tell(trial, -((order - 0.4) ** 2) - 0.01 * number, context={"demand": (0.37 * number) % 1})


def steps(study, count):
    return [carry_out(study, study.ask()).decision for _ in range(count)]


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/studies.db"


def test_a_changed_study_resumes_exactly(url):
    simple = {"objective": aw.Expectation(), "acquisition": aw.UCB(1.0), "surrogate": aw.GP(), "initial": 2}
    going, expected = made(**simple), []
    for change in ({}, WIDE, NARROW):
        going.change(change)
        expected.append(steps(going, 3))
    for change, decisions in zip(({}, WIDE, NARROW), expected, strict=True):
        own = made(url, existing="stored", **simple)
        own.change(change)
        found = steps(own, 1) + steps(aw.Study.load(url, "kiosk"), 1)  # another process, so to speak
        assert [*found, *steps(own, 1)] == decisions
    assert all(0.2 <= each["order"] <= 0.6 and each["wood"] != "ash" for each in expected[-1])
    best = going.recommend().decision
    assert 0.2 <= best["order"] <= 0.6
    assert best["wood"] != "ash"


def test_pending_and_told_trials_outside_narrower_bounds_stay(url):
    study = made(url)
    steps(study, 3)
    (pending,) = study.add([{"order": 0.9, "wood": "ash", "demand": 0.5, "value": ""}], blank="pending")
    before = len(study.trials())
    study.change(NARROW)
    assert len(study.trials()) == before
    assert study.tell(pending, 1.0).state == "complete"
    assert study.correct(pending, decision={"order": 0.95, "wood": "ash"}).decision["order"] == 0.95
    assert len(study.history.observations) == 4
    assert study.history.observations.decisions[-1].tolist() == pytest.approx([1.875, 0, 0, -1])
    with pytest.raises(aw.InvalidInput, match=r"\[0.2, 0.6\]"):
        study.tell(study.ask(), 1.0, decision={"order": 0.95, "wood": "oak"}, context={"demand": 0.5})
    with pytest.raises(aw.InvalidInput, match=r"\[0.2, 0.6\]"):
        study.add([{"order": 0.9, "wood": "oak", "demand": 0.5, "value": 1}])


def test_contexts_outside_narrower_bounds_inform_the_model_and_not_the_law():
    study = made()
    steps(study, 4)
    study.change({"demand": aw.Context(0, 0.5)})
    history = study.history
    assert len(history.observations) == 4
    assert len(history.observations.seen) == history.occasions_with(["demand"]) == 3
    assert float(history.observations.contexts.max()) > 1
    study.ask()
    with pytest.raises(aw.InvalidInput, match="leave one of the contexts that happened"):
        study.change({"demand": aw.Context(0.49, 0.5)})


def test_two_workers_change_at_the_same_time(url):
    one, two = made(url), made(url)
    steps(one, 3)
    one.change({"order": aw.Real(0, 2)})
    two.change(radius=0.5)  # it has not read the other's change before
    assert two.space.variables["order"] == aw.Real(0, 2)
    assert one.ask().decision["order"] <= 2
    assert one.spec == two.spec == aw.Study.load(url, "kiosk").spec
    assert one.spec.fields["objective"]["distance"]["radius"] == 0.5
    one.change({"order": aw.Real(1, 2)})
    trial = two.ask()
    assert trial.decision["order"] >= 1
    two.change({"demand": aw.Context(0, 9)})
    assert one.tell(trial, 1.0, context={"demand": 8.0}).context == {"demand": 8.0}
    assert one.history.changes[-1].fields == {"variables": {"demand": {"upper": 9}}}


def test_a_change_in_between_is_a_conflict(url):
    one, two = made(url), made(url)
    journal = one.journal
    two.change({"order": aw.Real(0, 2)})
    with pytest.raises(aw.storage.Conflict):
        journal.append(0, [aw.storage.Event.changed({"variables": {"order": {"upper": 3}}})])


def test_reopening_with_other_parameters_names_them_and_asks(url):
    made(url)
    other = {
        "space": aw.Space(**{**SPACE.variables, "order": aw.Real(0, 2)}),
        "objective": aw.DRO(aw.TotalVariation(0.3)),
    }
    with pytest.raises(aw.InvalidInput) as error:
        made(url, **other)
    for part in ("order upper 1, got 2", "distance radius 0.2, got 0.3", 'existing="stored"', 'existing="given"'):
        assert part in str(error.value)
    assert made(url, **other, existing="stored").space == SPACE
    assert made(url, **other, existing="given").space.variables["order"].upper == 2
    assert made(url, **other).spec.fields["objective"]["distance"]["radius"] == 0.3
    assert len(Journal.open(Database(url), "kiosk").read(kind="changed")) == 1
    with pytest.raises(aw.InvalidInput, match=r"Study\(seed=...\)`.* 3, got 4"):
        made(url, **other, seed=4)
    with pytest.raises(aw.InvalidInput, match="it cannot be changed"):
        made(url, **other, seed=4, existing="given")
    with pytest.raises(aw.InvalidInput, match=r"Study\(existing=...\)"):
        made(url, existing="both")


def test_a_study_with_parts_in_code_changes_too(url):
    class Own(aw.Expectation):
        pass

    def program(space=SPACE, **options):
        return aw.Study(space, objective=Own(), seed=3, storage=url, **options)

    program().change(WIDE)
    with pytest.raises(aw.InvalidInput, match=r"Study\(space=...\)"):
        program()
    wide = program(existing="stored").space
    assert wide.variables["wood"].options == ("oak", "ash", "elm")
    assert program(wide).ask().decision["order"] <= 2
    program(wide).change(acquisition=aw.UCB(1.0))
    with pytest.raises(aw.InvalidInput, match=r"Study\(acquisition=...\)"):
        program(wide)
    assert program(wide, existing="stored")._engine.sides[0].main.acquisition == aw.UCB(1.0)


CONTROL = aw.Control({"x": 1.0, ("x", "y"): 3.0}, budget=20)


def test_costs_and_budget_change(url):
    space = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1))
    study = aw.Study(space, storage=url, control=CONTROL, seed=1)
    first = study.ask()
    assert [str(each) for each in study.change(budget=1.5, costs={("y", "x"): 1.2})] == [
        "control costs x, y: 3.0 -> 1.2",
        "control budget: 20 -> 1.5",
    ]
    assert first.cost == 1.0
    with pytest.raises(aw.BudgetSpent):
        study.ask()
    aw.Study.load(url).change(budget=10)
    assert study.ask().cost == 1.0
    study.change({"y": aw.Real(0, 4)})
    study.tell(study.ask(), 1.0, context={"y": 3.5})
    with pytest.raises(aw.InvalidInput, match="control sets"):
        study.change(costs={"y": 2.0})


@pytest.mark.parametrize(
    ("options", "change", "says"),
    [
        ({}, {"variables": {"order": aw.Integer(0, 1)}}, "stay a Real"),
        ({}, {"variables": {"demand": aw.Real(0, 1)}}, "stay a context Real"),
        ({}, {"variables": {"odrer": aw.Real(0, 1)}}, "did you mean 'order'"),
        ({}, {"budget": 3}, "control sets"),
        ({"objective": aw.Expectation()}, {"radius": 0.3}, "objective has a radius"),
        ({"context": aw.Finite([[0.2], [0.9]])}, {"variables": {"demand": aw.Context(0, 0.5)}}, r"\[0, 0.5\]"),
        (
            {"constraints": aw.LinearConstraint({"order": 1}, upper=0.5)},
            {"variables": {"order": aw.Real(0.6, 1)}},
            "constraints",
        ),
        ({"candidates": [{"order": 0.1, "wood": "oak"}]}, {"variables": {"order": aw.Real(0.6, 1)}}, "0.6, 1"),
    ],
)
def test_changes_that_do_not_fit_are_refused_and_not_written(options, change, says):
    study = made(**options)
    with pytest.raises(aw.InvalidInput, match=says):
        study.change(**change)
    assert not study.journal.read()
    assert study.change() == []


def test_journals_with_changes_are_exported_restored_and_salvaged(url, tmp_path):
    study = made(url)
    steps(study, 2)
    study.add([{"order": 0.9, "wood": "ash", "demand": 0.5, "value": 1}])
    study.change(NARROW)
    steps(study, 1)
    database = Database(url)
    (summary,) = study_summaries(database, 10)
    assert (summary.trials, summary.damaged) == (4, False)
    import_lines(database, study.export(), "copy")
    other = Database(f"sqlite:///{tmp_path}/other.db")
    restore_lines(other, list(backup_lines(database)))
    lines, lost, spec = salvage_lines(Journal.open(database, "kiosk"))
    import_lines(other, lines, "saved")
    assert spec
    assert not lost
    expected = study.ask().decision
    for place, name in ((database, "copy"), (other, "kiosk"), (other, "saved")):
        stored = StudyLog.of(Journal.open(place, name))
        assert stored.space.variables["order"] == aw.Real(0.2, 0.6)
        assert stored.spec.fields["variables"]["order"] == {"lower": 0.2, "upper": 0.6}
    assert aw.Study.load(url, "copy").ask().decision == expected
    wrong = [line.replace('"lower": 0.2', '"lower": 0.9') for line in study.export()]
    with pytest.raises(aw.InvalidInput, match="line 7"):
        import_lines(other, wrong, "wrong")


def test_a_unit_may_be_opened_with_another_and_changed(url):
    made(url)
    shown = aw.Space(**{**SPACE.variables, "order": aw.Real(0, 1, unit="kg")})
    assert made(Storage(url), space=shown).space.variables["order"].unit == "kg"
    assert [str(each) for each in made(url).change(shown)] == ["order unit: default -> kg"]
