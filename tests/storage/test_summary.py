import pytest

from allweather.storage import Database, Event, Journal
from allweather.storage.summary import count_studies, study_summaries


@pytest.fixture
def database(tmp_path):
    opened = Database(f"sqlite:///{tmp_path}/studies.db")
    yield opened
    opened.close()


def added(*numbers):
    return Event("added", {"trials": [{"number": number, "decision": {"x": 0.5}} for number in numbers]})


def asked(number):
    return Event("asked", {"number": number, "decision": {"x": 0.5}}, number)


@pytest.mark.parametrize(
    ("events", "trials"),
    [
        ([], 0),
        ([asked(0), asked(1)], 2),
        ([added(0, 1, 2)], 3),
        ([added(0, 1), asked(2)], 3),
        ([asked(0), added(1, 2)], 3),
        ([asked(0), added(1), added(2), asked(3), Event("told", {"values": [1.0]}, 0)], 4),
    ],
)
def test_a_summary_counts_what_the_journal_holds(database, events, trials):
    journal = Journal.create(database, "kiosk", {})
    Journal.create(database, "other", {}, ())
    if events:
        journal.append(0, events)
    glance, other = study_summaries(database, 10)
    assert (glance.name, glance.trials, glance.last) == ("kiosk", trials, len(events))
    assert (other.trials, other.last, other.changed) == (0, 0, other.created)
    assert glance.changed >= glance.created


def test_studies_come_by_name_a_few_at_a_time(database):
    for name in ("b", "c", "a"):
        Journal.create(database, name, {})
    assert [each.name for each in study_summaries(database, 2)] == ["a", "b"]
    assert [each.name for each in study_summaries(database, 2, 2)] == ["c"]
    assert count_studies(database) == 3
