"""Threads and processes exclude each other, and a holder that dies holds nothing."""

import multiprocessing
import os
import threading

import pytest

from allweather.storage import StorageError
from allweather.storage.turns import locked


def test_threads_hold_it_one_after_the_other(tmp_path):
    inside, most = [0], [0]

    def work():
        for _ in range(5):
            with locked(tmp_path / "turn"):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def _hold(path, held):
    with locked(path):
        held.set()
        threading.Event().wait(60)


def test_a_process_holds_it_until_it_is_killed(tmp_path):
    path, spawn = tmp_path / "turn", multiprocessing.get_context("spawn")
    held, taken = spawn.Event(), threading.Event()
    holder = spawn.Process(target=_hold, args=(path, held))
    holder.start()
    assert held.wait(60)
    assert path.read_text().startswith(f" process {holder.pid}, turn ")

    def take():
        with locked(path):
            taken.set()

    waiting = threading.Thread(target=take)
    waiting.start()
    assert not taken.wait(0.2)
    holder.kill()
    holder.join()
    assert taken.wait(60)
    waiting.join()
    assert path.read_text().startswith(f" process {os.getpid()}, turn ")


def test_a_lock_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="make the folder"), locked(tmp_path / "file" / "turn"):
        pass
