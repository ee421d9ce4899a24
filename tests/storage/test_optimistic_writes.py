"""Studies that are killed, shared, corrected and given up."""

import random
import shutil
import threading
import time

import pandas as pd
import pytest
import sqlalchemy as sa
from tests.storage import workers
from tests.storage.workers import SPACE, carry_out, kill_after, nature, share, study, together, work

import allweather as aw
from allweather.storage import Database, Event, Journal, Storage, StorageError, export_lines, import_lines

TRIALS = 20  # thousands of kills: make soak


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The trials of a run that nobody disturbed."""
    url = f"sqlite:///{tmp_path_factory.mktemp('calm') / 'study.db'}"
    work(url, TRIALS)
    return study(url).trials()


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def crash(url, kills, trials, tmp_path, name):
    """Kill a worker so many times, let the last one finish, and return the trials."""
    told, source = tmp_path / f"told-{name}", random.Random(5)
    lives = 0
    while lives < kills:
        wanted = min(trials, 2 + trials * (lives + 1) // kills)  # so that every life has something to do
        kill_after(source.uniform(0.01, 0.25), work, url, wanted, told, name)
        lives += 1
        seen = study(url, name).trials()
        acknowledged = [int(line) for line in told.read_text().splitlines()] if told.exists() else []
        assert (seen.loc[acknowledged, "state"] == "complete").all()
    work(url, trials, told, name)
    return study(url, name).trials()


@pytest.mark.slow
def test_twenty_kills_lose_nothing_and_change_nothing(url, tmp_path, uninterrupted):
    pd.testing.assert_frame_equal(crash(url, 20, TRIALS, tmp_path, "kiosk"), uninterrupted)


@pytest.mark.slow
def test_ten_kills_with_postgresql(postgresql, tmp_path, uninterrupted):
    pd.testing.assert_frame_equal(crash(postgresql, 10, TRIALS, tmp_path, "killed"), uninterrupted)


def whole(table, trials):
    """No trial is lost, none was asked for twice."""
    assert list(table.index) == list(range(len(table)))
    assert len(table) >= trials
    assert (table["state"] == "complete").all()
    assert table["demand"].tolist() == pytest.approx([nature(number) for number in table.index])
    later = table[table.index >= 25]["order"]
    assert later.nunique() >= 0.5 * len(later)


@pytest.mark.slow
def test_eight_processes_on_one_postgresql_study(postgresql, record_property):
    seconds = together(8, share, postgresql, 72, "shared")
    table = study(postgresql, "shared").trials()
    whole(table, 72)
    record_property("throughput", f"8 processes, PostgreSQL: {len(table)} trials, {len(table) / seconds:.1f} a second")


@pytest.mark.slow
def test_eight_processes_that_begin_at_once_make_one_database(postgresql):
    server = postgresql.replace("/postgres?", "/fresh?")
    with Database(postgresql).engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("CREATE DATABASE fresh"))
    together(8, share, server, 8, "new")
    assert len(study(server, "new").trials()) >= 8


@pytest.mark.slow
def test_four_processes_on_one_sqlite_file(url, record_property):
    study(url)
    seconds = together(4, share, url, 50)
    table = study(url).trials()
    whole(table, 50)
    record_property("throughput", f"4 processes, SQLite: {len(table)} trials, {len(table) / seconds:.1f} a second")


def test_threads_share_one_study(url):
    own = study(url)
    threads = [threading.Thread(target=lambda: [carry_out(own, own.ask()) for _ in range(4)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole(own.trials(), 12)


def test_it_is_the_same_study_with_and_without_a_database(url, uninterrupted):
    plain = aw.Study(SPACE, context=aw.KDE(32), seed=7)
    for _ in range(TRIALS):
        carry_out(plain, plain.ask())
    pd.testing.assert_frame_equal(plain.trials(), uninterrupted)


def test_a_study_of_another_kind_is_not_gone_on_with(url):
    study(url)
    for other in ({"seed": 8}, {"direction": "minimize"}, {"objective": aw.WorstCase()}):
        with pytest.raises(aw.InvalidInput, match=r"must be what the study 'kiosk' in sqlite.* was made with"):
            aw.Study(SPACE, **{"context": aw.KDE(32), "seed": 7, "storage": url, "name": "kiosk", **other})
    with pytest.raises(aw.InvalidInput, match=r"Study\(space=\.\.\.\)"):
        aw.Study(aw.Space(order=aw.Real(0, 2), demand=aw.Context(0, 1)), seed=7, storage=url, name="kiosk")
    with pytest.raises(aw.InvalidInput, match=r"Study\(storage=\.\.\.\)"):
        aw.Study(SPACE, storage=7)


def test_corrections_are_events_and_the_past_stays(url):
    own = study(url)
    for _ in range(7):
        carry_out(own, own.ask())
    wrong = own.tell(own.ask(), 1e6, context={"demand": 0.3})
    right = own.correct(wrong, 0.5)
    assert (right.values, right.context) == ((0.5,), {"demand": 0.3})
    assert own.correct(wrong.number, context={"demand": 0.4}).context == {"demand": 0.4}
    assert own.withdraw(0).state == "withdrawn"
    table = study(url).trials()
    assert table.loc[wrong.number, "value"] == 0.5
    assert table.loc[0, "state"] == "withdrawn"
    assert len(study(url).history.observations) == 7
    kinds = [event.kind for event in Journal.open(Database(url), "kiosk").read(trial=wrong.number)]
    assert kinds == ["asked", "told", "corrected", "corrected"]
    with pytest.raises(aw.InvalidInput, match="was withdrawn"):
        own.tell(0, 1.0)
    for nothing in (lambda: own.correct(1), lambda: own.correct(1, float("nan")), lambda: own.correct(99, 1.0)):
        with pytest.raises(aw.InvalidInput):
            nothing()


def test_trials_of_dead_workers_are_given_up_and_can_still_be_told(url):
    own = study(Storage(url, expire=0.2))
    for _ in range(6):
        carry_out(own, own.ask())
    lost = own.ask()
    assert study(Storage(url, expire=0.2)).trials().loc[lost.number, "state"] == "pending"
    time.sleep(0.3)
    other = study(Storage(url, expire=0.2))
    carry_out(other, other.ask())
    assert other.trials().loc[lost.number, "state"] == "expired"
    carry_out(own, lost)
    assert study(url).trials().loc[lost.number, "state"] == "complete"


def test_trials_expire_by_the_clock_of_the_database(postgresql, monkeypatch):
    own = study(Storage(postgresql, expire=3600), "clock")
    waiting = own.ask()
    monkeypatch.setattr(time, "time", lambda: 4e9)  # this machine's clock is wrong by decades
    own.ask()
    assert own.trials()["state"].tolist() == ["pending", "pending"]
    assert all(event.at < 4e9 for event in Journal.open(Database(postgresql), "clock").read(trial=waiting.number))


def test_another_workers_trials_are_seen_at_once(url):
    one, two = study(url), study(url)
    first = [one.ask() for _ in range(3)]
    assert two.ask().number == 3
    two.tell(first[1], 0.5, context={"demand": 0.2})
    assert one.trials().loc[1, "state"] == "complete"
    with pytest.raises(aw.InvalidInput, match="be told once"):
        one.tell(first[1], 0.7, context={"demand": 0.2})


def test_a_lost_connection_in_the_middle_of_a_tell_loses_nothing(postgresql):
    own = study(postgresql, "cut")
    carry_out(own, own.ask())
    trial = own.ask()
    database = own.journal._database

    @sa.event.listens_for(database.engine, "before_cursor_execute")
    def cut(connection, cursor, statement, *_):
        if statement.startswith("INSERT INTO events"):
            process = connection.connection.driver_connection.info.backend_pid
            sa.event.remove(database.engine, "before_cursor_execute", cut)
            with Database(postgresql).reading() as other:
                other.execute(sa.select(sa.func.pg_terminate_backend(process)))
            time.sleep(0.1)

    with pytest.raises(StorageError, match="the connection was lost; nothing of this call was acknowledged"):
        carry_out(own, trial)
    assert study(postgresql, "cut").trials()["state"].tolist() == ["complete", "pending"]
    carry_out(own, trial)
    assert study(postgresql, "cut").trials()["state"].tolist() == ["complete", "complete"]


def test_control_sets_and_batches_are_kept_too(url):
    space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1))
    options = {"method": "etc-ada", "context": aw.KDE(32), "storage": url, "name": "farm"}

    def farm():
        return aw.Study(space, control=aw.Control({"a": 0.1, ("a", "b"): 1.0}, budget=2.0), **options)

    farm().add([{"a": 0.1 * i, "b": 0.5, "value": float(i)} for i in range(6)], left=["b"])
    batch = farm().ask(3)
    for trial in batch:
        farm().tell(trial, 1.0, context=dict.fromkeys(trial.left, 0.5))
    table = farm().trials()
    assert table["cost"].sum() == pytest.approx(sum(trial.cost for trial in batch))
    assert len(table) == 9


def test_a_study_goes_on_from_an_export(url, tmp_path, uninterrupted):
    work(url, 12)
    other = f"sqlite:///{tmp_path / 'other.db'}"
    import_lines(Database(other), list(export_lines(Journal.open(Database(url), "kiosk"))))
    work(other, TRIALS)
    pd.testing.assert_frame_equal(study(other).trials(), uninterrupted)


def test_a_copied_file_is_a_copied_study(url, tmp_path, uninterrupted):
    work(url, 10)
    workers.study(url).journal._database.close()
    for file in tmp_path.glob("study.db*"):
        shutil.copy(file, tmp_path / file.name.replace("study", "copy"))
    copy = f"sqlite:///{tmp_path / 'copy.db'}"
    work(copy, TRIALS)
    pd.testing.assert_frame_equal(study(copy).trials(), uninterrupted)


def test_rows_from_before_can_be_told_again_and_corrected_without_losing_what_was_left_alone(url):
    space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1))
    control = aw.Control({"a": 1.0, ("a", "b"): 2.0})
    own = aw.Study(space, control=control, context=aw.KDE(16), storage=url, name="farm", initial=2)
    row = own.add([{"a": 0.1, "b": 0.7, "value": 1.0}, {"a": 0.2, "b": 0.6, "value": 2.0}], left=["b"])[0]
    assert own.tell(row, 1.0).context == {"b": 0.7}
    assert own.correct(row, context={"b": 0.9}).context == {"b": 0.9}
    assert own.correct(row, decision={"a": 0.3}).decision == {"a": 0.3}
    assert own.ask().cost is not None


def test_a_study_is_restored_with_all_that_became_of_its_trials(url):
    own = study(Storage(url, expire=0.1))
    for _ in range(3):
        carry_out(own, own.ask())
    own.withdraw(1)
    own.tell(own.ask(), failed=True)
    own.ask()
    time.sleep(0.2)
    carry_out(own, own.ask())
    other = study(url, "restored")
    other.restore(own.history.trials)
    pd.testing.assert_frame_equal(study(url, "restored").trials(), own.trials())
    assert other.ask().number == 6


def test_what_cannot_be_read_is_never_written(url):
    own = study(url)
    for unreadable in (Event("told", {}, 7), Event("asked", {"number": 4, "decision": {}}, 4)):
        with pytest.raises(aw.InvalidInput, match="journal event"):
            own._writes.decide(lambda history, event=unreadable: [event])
    with pytest.raises(aw.InvalidInput, match=r"Study\.tell\(failed=\.\.\.\)"):
        own.tell(0, failed="no")
    assert Journal.open(Database(url), "kiosk").read() == []


def test_telling_the_same_again_changes_nothing(url):
    own = study(url)
    done = carry_out(own, own.ask())
    again = own.tell(0, done.values[0], context=done.context)
    assert again == done
    failed = own.tell(own.ask(), failed=True)
    assert own.tell(failed, failed=True) == failed
    assert Journal.open(Database(url), "kiosk").last == 4
    assert own.history.revision == 2
    for wrong in (True, 10**30, -1, "0", None):
        with pytest.raises(aw.InvalidInput, match=r"Study\.tell\(trial=\.\.\.\)"):
            study(url).tell(wrong, 1.0)
    for early in (own.ask(), 99):
        with pytest.raises(aw.InvalidInput):
            own.correct(early, 1.0)


def test_long_tables_make_several_events(url):
    own = study(url)
    assert len(own.add([{"order": 0.5, "demand": 0.5, "value": float(i)} for i in range(2500)])) == 2500
    assert Journal.open(Database(url), "kiosk").last == 3
    assert study(url).trials()["value"].tolist() == [float(i) for i in range(2500)]


def test_a_study_that_was_deleted_says_so_instead_of_trying_for_ever(url):
    own = study(url)
    with Database(url).writing() as connection:
        connection.execute(sa.text("DELETE FROM studies"))
    with pytest.raises(StorageError, match="is no longer in"):
        own.ask()


def test_one_file_by_two_names_has_one_turn(url, tmp_path):
    own = study(url)
    (tmp_path / "link.db").symlink_to(tmp_path / "study.db")
    other = study(f"sqlite:///{tmp_path / 'link.db'}")
    carry_out(own, own.ask())
    carry_out(other, other.ask())
    assert [path.name for path in tmp_path.glob("*.turn")] == ["study.db.1.turn"]


def test_a_lost_turn_loses_nothing_and_doubles_nothing(postgresql):
    own = study(postgresql, "turnless")
    database, cuts = own.journal._database, []

    @sa.event.listens_for(database.engine, "before_cursor_execute")
    def cut(connection, cursor, statement, *_):
        if statement.startswith("INSERT INTO events") and not cuts:
            cuts.append(statement)
            holders = sa.text("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
            with Database(postgresql).reading() as other:
                other.execute(holders)

    carry_out(own, own.ask())
    assert len(cuts) == 1
    assert study(postgresql, "turnless").trials()["state"].tolist() == ["complete"]
