"""Each figure shows what the study knows."""

import sys

import numpy as np
import pandas as pd
import pytest
import torch
from tests.plots.studies import farm, plain, stall, workshop

import allweather as aw
from allweather import plots
from allweather.engine.intervals import tail_share
from allweather.plots.progress import readable_limits
from allweather.problems import problem


def marks(picture, kind, panel=0):
    return [mark for mark in picture.panels[panel].marks if isinstance(mark, kind)]


def named(picture, name, panel=0):
    return next(mark for mark in picture.panels[panel].marks if mark.name.startswith(name))


@pytest.mark.parametrize("study", [stall, workshop, farm, plain])
@pytest.mark.parametrize("name", list(plots.STUDY_FIGURES))
def test_every_figure_of_every_study_is_drawn_or_says_why_not(study, name):
    fits = {"control_sets": [farm], "robustness": [stall, workshop], "contexts": [stall, workshop]}
    fits |= {"front": [], "feasibility": [], "limits": []}  # of several outcomes, in tests/engine/test_front.py
    if study in fits.get(name, [study]):
        picture = plots.STUDY_FIGURES[name](study())
        assert picture.plotly().data
        assert len(picture.matplotlib().axes) >= len(picture.panels)
        assert picture.says.endswith(".")
    else:
        with pytest.raises(aw.InvalidInput, match=rf"plots.{name}\(study=...\)` needs"):
            plots.STUDY_FIGURES[name](study())


@pytest.mark.parametrize("name", list(plots.STUDY_FIGURES))
def test_too_little_data_is_named(name):
    study = aw.Study(aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)))
    with pytest.raises(aw.InvalidInput, match="at least one complete trial"):
        plots.STUDY_FIGURES[name](study)


@pytest.mark.parametrize(
    "distance",
    [aw.TotalVariation(0.2), aw.ChiSquared(0.2), aw.KL(0.1), aw.Wasserstein(0.1), aw.MMD(0.1), aw.MMD(0.0)],
    ids=lambda each: f"{type(each).__name__} {each.radius}",
)
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_straight_lines_between_radii_are_as_good_as_the_robustness_curve(distance, direction):
    outlook = stall(direction).outlook(objective=aw.DRO(distance))
    line = named(plots.robustness(stall(direction), objective=aw.DRO(distance)), "recommended")
    assert len(line.x) < 80
    shifts = np.linspace(0, line.x[-1], 1001)
    exact = outlook.worst(outlook.decision, shifts).value.numpy()
    assert np.abs(np.interp(shifts, line.x, line.y) - exact).max() <= np.ptp(exact) / 400


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_robustness_curve_is_that_of_the_worst_case(direction):
    study = stall(direction)
    picture = plots.robustness(study, decision={"order": 0.5}, target=None)
    curve = named(picture, "recommended")
    best = study.recommend(radii=list(curve.x))
    assert curve.y == pytest.approx(best.curve["value"].to_numpy(), abs=1e-12)
    dots = marks(picture, plots.Dots)[0]
    shifted = study.recommend(radii=[0.0, 0.4]).curve["value"].tolist()
    assert dots.y == pytest.approx(shifted, abs=1e-12)
    assert list(dots.x) == [0.0, 0.4]
    ways = np.diff(curve.y)
    assert (ways <= 1e-12).all() if direction == "maximize" else (ways >= -1e-12).all()


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("distance", [aw.TotalVariation(0.4), aw.Wasserstein(0.1), aw.MMD(0.1)])
def test_slopes_touch_the_curve_and_never_cross_it(direction, distance):
    study = stall(direction)
    sign = 1 if direction == "maximize" else -1
    picture = plots.robustness(study, objective=aw.DRO(distance))
    curve = named(picture, "recommended")
    for name in ("slope without shift", "from a target"):
        line = named(picture, name)
        below = np.interp(curve.x, line.x, sign * np.asarray(line.y), right=-np.inf)
        gap = sign * curve.y - below
        assert gap.min() > -1e-8
    wcs = named(picture, "slope without shift")
    early = sign * (curve.y[1] - curve.y[0]) / curve.x[1]
    assert sign * (wcs.y[1] - wcs.y[0]) / wcs.x[1] <= early + 1e-9
    assert wcs.y[0] == pytest.approx(curve.y[0])


def test_the_worst_context_is_the_end_of_the_curve():
    study = stall()
    values = study.outlook().at_contexts(study.outlook().decision)
    assert named(plots.robustness(study), "worst context").at == pytest.approx(values.min())
    far = study.recommend(radii=[2.0]).curve["value"].iloc[0]
    assert far == pytest.approx(values.min(), abs=1e-9)


