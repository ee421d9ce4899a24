import json

import pytest

import allweather as aw
from allweather.storage import Database, import_lines

SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
FITTED = {"lengthscales": ["a"], "outputscale": 1, "noise": 1, "mean": 0}


@pytest.fixture(scope="module")
def lines():
    study = aw.Study(SPACE, seed=7)
    study.tell(study.ask(), 1.0, context={"demand": 0.5})
    study.add([{"order": 0.1, "demand": 0.2, "value": 3.0}])
    return study.export()


def changed(lines, line, change):
    rows = [json.loads(each) for each in lines]
    change(rows[line - 1])
    return [json.dumps(each) for each in rows]


@pytest.mark.parametrize(
    ("line", "change", "message"),
    [
        (1, lambda row: row["spec"].update(expire=-5), "line 1: expire"),
        (2, lambda row: row["payload"]["decision"].update(order=7.0), "line 2.*decision order"),
        (2, lambda row: row["payload"].update(decision={}), "line 2.*lacks 'order'"),
        (2, lambda row: row["payload"].update(fitted="text"), "line 2"),
        (2, lambda row: row["payload"].update(fitted=FITTED), "line 2.*fitted"),
        (3, lambda row: row["payload"]["context"].update(demand=-1), "line 3.*context demand"),
        (3, lambda row: row["payload"].update(values=["x"]), "line 3.*values"),
        (4, lambda row: row["payload"]["trials"][0].update(context=None), "line 4.*past data"),
    ],
)
def test_an_import_is_checked_like_what_is_told(lines, tmp_path, line, change, message):
    database = Database(f"sqlite:///{tmp_path}/studies.db")
    with pytest.raises(aw.InvalidInput, match=message):
        import_lines(database, changed(lines, line, change))
    assert import_lines(database, lines) == "study"


def test_nested_json_is_no_study(tmp_path):
    with pytest.raises(aw.InvalidInput, match="line 1 is not JSON"):
        import_lines(Database(f"sqlite:///{tmp_path}/studies.db"), ["[" * 100_000])


def test_restored_trials_are_checked():
    from allweather.trials import Trial

    with pytest.raises(aw.InvalidInput, match=r"Study.restore.*decision order"):
        aw.Study(SPACE).restore([Trial(0, {"order": 7.0})])
