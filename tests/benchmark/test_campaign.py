import random
import re
import time
from dataclasses import dataclass
from pathlib import Path

import joblib
import matplotlib
import numpy as np
import pandas as pd
import pytest
import torch
from tests.storage.workers import FORK

import allweather as aw
from allweather.benchmark import Campaign, Judge, Measure, Run, execute, figure, latex, optimum, paired, summary
from allweather.problems import problem

SMALL = Campaign(["newsvendor"], ["erbo", "random"], [0, 1], 3, simple_every=2)


def same(first, second):
    pd.testing.assert_frame_equal(first.drop(columns="seconds"), second.drop(columns="seconds"))


def test_a_tidy_table():
    table = SMALL.execute(progress=False)
    assert len(table) == 2 * 2 * 3
    assert (table["regret"] >= -1e-6).all()
    block = table[(table["method"] == "erbo") & (table["seed"] == 0)]
    assert block["cumulative"].tolist() == pytest.approx(block["regret"].cumsum().tolist())
    assert block["simple"].notna().tolist() == [False, True, True]


def test_an_optimum_is_found_and_kept(tmp_path):
    chosen = problem("newsvendor")
    value, accuracy = optimum(chosen, Measure(), chosen.truth())
    assert value == pytest.approx(0.4639, abs=1e-3)
    assert accuracy < 1e-6
    first = Judge.of(chosen, Measure(), tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_text('{"value": 7.0, "accuracy": 0.0}')
    assert Judge.of(chosen, Measure(), tmp_path).best == 7.0
    assert first.regret(torch.tensor([0.188], dtype=torch.float64)) == pytest.approx(0, abs=1e-3)


def test_a_run_goes_on_from_its_journal(tmp_path):
    run = Run("newsvendor", "sbo-kde", 3, 4, settings={"samples": 64})
    whole = execute(run, tmp_path / "whole")
    execute(Run("newsvendor", "sbo-kde", 3, 2, settings={"samples": 64}), tmp_path / "torn")
    (journal,) = (tmp_path / "torn" / "journals").iterdir()
    with journal.open("a") as file:
        file.write('{"trial": {"number": 1')  # a crash in the middle of a line
    same(execute(run, tmp_path / "torn"), whole)


def campaign_in(folder):
    campaign = Campaign(["newsvendor"], ["erbo", "ts-bocu"], [0, 1], 4, folder=folder)
    campaign.execute(progress=False).to_csv(folder / "table.csv", index=False)


def written(folder):
    """Lines in the journals so far, the last perhaps torn."""
    return sum(len(path.read_bytes().splitlines()) for path in folder.glob("journals/*.jsonl"))


def test_a_campaign_killed_five_times_ends_as_if_it_had_not_been(tmp_path):
    campaign_in(tmp_path / "whole")
    chance = random.Random(0)
    for _ in range(5):
        child = FORK.Process(target=campaign_in, args=(tmp_path / "torn",), daemon=True)
        enough = written(tmp_path / "torn") + chance.randint(1, 4)
        child.start()
        while written(tmp_path / "torn") < enough:
            assert child.is_alive(), "it ended before it was killed"
            time.sleep(0.01 * chance.random())
        child.kill()
        child.join()
    campaign_in(tmp_path / "torn")
    same(*(pd.read_csv(tmp_path / name / "table.csv") for name in ("torn", "whole")))


def results():
    rng = np.random.default_rng(0)
    rows = [
        {"problem": "p", "measure": "m", "method": method, "seed": seed, "step": step, "seconds": 0.1}
        | {"regret": level, "cumulative": step * level + 0.1 * rng.random(), "simple": level}
        for method, level in (("good", 1.0), ("bad", 2.0))
        for seed in range(5)
        for step in (1, 2, 3)
    ]
    return pd.DataFrame(rows)


def test_report(tmp_path):
    table = summary(results())
    assert table["method"].tolist() == ["good", "bad"]
    assert table["rank"].tolist() == [1.0, 2.0]
    assert table["seeds"].tolist() == [5, 5]
    compared = paired(results(), "good", "bad").iloc[0]
    assert compared["wins"] == 5
    assert compared["gain"] == pytest.approx(3.0, abs=0.1)
    assert compared["p_value"] < 0.01
    drawn = figure(results(), str(tmp_path / "deep" / "figure.png"))
    assert Path(drawn).stat().st_size > 10_000


def test_one_legend_has_the_methods_of_all_panels_and_marks_ours(tmp_path):
    both = results()
    second = both[both["method"] == "bad"].assign(problem="another", method="only here")
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        drawn = figure(pd.concat([both, second]), tmp_path / "figure.svg", ours=["only here"])
    texts = re.findall(r">([^<>]+)</text>", drawn.read_text())
    assert [texts.count(name) for name in ("good", "bad", "only here (ours)")] == [1, 1, 1]


def test_measures_under_what_the_learner_is_told():
    chosen = problem("hartmann3")
    measure = Measure("dro", aw.DRO(aw.TotalVariation(chosen.margins["tv"])), "belief")
    judge = Judge.of(chosen, measure)
    values = judge.value(chosen.candidates)
    assert judge.best == pytest.approx(values.max().item())
    with pytest.raises(aw.InvalidInput, match="tells the learner"):
        Judge.of(problem("newsvendor"), measure)


@dataclass(frozen=True)
class Gutsy(aw.UCB):
    width: float = 4.0


def test_a_part_of_ones_own_takes_the_place_of_the_methods():
    methods = {
        "mine": {"method": "sbo-kde", "samples": 64, "acquisition": Gutsy()},
        "usual": ("sbo-kde", {"samples": 64}),
    }
    mine, usual = Campaign(["newsvendor"], methods, [0], 1).runs()
    chosen = [run.build_study(run.build_problem()).spec.composition for run in (mine, usual)]
    assert chosen[0].acquisition == Gutsy()
    assert chosen[1].acquisition != Gutsy()
    assert repr(chosen[0].context) == repr(chosen[1].context)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ({"method": "sbo-kde", "acquisition": 3}, "'mine': `Study\\(acquisition=...\\)` must be an acquisition"),
        ({"method": "sbo-kde", "speed": 3}, "'mine': .* has no such setting"),
        ({"acquisition": Gutsy()}, "'mine'` must name the method"),
        (("sbo", {}), "'mine': .* knows no 'sbo'"),
        ("sbo", "'mine': .* knows no 'sbo'"),
    ],
)
def test_methods_are_checked_before_any_run(method, said, monkeypatch):
    monkeypatch.setattr(joblib, "Parallel", None)
    with pytest.raises(aw.InvalidInput, match=said):
        Campaign(["newsvendor"], {"mine": method}, [0], 1).execute(workers=2, progress=False)


def test_what_cannot_be_sent_to_workers_is_named():
    campaign = Campaign(["newsvendor"], {"mine": {"method": "sbo-kde", "acquisition": Holding()}}, [0], 1)
    campaign.check()
    with pytest.raises(aw.InvalidInput, match="'mine'` cannot be sent to workers"):
        campaign.check(workers=2)


class Holding(aw.UCB):
    def __reduce__(self):
        raise TypeError("it holds a lock")


def test_a_table_for_a_paper():
    rows = [
        ("a_b", "mean", name, seed, 1, mean + seed, 0.1) for name, mean in (("x", 2.0), ("y", 9.0)) for seed in (0, 1)
    ]
    table = pd.DataFrame(rows, columns=["problem", "measure", "method", "seed", "step", "cumulative", "seconds"])
    lines = latex(table).splitlines()
    assert lines[2] == "method & a\\_b \\\\"
    assert lines[4:6] == ["x & $\\mathbf{2.50 \\pm 0.50}$ \\\\", "y & $9.50 \\pm 0.50$ \\\\"]
