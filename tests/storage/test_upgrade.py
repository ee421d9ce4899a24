"""A database that is upgraded by a newer version while workers of the older one use it."""

import shutil

import pytest
import sqlalchemy as sa
from tests.storage.workers import carry_out, study

from allweather.storage import Database, Journal, StorageError, database

NEWER = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade():
    op.add_column("events", sa.Column("note", sa.Text, nullable=False, server_default=""))
    {more}
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The address of a database of its own."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/study.db"
        return
    server = request.getfixturevalue("postgresql")
    with Database(server).engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("DROP DATABASE IF EXISTS upgraded"))
        connection.execute(sa.text("CREATE DATABASE upgraded"))
    yield server.replace("/postgres?", "/upgraded?")


@pytest.fixture
def newer(tmp_path, monkeypatch):
    """Makes this process one of the next version, whose schema has one revision more."""

    def update(more="pass"):
        folder = tmp_path / "migrations"
        shutil.copytree(database.MIGRATIONS, folder, dirs_exist_ok=True)
        (folder / "versions" / "0002_next.py").write_text(NEWER.format(more=more))
        monkeypatch.setattr(database, "MIGRATIONS", folder)
        monkeypatch.setattr(database, "VERSION", "0002")

    return update


def test_an_older_worker_writes_nothing_after_an_upgrade_and_says_why(url, newer, monkeypatch):
    older = study(url)
    for _ in range(3):
        carry_out(older, older.ask())
    waiting = older.ask()
    before = older.journal.read()
    newer()
    new = study(url)
    assert new.journal.read() == before  # nothing was changed by the upgrade
    for act in (older.ask, lambda: carry_out(older, waiting)):
        with pytest.raises(
            StorageError, match=r"upgraded by a newer allweather \(schema 0002; this program knows 0001"
        ):
            act()
    assert new.journal.read() == before
    carry_out(new, waiting)
    assert new.ask().number == 4
    monkeypatch.undo()
    with pytest.raises(StorageError, match=r"written by a newer allweather \(schema 0002"):
        study(url)


def test_an_upgrade_that_fails_changes_nothing(url, newer, monkeypatch):
    older = study(url)
    carry_out(older, older.ask())
    before = older.journal.read()
    newer(more="op.execute('SELECT x FROM nowhere')")
    with pytest.raises(StorageError, match="nowhere"):
        Database(url)
    monkeypatch.undo()
    assert Journal.open(Database(url), "kiosk").read() == before
    assert carry_out(older, older.ask()).number == 1
