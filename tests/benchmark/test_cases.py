"""The cases with real series: their pages tell what is stored, and the series are those of the packages."""

import pandas as pd
import pytest
from benchmarks import cases
from benchmarks.cases import SEEDS, code_of, stored, table


@pytest.mark.parametrize("case", SEEDS)
def test_a_page_tells_what_is_stored(case):
    assert table(stored(case), case) in (cases.PAGES / f"{case}.md").read_text()
    page = code_of(case)
    runs = stored(case)
    assert set(runs["method"]) == {*page["RULES"], *page["METHODS"]}
    assert runs["seed"].nunique() == SEEDS[case]
    judged = pd.DataFrame(rule(page["sequence"](start)) for start in page["STARTS"] for rule in page["RULES"].values())
    again = runs[runs["seed"].isna()].sort_values("start", kind="stable")[judged.columns]
    assert judged.to_numpy() == pytest.approx(again.to_numpy(dtype=float), rel=1e-6)


def test_a_case_is_run_with_every_rule_and_seed(monkeypatch):
    page = {
        "STARTS": [1, 2],
        "COUNT": 9,
        "sequence": lambda start, count: [start] * count,
        "RULES": {"fixed": lambda days: {"profit": 5.0}},
        "METHODS": {"ours": lambda days, seed: {"profit": len(days) + days[0] + 2.0 * seed}},
    }
    monkeypatch.setattr(cases, "code_of", lambda case: page)
    shown = table(pd.DataFrame(cases.run("stall", 2, count=3)), "stall")
    assert "| fixed | 5.0 (0.0) |  |" in shown
    assert "| ours | 5.5 (0.6) | +0.5 (0.6) |" in shown
