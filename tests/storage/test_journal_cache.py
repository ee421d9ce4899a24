from contextlib import nullcontext

import pytest

import allweather as aw
from allweather.errors import Conflict
from allweather.storage import Database, Event, Journal
from allweather.storage.journal_cache import GatedJournal, SharedJournal
from allweather.storage.summary import find_study


def asked(number):
    return Event("asked", {"number": number, "decision": {"x": 0.5}}, number)


@pytest.fixture
def database(tmp_path):
    opened = Database(f"sqlite:///{tmp_path}/studies.db")
    yield opened
    opened.close()


@pytest.fixture
def journals(database):
    plain = Journal.create(database, "kiosk", {})
    return plain, SharedJournal(database, find_study(database, "kiosk").id, "kiosk")


def test_it_reads_what_others_write(journals):
    plain, shared = journals
    plain.append(0, [asked(0), asked(1)])
    assert shared.read() == plain.read()
    plain.append(2, [Event("told", {"values": [1.0]}, 0)])
    assert shared.read(after=2) == plain.read(after=2)
    assert shared.read(trial=0) == plain.read(trial=0)
    assert shared.read(after=1, trial=0) == plain.read(after=1, trial=0)
    assert shared.read(trial=7) == []


def test_trials_are_parsed_once(journals):
    _, shared = journals
    shared.append(0, [asked(0)])
    (first,), (second,) = shared.read(), shared.read()
    assert first.parsed()[0] is second.parsed()[0]


def test_what_is_written_after_others_comes_in_order(journals):
    plain, shared = journals
    plain.append(0, [asked(0)])
    shared.append(0, [Event("told", {"values": [1.0]}, 5)])
    assert [event.number for event in shared.read()] == [1, 2]
    with pytest.raises(Conflict):
        shared.append(0, [asked(1)])


def test_studies_over_one_journal_are_the_stored_study(tmp_path, database):
    url, space = f"sqlite:///{tmp_path}/studies.db", aw.Space(x=aw.Real(0, 1))
    aw.Study(space, storage=url, name="kiosk", seed=3)
    shared = SharedJournal(database, find_study(database, "kiosk").id, "kiosk")
    one, two = (aw.Study.of(GatedJournal(shared, nullcontext())) for _ in range(2))
    one.tell(one.ask(), 1.0)
    assert two.trials().equals(one.trials())
    assert aw.Study.load(url, "kiosk").trials().equals(one.trials())
