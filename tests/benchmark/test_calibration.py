import json

import pytest
import torch
from benchmarks.calibration import KNOWN, LEARNED, Case, Interval, campaign, kept, printed

from allweather.contexts.base import sobol


def test_a_miniature_campaign_is_kept_and_resumed(tmp_path, monkeypatch):
    path = tmp_path / "results" / "calibration.jsonl"
    cases = [Case("three-hump-camel", 0), Case(LEARNED, 0)]
    found = campaign(cases[:1], path, (6,))
    rows = found[cases[0]]
    assert [(row.trials, row.objective) for row in rows] == [(6, "mean"), (6, "DRO"), (6, "CVaR")]
    assert all(row.low <= row.high and row.oracle_low < row.oracle_high for row in rows)
    with path.open("a") as file:
        file.write('{"name": "ackl')  # a run that was killed while it wrote
    monkeypatch.setattr(Case, "run", lambda *_: pytest.fail("it was run before"))
    again = campaign(cases[:1], path, (6,))[cases[0]]
    assert [row.held for row in again] == [row.held for row in rows]
    assert again[0].truth == pytest.approx(rows[0].truth, rel=1e-5)


def test_draws_of_the_prior_know_their_law_where_they_should():
    learned, known = (Case(name, 3).study(Case(name, 3).problem()) for name in (LEARNED, KNOWN))
    assert "KDE" in repr(learned)
    assert "Known" in repr(known)
    chosen = Case(KNOWN, 3).problem()
    points = chosen.truth(1024).points
    assert points.mean().item() == pytest.approx(1 / 3, abs=2e-3)
    values = chosen.values(sobol(64, 2, torch.Generator()), points[:64])
    assert 0.2 < values.std().item() < 3


def test_the_table_counts_what_was_held():
    held, missed = (Interval(30, "mean", 0.0, 1.0, truth, 0.0, 0.5) for truth in (0.4, 1.2))
    assert held.held
    assert not missed.held
    assert held.width == 2.0
    table = printed({Case("ackley", 1): [held, missed], Case("branin", 1): [held, held]}, (30,))
    by_name = dict(zip(table.columns[0]._cells, table.columns[2]._cells, strict=True))
    assert by_name == {"ackley": "0.50", "branin": "1.00", "all problems": "0.75"}


def test_lines_are_plain_numbers(tmp_path):
    path = tmp_path / "kept.jsonl"
    row = Interval(15, "mean", -1.0, 1.0, 0.0, -0.5, 0.5)
    path.write_text(json.dumps({"name": "ackley", "seed": 7, "rows": [list(row)]}) + "\n")
    assert kept(path) == {Case("ackley", 7): [row]}
