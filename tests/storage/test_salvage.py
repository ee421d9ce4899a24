import shlex

import pytest
import sqlalchemy as sa
from tests.storage.test_optimistic_writes import SPACE

import allweather as aw
from allweather.storage import Database, Journal, StorageError, import_lines
from allweather.storage.salvage import salvage_lines
from allweather.storage.summary import study_summaries
from allweather.study import StudyLog


@pytest.fixture
def damaged(tmp_path):
    """A study whose second trial cannot be read, beside one that can."""
    url = f"sqlite:///{tmp_path}/studies.db"
    for name in ("kiosk", "other"):
        study = aw.Study(SPACE, storage=url, name=name)
        for number in range(3):
            study.tell(study.ask(), float(number), context={"demand": 0.5})
    database = Database(url)
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE events SET payload = '{\"numb' WHERE study = 1 AND number = 3"))
    return database


def test_a_damaged_study_says_so(damaged):
    with pytest.raises(StorageError, match=r"'kiosk' is damaged: its event 3 cannot be read.*export --salvage"):
        StudyLog.of(Journal.open(damaged, "kiosk"))
    assert len(StudyLog.of(Journal.open(damaged, "other")).history.trials) == 3
    assert [each.name for each in study_summaries(damaged, 10)] == ["kiosk", "other"]


@pytest.mark.parametrize("payload", ["{", '{"values": 7}'])
def test_the_command_that_salvages_can_be_typed_as_it_is(tmp_path, payload):
    database = Database(f"sqlite:///{tmp_path}/studies.db")
    name = "Ada's stall; no `rain`"
    study = aw.Study(SPACE, storage=database.address, name=name)
    study.tell(study.ask(), 1.0, context={"demand": 0.5})
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE events SET payload = :payload WHERE number = 2"), {"payload": payload})
    with pytest.raises(StorageError) as refused:
        StudyLog.of(Journal.open(database, name)).history.trials  # noqa: B018
    command = str(refused.value).partition("`allweather ")[2].removesuffix("`")
    assert shlex.split(command) == ["export", "--salvage", "--study", name]


def test_what_can_be_read_is_saved(damaged):
    lines, lost = salvage_lines(Journal.open(damaged, "kiosk"))
    assert lost == [3, 4]
    import_lines(damaged, lines, "saved")
    trials = StudyLog.of(Journal.open(damaged, "saved")).history.trials
    assert [trial.values for trial in trials] == [(0.0,), (2.0,)]


def test_a_summary_survives_what_it_cannot_read(damaged):
    with damaged.writing() as connection:
        connection.execute(sa.text("UPDATE events SET payload = '[' WHERE study = 1"))
    assert [each.damaged for each in study_summaries(damaged, 10)] == [True, False]
