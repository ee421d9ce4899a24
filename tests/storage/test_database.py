"""The database: what it keeps, and what it says when it cannot."""

import json
import os
import shutil
import sqlite3
import threading

import pytest
import sqlalchemy as sa

from allweather import InvalidInput
from allweather.storage import (
    Conflict,
    Database,
    Event,
    Journal,
    Storage,
    StorageError,
    export_lines,
    import_lines,
    names,
)
from allweather.storage.journal import LARGEST


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def some(kind="asked", trial=0, **payload):
    return Event(kind, payload or {"number": trial}, trial)


def test_events_come_back_as_they_were_written(url):
    journal = Journal.create(Database(url), "kiosk", {"made": "here"})
    journal.append(0, [some(x=0.1 + 0.2), some("told", values=[1e-300, 1.7976931348623157e308])])
    again = Journal.open(Database(url), "kiosk")
    assert again.recipe == {"made": "here"}
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
        journal.append(0, [some(), some(text="x" * (LARGEST + 1))])
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


@pytest.mark.parametrize(
    "url", ["nonsense", "mysql://host/x", "sqlite", "", "postgresql+nodriver://host/x", "postgresql://u@host:bad/x"]
)
def test_addresses_that_are_none(url):
    with pytest.raises(InvalidInput, match=r"must be a database's address such as sqlite:///study\.db"):
        Database(url)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true"])
def test_memory_keeps_nothing(url):
    with pytest.raises(InvalidInput, match="name a file or a database"):
        Database(url)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StorageError, match="cannot be opened; check that its folder exists"):
        Database(f"sqlite:///{tmp_path}/no/such/folder/study.db")


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "study.db").write_text("a letter to my aunt, long enough to have a page of its own\n" * 200)
    with pytest.raises(StorageError, match="not a SQLite database, or it is damaged"):
        Database(f"sqlite:///{tmp_path / 'study.db'}")


def test_a_damaged_file_says_so_and_is_left_alone(url, tmp_path):
    journal = Journal.create(Database(url), "kiosk", {})
    journal.append(0, [some(trial=number, text="y" * 2000) for number in range(200)])
    path = tmp_path / "study.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    broken = whole[:8192] + os.urandom(len(whole) - 8192)
    other = tmp_path / "broken.db"
    other.write_bytes(broken)
    with pytest.raises(StorageError, match="damaged"):
        Journal.open(Database(f"sqlite:///{other}"), "kiosk").read()
    assert len(other.read_bytes()) == len(broken)


def test_a_schema_of_the_future_is_refused(url):
    Journal.create(Database(url), "kiosk", {})
    with Database(url).writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StorageError, match=r"written by a newer allweather \(schema 9999.*update allweather"):
        Database(url)


class Refusing:
    """SQLite as it behaves when the disk is full or the file read-only, by its own limits."""

    @staticmethod
    def full(database):
        @sa.event.listens_for(database.engine, "begin")
        def limit(connection):
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    @staticmethod
    def read_only(database):
        @sa.event.listens_for(database.engine, "begin")
        def forbid(connection):
            connection.exec_driver_sql("PRAGMA query_only = ON")


@pytest.mark.parametrize(("how", "message"), [("full", "the disk is full"), ("read_only", "it is read-only")])
def test_a_disk_that_takes_nothing_more(url, how, message):
    database = Database(url)
    journal = Journal.create(database, "kiosk", {})
    journal.append(0, [some()])
    database.close()
    getattr(Refusing, how)(database)
    with pytest.raises(StorageError, match=message):
        journal.append(1, [some(trial=number, text="z" * 9000) for number in range(1, 40)])
    assert [event.number for event in Journal.open(Database(url), "kiosk").read()] == [1]


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


def test_a_study_goes_from_one_database_to_another(url, tmp_path):
    journal = Journal.create(Database(url), "kiosk", {"made": "here"})
    journal.append(0, [some(x=0.1), some("told", values=[1.5])])
    lines = list(export_lines(journal))
    other = Database(f"sqlite:///{tmp_path / 'other.db'}")
    assert import_lines(other, lines) == "kiosk"
    assert Journal.open(other, "kiosk").read() == journal.read()
    assert import_lines(other, lines, "copy") == "copy"
    with pytest.raises(InvalidInput, match=r"import_lines\(name=\.\.\.\)` must be new"):
        import_lines(other, lines)
    assert list(export_lines(Journal.open(other, "kiosk"))) == lines


def _with(line, **changed):
    return json.dumps({**json.loads(line), **changed})


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (lambda lines: [], "begin with a header"),
        (lambda lines: lines[1:], "begin with a header"),
        (lambda lines: [lines[0], "{"], "line 2 is not JSON"),
        (lambda lines: [lines[0], lines[2]], "be number 1"),
        (lambda lines: [lines[0].replace('"0001"', '"9999"')], "be of version 0001 or older"),
        (lambda lines: [lines[0], lines[1].replace('"asked"', '"sung"')], "be one of asked, told"),
        (lambda lines: [lines[0], "[]"], "be an object"),
        (lambda lines: [lines[0], '{"number": 1}'], "have exactly"),
        (lambda lines: [lines[0], lines[1].replace('"trial": 0', '"trial": -1')], "name a trial by its number"),
        (lambda lines: [lines[0], _with(lines[1], payload=None)], "have a payload that is an object"),
        (lambda lines: [lines[0], _with(lines[1], at=None)], "have a time in seconds"),
        (lambda lines: [lines[0], _with(lines[1], worker="w" * 201)], "have a worker of up to 200 characters"),
    ],
)
def test_lines_that_are_no_study_change_nothing(url, tmp_path, spoilt, message):
    journal = Journal.create(Database(url), "kiosk", {})
    journal.append(0, [some(x=0.1), some("told", values=[1.5])])
    other = Database(f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(InvalidInput, match=message):
        import_lines(other, spoilt(list(export_lines(journal))))
    assert names(other) == []


@pytest.mark.parametrize("mistake", [{"expire": 0}, {"expire": float("nan")}, {"url": 7}])
def test_storage_that_is_none(mistake):
    with pytest.raises(InvalidInput, match=r"Storage\("):
        Storage(**{"url": "sqlite:///x.db", **mistake})


def test_the_first_schema_keeps_opening(tmp_path):
    """A journal as the first release wrote it."""
    from pathlib import Path

    frozen = Path(__file__).parent / "first-schema.db"
    shutil.copy(frozen, tmp_path / "old.db")
    journal = Journal.open(Database(f"sqlite:///{tmp_path / 'old.db'}"), "kiosk")
    kinds = [event.kind for event in journal.read()]
    assert kinds.count("asked") == 7
    assert {"asked", "told", "added", "corrected", "expired"} == set(kinds)
