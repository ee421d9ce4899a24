"""The engine of a study without control sets, through histories."""

import pytest
import torch

import allweather as aw
from allweather.engine.engine import ASK, DESIGN, Plan, Situation
from allweather.engine.factory import build_engine
from allweather.study import Spec
from allweather.trials import History, Trial

SPACE = aw.Space(order=aw.Real(0, 2), demand=aw.Context(0, 1))
ANY = Situation()


def engine(initial=3, seed=1, **parts):
    parts = {"context": aw.KDE(32), "objective": aw.Expectation(), "acquisition": aw.UCB(1.0), **parts}
    return build_engine(Spec.of(SPACE, initial=initial, seed=seed, **parts))


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
        assert plan.fitted is None
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
    drawn = [torch.rand(3, generator=own.generator(*place)).tolist() for place in ((ASK, 0), (ASK, 1), (DESIGN, 0))]
    assert len({tuple(each) for each in drawn}) == 3
    assert torch.rand(3, generator=engine().generator(ASK, 1)).tolist() == drawn[1]


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
    situation = Situation.of(SPACE, {"demand": 0.3}, None, "Study.ask")
    belief = own.belief(past, own.posterior(past), own.parts, own.generator(ASK, 5), situation)
    assert belief.reference.points.tolist() == [[0.3]]
    assert isinstance(belief.objective, aw.Expectation)


def test_a_forecast_replaces_the_context_model_for_this_decision():
    own, past = engine(), history()
    forecast = aw.Finite([{"demand": 0.1}, {"demand": 0.9}], [0.25, 0.75])
    situation = Situation.of(SPACE, None, forecast, "Study.ask")
    belief = own.belief(past, own.posterior(past), own.parts, own.generator(ASK, 5), situation)
    assert belief.reference.points.flatten().tolist() == [0.1, 0.9]
    assert belief.reference.weights.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (({"demand": 0.3}, aw.KDE(), "Study.ask"), "not both be given"),
        ((None, 3, "Study.ask"), "be a context model"),
        (({"demand": 0.3}, None, "Study.ask", True), "not be given with control sets"),
        (({"demand": 3}, None, "Study.ask"), "demand"),
    ],
)
def test_situations_that_are_refused(given, message):
    with pytest.raises(aw.InvalidInput, match=message):
        Situation.of(SPACE, *given)


def test_a_plan_becomes_the_next_trial():
    past = history()
    plan = Plan.of(SPACE, torch.tensor([0.25], dtype=torch.float64))
    assert plan.decision == {"order": 0.5}
    trial = plan._replace(left=("demand",), cost=0.5).trial(past, {"demand": 0.1})
    assert (trial.number, trial.revision, trial.context) == (5, 5, {"demand": 0.1})
    assert (trial.left, trial.cost, trial.state) == (("demand",), 0.5, "pending")


def test_without_a_context_model_contexts_are_not_looked_at():
    past = history()
    plain = build_engine(Spec.of(SPACE, initial=3, method="gp-ucb"))
    belief = plain.belief(past, plain.posterior(past), plain.parts, plain.generator(ASK, 5), ANY)
    assert belief.observations.contexts.shape == (5, 0)


def test_time_is_counted_by_stage():
    own = engine()
    own.decide(history(), ANY)
    assert set(own.watch.seconds) == {"fit", "reference", "factorise", "maximise"}
