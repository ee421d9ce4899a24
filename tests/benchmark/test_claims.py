"""Claims are tested with intervals: what holds, what fails, and what a few seeds cannot decide."""

import numpy as np
import pandas as pd
import pytest

from allweather.benchmark.claims import (
    Beats,
    CloseToBest,
    Faster,
    InMost,
    Least,
    Linear,
    Relative,
    Sentence,
    Sublinear,
    check_claims,
    confidence_interval,
    describe_findings,
    verdict_of,
)
from allweather.benchmark.figures import Figure
from allweather.benchmark.papers import CATALOGUE


def runs(curves, seeds=6, steps=64, noise=0.05, seconds=None):
    """Results of methods whose cumulative regret has a given mean curve."""
    rng = np.random.default_rng(0)
    step = np.arange(1, steps + 1)
    parts = []
    for method, curve in curves.items():
        for seed in range(seeds):
            keys = {"problem": "p", "measure": "m", "method": method, "seed": seed}
            values = curve(step) * (1 + noise * rng.standard_normal())
            times = (seconds or {}).get(method, 1.0) * (1 + 0.01 * rng.random(steps))
            parts.append(pd.DataFrame({**keys, "step": step, "cumulative": values, "seconds": times}))
    return pd.concat(parts, ignore_index=True)


CURVES = {"root": lambda t: 3 * np.sqrt(t), "linear": lambda t: 1.0 * t, "convex": lambda t: 0.01 * t**2}


@pytest.mark.parametrize(("method", "exponent", "verdict"), [("root", 0.5, "holds"), ("convex", 2.0, "fails")])
def test_growth_exponents(method, exponent, verdict):
    (found,) = Sublinear(method).findings(runs(CURVES))
    assert found.estimate == pytest.approx(exponent)
    assert found.verdict == verdict


@pytest.mark.parametrize(("method", "verdict"), [("linear", "holds"), ("root", "fails"), ("convex", "fails")])
def test_a_linear_trend_is_an_exponent_near_one(method, verdict):
    assert [each.verdict for each in Linear(method).findings(runs(CURVES))] == [verdict]


def test_growth_exponents_of_runs_of_which_some_steps_are_stored():
    table = runs(CURVES)
    (found,) = Sublinear("root").findings(table[table["step"].isin([1, 5, 20, 60])])
    assert found.estimate == pytest.approx(0.5)


def test_exponents_on_both_sides_of_one_are_undecided():
    table = runs({"linear": CURVES["linear"]}, noise=0)
    table["cumulative"] **= np.where(table["seed"] % 2, 1.1, 0.9)
    (found,) = Sublinear("linear").findings(table)
    assert found.low < 1 < found.high
    assert found.verdict == "undecided"


def test_differences_are_paired_by_seed():
    """The spread between seeds is large, that of the difference small."""
    table = runs({"a": CURVES["linear"], "b": CURVES["linear"]}, noise=0)
    level = 100.0 * table["seed"] + np.where(table["method"] == "b", 1.0 + 0.1 * table["seed"], 0.0)
    table["cumulative"] += level
    (found,) = Beats("a", "b").findings(table)
    assert found.estimate == pytest.approx(1.25)
    assert found.verdict == "holds"
    assert Beats("b", "a").findings(table)[0].verdict == "fails"
    assert Beats("a", "b").findings(table[table["seed"] == 0])[0].verdict == "undecided"


def test_runs_of_different_length_are_compared_where_all_have_been():
    table = runs({"a": CURVES["root"], "b": CURVES["linear"]}, noise=0)
    short = table[(table["method"] == "a") | (table["seed"] > 0) | (table["step"] <= 16)]
    assert Beats("a", "b").findings(short)[0].estimate == pytest.approx(16 - 12)


def test_the_least_is_compared_with_every_other_method_but_variants():
    found = check_claims(runs(CURVES), [Least(("root",), besides=("convex",))])
    assert found["claim"].tolist() == ["root has less regret than linear"]
    assert describe_findings(found)[0].startswith(
        "root has less regret than linear: holds in 1 of 1 setting (difference"
    )


def test_times_are_compared_by_their_ratio():
    table = runs({"a": CURVES["root"], "b": CURVES["root"]}, seconds={"a": 1.0, "b": 3.0})
    (found,) = Faster("a", "b").findings(table)
    assert found.estimate == pytest.approx(3.0, rel=0.01)
    assert (found.verdict, Faster("a", "b", 5.0).findings(table)[0].verdict) == ("holds", "fails")


