import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing

import pytest

import allweather as aw
from allweather.storage import Database, Journal, StorageError
from allweather.storage.checksum import checksum
from allweather.study import StudyLog

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
    stored = StudyLog.open(url, "kiosk")
    assert stored.space == SPACE
    assert stored.direction == "minimize"
    assert stored.why_not is None
    assert [trial.state for trial in stored.history.trials] == ["complete", "pending"]
    assert stored.history.trials[0].decision == own.trial(0).decision


def test_trials_can_be_told_through_it(url):
    own = made(url)
    stored = StudyLog.open(url, "kiosk")
    stored.tell(1, 5.0, context={"demand": 1.0})
    assert own.trials().loc[1, "value"] == 5.0


def test_it_writes_what_the_study_writes(tmp_path):
    written = []
    for name in ("study", "log"):
        url = f"sqlite:///{tmp_path}/{name}.db"
        own = made(url) if name == "study" else (made(url), StudyLog.open(url, "kiosk"))[1]
        own.tell(1, [4, 5.5], context={"demand": 1}, decision={"wood": "pine", "order": 1})
        own.correct(0, 3)
        own.withdraw(1)
        own.add([{"order": 0.5, "wood": "oak", "demand": 2, "value": 7}])
        own.observe_contexts([{"demand": 3}])
        own.change({"order": {"upper": 2}})
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as database:
            written.append(list(database.execute("SELECT number, kind, trial, payload FROM events")))
    assert written[0] == written[1]


def test_reading_and_reporting_need_no_torch(url):
    made(url)
    lines = f"""
    import sys
    from allweather.study import StudyLog
    log = StudyLog.open({url!r}, "kiosk")
    log.tell(1, 4.0, context={{"demand": 1}})
    log.correct(0, 3)
    log.add([{{"order": 0.5, "wood": "oak", "demand": 2, "value": 7}}])
    log.observe_contexts([{{"demand": 3}}])
    log.change({{"order": {{"upper": 2}}}})
    log.withdraw(1)
    assert log.trial(0).values == (3.0,)
    assert len(log.trials()) == 3
    assert len(log.export()) > 6
    assert (log.spec.seed, log.direction, log.space.variables["order"].upper) == (1, "maximize", 2)
    assert "torch" not in sys.modules
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(lines)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_opening_a_study_reads_its_journal_once(url, monkeypatch):
    made(url).change({"order": {"upper": 2}})
    read, original = [], Journal.read

    def counted(journal, after=0, trial=None, kind=None):
        found = original(journal, after, trial, kind)
        read.extend(event.number for event in found)
        return found

    monkeypatch.setattr(Journal, "read", counted)
    space = aw.Space(**{**SPACE.variables, "order": aw.Real(0, 2)})
    openings = (
        lambda: StudyLog.open(url, "kiosk"),
        lambda: aw.Study.load(url, "kiosk"),
        lambda: aw.Study(space, storage=url, name="kiosk", seed=1),
        lambda: aw.Study.load(url, "kiosk").ask(),
    )
    for open_study in openings:
        read.clear()
        open_study()
        assert read == [1, 2, 3, 4]


def test_a_study_made_by_code_is_shown_and_says_why_it_cannot_ask(url):
    made(url, objective=Custom())
    stored = StudyLog.open(url, "kiosk")
    assert stored.spec.code == ["Custom"]
    assert "made by a program" in stored.why_not
    assert stored.space == SPACE


def test_control_sets_are_noticed(url):
    farm = aw.Space(ph=aw.Real(4, 9), nh3=aw.Real(0, 2))
    own = aw.Study(farm, control=aw.Control({"ph": 1.0, ("ph", "nh3"): 2.0}), context=aw.KDE(16), storage=url, name="f")
    own.ask()
    stored = StudyLog.open(url, "f")
    assert stored.spec.controlled
    assert stored.history.trials[0].cost == 1.0


def test_a_spec_that_somebody_spoilt_is_named(url):
    made(url)
    damaged = "'kiosk' is damaged: what it is made of"
    for text, stamp, error, said in (
        ("[1]", checksum("[1]"), StorageError, damaged),
        ('{"study": 3}', "", StorageError, damaged),
        ('{"study": 3}', checksum('{"study": 3}'), aw.InvalidInput, "kiosk.* knows no 'study'"),
    ):
        with Database(url).writing() as connection:
            connection.exec_driver_sql("UPDATE studies SET spec = ?, checksum = ?", (text, stamp))
        with pytest.raises(error, match=said):
            StudyLog.of(Journal.open(Database(url), "kiosk"))
    with pytest.raises(aw.InvalidInput, match="did you mean 'kiosk'"):
        StudyLog.open(url, "kiosc")


def test_a_trial_is_found_by_its_number(url):
    own = made(url)
    assert own.trial(0) == StudyLog.open(url, "kiosk").trial(0)
    assert own.tell(own.trial(1), 2.0, context={"demand": 3.0}).state == "complete"
    with pytest.raises(aw.InvalidInput, match=r"Study.trial\(number=...\)` must be the number .* 0 to 1, got 7"):
        own.trial(7)
    with pytest.raises(aw.InvalidInput, match="There are no trials yet"):
        aw.Study(SPACE).trial(0)
