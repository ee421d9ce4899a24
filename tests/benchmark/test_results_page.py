"""The page of results is what the stored runs say, and nothing on it is typed by hand."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import papers, published_code, results_page, stored_runs
from benchmarks.coverage import Coverage

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import final_regrets, growth_exponents
from allweather.benchmark.figures import Figure
from allweather.benchmark.summaries import at_costs

DATA = Path(__file__).parents[3] / "shared" / "data"


def test_the_pages_are_what_the_results_say():
    for path, text in results_page.pages().items():
        assert path.read_text() == text, path.name


def test_no_result_is_typed_by_hand():
    page = re.sub(r"<!-- [a-z ]+ -->\n.*?<!-- end -->", "", results_page.PAGE.read_text(), flags=re.DOTALL)
    assert re.findall(r"\d+\.\d+ ±|\d ± ", page) == []


def test_every_stored_run_names_a_commit_of_this_repository():
    assert stored_runs.unknown_commits(stored_runs.read()) == []


def results(seeds=3, steps=8):
    rng = np.random.default_rng(0)
    parts = []
    for seed in range(seeds):
        regret = rng.random(steps)
        keys = {"problem": "p", "measure": "m", "method": "a", "seed": seed, "step": np.arange(1, steps + 1)}
        parts.append(pd.DataFrame({**keys, "cumulative": regret.cumsum(), "regret": regret, "seconds": 0.5}))
    return parts


def test_what_is_stored_gives_the_same_tests(tmp_path):
    runs = results()
    for run in runs:
        stored_runs.append(tmp_path, stored_runs.records("f", run))
    found = stored_runs.read(tmp_path)
    assert [stored_runs.length(each) for each in found] == [8, 8, 8]
    assert {"version", "commit", "machine", "date"} <= set(found[0])
    table, whole = stored_runs.table(found), pd.concat(runs, ignore_index=True)
    assert growth_exponents(table) == pytest.approx(growth_exponents(whole), abs=1e-5)
    assert np.allclose(final_regrets(table, ["a"]), final_regrets(whole, ["a"]), rtol=1e-5)
    assert table.groupby("seed")["seconds"].sum().tolist() == pytest.approx([8 * 0.5] * 3)


def test_simple_regret_is_stored_without_loss():
    rng = np.random.default_rng(1)
    regret = rng.random(40)
    keys = {"problem": "p", "method": "a", "seed": 0, "step": np.arange(1, 41), "spent": np.arange(1, 41) / 4}
    values = {"simple": np.minimum.accumulate(regret), "cumulative": regret.cumsum(), "seconds": 1.0}
    values |= {"optimal": np.arange(40) > 5, "cost": 0.25, "cheap": np.arange(40) < 8}
    run = pd.DataFrame({**keys, **values})
    (record,) = stored_runs.records("f", run)
    costs = np.linspace(0, 12, 50)
    kept = at_costs(stored_runs.table([record]), costs)["simple"]
    np.testing.assert_allclose(kept, at_costs(run, costs)["simple"], rtol=1e-5)
    assert len(record["spent"]) < 15
    assert (record["settled"], record["converged"], record["spent_on_cheap"]) == (1.5, True, 2.0)


def test_a_longer_run_replaces_a_shorter_one(tmp_path):
    run = results(1)[0]
    for steps in (8, 4):
        stored_runs.append(tmp_path, stored_runs.records("f", run[run["step"] <= steps]))
    assert [stored_runs.length(each) for each in stored_runs.read(tmp_path)] == [8]


def test_only_missing_runs_are_made(tmp_path):
    item = papers.Item("wasserstein-fig1", methods=("WDRBO", "ERBO"), seeds=2, iterations=5)
    before = list(papers.missing([item, item], tmp_path))
    assert [(run.method, run.seed) for _, _, run in before] == [("wdrbo", 0)] * 2 + [("wdrbo", 1)] * 2
    keys = {"figure": item.figure, "problem": "shift-example", "method": "ERBO", "measure": "expected", "seed": 0}
    stored_runs.append(tmp_path, [{**keys, "steps": [1, 5], "cumulative": [1.0, 2.0], "cpu_s": 1.0}])
    assert len(list(papers.missing([item], tmp_path))) == 3
    longer = papers.Item("wasserstein-fig1", methods=("ERBO",), seeds=1, iterations=6)
    assert len(list(papers.missing([longer], tmp_path))) == 1


def test_comparisons_with_the_published_code(monkeypatch):
    monkeypatch.setattr(published_code, "_defaults", list)
    keys = {"figure": "kde-fig1", "problem": "ackley", "method": "sbo-kde", "measure": "expected"}
    curves = {"steps": [15, 30], "cpu_s": 1.0}
    records = [{**keys, **curves, "seed": seed, "cumulative": [1.0, value]} for seed, value in ((0, 100.0), (1, 110.0))]
    found = published_code.comparisons(records)
    (one,) = [each for each in found if len(each.ours)]
    assert (one.code, one.method, one.at) == ("sbokde", "SBOKDE", 30)
    pooled = np.sqrt((one.published.var(ddof=1) + 50.0) / 2)
    assert one.standard_error == pytest.approx(pooled)
    assert one.agrees
    assert len(found) > 60


def test_tables_of_run_times_show_the_times_of_the_papers_steps(tmp_path):
    """Fig. 1 shares its runs of 340 steps, of which Table 1 has 90."""
    keys = {"figure": "kde-fig1", "problem": "ackley", "measure": "expected", "seed": 100}
    for method, each in (("gp-ucb", 0.5), ("sbo-kde", 2.0)):
        curve = {"steps": [50, 90, 340], "cumulative": [1.0, 2.0, 3.0], "reward": [1.0, 2.0, 3.0]}
        seconds = [each * step for step in curve["steps"]]
        stored_runs.append(tmp_path, [{**keys, **curve, "method": method, "seconds": seconds, "cpu_s": seconds[-1]}])
    entry = results_page.Entry.of("kde-table1", stored_runs.read(tmp_path))
    times = entry.figure.summarise(entry.results, None).table.set_index("method")
    assert times["mean"].to_dict() == {"gp-ucb": 45.0, "sbo-kde": 180.0}
    assert times["steps"].tolist() == [90, 90]
    assert times["published"].to_dict() == {"gp-ucb": 11.35, "sbo-kde": 30.57}


def test_items_are_those_of_the_catalogue():
    for item in papers.ITEMS:
        assert item.campaigns()


def figure_with(records):
    """The coverage of a figure of two problems and two methods of the paper, and one of ours."""
    both = [Campaign([name], ["a", "b", "mine"], [0, 1, 2, 3], 100) for name in ("p", "q")]
    figure = Figure("f", "paper, Fig. 1", "", lambda: both, ours=("mine",))
    return Coverage.of(figure, records)


def stored(problem, method, seed, steps):
    return {"problem": problem, "method": method, "measure": "expected", "seed": seed, "steps": [1, steps]}


def test_a_panel_needs_half_of_the_seeds_and_iterations_of_every_method_of_the_paper():
    whole = [stored("p", method, seed, 50) for method in "ab" for seed in (0, 1)]
    found = figure_with(whole)
    assert (found.reproduced, found.seeds, found.iterations) == (1, "2 of 4", "50 of 100")
    assert found.lacking() == ["p: 2 of 4 seeds, 50 of 100 iterations, without mine", "q: nothing is stored"]
    assert figure_with(whole[:-1]).reproduced == 0
    assert figure_with([*whole[:-1], stored("p", "b", 1, 49)]).reproduced == 0
    rest = [stored(name, method, seed, 100) for name in "pq" for method in ("a", "b", "mine") for seed in range(4)]
    assert figure_with(rest).lacking() == []
    assert figure_with(rest).whole
    assert not found.whole
