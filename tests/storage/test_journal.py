"""Journals in a database: what they keep, and which writes conflict."""

import threading

import pytest

from allweather import InvalidInput
from allweather.storage import Conflict, Database, Event, Journal, StorageError, names
from allweather.storage.journal import MAX_EVENT_CHARACTERS


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def some(kind="asked", trial=0, **payload):
    return Event(kind, payload or {"number": trial}, trial)


def test_events_come_back_as_they_were_written(url):
    journal = Journal.create(Database(url), "kiosk", {"made": "here"})
    journal.append(0, [some(x=0.1 + 0.2), some("told", values=[1e-300, 1.7976931348623157e308])])
    again = Journal.open(Database(url), "kiosk")
    assert again.spec == {"made": "here"}
    assert [(e.number, e.kind, e.trial) for e in again.read()] == [(1, "asked", 0), (2, "told", 0)]
    assert again.read()[0].payload == {"x": 0.1 + 0.2}
    assert again.read()[1].payload == {"values": [1e-300, 1.7976931348623157e308]}
    assert again.read(after=1) == again.read()[1:]
    assert again.last == 2


def test_only_what_matters_is_a_conflict(url):
    journal = Journal.create(Database(url), "kiosk", {})
    journal.append(0, [some(trial=0), some(trial=1)])
    journal.append(2, [some("told", 0)])
    journal.append(2, [some("told", 1)])  # about another trial
    journal.append(2, [some(trial=2)])  # nobody else asked
    with pytest.raises(Conflict):
        journal.append(2, [some("told", 0)])
    with pytest.raises(Conflict):
        journal.append(2, [some(trial=2)])
    with pytest.raises(Conflict):
        journal.append(2, [Event("added", {"trials": []})])
    assert [event.number for event in journal.read()] == [1, 2, 3, 4, 5]


def test_all_events_of_a_call_are_written_or_none(url):
    journal = Journal.create(Database(url), "kiosk", {})
    with pytest.raises(StorageError, match="too long for a journal"):
        journal.append(0, [some(), some(text="x" * (MAX_EVENT_CHARACTERS + 1))])
    with pytest.raises(ValueError, match="JSON compliant"):
        journal.append(0, [some(), some(value=float("nan"))])
    assert journal.read() == []


def test_names(url):
    database = Database(url)
    for name in ("kiosk", "Büro 7", "'; DROP TABLE events; --", "../../etc/passwd", "x" * 200):
        Journal.create(database, name, {})
        assert Journal.open(Database(url), name).read() == []
    assert len(names(database)) == 5
    with pytest.raises(Conflict):
        Journal.create(database, "kiosk", {})
    with pytest.raises(InvalidInput, match="did you mean 'kiosk'"):
        Journal.open(database, "kiosc")
    for name in ("", " kiosk", "a\nb", "a\x00b", "x" * 201, 7, None):
        with pytest.raises(InvalidInput, match=r"Study\(name=\.\.\.\)` must be up to 200 printable characters"):
            Journal.create(database, name, {})


def test_threads_write_in_turn(url):
    journal = Journal.create(Database(url), "kiosk", {})
    lost = []

    def work(number):
        own = Journal.open(Database(url), "kiosk")
        for _ in range(10):
            while True:
                try:
                    own.append(own.last, [some("told", number)])
                    break
                except Conflict:
                    continue
                except Exception as trouble:
                    lost.append(trouble)
                    raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lost == []
    assert [event.number for event in journal.read()] == list(range(1, 61))
