"""Gross errors are left out of the model; what is merely unusual, or confirmed, is not."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

import allweather as aw
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.leave_one_out import leave_one_out

GP = aw.GP("matern", outputscale="fit", transform="auto", outliers="auto")


def table(t=20, wrong=(), factor=100.0, seed=0, sds=None):
    points = torch.rand(t, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    values = 3 + (5 * points[:, 0]).sin() + points[:, 1]
    values[list(wrong)] *= factor
    return Observations.of(points[:, :1], points[:, 1:], values, sds=sds)


@pytest.mark.parametrize("factor", [100.0, -100.0, 0.01])
def test_a_gross_error_is_left_out_and_the_posterior_is_that_of_the_others(factor):
    told = table(wrong=[7], factor=factor)
    found = GP.fit(told)
    assert found.outliers == (7,)
    others = GP.fit(told.without([7]))
    assert leave_one_out(found).mean.tolist() == leave_one_out(others).mean.tolist()


@pytest.mark.parametrize("t", [6, 9, 20])
def test_nothing_is_left_out_of_sound_outcomes(t):
    told = table(t)
    assert GP.fit(told).outliers == ()
    plain = replace(GP, outliers="none").fit(told)
    assert GP.fit(told).hyperparameters == plain.hyperparameters


def test_several_gross_errors_do_not_hide_each_other():
    assert GP.fit(table(30, [3, 12, 25])).outliers == (3, 12, 25)


def test_two_equal_measurements_confirm_each_other():
    told = table(20, [7])
    again = Observations.of(
        torch.cat([told.decisions, told.decisions[7:8]]),
        torch.cat([told.contexts, told.contexts[7:8]]),
        torch.cat([told.values, told.values[7:8] * 1.01]),
    )
    assert GP.fit(told).outliers == (7,)
    assert GP.fit(again).outliers == ()


def test_a_share_too_large_for_errors_and_a_heavy_tail_are_kept():
    told = table(20, [])
    skewed = replace(told, values=(4 * told.values).exp())
    assert GP.fit(skewed).outliers == ()
    assert len(GP.fit(table(20, range(0, 20, 2))).outliers) <= 4


def test_a_known_large_standard_error_explains_a_distance():
    sds = np.full(20, 0.01)
    assert GP.fit(table(20, [7], sds=sds)).outliers == (7,)
    sds[7] = 300.0
    assert GP.fit(table(20, [7], sds=sds)).outliers == ()


def test_few_outcomes_have_no_outliers_and_options_are_checked():
    assert GP.fit(table(4, [1])).outliers == ()
    with pytest.raises(aw.InvalidInput, match="be auto or none"):
        aw.GP(outliers="some")


def test_the_fit_is_resumed_from_what_was_stored():
    told = table(20, [7])
    found = GP.fit(told)
    stored = Hyperparameters.from_dict(asdict(found.hyperparameters))
    assert stored.outliers == (7,)
    resumed = GP.resume(told, stored)
    assert leave_one_out(resumed).mean.tolist() == leave_one_out(found).mean.tolist()
    assert GP.averaged(told, found).outliers == (7,)


def test_an_average_over_kernels_leaves_the_same_outcomes_out_of_all():
    told = table(20, [7])
    surrogate = aw.KernelAverage(["rbf", "matern52"], surrogate=replace(GP, interval_draws=4))
    found = surrogate.fit(told)
    assert found.outliers == (7,)
    assert {each.outliers for each in found.members} == {(7,)}
    assert surrogate.averaged(told, surrogate.resume(told, found.hyperparameters)).outliers == (7,)


def test_a_study_names_what_its_model_sets_aside_until_later_trials_confirm_it():
    study = aw.Study(aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), surrogate=GP, seed=1)
    rows = [
        {"x": x, "c": c, "value": v}
        for (x, c), v in zip(table(20).joint.tolist(), table(20, [7]).values.tolist(), strict=True)
    ]
    study.add(rows)
    (wrong,) = study.suspicious()
    assert (wrong.trial, wrong.set_aside) == (7, True)
    best = study.recommend()
    assert "set aside as an outlier" in best.warning
    assert best.value < 6
    check = study.check()
    assert (len(check.table), check.to_dict()["suspicious"][0]["set_aside"]) == (19, True)
    study.add([{**rows[7], "value": 1.01 * rows[7]["value"]}])
    assert not any(each.set_aside for each in study.suspicious())


def test_an_outlier_of_one_outcome_is_left_out_of_it_alone_and_limits_hold_for_the_others():
    outcomes = {"yield": aw.Maximize(), "purity": aw.AtLeast(2.0)}
    study = aw.Study(aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), outcomes=outcomes, surrogate=GP, seed=1)
    rows = [
        {"x": x, "c": c, "yield": v, "purity": 3 + x}
        for (x, c), v in zip(table(12).joint.tolist(), table(12).values.tolist(), strict=True)
    ]
    rows[5]["purity"] = -360.0
    study.add(rows)
    (wrong,) = [each for each in study.suspicious() if each.set_aside]
    assert (wrong.trial, wrong.name) == (5, "purity")
    posterior = study.recommend().outcomes.set_index("outcome")
    assert posterior.loc["purity", "probability"] > 0.9


def _with_an_outlier(study, names):
    points = torch.rand(10, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).tolist()
    rows = [{"a": a, "b": b, "c": c, **dict.fromkeys(names, a + b * c)} for a, b, c in points]
    rows[6] |= dict.fromkeys(names, 150.0)
    study.add(rows)
    return study


@pytest.mark.parametrize(
    "options",
    [
        {"control": aw.Control({"a": 0.1, ("a", "b"): 1.0})},
        {"simulator": True, "context": aw.Uniform()},
        {"outcomes": {"value": aw.Maximize(), "cost": aw.Minimize()}},
        {"outcomes": {"value": aw.Maximize(), "cost": aw.AtMost(3.0)}, "cautious": 0.8},
    ],
    ids=["control sets", "simulator", "several objectives", "cautious"],
)
def test_outliers_are_left_out_whatever_else_a_study_has(options):
    space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1), c=aw.Context(0, 1))
    names = list(options.get("outcomes", ["value"]))
    study = _with_an_outlier(aw.Study(space, surrogate=GP, seed=1, **options), names)
    study.tell(study.ask(), failed=True)
    trial = study.ask()
    fits = [each.fitted for each in trial.results.values()] if trial.results else [trial.fitted]
    assert {each.outliers for each in fits} == {(6,)}
