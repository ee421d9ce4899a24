"""The engine, through histories."""

import pytest
import torch

import allweather as aw
from allweather import Study
from allweather.engine import Plan, Situation
from allweather.engine.beliefs import ASK, DESIGN
from allweather.methods.composition import Composition
from allweather.trials import History, Trial

SPACE = aw.Space(order=aw.Real(0, 2), demand=aw.Context(0, 1))
ANY = Situation()


def engine(initial=3, seed=1, **parts):
    parts = {"context": aw.KDE(32), "objective": aw.Expectation(), "acquisition": aw.UCB(1.0), **parts}
    return engine_of(Composition(**parts), initial=initial, seed=seed)


def engine_of(composition, space=SPACE, **words):
    return Study(space, method=composition, **words)._engine


def history(n=5, space=SPACE):
    rows = [(0.4 * i % 2, (0.2 + 0.15 * i) % 1) for i in range(n)]
    trials = [Trial(i, {"order": x}, {"demand": c}, (-((x - 1) ** 2) + 0.1 * c,)) for i, (x, c) in enumerate(rows)]
    return History(space, 1, tuple(trials), revision=n)


def test_the_first_decisions_are_those_of_the_design():
    own = engine()
    design = SPACE.decisions.decode(own.design(3))
    empty = History(SPACE, 1)
    for number in range(3):
        plan = own.decide(empty, ANY)
        assert plan.decision == design[number]
        assert plan.fits == {"value": None}
        empty = empty.asked(plan.trial(empty))
    assert own.decide(empty, ANY).decision not in design  # asked for, not complete: the design goes on


def test_decisions_depend_on_the_seed_and_the_history_only():
    past = history()
    plans = [engine(seed=seed).decide(past, ANY) for seed in (1, 1, 2)]
    assert plans[0].decision == plans[1].decision
    same = engine()
    same.decide(history(4), ANY)
    assert same.decide(past, ANY).decision == plans[0].decision


def test_streams_of_random_numbers_are_independent_and_reproducible():
    own = engine()
    drawn = [
        torch.rand(3, generator=own.beliefs.generator(*place)).tolist() for place in ((ASK, 0), (ASK, 1), (DESIGN, 0))
    ]
    assert len({tuple(each) for each in drawn}) == 3
    assert torch.rand(3, generator=engine().beliefs.generator(ASK, 1)).tolist() == drawn[1]


def test_a_posterior_is_fitted_once_per_version_of_the_history():
    own, past = engine(), history()
    first = own.posterior(past)
    assert own.posterior(past) is first
    assert own.posterior(past.until(3)) is not first
    told = past.added([Trial(5, {"order": 1.0}, {"demand": 0.5}, (0.1,))])
    assert own.posterior(told) is not first


def test_a_fit_that_a_trial_recorded_is_used_again():
    past = history()
    trial = engine().decide(past, ANY).trial(past)
    assert trial.fitted is not None
    assert trial.revision == past.revision
    resumed = engine().posterior(past.asked(trial))
    assert resumed.hyperparameters == trial.fitted


def test_a_certain_context_makes_the_objective_the_outcome():
    own, past = engine(objective=aw.WorstCase()), history()
    belief = own.joint_beliefs(past, Situation.of(SPACE, {"demand": 0.3}, None, "Study.ask"))[0].main
    assert belief.reference.points.tolist() == [[0.3]]
    assert isinstance(belief.objective, aw.Expectation)


def test_a_forecast_replaces_the_context_model_for_this_decision():
    own, past = engine(), history()
    forecast = aw.Finite([{"demand": 0.1}, {"demand": 0.9}], [0.25, 0.75])
    belief = own.joint_beliefs(past, Situation.of(SPACE, None, forecast, "Study.ask"))[0].main
    assert belief.reference.points.flatten().tolist() == [0.1, 0.9]
    assert belief.reference.weights.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (({"demand": 0.3}, aw.KDE(), "Study.ask"), "not both be given"),
        ((None, 3, "Study.ask"), "be a context model"),
        (({"order": 0.3}, None, "Study.ask", [["demand"]]), "context"),
        (({"demand": 3}, None, "Study.ask"), "demand"),
    ],
)
def test_situations_that_are_refused(given, message):
    with pytest.raises(aw.InvalidInput, match=message):
        Situation.of(SPACE, *given)


