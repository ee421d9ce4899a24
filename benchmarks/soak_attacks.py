"""Attacks on the storage of a soak: each is one process that returns what it did, and what went wrong, as counts."""

import json
import random
import shutil
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.soak_notes import acknowledged, current, note

WRITERS, FIRST_WRITES, WAIT_SECONDS = 3, 3, 300.0
"""Writers of a database that is attacked, what each has written before, and how long they may take to notice."""
OLD_EVENTS = 2000
"""Events of a study that is upgraded."""
DAMAGES, MAX_DAMAGED_BYTES = 4, 120
"""Copies of the database that are damaged at a time, and the bytes that are overwritten in each, at most."""
COPIED_EVENTS = 400
"""Events of a study that is copied to be damaged, at most."""
NEWER = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade():
    op.add_column("events", sa.Column("note", sa.Text, nullable=False, server_default=""))
    op.execute("UPDATE events SET note = kind")
"""
"""The schema of the version after this one, as it might be."""


def cut_log(url, folder, number, begin):
    """Delete the write-ahead log under several writers: they notice it, and what they had acknowledged is kept."""
    from allweather.storage import Database, Journal

    source, place = random.Random(number), folder / f"cut-{number}"
    place.mkdir()
    own = f"sqlite:///{place}/cut.db"
    writers, acknowledged_by = _begin_writers(own, place, begin)
    for end in ("-wal", "-shm")[: source.choice((1, 2))]:
        (place / f"cut.db{end}").unlink(missing_ok=True)
    unnoticed = _end(writers)
    journal = Journal.open(Database(own), "scribbled")
    stored = {event.payload["contexts"][0]["demand"] for event in journal.read()}
    written = acknowledged_by()
    return {
        "logs_cut": 1,
        "cut_acknowledged": len(written),
        "cut_lost": len(written - stored),
        "cut_unnoticed": unnoticed,
    }


def upgrade(url, folder, number, begin):
    """Upgrade a database under writers of the older version, and kill the upgrade now and then."""
    from allweather.storage import Database, Event, Journal, database

    source, place = random.Random(number), folder / f"upgrade-{number}"
    place.mkdir()
    with _fresh(url, place, f"upgrade_{number}") as own:
        old = [Event("observed", {"contexts": [{"demand": -float(each)}]}, None) for each in range(OLD_EVENTS)]
        journal = Journal.create(Database(own), "scribbled", {})
        before = journal.append(0, old)
        writers, acknowledged_by = _begin_writers(own, place, begin)
        half_made = 0
        for last in (False, False, True):
            process = begin((_become_newer, own, place))
            if not last:
                time.sleep(source.uniform(0, 1.0))
                process.kill()
            process.join(WAIT_SECONDS)
            half_made += _half_made(own)
        failed = process.exitcode != 0
        unnoticed = _end(writers)
        _newer(database, place)
        found = Journal.open(Database(own), "scribbled").read()
        stored = {event.payload["contexts"][0]["demand"] for event in found}
        lost = len(acknowledged_by() - stored) + sum(a != b for a, b in zip(before, found, strict=False))
    wrong = {"upgrade_lost": lost, "upgrade_half_made": half_made, "upgrade_unnoticed": unnoticed + failed}
    return {"upgrades": 1, "upgrades_killed": 2, **wrong}


def damage_bytes(url, folder, number, _begin):
    """Overwrite bytes in copies of the database: what is still read of them is what was written."""
    from allweather.errors import StorageError
    from allweather.storage import Database
    from allweather.storage.journal import journals
    from allweather.storage.salvage import salvage_lines

    source, file = random.Random(number), Path(url.removeprefix("sqlite:///"))
    copy, broken = folder / f"copy-{number}.db", folder / f"broken-{number}.db"
    with closing(sqlite3.connect(file)) as one, closing(sqlite3.connect(copy)) as other:
        one.backup(other)
    with closing(sqlite3.connect(copy)) as connection:
        columns = "study, number, kind, trial, at, worker, payload"
        rows = {row[:2]: row[2:] for row in connection.execute(f"SELECT {columns} FROM events")}
        connection.execute("PRAGMA journal_mode=DELETE")
    whole, counts = copy.read_bytes(), {"damages": 0, "damages_refused": 0, "damages_read": 0, "damages_wrong": 0}
    for _ in range(DAMAGES):
        content, length = bytearray(whole), source.randint(1, MAX_DAMAGED_BYTES)
        place = source.randrange(len(content) - length)
        content[place : place + length] = source.randbytes(length)
        broken.write_bytes(content)
        counts["damages"] += 1
        try:
            database = Database(f"sqlite:///{broken}")
            for journal in journals(database):
                found, _ = journal.read_readable()
                salvage_lines(journal)
                counts["damages_read"] += len(found)
                counts["damages_wrong"] += sum(not _same(event, rows, journal._study) for event in found)
            database.close()
        except StorageError:  # nothing of it can be used, and it says so
            counts["damages_refused"] += 1
        for each in folder.glob(f"{broken.name}*"):
            each.unlink()
    copy.unlink()
    return counts


def _same(event, rows, study):
    kind, trial, at, worker, payload = rows.get((study, event.number), (None, None, None, None, "null"))
    found = event.kind, event.trial, event.at, event.worker, event.payload
    return found == (kind, trial, at, worker, json.loads(payload))


def change_event(url, folder, number, _begin):
    """Change one digit in a copy of a study: it is noticed, all else is saved, and the pages say so."""
    import httpx
    import sqlalchemy as sa

    from allweather.errors import StorageError
    from allweather.storage import Database, Journal, export_lines, import_lines

    source, database, name = random.Random(number), Database(url), f"damaged-{number}"
    original = Journal.open(database, f"shared-{current(folder, 'shared')}")
    import_lines(database, list(export_lines(original))[:COPIED_EVENTS], name)
    journal, key = Journal.open(database, name), {"study": None}
    whole = journal.read()
    key = {"study": journal._study, "number": source.choice([each.number for each in whole if each.payload])}
    unnoticed = 0
    with database.writing() as connection:
        text = connection.execute(sa.text("SELECT payload FROM events WHERE study = :study AND number = :number"), key)
        text = text.scalar_one()
        place = source.choice([place for place, each in enumerate(text) if each.isdigit()])
        changed = text[:place] + str((int(text[place]) + source.randint(1, 9)) % 10) + text[place + 1 :]
        written = sa.text("UPDATE events SET payload = :payload WHERE study = :study AND number = :number")
        connection.execute(written, {**key, "payload": changed})
    try:
        journal.read()
        unnoticed += 1
    except StorageError as refused:
        unnoticed += f"event {key['number']} cannot be read" not in str(refused)
    found, lost = journal.read_readable()
    unnoticed += lost != [key["number"]] or found != [each for each in whole if each.number != key["number"]]
    seconds, address = [], (folder / "address-steady").read_text()
    for path, right in ((f"/studies/{name}", 503), ("/", 200)):
        asked = time.time()
        answer = httpx.get(f"{address}{path}", timeout=120)
        seconds.append(time.time() - asked)
        unnoticed += answer.status_code != right or "damaged" not in answer.text
    with database.writing() as connection:
        connection.execute(sa.text("DELETE FROM events WHERE study = :study"), key)
        connection.execute(sa.text("DELETE FROM studies WHERE id = :study"), key)
    return {"changes": 1, "changes_unnoticed": int(unnoticed)}


def back_up(url, folder, number, _begin):
    """Write a backup while all write, restore it, and look for all that was acknowledged before it began."""
    from allweather.storage import Database, Journal, names
    from allweather.storage.backup import backup_lines, restore_lines
    from allweather.study import StudyLog

    before, database = acknowledged(folder), Database(url)
    began = time.time()
    lines = list(backup_lines(database))
    took, after = time.time() - began, acknowledged(folder)
    new = folder / "backup.new"
    new.write_text("\n".join(lines))
    new.replace(folder / "backup.jsonl")
    again = Database(f"sqlite:///{folder}/restored-{number}.db")
    restore_lines(again, lines)
    stored = {name: StudyLog.of(Journal.open(again, name)).history.trials for name in names(again)}
    lost = sum(_missing(rows, after[key], stored.get(key[0], ()), key[1]) for key, rows in before.items())
    again.close()
    for each in folder.glob(f"restored-{number}.db*"):
        each.unlink()
    return {"backups": 1, "backup_lost": lost, "backup_events": len(lines), "backup_seconds": round(took, 2)}


def _missing(rows, later, trials, number):
    """Whether something that was acknowledged before a backup is not in it; later reports may be."""
    if number >= len(trials):
        return True
    told = any("told" in row for row in rows)
    return told and trials[number].values[:1] not in {(row["value"],) for row in later if "value" in row}


ATTACKS = {
    "sqlite": (cut_log, change_event, back_up, upgrade, damage_bytes),
    "postgresql": (change_event, back_up, upgrade),
}


def _begin_writers(url, place, begin):
    """Begin several writers, and wait until they write; returns them, and what they have acknowledged so far."""
    from allweather.storage import Database, Journal, names

    database = Database(url)
    if "scribbled" not in names(database):
        Journal.create(database, "scribbled", {})
    database.close()
    files = [place / f"writer-{each}.acks" for each in range(WRITERS)]
    writers = [begin((_scribble, url, file, each)) for each, file in enumerate(files)]

    def acknowledged_by():
        lines = [line for file in files if file.exists() for line in file.read_text().splitlines()]
        return {json.loads(line)["value"] for line in lines}

    until = time.time() + WAIT_SECONDS
    while any(not file.exists() or file.read_text().count("\n") < FIRST_WRITES for file in files):
        assert time.time() < until, "the writers of an attack did not begin"
        time.sleep(0.05)
    return writers, acknowledged_by


def _scribble(url, path, place):
    """Write events until one is refused; then end in order."""
    from allweather.errors import StorageError
    from allweather.storage import Database, Event, Journal

    database = Database(url)
    journal, count = Journal.open(database, "scribbled"), 0
    try:
        while True:
            count += 1
            value = place + count / 1e6
            journal.append(journal.last, [Event("observed", {"contexts": [{"demand": value}]}, None)])
            note(path, value=value)
            time.sleep(0.02)
    except StorageError:
        database.close()


def _end(writers):
    """Wait for writers that were refused; returns how many were not."""
    until = time.time() + WAIT_SECONDS
    for writer in writers:
        writer.join(max(until - time.time(), 0))
    unnoticed = [writer for writer in writers if writer.exitcode != 0]
    for writer in unnoticed:
        writer.kill()
        writer.join()
    return len(unnoticed)


def _newer(database, place):
    """Make this process one of the next version."""
    from allweather.storage.migrations import __file__ as file

    folder = place / "newer"
    if not (folder / "versions" / "0002_next.py").exists():
        shutil.copytree(Path(file).parent, folder, dirs_exist_ok=True)
        (folder / "versions" / "0002_next.py").write_text(NEWER)
    database.MIGRATIONS, database.VERSION = folder, "0002"


def _become_newer(url, place):
    from allweather.storage import database

    _newer(database, place)
    database.Database(url).close()


def _half_made(url):
    """Whether the tables are neither those of one version nor of the other."""
    import sqlalchemy as sa

    level = {} if url.startswith("sqlite") else {"isolation_level": "REPEATABLE READ"}
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool, **level)
    with engine.connect() as connection, connection.begin():
        version = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars().all()
        columns = {each["name"] for each in sa.inspect(connection).get_columns("events")}
        noted = "note" in columns
        full = not noted or not connection.execute(sa.text("SELECT count(*) FROM events WHERE note = ''")).scalar_one()
    return version != ["0002" if noted else "0001"] or not full


@contextmanager
def _fresh(url, folder, name):
    """The address of an empty database beside that of the soak."""
    if url.startswith("sqlite"):
        yield f"sqlite:///{folder}/{name}.db"
        return
    import sqlalchemy as sa

    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    yield sa.make_url(url).set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
