"""The benchmark of the ask by stage watches functions that exist, and counts every second once."""

import time

import pytest
from benchmarks.stages import STAGES, Clock, asked


def test_time_is_counted_in_the_innermost_stage():
    clock, started = Clock(), time.process_time()
    clock.enter("fit")
    clock.enter("Cholesky")
    while time.process_time() < started + 0.01:
        pass
    clock.enter("")
    clock.enter("")
    assert clock.seconds["Cholesky"] > 10 * clock.seconds["fit"]
    assert sum(clock.seconds.values()) == pytest.approx(time.process_time() - started, abs=0.005)


def test_every_stage_of_an_ask_takes_time(monkeypatch):
    monkeypatch.setattr("benchmarks.stages.REPEATS", 1)
    stages, bound = asked(8, later=False)
    assert all(stages[name] > 0 for name in STAGES)
    assert 0 < bound < sum(stages.values())
