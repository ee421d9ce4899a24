"""The page about the leagues shows what the stored runs say."""

import pytest
from benchmarks import league_page
from benchmarks.evidence import filled
from benchmarks.league import METHODS, VARIANTS
from benchmarks.league_page import tables, verdicts
from benchmarks.league_runs import append, stored_runs
from benchmarks.league_tables import Standings
from benchmarks.rivals import RIVALS
from tests.benchmark.test_league import record


def test_the_page_is_what_the_runs_say():
    page = league_page.PAGE.read_text()
    assert filled(page, tables()) == page
    assert [name for name in tables() if f"<!-- {name} -->" not in page] == []


def test_stored_runs_are_held_out():
    first, second = (stored_runs(league.results) for league in (league_page.FIRST, league_page.SECOND))
    assert {each["method"] for each in (*first, *second)} <= {*METHODS, *RIVALS} - {*VARIANTS}
    assert all(each["seed"] >= 100 for each in first)
    assert all(each["seed"] >= 500 for each in second)


def run(method: str, seed: int, each: float, problem: str, **other) -> dict:
    totals = {str(n): n * each for n in (10, 30, 60, 195)}
    held = {str(n): {"regret": each, "held": seed % 10 != 0, "width": 1.0} for n in (10, 30, 60)}
    return {**record(method, seed, [each] * 195, problem, cumulative=totals, recommended=held), **other}


def test_targets_are_judged():
    first = [run("default", 100 + seed, 0.003, "newsvendor") for seed in range(20)]
    first[3] = run("default", 103, 0.003, "newsvendor", regrets=[0.003] * 100 + [0.2] * 95)
    second = [
        run(method, 500 + seed, each, "trip")
        for seed in range(10)
        for method, each in (("default", 0.2), ("sbo-kde", 0.5))
    ]
    said = verdicts(Standings.of(first), Standings.of(second, False))
    assert "multiple of ledrbo, as published: 0.07 (0.1" in said[0]
    assert said[0].endswith("target 0.55 met")
    assert "0.30 (0.1" in said[1]
    assert said[2].endswith(": none")
    assert said[3] == "stuck runs of the default: 1 of 20, most on newsvendor, 1 of 20; targets 2% and 10% not met"
    assert "0.40 (0.00; 0.40 to 0.40), target 0.50 met" in said[4]
    assert said[6] == (
        "second league, 90% intervals that hold the truth after 10 trials: 0.90, least on trip, 0.90; "
        "targets 0.82 to 0.97 and 0.70 met"
    )


def test_a_published_method_that_is_ahead_is_named():
    bad = Standings.of([run("default", 100 + seed, 0.5, "newsvendor") for seed in range(5)])
    ahead = verdicts(bad, Standings.of([], False))[2]
    assert "ledrbo, as published on newsvendor at 195 trials" in ahead
    assert verdicts(Standings.of([]), Standings.of([], False)) == []


def test_tables_of_both_leagues(tmp_path):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    for seed in range(3):
        for method in ("sbo-kde", "default"):
            append(first, run(method, 100 + seed, 0.01, "newsvendor"))
            append(second, run(method, 500 + seed, 0.01, "trip"))
    append(second, run("Optuna, TPE", 501, 0.03, "trip"))
    found = tables(first, second)
    assert "| ledrbo, as published |" not in found["first, published"]
    assert "| sbo-kde, as published |" in found["first, published"]
    assert "| newsvendor |" in found["first, problems"]
    assert "| newsvendor | 0.4640 | 0.4640 | as published |" in found["optima"]
    row = next(line for line in found["second"].splitlines() if line.startswith("| Optuna, TPE"))
    assert [cell.strip() for cell in row.split("|")][2:5] == ["1", "1", "3.00 (0.00; 3.00 to 3.00)"]
    assert "| trip |" in found["second, problems"]
    assert set(tables(tmp_path / "none", tmp_path / "none").values()) == {"Not run yet."}


@pytest.mark.parametrize("name", ["Optuna, TPE", "BoTorch, contexts seen"])
def test_rivals_are_on_the_page(name):
    assert name.split(",")[0] in league_page.PAGE.read_text()
