"""The figures of phi that are not plain campaigns, and the printed acquisition for KL."""

import json

import pandas as pd
import pytest

import allweather as aw
from allweather.benchmark import reproduce
from allweather.benchmark.figures import Figure
from allweather.benchmark.papers import phi
from allweather.objectives import Expectation


def test_equation_34_is_the_mean_whatever_lambda():
    first, second = (aw.method("drbo-kl", multiplier=value) for value in (1.0, 5.0))
    assert isinstance(first.objective, Expectation)
    assert (first.context, first.objective, first.acquisition) == (second.context, second.objective, second.acquisition)
    with pytest.raises(aw.InvalidInput, match="multiplier"):
        aw.method("drbo-kl", multiplier=0.0)


def test_stableopt_over_all_contexts():
    assert isinstance(aw.method("stableopt", everywhere=True, samples=30).context, aw.contexts.Uniform)


def test_the_radii_of_figure_6():
    found = reproduce("phi-fig6")
    wide = found.table.pivot(index="step", columns="divergence", values="mean")
    assert wide.loc[4].round(4).to_dict() == {"KL": 0.2693, "TV": 0.2361, "chi2": 0.0141}
    assert found.verdict.count("holds") == 3


def test_figures_have_thirty_seeds_and_thirty_contexts():
    campaigns = {each.name: each.campaigns() for each in phi.FIGURES if isinstance(each, Figure)}
    assert len(campaigns) == 5
    assert all(list(each.seeds) == list(range(30)) for figure in campaigns.values() for each in figure)
    (third,) = campaigns["phi-fig3"]
    assert "robot-push" in third.problems
    assert {options.get("samples", options.get("size", 30)) for _, options in third.methods.values()} == {30}


def test_panels_of_figure_1(tmp_path):
    rows = [
        {"problem": name, "measure": "m", "method": method, "seed": seed, "step": step, "cumulative": step + seed}
        | {"decision": json.dumps({"x": 0.1 * step})}
        for name in ("branin", "three-hump-camel")
        for method in ("adaptive", "gp-ucb")
        for seed in (0, 1)
        for step in (1, 2)
    ]
    assert phi.draw_panels(pd.DataFrame(rows), tmp_path / "deep" / "a.png").stat().st_size > 10_000


def test_times_are_drawn_against_inputs_and_contexts(tmp_path):
    rows = [
        {"method": name, "inputs": d, "contexts": n, "mean": cost * n, "standard_error": 0.1, "asks": 2}
        for name, cost in (("drbo-chi2", 1.0), ("drbo-tv", 1.0), ("drbo-mmd", 3.0))
        for d, n in ((2, 30), (6, 30), (2, 100))
    ]
    table = pd.DataFrame(rows)
    assert phi.draw_times(table, tmp_path / "a.png").is_file()
    assert phi._ratios(table).count("holds (ratios 3 to 3") == 2
