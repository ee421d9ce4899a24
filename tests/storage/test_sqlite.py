"""Files of SQLite: who may only read them sees what others write."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from allweather.storage import Database, Event, Journal, StorageError

OTHER_USER = 65534
VIEWER = """
import os
import sys
import sqlalchemy.dialects.sqlite.pysqlite, sqlite3  # while the installed packages can be read
from allweather.storage import Database, Journal
if os.geteuid() == 0:
    os.setegid({user})
    os.seteuid({user})
database = Database({url!r})
print(database.read_only, flush=True)
for _ in sys.stdin:
    print(len(Journal.open(database, "kiosk").read()), flush=True)
"""


@pytest.fixture
def viewed():
    """The file of a study without a log, in a folder that others may only read."""
    with tempfile.TemporaryDirectory() as name:  # pytest keeps other users out of its own folders
        folder = Path(name)
        folder.chmod(0o755)
        url = f"sqlite:///{folder}/study.db"
        write(url, 0, create=True).close()
        (folder / "study.db").chmod(0o644)  # new databases are for their owner
        yield folder, url


def write(url, seen, create=False):
    """Write one event; the database is still open."""
    database = Database(url)
    journal = Journal.create(database, "kiosk", {}) if create else Journal.open(database, "kiosk")
    journal.append(seen, [Event("asked", {"number": seen}, seen)])
    return database


@pytest.fixture
def viewer(viewed):
    """Asks another process, without the right to write, how many events it sees."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("needs root, to be two users")
    _, url = viewed
    code = VIEWER.format(user=OTHER_USER, url=url)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        assert process.stdout.readline() == "True\n"

        def count():
            print(file=process.stdin, flush=True)
            return int(process.stdout.readline())

        yield count
        process.stdin.close()


def test_a_viewer_who_may_not_write_sees_what_is_written(viewed, viewer):
    folder, url = viewed
    assert (viewer(), [each.name for each in folder.glob("*-wal")]) == (1, [])
    writers = [write(url, 1)]
    assert (folder / "study.db-wal").exists()
    assert viewer() == 2
    writers.append(write(url, 2))
    assert viewer() == 3
    with sqlite3.connect(folder / "study.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert viewer() == 3
    connection.close()
    for each in writers:
        each.close()
    assert not (folder / "study.db-wal").exists()
    assert viewer() == 3
    write(url, 3).close()
    assert viewer() == 4


KILLED = """
import os
from allweather.storage import Database, Event, Journal, StorageError
database = Database({url!r})
journal = Journal.open(database, "kiosk")
journal.append(1, [Event("asked", {{"number": 1}}, 1)])
print("acknowledged", flush=True)
input()
for number in (2, 3):
    try:
        journal.append(number, [Event("asked", {{"number": number}}, number)])
        print("acknowledged", flush=True)
    except StorageError as refused:
        print(refused, flush=True)
os._exit(0) if {hard} else None
"""


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_nothing_is_acknowledged_without_the_log(viewed, how, hard):
    folder, url = viewed
    code = KILLED.format(url=url, hard=hard)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        assert process.stdout.readline() == "acknowledged\n"
        for end in ("wal", "shm"):
            (folder / f"study.db-{end}").unlink()
        other = write(url, 1) if how == "replaced" else None  # by this process, which sees no more than the database
        out, _ = process.communicate("\n")
    assert [("-wal file" in line, "start them again" in line) for line in out.splitlines()] == [(True, True)] * 2
    kept = Database(url)
    assert [event.trial for event in Journal.open(kept, "kiosk").read()] == [0, 1]
    kept.close()
    if other is not None:
        other.close()


def test_a_process_opens_no_new_log_beside_the_one_it_lost(viewed):
    folder, url = viewed
    database = write(url, 1)
    (folder / "study.db-wal").unlink()
    with pytest.raises(StorageError, match="-wal file"):
        write(url, 2)
    with pytest.raises(StorageError, match="-wal file"):
        Journal.open(database, "kiosk")
    assert len(Journal.open(Database(url), "kiosk").read()) == 2  # closing in order has saved what was acknowledged