def test_the_interval_is_students():
    low, high = confidence_interval(np.array([1.0, 2.0, 3.0]))
    assert (low, high) == pytest.approx((2 - 4.302653 / np.sqrt(3), 2 + 4.302653 / np.sqrt(3)), rel=1e-6)


def test_intervals_of_several_settings_hold_together():
    """With one setting the difference is clear; with twenty, chance alone would find as much in one of them."""
    table = runs({"a": lambda t: 1.0 * t, "b": lambda t: 1.04 * t}, seeds=6, noise=0.02)
    alone = Beats("a", "b").findings(table)
    many = Beats("a", "b").findings(pd.concat([table.assign(problem=f"p{i}") for i in range(20)], ignore_index=True))
    assert [each.verdict for each in alone] == ["holds"]
    assert {each.verdict for each in many} == {"undecided"}
    low, high = confidence_interval(np.array([1.0, 2.0, 3.0]), comparisons=20)
    assert high - low == pytest.approx(2 * 19.9625 / np.sqrt(3), rel=1e-4)  # t at 0.99875, two degrees of freedom


def problems(levels, seeds=6):
    """Results at the last step: by problem, the cumulative regret of each method."""
    parts = [
        {
            "problem": name,
            "step": 1,
            "method": method,
            "seed": seed,
            "cumulative": level + 0.01 * ((3 * seed + place) % 4),
        }
        for name, row in levels.items()
        for place, (method, level) in enumerate(row.items())
        for seed in range(seeds)
    ]
    return pd.DataFrame(parts)


def test_most_settings_are_more_than_half_of_them():
    good, bad = {"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 3.0, "b": 2.0, "c": 1.0}
    claim = InMost("a is better in most settings", (Relative("a", ("b", "c", "d")),))
    (found,) = claim.findings(problems({"p": good, "q": good, "r": bad}))
    assert (found.low, found.estimate, found.high, found.verdict) == pytest.approx((2 / 3, 2 / 3, 2 / 3, "holds"))
    (found,) = claim.findings(problems({"p": good, "q": bad}))
    assert (found.estimate, found.verdict) == (0.5, "fails")
    assert Relative("a", ("b", "c"), less=False).findings(problems({"p": bad}))[0].verdict == "holds"
    assert claim.findings(problems({"p": {"a": 1.0, "b": 2.0}})) == []  # a median needs two others


def test_close_to_the_best_is_within_a_fifth():
    table = problems({"p": {"a": 1.1, "b": 1.0}, "q": {"a": 1.5, "b": 1.0}, "r": {"a": 1.0, "b": 2.0}})
    assert [each.verdict for each in CloseToBest("a", ("b",)).findings(table)] == ["holds", "fails", "holds"]


def test_a_sentence_says_what_is_not_tested_and_shares_its_confidence():
    table = problems({"p": {"a": 1.0, "b": 1.008, "c": 3.0}})
    both = Sentence("a is best", "Sec. 1", (Beats("a", "b"), Beats("a", "c")))
    said = (
        both,
        Sentence("a is nice", "Sec. 2", untested="no number"),
        Sentence("d is bad", "Sec. 3", (Beats("a", "d"),)),
    )
    found = check_claims(table, said)
    assert found["sentence"].tolist() == ["a is best (Sec. 1)"] * 2 + ["a is nice (Sec. 2)", "d is bad (Sec. 3)"]
    alone = Beats("a", "b").findings(table)[0]
    assert found["high"][0] - found["low"][0] > 1.2 * (alone.high - alone.low)
    verdicts = {name: verdict_of(block) for name, block in found.groupby("sentence")}
    assert verdicts == {"a is best (Sec. 1)": "undecided"} | dict.fromkeys(found["sentence"][2:], "not tested")
    assert "a is nice (Sec. 2): not tested: no number" in describe_findings(found)
    assert "d is bad (Sec. 3): not tested: its runs are not there" in describe_findings(found)


def test_every_campaign_of_a_paper_has_claims_that_are_tested():
    without = [name for name, entry in CATALOGUE.items() if isinstance(entry, Figure) and not entry.claims]
    assert without == []
