"""Measurements are recorded, and compared with the least of several records."""

import json

import pytest
from benchmarks import same_speed


@pytest.fixture
def _quick(monkeypatch):
    monkeypatch.setattr(same_speed, "STUDIES", {"default": {}})
    monkeypatch.setattr(same_speed, "TRIALS", (6,))
    monkeypatch.setattr(same_speed, "RUNS", ("erbo",))
    monkeypatch.setattr(same_speed, "REPEATS", 2)
    monkeypatch.setattr(same_speed, "STEPS", 6)


@pytest.mark.usefixtures("_quick")
@pytest.mark.slow
def test_the_least_of_each_measurement_is_compared(tmp_path, capsys):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    same_speed.main(["--record", str(first)])
    found = json.loads(first.read_text())
    assert {"ask, default, 6 trials", "worst cases, MMD", "run, erbo", "load", "tell"} <= set(found)
    assert all(each > 0 for each in found.values())
    first.write_text(json.dumps(dict.fromkeys(found, 1e-6)))
    second.write_text(json.dumps(dict.fromkeys(found, 1e9)))
    capsys.readouterr()
    same_speed.main(["--compare", str(first), str(second), "--own", str(first)])
    said = capsys.readouterr().out
    assert said.count(" 1.00 ") == len(found)
