"""The database: what it keeps, and what it says when it cannot."""

import os
import sqlite3

import pytest
import sqlalchemy as sa

from allweather import InvalidInput
from allweather.storage import (
    Database,
    Event,
    Journal,
    StorageError,
)


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def some(kind="asked", trial=0, **payload):
    return Event(kind, payload or {"number": trial}, trial)


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


def test_tables_of_an_earlier_development_version_are_named(url):
    Journal.create(Database(url), "kiosk", {}).append(0, [some()])
    with Database(url).writing() as connection:
        connection.execute(sa.text("ALTER TABLE events DROP COLUMN checksum"))
    journal = Journal.open(Database(url), "kiosk")
    for act in (journal.read, lambda: journal.append(1, [some(trial=1)])):
        with pytest.raises(StorageError, match=r"made by an earlier development version.*add them to a new study"):
            act()


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_new_files_are_for_their_owner_only(url, tmp_path):
    before = os.umask(0)
    try:
        database = Database(url)
        journal = Journal.create(database, "kiosk", {})
        with journal.turn():
            rights = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert rights == {f"study.db{end}": 0o600 for end in ("", "-wal", "-shm", ".1.turn")}
    database.close()
    (tmp_path / "study.db").chmod(0o640)  # whoever shares a database with a group says so
    with Journal.open(Database(url), "kiosk").turn():
        rights = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert rights == {f"study.db{end}": 0o640 for end in ("", "-wal", "-shm")} | {"study.db.1.turn": 0o600}


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


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_file_that_is_deleted_or_replaced_takes_nothing_more(url, tmp_path, how):
    journal = Journal.create(Database(url), "kiosk", {})
    journal.append(0, [some()])
    path = tmp_path / "study.db"
    path.unlink() if how == "deleted" else path.rename(tmp_path / "kept.db")
    if how == "replaced":
        (tmp_path / "study.db").write_bytes((tmp_path / "kept.db").read_bytes())
    for act in (lambda: journal.append(1, [some(trial=1)]), journal.read, lambda: journal.turn().__enter__()):
        with pytest.raises(StorageError, match=r"deleted or replaced while it was open.*open the study .* again"):
            act()


def test_a_database_that_may_only_be_read_is_read(url, monkeypatch):
    Journal.create(Database(url), "kiosk", {"a": 1}).append(0, [some()])
    monkeypatch.setattr("allweather.storage.database.is_writable", lambda file: False)
    journal = Journal.open(Database(url), "kiosk")
    assert (journal.spec, len(journal.read())) == ({"a": 1}, 1)
    with pytest.raises(StorageError, match="it is read-only"):
        journal.append(1, [some(trial=1)])


def test_passwords_are_not_shown():
    with pytest.raises(StorageError) as refused:
        Database("postgresql+psycopg://ada:pw1@127.0.0.1:1/x?password=pw2&sslpassword=pw3&connect_timeout=2")
    assert "ada:***" in str(refused.value)
    assert not any(secret in str(refused.value) for secret in ("pw1", "pw2", "pw3"))


@pytest.mark.parametrize(
    "address",
    [
        "nonsense?password=pw2",
        "ada:pw2@host/db",
        "postgresql:ada:pw2@host/db",
        "//ada:pw2@host/db",
        "ada:pw2/db",
        "host=h password=pw2",
        "user=ada;pwd=pw2",
        "pw2@x://host",
        "nonsense://ada:pw2@host/db",
        "postgresql+psycopg://ada:x@1:pw2@127.0.0.1:1a/x",
    ],
)
def test_a_password_in_what_is_no_address_is_not_shown(address):
    with pytest.raises(InvalidInput, match="must be a database's address") as refused:
        Database(address)
    assert "pw2" not in str(refused.value)


def test_a_file_in_place_of_an_address_is_named():
    with pytest.raises(InvalidInput, match=r"got '\./kiosk-2\.db'"):
        Database("./kiosk-2.db")
