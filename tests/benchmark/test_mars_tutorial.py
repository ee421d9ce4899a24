"""BoTorch's MARS tutorial: the judge, our side, and the table."""

import json

import torch
from benchmarks import mars_tutorial


def test_more_decisions_dominate_more(monkeypatch):
    monkeypatch.setattr(mars_tutorial, "JUDGED", 64)
    few = torch.tensor([[0.1], [0.5]], dtype=torch.float64)
    volume = mars_tutorial.hypervolume(few)
    assert 0 <= volume <= mars_tutorial.hypervolume(torch.cat([few, torch.tensor([[0.7]], dtype=torch.float64)]))


def test_our_side_decides_within_the_cube():
    ((points, seconds),) = mars_tutorial.our_steps(0, 1)
    assert len(points) == 5
    assert 0 <= float(points[-1]) <= 1
    assert seconds > 0


def test_the_table_pairs_both_sides(tmp_path):
    lines = [
        {"side": side, "seed": 100, "evaluations": 5, "hypervolume": 42.0, "seconds": spent}
        for side, spent in (("allweather", 1.0), ("botorch", 9.0))
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    assert "| 100 | 5 | 42.00 | 42.00 | 1.0 | 9.0 |" in mars_tutorial.table(tmp_path / "a.jsonl")
