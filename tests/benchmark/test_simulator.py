"""The campaign of simulators: ratios, tables, and the page they are written into."""

import math

import pytest
from benchmarks import botorch_tutorial, simulator, simulator_page
from benchmarks.evidence import filled

import allweather as aw
from allweather.problems import problem

FLOOR = simulator.FLOOR * 57.73583693710662
RESULTS = [
    {"problem": "branin", "method": method, "seed": seed, "regrets": [9.0, regret]}
    for method, regret in (("default", 1.0), (simulator.REFERENCE, 4.0))
    for seed in (100, 101, 102)
]


def test_the_page_says_what_was_stored():
    page = simulator_page.PAGE.read_text()
    assert filled(page, simulator_page.tables()) == page


def test_ratios_are_paired():
    found = simulator.ratio(RESULTS, "default", simulator.REFERENCE, -1, "branin")
    assert found.value == pytest.approx((1 + FLOOR) / (4 + FLOOR))
    assert (found.error, found.pairs) == (pytest.approx(0, abs=1e-12), 3)
    assert simulator.ratio(RESULTS, "default", simulator.REFERENCE, 0).value == pytest.approx(1)
    assert math.isnan(simulator.ratio(RESULTS, "default", simulator.REFERENCE, -1, "queue").value)


def test_tables_and_verdicts():
    assert "| branin | `CVaR(level=0.3)` | 3 | 0.26 (0.00) |" in simulator.table(RESULTS)
    assert simulator.verdicts(RESULTS)[0].endswith("target 0.50 met")
    assert simulator.verdicts([]) == []


def test_studies_are_told_the_law():
    chosen = problem("branin-williams")
    study = simulator.build(chosen, simulator.CONTENDERS["default"], aw.CVaR(0.3), 1)
    assert set(study.ask().context) == {"c1", "c2"}


def test_the_tutorial_as_a_table(tmp_path):
    path = tmp_path / "runs.jsonl"
    line = '{{"side": "{}", "seed": {}, "evaluations": 16, "seconds": {}, "regret": {}}}\n'.format
    runs = [
        ("allweather", 0, 1.0, 0.5),
        ("botorch", 0, 30.0, 0.5),
        ("allweather", 1, 1.0, 0.02),
        ("botorch", 1, 10.0, 0.5),
    ]
    path.write_text("".join(line(*run) for run in [*runs, ("allweather", 2, 1.0, 9.0)]))  # without its counterpart
    shown = botorch_tutorial.table(path)
    assert shown[2] == "| 16 | 2 | 0.1 | 0.5 | 1.0 | 20.0 |"
    assert shown[-1].endswith("evaluations: 0.20 (1.61); CPU time: 0.050.")
