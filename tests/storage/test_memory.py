import pytest

import allweather as aw
from allweather.storage import Event, MemoryJournal, export_lines
from allweather.storage.memory import require_name
from allweather.trials import Trial


def asked(number):
    return Event.asked(Trial(number, {"x": 0.5}))


def test_events_are_numbered_and_come_back():
    journal = MemoryJournal()
    assert (journal.last, journal.read()) == (0, [])
    first = journal.append(0, [asked(0), asked(1)])
    assert [event.number for event in first] == [1, 2]
    assert all(event.at > 0 for event in first)
    journal.append(2, [Event("told", {"values": [1.0]}, 0)])
    assert journal.last == 3
    assert journal.read(after=2)[0].kind == "told"
    assert [event.number for event in journal.read(trial=0)] == [1, 3]
    assert [event.number for event in journal.read(after=1, trial=0)] == [3]


def test_a_turn_is_taken_without_waiting():
    journal = MemoryJournal()
    with journal.turn(), journal.turn():
        journal.append(0, [asked(0)])
    assert journal.last == 1


def test_a_study_in_memory_can_be_exported():
    study = aw.Study(aw.Space(x=aw.Real(0, 1)), seed=1)
    study.tell(study.ask(), 1.0)
    lines = list(export_lines(study.journal))
    assert len(lines) == 3
    assert '"kind": "told"' in lines[-1]


@pytest.mark.parametrize("name", ["kiosk", "Büro 7", "x" * 200])
def test_names(name):
    require_name(name)
    assert aw.Study(aw.Space(x=aw.Real(0, 1)), name=name).name == name


@pytest.mark.parametrize("name", ["", " kiosk", "kiosk ", "a\nb", "x" * 201, 7, None])
def test_names_that_are_refused(name):
    with pytest.raises(aw.InvalidInput, match=r"Study\(name=\.\.\.\)"):
        require_name(name)
