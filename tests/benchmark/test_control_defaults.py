"""The campaign behind the defaults of control sets, in miniature."""

from dataclasses import replace

from benchmarks import control_defaults
from benchmarks.control_defaults import CHOSEN, REFERENCE, by_candidate, by_problem, campaign, main
from benchmarks.paired import PairedRun

import allweather as aw
from allweather.methods.composition import Composition
from allweather.surrogates.gp.priors import PUBLISHED

SETTING = "hartmann3-subsets, expensive"


def test_a_campaign_resumes_and_pairs_its_runs(tmp_path):
    path = tmp_path / "results.jsonl"
    runs = [PairedRun(SETTING, name, 3) for name in (REFERENCE, CHOSEN)]
    first = campaign(runs[:1], path, 0.7)
    both = campaign(runs, path, 0.7)
    assert both[0] == first[0]
    assert [(each["method"], each["trials"]) for each in both] == [(REFERENCE, 1), (CHOSEN, 1)]


def test_the_miniature_prints_its_table(capsys):
    main(["--quick"])
    assert CHOSEN in capsys.readouterr().out


def test_ratios_by_candidate_and_problem():
    regrets = {REFERENCE: 4.0, CHOSEN: 1.0}
    results = [
        {"problem": SETTING, "method": name, "seed": seed, "trials": 1, "cumulative": [size] * 2, "recommended": [0, 0]}
        for name, size in regrets.items()
        for seed in (5, 100, 101)
    ]
    assert by_candidate(results)[-1][:3] == [CHOSEN, "2", "0.25 (0.00)"]
    assert by_candidate(results, range(100))[-1][1] == "1"
    (row,) = (row for row in by_problem(results, CHOSEN) if row[0] == SETTING)
    assert row[2] == "0.25 (0.00)"


SPACE_OF_SETS = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1))
SPACE = SPACE_OF_SETS.controlling(["a"])


def test_what_was_chosen_is_the_default():
    found, chosen = Composition().on(SPACE, 1, controlled=True), control_defaults.CANDIDATES[CHOSEN]
    assert repr(found.objective) == repr(chosen.objective)
    assert repr(found.context) == repr(chosen.context)
    wanted = {"value": aw.Maximize()}
    study = aw.Study(SPACE_OF_SETS, outcomes=wanted, control=aw.Control({"a": 0.1, ("a", "b"): 1.0}))
    assert study._engine.acquisition == chosen.acquisition
    # The priors were chosen since, by `default_choice`.
    assert repr(replace(found.surrogate, priors=PUBLISHED)) == repr(chosen.surrogate.over_columns())


def test_goals_and_methods_are_respected():
    found = Composition(goal="recommendation").on(SPACE, 1, controlled=True)
    assert found.acquisition == aw.ObjectiveUCB(1.0)
    by_name = aw.method("etc-ada").on(SPACE, 1, controlled=True)
    assert (by_name.acquisition, by_name.surrogate.kernel) == (aw.UCB(2.0), "rbf")
