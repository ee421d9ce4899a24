"""Entries of bocu, kde, wasserstein and subsets: their settings are those of the errata, their claims are tested."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from allweather.benchmark import Run, execute, reproduce
from allweather.benchmark.claims import check_claims
from allweather.benchmark.papers import CATALOGUE, subsets
from allweather.benchmark.papers.subsets_claims import (
    GainShrinksWithCost,
    LargeVarianceHelps,
    SpendsLessOnCheapSets,
)
from allweather.benchmark.run_times import run_times
from allweather.methods import method
from allweather.problems import problem
from allweather.surrogates import GP

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(autouse=True)
def data(monkeypatch):
    monkeypatch.setenv("ALLWEATHER_DATA", str(DATA))


def campaigns(name):
    return CATALOGUE[name].campaigns()


def options(name):
    """Problems and methods of an entry with their options."""
    both = [(each.problems, each.methods) for each in campaigns(name)]
    return {k: v for each, _ in both for k, v in each.items()}, {k: v for _, each in both for k, v in each.items()}


class TestBocu:
    @pytest.mark.parametrize("name", ["bocu-fig2", "bocu-fig3"])
    def test_every_seed_has_a_gp_sample_of_its_own(self, name):
        known = campaigns(name)
        drawn = [each for each in known if "gp-sample" in each.problems]
        assert drawn
        assert [run.options["seed"] for run in drawn[0].runs()[:: len(drawn[0].methods)]] == list(range(10))
        assert not any(each.redrawn for each in known if each not in drawn)

    @pytest.mark.parametrize("name", ["bocu-fig2", "bocu-fig3"])
    def test_infection_as_published_and_ours(self, name):
        problems, _ = options(name)
        assert problems["infection, as published"] == ("infection", {"as_published": True})
        assert problems["infection, constrained"] == ("infection", {})
        for label, options_of in (("infection, as published", {"as_published": True}), ("infection, constrained", {})):
            own = next(each for each in campaigns(name) if label in each.problems)
            chosen = problem("infection", **options_of)
            assert own.measures[0].on(chosen).objective.distance.number == chosen.margins["tv"]

    def test_without_the_derivative_the_ucb_methods_are_one(self):
        found = campaigns("bocu-fig2")
        for each in found:
            if len(each.measures) == 1:
                derivative = not each.measures[0].name.startswith("DRO")
                assert ("UCB-BOCU-2" in each.methods) == ("UCB-BOCU" in each.methods) == derivative
        assert len({each.name for each in found}) == 5 * (6 + 1)
        shared = [each for each in found if len(each.measures) > 1]
        assert [(len(each.measures), set(each.methods)) for each in shared] == [(6, {"UCB-SO", "UCB-RO", "Random"})] * 5

    def test_figure_1(self):
        found = reproduce("bocu-fig1")
        assert found.table["difference"].max() < 1e-9
        assert set(found.table["objective"]) == {"SO", "DRO", "RO", "MR", "WCS", "RS"}
        assert found.verdict.count("holds") == 4
        assert "fails" not in found.verdict


def results(problems, methods, curve, seeds=4, steps=4):
    """Results by hand; `curve(problem, method, seed)` is the regret of each step."""
    rows = []
    for name in problems:
        for one in methods:
            for seed in range(seeds):
                regret = curve(name, one, seed)
                for step in range(1, steps + 1):
                    keys = {"problem": name, "method": one, "measure": "expected", "seed": seed, "step": step}
                    values = {"regret": regret, "cumulative": step * regret, "reward": step * (3 - regret)}
                    rows.append({**keys, **values, "simple": np.nan, "seconds": 0.5})
    return pd.DataFrame(rows)


class TestKde:
    def test_rounds_of_the_script(self):
        (campaign,) = campaigns("kde-fig1")
        assert campaign.iterations + problem("ackley").initial == 350
        assert list(campaign.seeds) == [100, 101, 102, 103, 104]

    def test_complicated_hartmann_is_reported_as_reward(self, tmp_path):
        level = {"sbo-kde": 1.1, "drbo-kde": 1.0, "stableopt": 2.0}
        table = results(["ackley", "complicated-hartmann"], level, lambda _, one, seed: level[one] + 0.01 * seed)
        summary, findings, drawn = CATALOGUE["kde-fig1"].summarise(table, tmp_path / "figure.png")
        first = summary.iloc[0]
        assert first["reward"] == pytest.approx(4 * 3 - first["mean"])
        assert drawn.stat().st_size > 10_000
        on = findings[findings["setting"] == "complicated-hartmann"]
        assert set(on["quantity"]) == {"difference of reward"}
        assert on.set_index("claim")["verdict"].to_dict() == {
            "sbo-kde has more reward than stableopt": "holds",
            "drbo-kde has more reward than stableopt": "holds",
            "drbo-kde has more reward than sbo-kde": "holds",
        }
        assert set(findings.loc[findings["setting"] == "ackley", "quantity"]) == {"difference of regret"}

    def test_table_1_is_of_run_times(self):
        (campaign,) = campaigns("kde-table1")
        assert campaign.iterations + problem("ackley").initial == 100
        assert len(campaign.seeds) == 10
        assert set(campaign.problems) == {"ackley"}


def test_run_times_are_sums_over_steps():
    table = results(["ackley"], ["gp-ucb", "other"], lambda *_: 1.0)
    found = run_times(table, {"ackley": {"gp-ucb": (11.35, 0.4)}}).set_index("method")
    assert found.loc["gp-ucb", ["mean", "steps", "published"]].tolist() == [2.0, 4, 11.35]
    assert np.isnan(found.loc["other", "published"])


class TestWasserstein:
    def test_samples_and_surrogates_of_the_published_code(self):
        _, methods = options("wasserstein-fig3")
        assert method(*methods["drbo-kde"][:1], **methods["drbo-kde"][1]).context.samples == 1024
        assert method(*methods["sbo-kde"][:1], **methods["sbo-kde"][1]).context.samples == 512
        assert {repr(method(name, **given).surrogate) for name, given in methods.values()} == {"None", repr(GP())}
        assert set(methods) == set(options("wasserstein-fig4")[1])
        assert len(methods) == 9

    def test_three_hump_with_both_laws(self):
        problems, _ = options("wasserstein-fig2")
        assert problems["three-hump-camel, uniform"] == ("three-hump-camel", {"law": "uniform"})
        assert problems["three-hump-camel, normal"] == ("three-hump-camel", {"law": "normal"})

    def test_figure_1a(self):
        found = reproduce("wasserstein-fig1a")
        reference, truth, robust = found.table["x"]
        assert reference == pytest.approx(0, abs=0.01)
        assert truth == pytest.approx(robust, abs=0.02)
        assert truth > 0.2
        assert "holds" in found.verdict

    def test_the_slope_of_figure_1b_is_sought_in_the_whole_box(self):
        _, methods = options("wasserstein-fig1")
        assert len(methods) == 3
        for name, given in methods.values():
            belief = method(name, **given).context.on(problem("shift-example").space)
            points, weights = belief.reference(torch.zeros(0, 1), 5, torch.Generator().manual_seed(0))
            unseen, believed = points[weights == 0], points[weights > 0]
            assert len(unseen) == 100
            assert unseen.min() < 0.1 < believed.min()
            assert believed.max() < 0.9 < unseen.max()

    def test_entries_share_their_runs(self, tmp_path):
        chosen = {"quick": True, "folder": tmp_path, "problems": ["newsvendor"], "methods": ["erbo"]}
        reproduce("wasserstein-fig2", **chosen)
        (journal,) = (tmp_path / "wasserstein-fig2" / "runs" / "journals").iterdir()
        before = journal.read_text()
        found = reproduce("wasserstein-fig4", **chosen)
        assert journal.read_text() == before
        assert found.figure == tmp_path / "wasserstein-fig4" / "wasserstein-fig4.png"
        assert (tmp_path / "wasserstein-fig4" / "wasserstein-fig4.csv").is_file()

    def test_tables_are_of_run_times_of_the_same_runs(self):
        assert {CATALOGUE[f"wasserstein-{name}"].journals for name in ("fig3", "fig4", "table1", "table2")} == {
            "wasserstein-fig2"
        }
        table = results(["ackley"], ["erbo", "gp-ucb"], lambda *_: 1.0)
        found, _, _ = CATALOGUE["wasserstein-table1"].summarise(table, None)
        assert found.set_index("method")["published"].to_dict() == {"erbo": 43.8, "gp-ucb": 15.7}


class TestSubsets:
    def test_nine_settings_of_four_problems(self):
        problems, methods = options_of_names("subsets-fig2")
        assert len(problems) == 4 * 9
        assert methods == {"ts-psq", "ucb-psq", "etc-50", "etc-100", "etc-ada"}

    def test_our_rule_is_compared_on_nine_settings(self):
        problems, methods = options_of_names("subsets-kg")
        assert len(problems) == 9
        assert "kg-cvs" in methods
        assert len(campaigns("subsets-kg")[0].seeds) == 20

    def test_expected_improvement_is_over_all_data(self):
        assert method("ei-psq-per-cost").acquisition.best == "data"

    def test_large_variances(self):
        rows = []
        for costs in ("cheap", "moderate", "expensive"):
            for variance in (0.02, 0.04, 0.08):
                for one in ("ts-psq", "etc-50", "etc-100", "etc-ada"):
                    keys = {"problem": f"hartmann3-subsets, {costs}, {variance:g}", "method": one, "seed": 0}
                    rows += [{**keys, "spent": step, "simple": 1.0 / step - variance} for step in (1, 2)]
        table = pd.DataFrame(rows)
        (found,) = LargeVarianceHelps().findings(table)
        assert (found.estimate, found.seeds, found.verdict) == (1.0, 9, "holds")  # ts-psq is not counted
        assert LargeVarianceHelps().findings(table[table["problem"].str.contains("0.02")]) == []

    def test_claims_about_convergence_and_cheap_sets(self):
        """ts-psq-per-cost never plays the full set, etc-ada does after some cheap plays, ei-psq-per-cost only that."""
        rows, cheap = [], {"ts-psq-per-cost": 4, "etc-ada": 2, "ei-psq-per-cost": 0}
        for one, plays in cheap.items():
            for seed in range(8):
                for step in range(4):
                    cost = 0.1 if step < plays else 1.0
                    keys = {"problem": "gp-sample-3d, moderate, 0.02", "method": one, "seed": seed, "step": step}
                    values = {"cost": cost, "cheap": cost < 1, "optimal": cost == 1, "simple": plays + 0.01 * seed}
                    rows.append({**keys, **values, "cumulative": 1.0, "seconds": 1.0})
        table = pd.DataFrame(rows)
        table["spent"] = table.groupby(["method", "seed"])["cost"].cumsum()
        said = {claim.words: claim for claim in CATALOGUE["subsets-fig3"].claims}
        (found,) = said["TS-PSQ and UCB-PSQ per unit cost do not converge"].findings(table)
        assert (found.estimate, found.verdict) == (1.0, "holds")
        (found,) = said["EI per unit cost makes little use of cheap control sets"].findings(table)
        assert (found.estimate, found.verdict) == (pytest.approx(0.2 / 2.2), "holds")
        (found,) = SpendsLessOnCheapSets("ei-psq-per-cost", "", "moderate").findings(table)
        assert (found.estimate, found.verdict) == (0.0, "holds")
        (found,) = SpendsLessOnCheapSets("etc-ada", "", "moderate").findings(table)
        assert (found.estimate, found.verdict) == (pytest.approx(0.2 / 2.2), "fails")

    def test_times_are_compared_with_the_rerun_too(self, monkeypatch):
        monkeypatch.setattr(subsets, "_ask_seconds", lambda *_: 1.0)
        found = reproduce("subsets-cpu", seeds=1, problems=["hartmann3-subsets"], methods=["ts-psq"])
        assert found.verdict.split("; ") == [
            "an ask is 4.14 to 4.14 times as fast as the paper's server (slower in 0 of 1)",
            "an ask is 0.83 to 0.83 times as fast as the published code on one thread (slower in 1 of 1)",
        ]

    def test_gains_shrink_as_costs_rise(self):
        gains, rows = {"cheap": 2.0, "expensive": 0.5}, []
        for level, gain in gains.items():
            for seed in range(4):
                for one, regret in (("etc-ada", 1.0), ("ts-psq", 1.0 + gain + 0.01 * seed)):
                    keys = {"problem": f"hartmann3-subsets, {level}, 0.02", "method": one, "seed": seed, "step": 1}
                    rows.append({**keys, "spent": 1.0, "simple": regret})
        (found,) = GainShrinksWithCost("etc-ada", "ts-psq").findings(pd.DataFrame(rows))
        assert (found.setting, found.estimate) == ("hartmann3-subsets, 0.02", pytest.approx(1.5))


def options_of_names(name):
    """Labels of the problems, and methods, of an entry whose methods are names."""
    return [label for each in campaigns(name) for label in each.problems], set(campaigns(name)[0].methods)


@pytest.mark.parametrize("name", [name for name, each in CATALOGUE.items() if getattr(each, "journals", "")])
def test_entries_made_from_the_runs_of_others(name, tmp_path):
    """They run what the other entry runs, and nothing else; for the time of a run, some more seeds."""
    (campaign,), (other,) = campaigns(name), campaigns(CATALOGUE[name].journals)
    for label, (known, given) in campaign.methods.items():
        if label in other.methods:
            assert repr((known, dict(given))) == repr((other.methods[label][0], dict(other.methods[label][1])))
    assert all(campaign.problems[label] == other.problems[label] for label in campaign.problems)
    assert campaign.initial == other.initial
    table = results(["ackley"], campaign.methods, lambda _, one, seed: 1.0 + 0.1 * len(one) + 0.01 * seed)
    found, findings, drawn = CATALOGUE[name].summarise(table, tmp_path / "figure.png")
    assert len(found) == len(campaign.methods)
    assert len(findings) > 0
    assert drawn.stat().st_size > 10_000


def test_claims_are_tested_even_with_one_measure():
    table = results(["hartmann3"], ["UCB-BOCU-1", "UCB-BOCU-2"], lambda _, one, seed: float(one[-1]) + seed)
    found = check_claims(table.assign(measure="GEN TV"), CATALOGUE["bocu-fig2"].claims)
    tested = found[found["verdict"] != "not tested"]
    assert tested["setting"].tolist() == ["hartmann3, GEN TV"]
    assert tested["sentence"].tolist() == ["UCB-BOCU-2 does better there (Sec. 5, Fig. 2)"]


def test_a_shorter_run_than_the_journal_is_cut(tmp_path):
    whole = execute(Run("newsvendor", "random", 0, 3), tmp_path)
    cut = execute(Run("newsvendor", "random", 0, 2), tmp_path)
    pd.testing.assert_frame_equal(cut, whole[:2])
    (journal,) = (tmp_path / "journals").iterdir()
    outcomes = [json.loads(line)["trial"]["values"][0] for line in journal.read_text().splitlines()]
    assert whole["reward"].tolist() == pytest.approx(np.cumsum(outcomes[-3:]).tolist())


def test_folders_do_not_depend_on_what_is_chosen(tmp_path):
    reproduce("bocu-fig2", quick=True, folder=tmp_path, problems=["gp-sample"], methods=["Random"])
    folder = "gp-sample-dro-tv-wcs-tv-gen-tv-dro-mmd-wcs-mmd-gen-mmd"
    assert (tmp_path / "bocu-fig2" / folder / "journals" / "gp-sample--Random--0.jsonl").is_file()
