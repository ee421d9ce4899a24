"""Decisions are recorded and compared, and a difference is found with its place."""

import json
import math

import pytest
from benchmarks import same_decisions
from benchmarks.same_decisions import cases, difference

import allweather as aw


def test_every_published_method_is_played_on_two_problems():
    names = [case.name for case in cases()]
    assert all(names.count(name) == 2 for name in aw.methods())


def test_what_was_recorded_is_played_again(tmp_path, capsys):
    path = tmp_path / "runs.json"
    same_decisions.main(["--record", str(path), "--only", "erbo | ridge", "--steps", "2", "--seeds", "1"])
    same_decisions.main(["--record", str(path), "--only", "erbo | ridge", "--steps", "2", "--seeds", "1"])
    assert same_decisions.compare(path, "erbo | ridge") == 0
    kept = json.loads(path.read_text())
    (played,) = kept["runs"].values()
    assert len(played["asked"]) == 6
    played["asked"][5]["decision"]["x"] += 0.01
    path.write_text(json.dumps(kept))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        same_decisions.main(["--compare", str(path), "--only", "erbo | ridge"])
    assert "differs: erbo (ridge | 0, step 5)" in capsys.readouterr().out


def test_differences_of_runs():
    step = {"decision": {"x": 0.5}, "context": {}, "cost": None}
    run = {"asked": [step], "best": {"decision": {"x": 0.5}, "value": 1.0}}
    assert difference(run, run) == (0.0, "")
    assert difference(run, {**run, "best": {"decision": {"x": 0.5}, "value": 1.5}}) == (0.5, "recommendation")
    assert difference(run, {**run, "asked": [{**step, "decision": {"y": 0.5}}]}) == (math.inf, "step 0")
    assert difference({"error": "a"}, {"error": "a"})[0] == 0
    assert difference(run, {"error": "a"})[0] == math.inf