def test_where_the_mean_falls_vertically_no_slope_is_drawn():
    names = [mark.name for mark in plots.robustness(stall(), objective=aw.DRO(aw.KL(0.1))).panels[0].marks]
    assert not any(name.startswith("slope without shift") for name in names)
    assert any(name.startswith("from a target") for name in names)


def test_a_decision_that_is_none_is_named():
    with pytest.raises(aw.InvalidInput, match="lacks 'order' and has unknown 'odrer'"):
        plots.robustness(stall(), decision={"odrer": 0.5})
    with pytest.raises(aw.InvalidInput, match=r"robustness\(target=...\)"):
        plots.robustness(stall(), target=float("nan"))


def test_contexts_add_up():
    study = stall()
    picture = plots.contexts(study)
    believed, worst = marks(picture, plots.Bars)[0], marks(picture, plots.Line)[0]
    assert np.sum(believed.heights) == pytest.approx(100)
    assert np.sum(worst.y[:-1]) == pytest.approx(100)
    assert sorted(marks(picture, plots.Dots)[0].x) == sorted(study.trials()["demand"])
    moved = 0.5 * np.abs(study.recommend().worst["worst"] - study.recommend().worst["believed"]).sum()
    assert moved == pytest.approx(0.2, abs=1e-9)


def test_choices_and_whole_numbers_have_a_bar_each():
    picture = plots.contexts(workshop())
    assert [panel.x for panel in picture.panels] == ["heat", "season", "people"]
    assert list(marks(picture, plots.Bars, 1)[0].x) == ["dry", "wet"]
    for bars in [*marks(picture, plots.Bars, 1), *marks(picture, plots.Bars, 2)]:
        assert np.sum(bars.heights) == pytest.approx(100)


def test_the_profile_is_the_objective():
    study = stall()
    picture = plots.profile(study)
    line, band = named(picture, "objective"), marks(picture, plots.Ribbon)[0]
    outlook = study.outlook()
    there = {"order": line.x[17]}
    belief, source = outlook.belief, torch.Generator().manual_seed(5)
    draws = belief.averaged.draws(study.space.decisions.encode(there), outlook.reference.points, 4001, source)[:, 0]
    laws = [aw.Reference(outlook.reference.points, law) for law in belief.laws(4001, source)]
    objective = torch.stack([belief.objective(values, law) for values, law in zip(draws, laws, strict=True)])
    tail = tail_share(14)
    low, middle, high = objective.quantile(torch.tensor([tail, 0.5, 1 - tail], dtype=torch.float64)).tolist()
    spread = high - low
    assert line.y[17] == pytest.approx(middle, abs=0.15 * spread)
    assert (band.low[17], band.high[17]) == pytest.approx((low, high), abs=0.2 * spread)
    best = line.x[int(np.argmax(line.y))]
    assert best == pytest.approx(study.recommend().decision["order"], abs=0.03)


def test_slow_worst_cases_are_drawn_on_fewer_contexts():
    study = aw.Study(stall().space, objective=aw.DRO(aw.Wasserstein(0.05)), seed=3)
    study.add(stall().trials())
    outlook = study.outlook()
    assert len(outlook.reference.points) == 1024
    assert len(outlook.lighter().reference.points) <= 256
    there = [{"order": 0.2}, {"order": 0.6}]
    near, exact = outlook.lighter().objectives(there), outlook.objectives(there)
    assert near.middle == pytest.approx(exact.middle, abs=0.1 * float(np.ptp(exact.middle)))
    assert study.outlook(objective=aw.Expectation()).lighter().reference is not None


def test_comparisons_end_where_all_have_come():
    rows = [("a", "short", 0, t, 2.0 * t) for t in range(1, 6)] + [("a", "long", 0, t, 1.0 * t) for t in range(1, 51)]
    table = results(["problem", "method", "seed", "step", "cumulative"], rows)
    assert "long has the lowest mean cumulative regret at step 5, 5" in plots.comparison(table).says


def test_one_variable_of_the_profile():
    assert [panel.x for panel in plots.profile(workshop(), variable="wood").panels] == ["wood"]
    with pytest.raises(aw.InvalidInput, match="must be one of width, wood, pots, got 'wod'"):
        plots.profile(workshop(), variable="wod")


