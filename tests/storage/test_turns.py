"""A worker that is suspended while it holds the turn stops nobody for ever."""

import logging
import os
import signal
import threading
import time

import pytest
import sqlalchemy as sa
from tests.storage.test_optimistic_writes import SPACE
from tests.storage.workers import FORK, study

import allweather as aw
from allweather.engine import Engine
from allweather.storage import Database, StorageError, database, turns
from allweather.storage.turns import locked


def test_a_holder_that_never_lets_go_is_passed_by(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(turns, "LEASE_SECONDS", 0.1)
    monkeypatch.setattr(turns, "NOTICE_SECONDS", 0.02)
    url = f"sqlite:///{tmp_path}/study.db"
    study = aw.Study(SPACE, storage=url, name="kiosk")
    with caplog.at_level(logging.INFO, "allweather"), locked(tmp_path / "study.db.1.turn") as held:
        assert held
        assert study.ask().number == 0
    said = " ".join(record.message for record in caplog.records)
    assert "waiting for the turn" in said
    assert f"deciding without a turn: its holder (process {os.getpid()}, turn " in said


WAITING = sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")


def test_postgresql_keeps_the_order_of_those_who_wait(postgresql, monkeypatch):
    monkeypatch.setattr(database, "QUEUED", 30)
    order, threads, own = [], [], Database(postgresql)

    def work(place):
        with Database(postgresql).turn(7):
            order.append(place)

    with own.turn(7), own.reading() as connection:
        for place in range(3):
            threads.append(threading.Thread(target=work, args=(place,)))
            threads[-1].start()
            while connection.execute(WAITING).scalar() <= place:
                time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2]


def test_a_holder_in_postgresql_is_passed_by(postgresql, monkeypatch, caplog):
    monkeypatch.setattr(turns, "LEASE_SECONDS", 0.1)
    monkeypatch.setattr(database, "QUEUED", 0.1)
    with Database(postgresql).turn(8), Database(postgresql).turn(8):
        assert "deciding without a turn" in caplog.text


def suspended(url, channel):
    """Ask for a trial, be suspended in the middle of it, and go on when somebody says so."""
    own, propose = study(url, "suspended"), Engine.propose

    def suspend(*given, **options):
        Engine.propose = propose
        found = propose(*given, **options)
        os.kill(os.getpid(), signal.SIGSTOP)
        return found

    Engine.propose = suspend
    channel.send(own.ask())


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes that can be suspended")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_worker_that_is_suspended_longer_than_its_lease_takes_nobodys_trial(kind, tmp_path, request, monkeypatch):
    url = f"sqlite:///{tmp_path}/study.db" if kind == "sqlite" else request.getfixturevalue("postgresql")
    monkeypatch.setattr(turns, "LEASE_SECONDS", 0.1)
    monkeypatch.setattr(database, "QUEUED", 0.1)
    own, (there, here) = study(url, "suspended"), FORK.Pipe()
    process = FORK.Process(target=suspended, args=(url, here), daemon=True)
    process.start()
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
    taken = own.ask()
    own.tell(taken, 1.0, context={"demand": 0.5})
    os.kill(process.pid, signal.SIGCONT)
    late = there.recv()
    process.join()
    assert (taken.number, late.number) == (0, 1)
    assert late.decision != taken.decision  # it was decided again
    assert own.trials()["state"].tolist() == ["complete", "pending"]


def test_who_waits_too_long_for_many_others_is_told(monkeypatch):
    monkeypatch.setattr(turns, "MAX_WAIT_SECONDS", 0.05)
    names = iter(map(str, range(10_000)))
    with pytest.raises(StorageError, match="no turn to decide"), turns.take_turn(lambda: False, names.__next__, None):
        pass
