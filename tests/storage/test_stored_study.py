import sqlite3
from contextlib import closing

import pytest

import allweather as aw
from allweather.storage import Database, Journal, StorageError
from allweather.storage.stored_study import StoredStudy

SPACE = aw.Space(order=aw.Real(0, 1), wood=aw.Choice("oak", "pine"), demand=aw.Context(0, 10))


class Custom(aw.Objective):
    """An objective that only code can say."""

    def __call__(self, values, reference):
        return values.mean(-1)


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/studies.db"


def made(url, **options):
    own = aw.Study(SPACE, storage=url, name="kiosk", seed=1, **options)
    own.tell(own.ask(), 2.0, context={"demand": 3.0})
    own.ask()
    return own


def test_a_study_is_opened_without_its_surrogate(url):
    own = made(url, direction="minimize")
    stored = StoredStudy.open(url, "kiosk")
    assert stored.space == SPACE
    assert stored.direction == "minimize"
    assert stored.why_not is None
    assert [trial.state for trial in stored.history.trials] == ["complete", "pending"]
    assert stored.history.trials[0].decision == own._history.trials[0].decision


def test_what_was_really_done_completes_what_was_planned(url):
    made(url)
    stored = StoredStudy.open(url, "kiosk")
    planned = dict(stored.history.trials[1].decision)
    assert stored.done(1, {}) is None
    assert stored.done(1, {"order": 0.25}) == {**planned, "order": 0.25}
    assert stored.happened(0, {"demand": 4.0}) == {"demand": 4.0}
    assert stored.happened(1, {}) is None


def test_trials_can_be_told_through_it(url):
    own = made(url)
    stored = StoredStudy.open(url, "kiosk")
    stored.session.tell(1, stored.validator.told(5.0, {"demand": 1.0}, None, False))
    assert own.trials().loc[1, "value"] == 5.0


def test_it_writes_what_the_study_writes(tmp_path):
    written = []
    for name in ("study", "stored"):
        url = f"sqlite:///{tmp_path}/{name}.db"
        own = made(url)
        row = {"order": 0.5, "wood": "oak", "demand": 2, "value": 7}
        if name == "study":
            own.tell(1, [4, 5.5], context={"demand": 1}, decision={"wood": "pine", "order": 1})
            own.correct(0, 3)
            own.withdraw(1)
            own.add([row])
        else:
            stored = StoredStudy.open(url, "kiosk")
            say, session = stored.validator, stored.session
            session.tell(1, say.told([4, 5.5], {"demand": 1}, {"wood": "pine", "order": 1}, False))
            session.tell(0, say.corrected(3, None, None))
            session.tell(1, say.withdrawn)
            session.decide(say.added([row], ()))
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as database:
            written.append(list(database.execute("SELECT number, kind, trial, payload FROM events")))
    assert written[0] == written[1]


def test_a_study_made_by_code_is_shown_and_says_why_it_cannot_ask(url):
    made(url, objective=Custom())
    stored = StoredStudy.open(url, "kiosk")
    assert stored.spec is None
    assert "made by a program" in stored.why_not
    assert stored.space == SPACE


def test_control_sets_are_noticed(url):
    farm = aw.Space(ph=aw.Real(4, 9), nh3=aw.Real(0, 2))
    own = aw.Study(farm, control=aw.Control({"ph": 1.0, ("ph", "nh3"): 2.0}), context=aw.KDE(16), storage=url, name="f")
    own.ask()
    stored = StoredStudy.open(url, "f")
    assert stored.validator.controlled
    assert stored.history.trials[0].cost == 1.0


def test_a_description_that_somebody_spoilt_is_named(url):
    made(url)
    with Database(url).writing() as connection:
        connection.exec_driver_sql("UPDATE studies SET spec = '{\"study\": 3}'")
    with pytest.raises(StorageError, match="kiosk: what it was made with must be a JSON object"):
        StoredStudy.of(Journal.open(Database(url), "kiosk"))
    with pytest.raises(aw.InvalidInput, match="did you mean 'kiosk'"):
        StoredStudy.open(url, "kiosc")
