from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import allweather as aw
from allweather.benchmark import (
    Campaign,
    Run,
    SubsetJudge,
    at_costs,
    execute,
    figure_by_cost,
    reproduce,
    settled,
    summary_by_cost,
)
from allweather.benchmark.claims import Beats, check_claims, describe_findings
from allweather.cli import app
from allweather.problems import problem

SHORT = Run("hartmann3-subsets", "etc-ada", 3, None, settings={"effort": 0.4}, budget=3.0)


def same(first, second):
    pd.testing.assert_frame_equal(first.drop(columns="seconds"), second.drop(columns="seconds"))


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A run without interruption."""
    return execute(SHORT, tmp_path_factory.mktemp("whole"))


def test_a_table_of_plays(short):
    assert list(short["step"]) == list(range(1, len(short) + 1))
    assert short["spent"].tolist() == pytest.approx(short["cost"].cumsum().tolist())
    assert short["simple"].tolist() == pytest.approx(short["regret"].cummin().tolist())
    assert short["cumulative"].tolist() == pytest.approx((short["cost"] * short["regret"]).cumsum().tolist())
    assert (short["regret"] >= -1e-6).all()
    assert (short["optimal"] == (short["control"] == "x1, x2, x3")).all()


def test_a_run_ends_at_the_first_choice_that_it_cannot_pay_for(short):
    # as many plays as 0.4 pays for, then the full set while the budget of 3 pays for it
    assert short["cost"].tolist() == [0.1] * 4 + [0.2] * 2 + [1.0] * 2
    assert short["cheap"].tolist() == [True] * 6 + [False] * 2


def test_the_first_paid_play_is_the_methods_own():
    run = Run("hartmann3-subsets", "ucb-psq", 0, 1, initial=3)  # fewer free points than the default design has
    assert execute(run)["control"].tolist() == ["x1, x2, x3"]


def test_no_play_is_lost_to_rounding():
    run = Run("hartmann3-subsets", "etc-ada", 0, None, settings={"effort": 0.3}, budget=0.3)
    assert execute(run)["cost"].tolist() == [0.1] * 3


def test_a_run_goes_on_from_its_journal(short, tmp_path):
    execute(Run("hartmann3-subsets", "etc-ada", 3, 5, settings={"effort": 0.4}, budget=3.0), tmp_path)
    (journal,) = (tmp_path / "journals").iterdir()
    assert len(journal.read_text().splitlines()) == 5 + 5
    with journal.open("a") as file:
        file.write('{"trial": {"number": 1')  # a crash in the middle of a line
    same(execute(SHORT, tmp_path), short)
    same(execute(SHORT, tmp_path), short)  # nothing is left to do


def test_initial_data_that_were_cut_off_are_made_again(short, tmp_path):
    execute(SHORT, tmp_path)
    (journal,) = (tmp_path / "journals").iterdir()
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:3]))
    same(execute(SHORT, tmp_path), short)
    assert [line.split('"seconds"')[0] for line in journal.read_text().splitlines()] == [
        line.rstrip("\n").split('"seconds"')[0] for line in lines
    ]


def test_regret_is_that_of_the_set_and_its_values():
    judge = SubsetJudge.of(problem("hartmann3-subsets"))
    for names, each in judge.judges.items():
        rows = each.problem.space.decisions.decode(torch.from_numpy(np.random.default_rng(0).random((20, len(names)))))
        assert all(judge.regret(row) >= judge.best - each.best - 1e-6 for row in rows)
        assert all(judge.regret(row) == pytest.approx(judge.best - judge.value(row)) for row in rows)
    assert judge.regret({"x1": 0.114614, "x2": 0.555649, "x3": 0.852547}) == pytest.approx(0, abs=1e-5)


def test_optima_are_kept(tmp_path):
    chosen = problem("hartmann3-subsets")
    first = SubsetJudge.of(chosen, tmp_path)
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 7
    kept[0].write_text('{"value": 70.0, "accuracy": 0.0}')
    assert SubsetJudge.of(chosen, tmp_path).best == 70.0
    assert first.best == pytest.approx(3.86278, abs=1e-5)


def test_a_campaign_in_parallel_is_the_same(tmp_path):
    campaign = Campaign(["gp-sample-3d"], ["ucb-psq", "etc-50"], [0, 1], 2, redrawn=True, folder=tmp_path)
    table = campaign.execute(workers=2, progress=False)
    assert len(table) == 2 * 2 * 2
    assert sorted(path.name for path in (tmp_path / "optima").iterdir()) == ["gp-sample-3d--0", "gp-sample-3d--1"]
    alone = Campaign(["gp-sample-3d"], ["ucb-psq", "etc-50"], [0, 1], 2, redrawn=True)
    same(alone.execute(progress=False), table)
    assert [run.options for run in alone.runs()][::2] == [{"seed": 0}, {"seed": 1}]


def test_runs_without_control_sets_need_a_number_of_iterations():
    with pytest.raises(aw.InvalidInput, match="iterations"):
        execute(Run("newsvendor", "erbo", 0, None))


def table(runs):
    """Results by hand, from (method, seed, [(cost, regret, optimal), ...])."""
    rows = []
    for method, seed, plays in runs:
        spent, simple, cumulative = 0.0, np.inf, 0.0
        for step, (cost, regret, optimal) in enumerate(plays, start=1):
            spent, simple, cumulative = spent + cost, min(simple, regret), cumulative + cost * regret
            row = {"problem": "p, cheap", "method": method, "seed": seed, "step": step, "seconds": 0.1}
            row |= {"optimal": optimal, "cost": cost, "spent": spent, "regret": regret}
            rows.append(row | {"simple": simple, "cumulative": cumulative})
    return pd.DataFrame(rows)


RUNS = table(
    [
        ("good", 0, [(0.5, 4.0, False), (0.5, 2.0, True), (1.0, 3.0, True)]),
        ("good", 1, [(0.5, 3.0, False), (0.5, 1.0, False), (1.0, 0.0, True)]),
        ("bad", 0, [(1.0, 5.0, True), (1.0, 4.0, False)]),
        ("bad", 1, [(1.0, 6.0, True), (1.0, 7.0, True)]),
    ]
)


def test_simple_and_cumulative_regret_by_hand():
    wide = at_costs(RUNS, [0.4, 0.5, 1.2, 99]).pivot(index=["method", "seed"], columns="spent", values="simple")
    np.testing.assert_equal(wide.loc[("good", 0)].to_numpy(), [np.nan, 4, 2, 2])
    np.testing.assert_equal(wide.loc[("good", 1)].to_numpy(), [np.nan, 3, 1, 0])
    np.testing.assert_equal(wide.loc[("bad", 0)].to_numpy(), [np.nan, np.nan, 5, 4])
    whole = at_costs(RUNS, [2.0], "cumulative").set_index(["method", "seed"])["cumulative"]
    assert whole.to_dict() == {("good", 0): 6.0, ("good", 1): 2.0, ("bad", 0): 9.0, ("bad", 1): 13.0}


def test_the_diamond_by_hand():
    found = settled(RUNS).set_index(["method", "seed"])
    assert found["settled"].to_dict() == {("good", 0): 0.5, ("good", 1): 1.0, ("bad", 0): 2.0, ("bad", 1): 0.0}
    assert found.index[~found["converged"]].tolist() == [("bad", 0)]  # its last play was astray: all that it spent
    stored = RUNS[["problem", "method", "seed"]].assign(settled=3.0, converged=True)
    assert settled(stored)["settled"].tolist() == [3.0] * 4


def test_report(tmp_path):
    rows = summary_by_cost(RUNS)
    assert rows["method"].tolist() == ["good", "bad"]
    good = rows.iloc[0]
    assert (good["mean"], good["cumulative"], good["settled_at"], good["plays"]) == (1.0, 4.0, 0.75, 3.0)
    assert (good["seeds"], good["settled_seeds"], good["rank"]) == (2, 2, 1.0)
    assert good["standard_error"] == pytest.approx(1.0)
    assert rows.iloc[1][["settled_at", "settled_seeds"]].tolist() == [1.0, 1]
    assert summary_by_cost(RUNS, cost=1.0)["mean"].tolist() == [1.5, 5.5]
    claims = (Beats("good", "bad", "cheap", "when cheap"), Beats("good", "bad", "dear"), Beats("good", "ugly"))
    found = check_claims(RUNS, claims)
    assert found["claim"].tolist() == ["good has less regret than bad when cheap"]
    assert describe_findings(found)[0].startswith(
        "good has less regret than bad when cheap: undecided in 1 of 1 setting"
    )
    assert found["estimate"].iloc[0] == -check_claims(RUNS, [Beats("bad", "good")])["estimate"].iloc[0] > 0
    drawn = figure_by_cost(RUNS, tmp_path / "deep" / "figure.png")
    assert drawn.stat().st_size > 10_000


def test_methods_are_compared_at_a_cost_that_both_had_spent():
    early = table([("slow", 0, [(0.1, 1.0, True)]), ("dear", 0, [(1.0, 0.5, True)])])
    assert check_claims(early, [Beats("slow", "dear")]).empty


DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.parametrize("name", ["subsets-fig2", "subsets-fig3", "subsets-cpu"])
def test_in_miniature(name):
    found = reproduce(name, quick=True, iterations=1, methods=["ts-psq", "etc-ada"])
    assert (found.table["mean"] > -1e-6).all()
    assert found.claim
    assert set(found.table["method"]) == {"ts-psq", "etc-ada"}


@pytest.mark.skipif(not DATA.is_dir(), reason="the papers' data are not there")
def test_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setenv("ALLWEATHER_DATA", str(DATA))
    command = f"reproduce subsets-fig2 --problem plant-5d --method ucb-psq --seeds 1 --iterations 1 --output {tmp_path}"
    run = CliRunner().invoke(app, command.split())
    assert run.exit_code == 0, run.output
    assert "subsets, Fig. 2" in run.output
    results = pd.read_csv(tmp_path / "subsets-fig2" / "subsets-fig2.csv")
    assert results["problem"].nunique() == 9
    assert (tmp_path / "subsets-fig2" / "subsets-fig2.png").is_file()


def test_the_table_of_seconds_knows_what_it_has():
    with pytest.raises(aw.InvalidInput, match="name some of ts-psq"):
        reproduce("subsets-cpu", quick=True, methods=["ucb-xyz"])