def test_the_profile_keeps_to_the_constraints():
    limit = aw.LinearConstraint({"sand": 1, "lime": 1}, upper=1)
    study = aw.Study(aw.Space(sand=aw.Real(0, 1), lime=aw.Real(0, 1), rain=aw.Context(0, 1)), constraints=limit)
    for number in range(6):
        trial = study.ask()
        study.tell(trial, trial.decision["sand"] + trial.decision["lime"], context={"rain": number / 5})
    best = study.recommend().decision
    for panel, other in zip(plots.profile(study).panels, ("lime", "sand"), strict=True):
        assert max(panel.marks[1].x) <= 1 - best[other] + 1e-6


def test_slices_are_the_posterior():
    study = stall()
    picture = plots.slices(study)
    heat = marks(picture, plots.Heat)[0]
    outlook = study.outlook()
    mean, sd = outlook.outcomes([{"order": heat.x[7]}], [{"demand": heat.y[30]}])
    assert heat.values[30, 7] == pytest.approx(mean[0, 0])
    assert marks(picture, plots.Heat, 1)[0].values[30, 7] == pytest.approx(sd[0, 0])
    assert len(marks(picture, plots.Dots)[0].x) == 14
    with pytest.raises(aw.InvalidInput, match=r"plots.slices\(context=...\)"):
        plots.slices(study, context="order")


def test_a_method_that_ignores_contexts():
    study = aw.Study(stall().space, method="gp-ucb", seed=1)
    study.add(stall().trials())
    picture = plots.slices(study)
    assert [panel.x for panel in picture.panels] == ["order"]
    assert plots.profile(study).panels
    with pytest.raises(aw.InvalidInput, match="needs a study with contexts, which can shift"):
        plots.robustness(study)


@pytest.mark.parametrize("values", [[1.0], [2.0, 2.0, 2.0], [1e-9, 1e9]])
def test_few_and_awkward_outcomes_are_drawn(values):
    study = aw.Study(stall().space, context=aw.KDE(32), objective=aw.DRO(aw.TotalVariation(0.0)), seed=1)
    study.add([{"order": 0.5, "demand": 0.5, "value": value} for value in values])
    for name, draw in plots.STUDY_FIGURES.items():
        if name not in ("control_sets", "front", "feasibility", "limits", "check"):
            draw(study).plotly()
            draw(study).matplotlib()
    with pytest.raises(aw.InvalidInput, match=r"plots.check\(study=...\)` needs at least 5 outcomes"):
        plots.check(study)


def test_the_check_is_the_studys():
    study = stall()
    found, picture = study.check(), plots.STUDY_FIGURES["check"](study, aw.WorstCase())
    assert picture.says == str(found)
    dots = marks(picture, plots.Dots)[0]
    assert list(dots.x) == found.table["observed"].tolist()
    assert list(dots.y) == found.table["predicted"].tolist()
    residuals = marks(picture, plots.Dots, 1)[0]
    assert list(residuals.y) == sorted(found.table["residual"])
    assert np.all(np.diff(residuals.x) > 0)
    bars = marks(picture, plots.Bars, 2)[0]
    assert dict(zip(bars.x, bars.heights, strict=True)) == dict(found.importance)
    assert bars.heights == sorted(bars.heights, reverse=True)


def test_a_check_of_many_outcomes_draws_some_of_them(monkeypatch):
    from allweather.plots import check as module  # the function of this name hides the module

    study = stall()
    monkeypatch.setattr(sys.modules[module.__module__], "MAX_SHOWN_OUTCOMES", 6)
    for panel in plots.check(study).panels[:2]:
        assert len(panel.marks[1].x) == 6
    assert max(plots.check(study).panels[1].marks[1].y) == study.check().table["residual"].max()


def test_a_surrogate_that_cannot_be_checked_says_so():
    from botorch.models import SingleTaskGP

    study = aw.Study(stall().space, surrogate=SingleTaskGP, seed=1)
    study.add(stall().trials())
    with pytest.raises(aw.InvalidInput, match="needs a `GP` surrogate"):
        plots.check(study)


@pytest.mark.parametrize(
    "objective",
    [
        aw.Expectation(),
        aw.WorstCase(),
        aw.CVaR(0.2),
        aw.General(1.0, 0.5, aw.MMD(0.1)),
        aw.RobustSatisficing(99.0, aw.TotalVariation(0)),
        aw.WorstCaseSensitivity(aw.TotalVariation(0)),
        aw.LipschitzRegularised(0.2),
        aw.DRO(aw.ChiSquared(1e6)),
    ],
)
def test_every_objective_is_drawn(objective):
    for name in ("robustness", "contexts", "profile"):
        picture = plots.STUDY_FIGURES[name](stall(), objective)
        assert picture.plotly().data
        assert picture.matplotlib().axes


