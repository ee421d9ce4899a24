"""Changes of stored studies without their parts, and several workers that change one study at the same time."""

import pytest
from tests.storage.workers import FORK

import allweather as aw
from allweather.storage.plain_changes import change_stored, is_plain
from allweather.storage.stored_study import StoredStudy

SPACE = aw.Space(order=aw.Real(0, 1), wood=aw.Choice("oak", "ash"), demand=aw.Context(0, 1))
CHANGES = 4


def worker(url, number):
    """Add options one by one, as a program and as a command do it, and move a bound of its own."""
    study, stored = aw.Study.load(url, "kiosk"), StoredStudy.open(url, "kiosk")
    for place in range(CHANGES):
        added = {"wood": {"add": [f"{number} {place}"]}}
        if place % 2:
            study.change(added)
        else:
            change_stored(stored, added)
    study.change({"order": {"lower" if number else "upper": -1 - number if number else 2}})


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_no_change_of_two_workers_is_lost(database, tmp_path, request):
    url = f"sqlite:///{tmp_path}/studies.db" if database == "sqlite" else request.getfixturevalue("postgresql")
    waiting = aw.Study(SPACE, storage=url, name="kiosk", seed=1)
    processes = [FORK.Process(target=worker, args=(url, number), daemon=True) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    options = {f"{number} {place}" for number in range(2) for place in range(CHANGES)}
    trial = waiting.ask()  # it takes all changes up first
    assert set(waiting.space.variables["wood"].options) == {"oak", "ash", *options}
    assert waiting.space.variables["order"] == aw.Real(-2, 2)
    assert trial == aw.Study.load(url, "kiosk")._history.trials[0]
    assert len(waiting._history.changes) == 2 * (CHANGES + 1)


def test_what_cannot_contradict_the_parts_needs_none_of_them(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    aw.Study(SPACE, storage=url)
    stored = StoredStudy.open(url, "study")
    assert is_plain(stored, {"order": {"upper": 2}})
    assert not is_plain(stored, {"demand": {"upper": 2}})
    assert not is_plain(stored, {"wood": {"add": ["elm"]}})
    limited = aw.Study(SPACE, storage=url, name="limited", candidates=[{"order": 0.5, "wood": "oak"}])
    assert not is_plain(StoredStudy.open(url, limited.name), {"order": {"upper": 2}})


def test_costs_and_budget(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    control = aw.Control({"x": 1.0, ("x", "y"): 3.0}, budget=20)
    study = aw.Study(aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1)), storage=url, control=control)
    stored = StoredStudy.open(url, "study")
    found = change_stored(stored, {}, {("y", "x"): 2.0}, 30.0)
    assert [str(each) for each in found] == ["control costs x, y: 3.0 -> 2.0", "control budget: 20 -> 30.0"]
    assert change_stored(stored, {}, {("y", "x"): 2.0}) == []
    study.ask()
    assert study.spec == aw.Study.load(url).spec
    assert study.spec["control"]["budget"] == stored.spec["control"]["budget"] == 30
    for costs, budget in (({("y",): 1.0}, None), ({("x",): 0.0}, None), (None, -1.0)):
        with pytest.raises(aw.InvalidInput, match="change of"):
            change_stored(stored, {}, costs, budget)
    aw.Study(SPACE, storage=url, name="plain")
    with pytest.raises(aw.InvalidInput, match="control sets"):
        change_stored(StoredStudy.open(url, "plain"), {}, None, 3.0)