def test_with_control_sets_what_is_known_counts_for_the_sets_that_leave_it():
    farm = aw.Space(ph=aw.Real(4, 9), nh3=aw.Real(0, 2))
    known = Situation.of(farm, {"nh3": 1.0}, None, "Study.ask", [["nh3"], []])
    assert known.under(farm.controlling(["ph"]).contexts, list(farm.variables)).context.tolist() == [[0.5]]
    assert known.under(farm.controlling(["ph", "nh3"]).contexts, list(farm.variables)).partly is None
    with pytest.raises(aw.InvalidInput, match="not both be given"):
        Situation.of(farm, {"nh3": 1.0}, aw.Uniform(), "Study.ask", [["nh3"], []])


def test_a_plan_becomes_the_next_trial():
    past = history()
    trial = Plan({"order": 0.5}, left=("demand",), cost=0.5).trial(past, {"demand": 0.1})
    assert (trial.number, trial.revision, trial.context) == (5, 5, {"demand": 0.1})
    assert (trial.left, trial.cost, trial.state) == (("demand",), 0.5, "pending")
    assert Plan({"order": 0.5}).trial(past).context is None


def test_each_proposal_sees_those_before_it():
    trials = engine(initial=1).propose(history(), 4, ANY)
    assert [trial.number for trial in trials] == [5, 6, 7, 8]
    assert len({trial.decision["order"] for trial in trials}) == 4
    known = engine().propose(History(SPACE, 1), 1, Situation.of(SPACE, {"demand": 0.5}, None, "Study.ask"))
    assert known[0].context == {"demand": 0.5}


def test_a_view_needs_an_outcome_and_an_objective():
    own, empty = engine(), History(SPACE, 1)
    with pytest.raises(aw.InvalidInput, match=r"`Study\.recommend\(\)` needs at least one complete trial"):
        own.outlook(empty, ANY)
    with pytest.raises(aw.InvalidInput, match=r"Study\.outlook\(objective=\.\.\.\)"):
        own.outlook(history(1), ANY, "mean", "Study.outlook")
    assert set(own.outlook(history(1), ANY, aw.WorstCase()).decision) == {"order"}


def test_without_a_context_model_contexts_are_not_looked_at():
    plain = engine_of(aw.method("gp-ucb"), initial=3)
    assert plain.joint_beliefs(history())[0].main.observations.contexts.shape == (5, 0)


def test_as_many_initial_decisions_as_columns_and_one_more_or_as_asked():
    wide = aw.Space(**{f"x{i}": aw.Real(0, 1) for i in range(7)})
    assert engine(initial=None).initial == 5
    assert engine_of(Composition(), wide).initial == 8
    assert engine_of(Composition(), wide, initial=2).initial == 2


def test_constraints_and_candidates_hold_from_the_design_on():
    limit = aw.LinearConstraint({"order": 1.0}, upper=0.5)
    assert engine_of(Composition(), constraints=(limit,)).design(20).max() <= 0.25
    rows = [{"order": 0.1}, {"order": 0.7}]
    design = engine_of(Composition(), candidates=rows).design(8)
    assert {round(value, 6) for value in design.flatten().tolist()} == {0.05, 0.35}


def test_control_goes_with_methods_that_choose_sets():
    with pytest.raises(aw.InvalidInput, match="be given with a method that chooses among control sets"):
        engine_of(aw.method("etc-ada"))
    with pytest.raises(aw.InvalidInput, match="be a Control"):
        engine_of(Composition(), control={"order": 1.0})


def test_time_is_counted_by_stage():
    own = engine()
    own.decide(history(), ANY)
    assert set(own.watch.seconds) == {"fit", "reference", "factorise", "maximise"}