def test_outcomes_are_in_the_users_direction():
    losses, gains = (plots.slices(stall(way)) for way in ("minimize", "maximize"))
    assert marks(losses, plots.Heat)[0].values.mean() > 0 > marks(gains, plots.Heat)[0].values.mean()


def test_early_intervals_do_not_hide_progress():
    steps, flat = np.arange(1, 7), np.full(6, 2.0)
    line = plots.Line(steps, [1, 2, 3, 3, 3, 3], "estimate")
    tame, wild = (plots.Ribbon(steps, flat - wide, flat + wide, "interval") for wide in (1, [900, 50, 2, 1, 1, 1]))
    assert readable_limits((tame, line)) is None
    low, high = readable_limits((wild, line))
    assert 0 < low < 1 < 3 < high < 4


def test_progress_ends_with_what_is_recommended_now():
    study = stall()
    picture = plots.progress(study)
    then, judged = named(picture, "estimate at the time", 1), named(picture, "estimate with all data", 1)
    now = study.outlook().objectives([study.recommend().decision]).middle[0]
    assert judged.y[-1] == pytest.approx(now, rel=1e-6)
    assert list(then.x) == [1, 5, 10, 14]
    early = aw.Study(study.space, objective=aw.DRO(aw.TotalVariation(0.4)), context=aw.KDE(64), seed=3)
    early.add(study.trials().head(6))
    there = study.outlook(after=6).decision["order"]
    assert there == pytest.approx(early.recommend().decision["order"], abs=0.02)


def test_looking_back_changes_nothing():
    study = stall(days=13)
    before = study.recommend()
    plots.progress(study)
    again = study.recommend()
    assert (again.decision, again.value) == (before.decision, before.value)
    with pytest.raises(aw.InvalidInput, match="must be at most the 13 complete trials, got 14"):
        study.outlook(after=14)


def test_regret_where_the_truth_is_known():
    newsvendor = problem("newsvendor")
    study = aw.Study(newsvendor.space, context=aw.KDE(64), objective=aw.Expectation(), seed=1)
    rng = np.random.default_rng(1)
    for _ in range(12):
        trial, context = study.ask(), newsvendor.draw(rng)
        study.tell(trial, newsvendor.observe(trial.decision, context, rng), context=context)
    regret = named(plots.progress(study, problem=newsvendor), "regret", 2)
    assert regret.y[-1] < 0.2 * max(regret.y)
    with pytest.raises(aw.InvalidInput, match="have the study's variables"):
        plots.progress(study, problem=problem("ackley"))


def test_what_was_spent():
    study = farm()
    spent = plots.progress(study).panels[-1].marks[0].y
    assert spent[-1] == pytest.approx(study.trials()["cost"].sum())


def test_control_sets_are_the_recommendations():
    study = farm()
    picture = plots.control_sets(study)
    table = study.recommend().frontier
    assert list(named(picture, "best decision").y) == table["value"].tolist()
    played = [len(dots.x) for dots in marks(picture, plots.Dots, 1)]
    assert sum(played) == len(study.trials())


def results(columns, rows):
    return pd.DataFrame(rows, columns=columns)


def test_methods_are_compared_over_their_seeds():
    rows = [("a", m, s, t, v * t) for m, v in (("x", 1), ("y", 2)) for s, v in ((0, v), (1, v + 1)) for t in (1, 2, 3)]
    picture = plots.comparison(results(["problem", "method", "seed", "step", "cumulative"], rows))
    line, band = picture.panels[0].marks[:2]
    assert list(line.y) == [1.5, 3.0, 4.5]
    assert list(band.high - line.y) == pytest.approx([0.5, 1.0, 1.5])
    assert "x has the lowest mean cumulative regret at step 3, 4.5" in picture.says


def test_control_sets_are_compared_by_cost():
    rows = [("a", "x", seed, step, step * 0.5, 1 / (step + 1)) for seed in (0, 1) for step in range(5)]
    table = results(["problem", "method", "seed", "step", "spent", "simple"], rows)
    picture = plots.comparison(table)
    assert picture.panels[0].x == "cost spent"
    assert picture.panels[0].marks[0].y[-1] == pytest.approx(0.2)


def test_tables_that_are_none_are_named():
    with pytest.raises(aw.InvalidInput, match=r"have columns .*, got .*a table without \['cumulative'"):
        plots.comparison(results(["problem"], [("a",)]))
    with pytest.raises(aw.InvalidInput, match="be a table of results"):
        plots.comparison([1, 2])
