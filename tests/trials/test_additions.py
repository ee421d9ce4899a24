"""Tables on the way into a study: everything that is wrong at once, what is left out, and what is there already."""

import pickle

import pytest

import allweather as aw
from allweather.storage import Database
from allweather.storage.export import import_lines

SPACE = aw.Space(x=aw.Real(0, 1), demand=aw.Context(0, 10), lot=aw.Context(aw.Choice("A", "NA")))
TABLE = (
    "x (kg);demand;lot;value;sd\n"
    "0,1;1;A;1,5;0,1\n"
    "much;1;B;-;\n"
    "0,3;n/a;NA;2;\n"
    "0,4;;A;#N/A;\n"
    "7;1;A;2;-1\n"
    "0,6;1;A;1.234,5;\n"
    "0,7;1;A;2.345;\n"
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text(TABLE)
    return path


@pytest.fixture
def study():
    return aw.Study(SPACE, seed=1)


def test_all_problems_are_named_at_once_by_line_and_column(study, file):
    with pytest.raises(aw.InvalidInput) as refused:
        study.add(file)
    error = refused.value
    assert [each.where for each in error.problems] == [
        "line 3, column 'x (kg)'",
        "line 3, column 'lot'",
        "line 3, column 'value'",
        "line 4, column 'demand'",
        "line 5, column 'demand'",
        "line 5, column 'value'",
        "line 6, column 'x (kg)'",
        "line 6, column 'sd'",
    ]
    head, *listed = str(error).splitlines()
    assert head == "`Study.add(table=...)` has 8 problems in 4 of 7 rows, and none was added:"
    assert listed[0] == "  line 3, column 'x (kg)': must be a number in [0, 1], got 'much'"
    remedies = listed[8:]
    assert [sum(word in line for line in remedies) for word in ("blank=", "missing=", "invalid=")] == [1, 1, 1]
    assert not study.history.trials
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_rows_with_mistakes_are_left_out_and_named(study, file):
    added = study.add(file, invalid="skip")
    assert [trial.values for trial in added] == [(1.5,), (1234.5,), (2345.0,)]  # 1.234,5 says what a point means
    assert {str(each).partition(",")[0].strip("`") for each in added.skipped} == {
        "line 3",
        "line 4",
        "line 5",
        "line 6",
    }
    assert "left out: `line 6, column 'sd'` must be a finite number" in str(added)


def test_rows_without_their_context_wait_for_it(study, file):
    added = study.add(file, missing="pending", blank="failed", invalid="skip")
    assert [trial.state for trial in added] == ["complete", "pending", "failed", "complete", "complete"]
    assert added.summary == "5 trials added, numbers 0 to 4, of which 1 waits for more"
    waiting = added[1]
    assert (waiting.partial, waiting.values) == ({"lot": "NA"}, (2.0,))
    assert study.tell(1, context={"demand": 3}).state == "complete"
    assert study.history.trials[1].context == {"demand": 3, "lot": "NA"}


def test_rows_without_their_context_are_dropped(study, file):
    added = study.add(file, missing="drop", blank="failed", invalid="skip")
    assert len(added) == 3
    assert "line 4, column 'demand'` is empty" in str(added)
    with pytest.raises(aw.InvalidInput, match="refuse, pending, drop"):
        study.add(file, missing="skip")


def test_a_study_with_trials_that_wait_is_exported_and_read_back(tmp_path):
    place = f"sqlite:///{tmp_path}/studies.db"
    study = aw.Study(SPACE, seed=1, storage=place, name="days")
    study.add([{"x": 0.1, "demand": None, "lot": None, "value": 1.0}], missing="pending")
    import_lines(Database(f"sqlite:///{tmp_path}/other.db"), study.export())
    other = aw.Study.load(f"sqlite:///{tmp_path}/other.db", "days")
    assert other.trial(0).state == "pending"
    assert other.tell(0, context={"demand": 1, "lot": "A"}).values == (1.0,)


ROWS = [{"x": place / 10, "demand": 1.0, "lot": "A", "value": float(place)} for place in range(6)]


def test_a_table_that_is_added_twice_is_noticed(study):
    study.add(ROWS)
    with pytest.raises(
        aw.InvalidInput, match=r"these 6 rows are already there \(trials 0 to 5\); .*again=True.*--again"
    ):
        study.add(ROWS)
    more = [*ROWS, {**ROWS[0], "value": 9.0}]
    with pytest.raises(aw.InvalidInput, match=r"6 of these 7 rows are already there .*invalid='skip'"):
        study.add(more)
    assert len(study.history.trials) == 6
    added = study.add(more, invalid="skip")
    assert [trial.values for trial in added] == [(9.0,)]
    assert "6 of these 7 rows are already there" in str(added.skipped[0])
    assert len(study.add(ROWS, again=True)) == 6
    with pytest.raises(aw.InvalidInput, match="be True or False"):
        study.add(ROWS, again="yes")


def test_a_table_that_grew_does_not_undo_corrections(study):
    study.add(ROWS)
    study.correct(2, 2.5)
    study.withdraw(4)
    more = [*ROWS, {**ROWS[0], "value": 9.0}]
    said = r"6 of these 7 rows are already there \(trials 0 to 5, 2 corrected or withdrawn since\)"
    with pytest.raises(aw.InvalidInput, match=said):
        study.add(more)
    assert [trial.values for trial in study.add(more, invalid="skip")] == [(9.0,)]
    assert (study.trial(2).values, study.trial(4).state, len(study.history.trials)) == ((2.5,), "withdrawn", 7)


def test_a_measurement_with_the_same_result_is_none(study):
    for _ in range(3):
        study.add(ROWS[0])
    study.add([ROWS[0], *ROWS[1:]])
    study.withdraw(0)
    assert len(study.history.trials) == 9


def test_contexts_without_a_trial_are_refused_all_at_once(study, tmp_path):
    (tmp_path / "seen.csv").write_text("demand;lot\n1,5;A\nmuch;A\n2;C\n1;A;3\n")
    with pytest.raises(aw.InvalidInput) as refused:
        study.observe_contexts(tmp_path / "seen.csv")
    places = [each.where for each in refused.value.problems]
    assert places == ["line 3, column 'demand'", "line 4, column 'lot'", "line 5"]
