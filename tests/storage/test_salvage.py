import shlex
import sqlite3

import pytest
import sqlalchemy as sa
from tests.storage.test_optimistic_writes import SPACE

import allweather as aw
from allweather.storage import Database, Journal, StorageError, import_lines, names
from allweather.storage.backup import backup_lines, restore_lines
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
    lines, lost, spec = salvage_lines(Journal.open(damaged, "kiosk"))
    assert (lost, spec) == ([3, 4], True)
    import_lines(damaged, lines, "saved")
    trials = StudyLog.of(Journal.open(damaged, "saved")).history.trials
    assert [trial.values for trial in trials] == [(0.0,), (2.0,)]


def test_a_summary_survives_what_it_cannot_read(damaged):
    with damaged.writing() as connection:
        connection.execute(sa.text("UPDATE events SET payload = '[' WHERE study = 1"))
    assert [each.damaged for each in study_summaries(damaged, 10)] == [True, False]


BYTES = "CAST(CAST(substr({0}, 1, 5) AS BLOB) || x'FF' || CAST(substr({0}, 7) AS BLOB) AS TEXT)"
"""A column with a byte that is not UTF-8, as SQLite keeps it."""


@pytest.fixture
def one_byte(tmp_path):
    """Returns a database where one byte of a column is not UTF-8: of an event of `kiosk`, or of the study."""

    def damage(column, number=4):
        url = f"sqlite:///{tmp_path}/studies.db"
        for name in ("kiosk town", "other"):
            log = aw.Study(SPACE, storage=url, name=name)
            log.add([{"order": 0.5, "demand": 0.5, "value": 1.0}])
            for value in range(28):
                log.observe_contexts([{"demand": value / 28}])
        database = Database(url)
        place = f"events SET {column}" if column not in ("name", "spec") else f"studies SET {column}"
        where = f"study = 1 AND number = {number}" if column not in ("name", "spec") else "id = 1"
        with database.writing() as connection:
            connection.exec_driver_sql(f"UPDATE {place} = {BYTES.format(column)} WHERE {where}")
        return database

    return damage


@pytest.mark.parametrize("column", ["payload", "kind", "worker"])
def test_one_byte_loses_one_event(one_byte, column):
    database = one_byte(column)
    with pytest.raises(StorageError, match=r"'kiosk town' is damaged: its event 4 cannot.*--study 'kiosk town'`"):
        Journal.open(database, "kiosk town").read()
    lines, lost, spec = salvage_lines(Journal.open(database, "kiosk town"))
    assert (len(lines), lost, spec) == (1 + 28, [4], True)
    assert [each.name for each in study_summaries(database, 10)] == ["kiosk town", "other"]
    assert len(StudyLog.of(Journal.open(database, "other")).history.trials) == 1
    damaged = {}
    lines = list(backup_lines(database, damaged))
    assert {name: saved.lost for name, saved in damaged.items()} == {"kiosk town": [4]}
    fresh = Database("sqlite:///" + str(database._file.parent / "fresh.db"))
    assert restore_lines(fresh, lines) == ["kiosk town", "other"]
    assert [Journal.open(fresh, name).last for name in ("kiosk town", "other")] == [28, 29]


CHANGES = {
    "payload": """payload = replace(payload, '"values":[1.0]', '"values":[7.0]')""",
    "kind": "kind = 'corrected'",
    "trial": "trial = 0",
    "at": "at = at + 1",
    "worker": "worker = 'elsewhere:1'",
    "checksum": "checksum = '0123456789abcdef'",
    "row": None,
}
"""Changes of an event that can still be read, and an event that is gone."""


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_noticed_although_it_can_be_read(damaged, change):
    statement = f"UPDATE events SET {CHANGES[change]}" if CHANGES[change] else "DELETE FROM events"
    with damaged.writing() as connection:
        connection.execute(sa.text(f"{statement} WHERE study = 2 AND number = 4"))
        connection.execute(sa.text("UPDATE events SET payload = replace(payload, '2.0', '3.0') WHERE number = 6"))
    with pytest.raises(StorageError, match="'other' is damaged: its event 4 cannot be read, or was changed"):
        Journal.open(damaged, "other").read()
    lines, lost, _ = salvage_lines(Journal.open(damaged, "other"))
    assert (len(lines), lost) == (1 + 4, [4, 6])
    assert [each.damaged for each in study_summaries(damaged, 10)] == [True, True]  # the newest event is looked at
    saved = {}
    assert len(list(backup_lines(damaged, saved))) == 5 + 4
    assert saved["other"].lost == [4, 6]


def test_a_spec_that_was_changed_is_saved_as_it_is_and_named(damaged):
    with damaged.writing() as connection:
        changed = {"old": '"order":{"lower":0,"upper":1', "new": '"order":{"lower":0,"upper":9'}
        connection.execute(sa.text("UPDATE studies SET spec = replace(spec, :old, :new) WHERE id = 2"), changed)
    with pytest.raises(StorageError, match=r"'other' is damaged: what it is made of .* was changed after"):
        StudyLog.open(damaged.address, "other")
    assert [each.damaged for each in study_summaries(damaged, 10)][1]
    lines, lost, spec = salvage_lines(Journal.open(damaged, "other"))
    assert (lost, spec) == ([], False)
    import_lines(damaged, lines, "saved")
    assert StudyLog.open(damaged.address, "saved").space.variables["order"] == aw.Real(0, 9)


def test_the_newest_event_is_not_utf8(one_byte):
    assert [each.damaged for each in study_summaries(one_byte("payload", 29), 10)] == [True, False]


@pytest.mark.parametrize(("column", "shown"), [("name", r"kiosk\xfftown"), ("spec", "kiosk town")])
def test_a_name_or_a_spec_that_is_not_utf8(one_byte, column, shown):
    database = one_byte(column)
    assert names(database) == [each.name for each in study_summaries(database, 10)] == [shown, "other"]
    lines, lost, spec = salvage_lines(Journal.open(database, shown))
    assert (len(lines), lost, spec) == (30, [], column == "name")
    assert len(list(backup_lines(database, {}))) == 60


def test_a_backup_says_what_it_leaves_out(damaged, caplog):
    assert len(list(backup_lines(damaged))) == 1 + 4 + 1 + 6
    assert "'kiosk' is damaged; events left out: [3, 4]" in caplog.text


def test_overwritten_pages_lose_what_is_on_them(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    for name in ("kiosk", "other"):
        log = aw.Study(SPACE, storage=url, name=name)
        log.add([{"order": 0.5, "demand": 0.5, "value": 1.0}])
        for value in range(149):
            log.observe_contexts([{"demand": value / 149}])
    whole = tmp_path / "studies.db"
    with sqlite3.connect(whole) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(whole.read_bytes())
    middle = content.index(b'"demand":0.5033')  # of an event of the first study
    content[middle - 60 : middle + 60] = b"\xff" * 120
    broken = tmp_path / "broken.db"
    page = middle // 4096 * 4096
    content[page : page + 8] = b"\xff" * 8  # SQLite refuses the whole page
    broken.write_bytes(content)
    database, damaged = Database(f"sqlite:///{broken}"), {}
    assert [each.name for each in study_summaries(database, 10)] == ["kiosk", "other"]
    lines = list(backup_lines(database, damaged))
    assert list(damaged) == ["kiosk"]
    assert 1 < len(damaged["kiosk"].lost) < 75  # those of one page
    assert len(lines) == 302 - len(damaged["kiosk"].lost)
    fresh = Database(f"sqlite:///{tmp_path}/fresh.db")
    assert restore_lines(fresh, lines) == ["kiosk", "other"]
