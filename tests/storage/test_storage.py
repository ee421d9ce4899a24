"""Where studies are kept, and how one is opened there."""

import numpy as np
import pytest

import allweather as aw
from allweather import InvalidInput
from allweather.storage import Database, Storage, import_lines


@pytest.mark.parametrize("mistake", [{"expire": 0}, {"expire": float("nan")}, {"url": 7}])
def test_storage_that_is_none(mistake):
    with pytest.raises(InvalidInput, match=r"Storage\("):
        Storage(**{"url": "sqlite:///x.db", **mistake})


SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))


def study(url, **options):
    return aw.Study(SPACE, **{"context": aw.KDE(16), "storage": url, "name": "kiosk", "seed": 1, **options})


def test_an_address_is_a_storage_with_a_week_of_patience(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    study(url).ask()
    assert len(study(Storage(url, expire=60)).trials()) == 1
    assert Storage(url).expire == 7 * 24 * 3600


def test_a_study_is_resumed_only_as_it_was_made(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    study(url).ask()
    for changed in ({"seed": 2}, {"direction": "minimize"}, {"acquisition": aw.Thompson(64)}):
        with pytest.raises(InvalidInput, match="kiosk"):
            study(url, **changed)
    assert study(url).trials()["state"].tolist() == ["pending"]


def test_without_a_storage_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    aw.Study(SPACE, seed=1).ask()
    assert list(tmp_path.iterdir()) == []


def test_a_trial_of_another_study_is_refused(tmp_path):
    url, space = f"sqlite:///{tmp_path}/studies.db", aw.Space(x=aw.Real(0, 1))
    one, two = (aw.Study(space, storage=url, name=name, seed=3) for name in ("one", "two"))
    mine, other = one.ask(), two.ask()
    assert mine.decision == other.decision
    with pytest.raises(aw.InvalidInput, match="be a trial of this study"):
        one.tell(other, 1.0)
    one.tell(mine, 1.0)
    again = aw.Study(space, storage=url, name="one", seed=3)
    assert again.correct(mine, 2.0).values == (2.0,)
    memory = aw.Study(space, seed=4)
    memory.ask()
    with pytest.raises(aw.InvalidInput, match="be a trial of this study"):
        memory.tell(aw.Study(space, seed=5).ask(), 1.0)


CONTROL = aw.Control({"x": 1.0, ("x", "y"): 3.0}, budget=20)


@pytest.mark.parametrize(
    ("first", "second", "part"),
    [
        ({"objective": aw.DRO(aw.TotalVariation(0.2))}, {"objective": aw.DRO(aw.KL(0.2))}, "distance"),
        ({}, {"context": aw.Empirical()}, "context"),
        ({}, {"surrogate": aw.GP(kernel="matern52")}, "surrogate"),
        ({}, {"candidates": [{"x": 0.1}, {"x": 0.2}]}, "candidates"),
        ({"candidates": [{"x": 0.1}, {"x": 0.2}]}, {"candidates": [{"x": 0.1}, {"x": 0.3}]}, "candidates"),
        ({}, {"constraints": aw.LinearConstraint({"x": 1}, upper=0.5)}, "constraints"),
    ],
)
def test_a_study_is_resumed_with_its_own_parts(tmp_path, first, second, part):
    url, space = f"sqlite:///{tmp_path}/studies.db", aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
    aw.Study(space, storage=url, name="kiosk", **first)
    aw.Study(space, storage=url, name="kiosk", **first)
    with pytest.raises(aw.InvalidInput, match=rf"Study\({part}=...\)` must be what the study 'kiosk'"):
        aw.Study(space, storage=url, name="kiosk", **second)


def test_costs_and_budget_stay(tmp_path):
    url, space = f"sqlite:///{tmp_path}/studies.db", aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1))
    aw.Study(space, storage=url, name="farm", control=CONTROL)
    for sets, budget, part in (({"x": 1.0, ("x", "y"): 4.0}, 20, "costs"), ({"x": 1, ("x", "y"): 3}, 30, "budget")):
        with pytest.raises(aw.InvalidInput, match=rf"Study\(control=...\) {part}"):
            aw.Study(space, storage=url, name="farm", control=aw.Control(sets, budget=budget))
    aw.Study(space, storage=url, name="farm", control=aw.Control({"x": 1, ("x", "y"): 3}, budget=20.0))


def test_whole_bounds_and_floats_are_the_same_space(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    aw.Study(aw.Space(x=aw.Real(0, 1)), storage=url)
    again = aw.Study(aw.Space(x=aw.Real(0.0, np.float64(1.0))), storage=url)
    assert again.space == aw.Space(x=aw.Real(0, 1))


def test_wide_tables_are_stored_in_parts(tmp_path):
    names = [f"variable_{place}_" + "x" * 180 for place in range(25)]
    study = aw.Study(aw.Space(**{name: aw.Real(0, 1) for name in names}), storage=f"sqlite:///{tmp_path}/studies.db")
    rows = [dict.fromkeys(names, (number + 0.123456789) / 1001) | {"value": 1.0} for number in range(250)]
    assert len(study.add(rows)) == 250
    assert len(study.trials()) == 250


ODD = aw.Space(
    **{
        "a b": aw.Real(np.float32(0), np.float64(1e305)),
        "x=y": aw.Choice("tab\there", "line\nend", "long " * 190, np.int64(3)),
        "self": aw.Integer(np.int64(0), 5),
        "wet": aw.Context(0, 1),
    }
)


def test_what_a_study_accepts_can_be_loaded(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    study = aw.Study(ODD, storage=url, name="odd")
    trial = aw.Study.load(url, "odd").ask()
    study.tell(trial, 1.0, context={"wet": 0.5})
    import_lines(Database(url), study.export(), "copy")
    assert aw.Study.load(url, "copy").trials().equals(study.trials())
