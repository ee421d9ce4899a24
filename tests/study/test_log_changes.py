"""Changes through a log, without the parts of the study, and several workers that change one study at once."""

import pytest
from tests.storage.workers import FORK

import allweather as aw
from allweather.study import StudyLog
from allweather.study.changes import needs_engine

SPACE = aw.Space(order=aw.Real(0, 1), wood=aw.Choice("oak", "ash"), demand=aw.Context(0, 1))
CHANGES = 4


def worker(url, number):
    """Add options one by one, as a program and as a command do it, and move a bound of its own."""
    study, stored = aw.Study.load(url, "kiosk"), StudyLog.open(url, "kiosk")
    for place in range(CHANGES):
        added = {"wood": {"add": [f"{number} {place}"]}}
        if place % 2:
            study.change(added)
        else:
            stored.change(added)
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
    assert trial == aw.Study.load(url, "kiosk").trial(0)
    assert len(waiting.history.changes) == 2 * (CHANGES + 1)


def test_what_cannot_contradict_the_parts_needs_none_of_them(tmp_path):
    spec = aw.Study(SPACE).spec
    assert not needs_engine(spec, {"variables": {"order": {"upper": 2}}})
    assert needs_engine(spec, {"variables": {"demand": {"upper": 2}}})
    assert needs_engine(spec, {"variables": {"wood": {"options": ["oak", "elm"]}}})
    assert needs_engine(spec, {"objective": {"name": "expectation"}})
    limited = aw.Study(SPACE, candidates=[{"order": 0.5, "wood": "oak"}]).spec
    assert needs_engine(limited, {"variables": {"order": {"upper": 2}}})


def test_parts_are_made_where_a_change_may_contradict_them(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    aw.Study(SPACE, storage=url, candidates=[{"order": 0.5, "wood": "oak"}])
    log = StudyLog.open(url)
    with pytest.raises(aw.InvalidInput, match=r"Study\.change"):
        log.change({"order": {"lower": 0.6}})
    assert not log.journal.read()
    assert [str(each) for each in log.change(objective=aw.CVaR(0.2))] == ["objective: default -> cvar(level=0.2)"]
    assert [str(each) for each in log.change({"demand": {"upper": 3}})] == ["demand upper: 1 -> 3"]
    assert [[str(each) for each in change] for change in log.changes()][-1] == ["demand upper: 1 -> 3"]


def test_costs_and_budget(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    control = aw.Control({"x": 1.0, ("x", "y"): 3.0}, budget=20)
    study = aw.Study(aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1)), storage=url, control=control)
    log = StudyLog.open(url, "study")
    found = log.change(costs={("y", "x"): 2.0}, budget=30.0)
    assert [str(each) for each in found] == ["control costs x, y: 3.0 -> 2.0", "control budget: 20 -> 30.0"]
    assert log.change(costs={("y", "x"): 2.0}) == []
    study.ask()
    assert study.spec == aw.Study.load(url).spec == log.spec
    assert study.spec.control.budget == log.spec.fields["control"]["budget"] == 30
    for costs, budget in (({("y",): 1.0}, None), ({("x",): 0.0}, None), (None, -1.0)):
        with pytest.raises(aw.InvalidInput, match=r"Study.change\((costs|budget)=...\)"):
            log.change(costs=costs, budget=budget)
    aw.Study(SPACE, storage=url, name="plain")
    with pytest.raises(aw.InvalidInput, match="control sets"):
        StudyLog.open(url, "plain").change(budget=3.0)
