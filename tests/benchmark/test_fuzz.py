"""The fuzzers find nothing in a few draws; `python -m benchmarks fuzz` makes many."""

import pytest
from benchmarks import fuzz


@pytest.mark.parametrize("act", [fuzz.worst_case, fuzz.study])
def test_a_few_draws(act):
    assert [fuzz.tried(act, 5, number) for number in range(15)] == [""] * 15


def test_a_stopped_run_goes_on(tmp_path, capsys, monkeypatch):
    drawn = []
    monkeypatch.setattr(fuzz, "PART", 3)
    monkeypatch.setattr(fuzz, "tried", lambda act, seed, number: drawn.append(number) or ("odd" if number == 1 else ""))
    results = tmp_path / "fuzz.jsonl"
    assert fuzz._many(fuzz.study, 6, 0, results) == ["study 1: odd"]
    assert fuzz._many(fuzz.study, 9, 0, results) == ["study 1: odd"]
    assert drawn == list(range(9))
    assert "study: 9 tried, 1 wrong" in capsys.readouterr().out
