"""The campaign of constrained problems: its table, its page, and a miniature of each way."""

import numpy as np
import pandas as pd
import pytest
from benchmarks import cautious, constrained_problems, constraints, constraints_page
from benchmarks.constrained_problems import BY_NAME, ConstrainedProblem
from benchmarks.evidence import filled

import allweather as aw

RUNS = pd.DataFrame(
    [
        {"problem": "reactor", "method": method, "seed": seed, "feasible": True, "regret": regret, "seconds": 1.0}
        for method, regret in (("outcomes", 0.1), ("two studies", 0.4), ("penalty 1", 0.3), ("penalty 3", 0.15))
        for seed in (100, 101)
    ]
)
LINE = ConstrainedProblem(
    "line",
    {"x": (0.0, 1.0)},
    {"gain": aw.Maximize(), "over": aw.AtMost(0.6, probability=0.8)},
    lambda x, c: {"gain": x[..., 0] + 0 * c, "over": x[..., 0] + 0.2 * c},
    lambda rng, n: rng.uniform(size=n),
)


def test_the_page_says_what_was_stored():
    page = constraints_page.PAGE.read_text()
    assert filled(page, constraints_page.tables()) == page


def test_verdicts_take_the_best_penalty():
    text = constraints.page_table(RUNS)
    assert "- regret against `two studies`: 0.25 over 2 pairs in all: target 0.50 met" in text
    assert "- regret against `penalty 3`: 0.67 over 2 pairs in all: target 0.50 not met" in text
    broken = RUNS.assign(feasible=RUNS["method"] != "two studies")
    assert "`two studies`: nan over 0 pairs in which both kept their limits: not run yet" in constraints.page_table(
        broken
    )
    assert "| reactor | 0.100 | 0.400 | 0.300 | 0.150 |" in text


@pytest.mark.parametrize("method", ["outcomes", "two studies", "penalty 10"])
def test_every_way_recommends(method, monkeypatch):
    monkeypatch.setattr(constraints, "TRIALS", 6)
    monkeypatch.setattr(constrained_problems, "DECISIONS", 800)
    found = constraints.run(LINE, method, 0)
    assert 0 <= found["regret"] <= 2.1  # the worst feasible decision loses twice what the median one does
    assert LINE.answer[0] == pytest.approx(0.44, abs=0.01)


def test_limits_of_problems_can_be_kept_and_broken():
    rng = np.random.default_rng(0)
    for problem in BY_NAME.values():
        low, high = (np.array([ends[side] for ends in problem.bounds.values()]) for side in (0, 1))
        kept = problem.feasible(problem.measures(low + (high - low) * rng.uniform(size=(400, len(low)))))
        assert 0.005 < kept.mean() < 0.9, problem.name


def test_cautious_runs_are_judged(tmp_path):
    found = cautious.run("known law", 0, asks=1)
    assert found["broken"] in (0, 1)
    (tmp_path / "a.jsonl").write_text('{"case": "known law", "asks": 10, "broken": 1, "moved": 0.2}\n' * 2)
    assert "| known law | 2 | 20 | 0.100 (0.000) | 0.10 | 0.20 |" in cautious.table(tmp_path / "a.jsonl")
