"""Studies that pay for control, end to end."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
import torch
from botorch.models import SingleTaskGP

import allweather as aw
from allweather.engine.policy import policy_contexts
from allweather.engine.sides import left_alone
from allweather.methods.control.information import Lesson, Plans
from allweather.methods.control.rules import SideBelief
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior

SPACE = aw.Space(a=aw.Real(0, 1), b=aw.Real(-1, 1), c=aw.Real(0, 10))
LAWS = {
    "a": aw.truncated_normal(0.5, 0.04),
    "b": scipy.stats.uniform(-1, 2),
    "c": aw.truncated_normal(5, 4, 0, 10),
}
COSTS = {"a": 0.1, "c": 0.1, ("a", "b"): 0.2, ("a", "b", "c"): 1.0}


def outcome(row):
    return np.sin(4 * row["a"]) - (row["b"] - 0.3) ** 2 - 0.02 * (row["c"] - 10 * row["a"]) ** 2


def study_of(method="etc-ada", budget=10.0, costs=None, **changed):
    options = {"context": aw.Known(LAWS, samples=128), "surrogate": aw.GP(noise=0.05), "seed": 3, **changed}
    return aw.Study(SPACE, method=method, control=aw.Control(costs or COSTS, budget), **options)


def play(study, plays, seed=0, sign=1):
    rng = np.random.default_rng(seed)
    for _ in range(plays):
        natural = {name: float(law.rvs(random_state=rng)) for name, law in LAWS.items()}
        trial = study.ask()
        context = {name: natural[name] for name in trial.left}
        study.tell(trial, sign * outcome({**trial.decision, **context}), context=context)
    return study


EVERY = [
    "ucb-cvs",
    "etc-50",
    "etc-100",
    "etc-ada",
    "ucb-psq",
    "ts-psq",
    "ei-psq",
    "ucb-psq-per-cost",
    "ts-psq-per-cost",
    "ei-psq-per-cost",
    "kg-cvs",
]


@pytest.mark.parametrize("method", EVERY)
@pytest.mark.slow
def test_every_method_plays_and_recommends(method):
    study = play(study_of(method), 9)
    table = study.trials()
    assert table["value"].notna().all()
    assert set(table["cost"]) <= {0.1, 0.2, 1.0}
    best = study.recommend()
    assert set(best.decision) == set(best.control)
    assert best.cost == best.frontier.set_index("control").loc[", ".join(best.control), "cost"]


def test_the_first_trials_go_round_the_cheapest_sets():
    study = study_of(initial=6)
    trials = play(study, 6).history.trials
    assert [tuple(trial.decision) for trial in trials] == [("a",), ("c",)] * 3
    assert len({trial.decision.get("a") for trial in trials if "a" in trial.decision}) == 3


def test_a_trial_says_what_to_set_what_to_leave_alone_and_what_it_costs():
    trial = study_of().ask()
    assert set(trial.decision) | set(trial.left) == set(SPACE.variables)
    assert not set(trial.decision) & set(trial.left)
    assert trial.cost == 0.1


def test_the_recommendation_beats_cheaper_sets_and_the_frontier_shows_what_less_money_buys():
    study = play(study_of(), 40)
    best = study.recommend()
    assert best.control == ("a", "b", "c")
    assert outcome(best.decision) > 0.75  # the optimum is sin(4 * 0.39) = 1
    frontier = best.frontier
    assert list(frontier["cost"]) == sorted(frontier["cost"])
    on_it = frontier[frontier["frontier"]]
    assert on_it["value"].is_monotonic_increasing
    assert len(frontier) == 4
    assert on_it["cost"].is_unique


def test_minimising_mirrors_maximising():
    upward, downward = play(study_of(), 12), play(study_of(direction="minimize"), 12, sign=-1)
    for up, down in zip(upward.history.trials, downward.history.trials, strict=True):
        assert up.decision == pytest.approx(down.decision)
    up, down = upward.recommend(), downward.recommend()
    assert up.value == pytest.approx(-down.value)
    assert up.frontier["value"].tolist() == pytest.approx((-down.frontier["value"]).tolist())


@pytest.mark.parametrize("method", ["etc-ada", "ts-psq", "kg-cvs"])
def test_a_restored_study_goes_on_as_if_it_had_not_stopped(method):
    whole = play(study_of(method), 11)
    again = study_of(method)
    again.restore(whole.history.trials[:8])
    rng = np.random.default_rng(0)
    for number in range(11):
        natural = {name: float(law.rvs(random_state=rng)) for name, law in LAWS.items()}
        if number < 8:
            continue
        trial = again.ask()
        assert trial.decision == whole.trial(number).decision
        context = {name: natural[name] for name in trial.left}
        again.tell(trial, outcome({**trial.decision, **context}), context=context)


def test_batches_pay_for_each_trial_and_do_not_repeat_themselves():
    study = play(study_of("ucb-psq"), 8)
    batch = study.ask(3)
    points = {tuple(trial.decision.items()) for trial in batch}
    assert len(points) == 3
    assert sum(trial.cost for trial in batch) == pytest.approx(3.0)
    study.tell(batch[0], failed=True)
    study.tell(batch[1], context=dict.fromkeys(batch[1].left, 0.5))
    assert study.ask().cost is not None


@pytest.mark.parametrize(
    "objective", [aw.DRO(aw.TotalVariation(0.3)), aw.CVaR(0.2), aw.WorstCase(), aw.DRO(aw.MMD(0.1))]
)
@pytest.mark.parametrize("context", [aw.Known(LAWS, samples=64), aw.KDE(64)])
@pytest.mark.slow
def test_every_objective_and_context_model_applies(objective, context):
    study = play(study_of("etc-ada", objective=objective, context=context), 12)
    best = study.recommend()
    assert np.isfinite(best.value)
    assert best.frontier["value"].notna().all()


def test_robust_sets_are_preferred_where_the_mean_deceives():
    """Leaving `c` alone is as good on average, but not in its worst fifth."""
    space = aw.Space(a=aw.Real(0, 1), c=aw.Real(0, 1))
    law = aw.Known({"a": aw.truncated_normal(0.5, 0.04), "c": scipy.stats.uniform(0, 1)}, samples=128)
    control = aw.Control({"a": 1.0, ("a", "c"): 2.0})
    rng = np.random.default_rng(0)
    rows = [{"a": a, "c": c, "value": a * (1 + 2 * (c - 0.5))} for a, c in rng.random((60, 2))]
    studies = {}
    for name, objective in (("mean", aw.Expectation()), ("tail", aw.CVaR(0.2))):
        studies[name] = aw.Study(space, method="ucb-psq", control=control, context=law, objective=objective)
        studies[name].add(rows)
    lost = {name: study.recommend().frontier.set_index("control")["value"] for name, study in studies.items()}
    assert lost["mean"]["a"] == pytest.approx(1.0, abs=0.05)
    assert lost["tail"]["a"] < 0.5
    assert lost["tail"]["a, c"] == pytest.approx(2.0, abs=0.1)


def test_a_learned_law_beats_a_wrong_one():
    space = aw.Space(x=aw.Real(0, 1), c=aw.Real(0, 1))
    truth, wrong = scipy.stats.truncnorm(-8, 2, 0.8, 0.1), {"c": aw.truncated_normal(0.2, 0.01)}
    draws = truth.rvs(4000, random_state=1)
    lost = {"learned": [], "wrong": []}
    for seed in range(5):
        for name, context in (("learned", aw.KDE(128)), ("wrong", aw.Known(wrong, samples=128))):
            study = aw.Study(space, method="ucb-psq", control=aw.Control({"x": 0.1}), context=context, seed=seed)
            rng = np.random.default_rng(seed)
            for _ in range(15):
                trial, c = study.ask(), float(truth.rvs(random_state=rng))
                study.tell(trial, -((trial.decision["x"] - c) ** 2), context={"c": c})
            lost[name].append(float(((study.recommend().decision["x"] - draws) ** 2).mean() - draws.var()))
    assert max(lost["learned"]) < 0.05
    assert all(a < b for a, b in zip(lost["learned"], lost["wrong"], strict=True))


def test_a_dependent_law_is_sampled_jointly_and_cut_to_what_is_left_alone():
    def joint(n, source):
        a = source.random(n)
        return np.stack([a, 2 * a - 1, 10 * a], axis=1)

    study = play(study_of("ucb-psq", context=aw.Known(joint, samples=256)), 7)
    side = side_of(study, "a")
    points = side.main.reference(side.observations(study.history), 7, torch.Generator().manual_seed(0)).points
    assert points.shape == (256, 2)
    torch.testing.assert_close(points[:, 0], points[:, 1])


def test_laws_are_learned_from_trials_that_left_the_variables_alone():
    box = aw.Space(b=aw.Context(0, 1), c=aw.Context(0, 1)).contexts
    together = [{"a": 0.9, "b": 0.1 * i, "c": 0.2 * i} for i in range(5)]
    torch.testing.assert_close(left_alone(together, box)[:, 1], 2 * left_alone(together, box)[:, 0])
    apart = [{"b": 0.1}, {"b": 0.2}, {"b": 0.3}, {"c": 0.7}, {"c": 0.8}]
    mixed = left_alone(apart, box)
    assert mixed[:, 0].tolist() == [0.2, 0.3]  # the newest, as many as of the other
    assert set(mixed[:, 1].tolist()) == {0.7, 0.8}
    nothing = left_alone([], box)
    assert nothing.max() > 0.9
    assert nothing.min() < 0.1
    whole = left_alone([], aw.Space(k=aw.Context(aw.Integer(0, 2))).contexts)
    counts = [int((whole == level).sum()) for level in (0.0, 0.5, 1.0)]
    assert min(counts) > 12


def test_data_from_before_are_free_and_may_have_left_variables_alone():
    study = study_of(budget=1.0, context=aw.KDE(64))
    rng = np.random.default_rng(0)
    rows = [{name: float(law.rvs(random_state=rng)) for name, law in LAWS.items()} for _ in range(6)]
    study.add([{**row, "value": outcome(row)} for row in rows], left=["b", "c"])
    assert len(side_of(study, "a").observations(study.history).seen) == 6
    assert study.ask().cost is not None
    assert study.trials()["cost"].sum() <= 1.0
    with pytest.raises(aw.InvalidInput, match=r"Study\.add\(left=\.\.\.\)"):
        study.add([], left=["d"])
    with pytest.raises(aw.InvalidInput, match="without control sets"):
        aw.Study(SPACE).add([], left=["b"])


def test_variables_that_nobody_decides_happen_under_every_set():
    space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1), rain=aw.Context(0, 1))
    laws = {name: scipy.stats.uniform(0, 1) for name in ("a", "b", "rain")}
    study = aw.Study(space, method="etc-ada", control=aw.Control({"a": 0.1, ("a", "b"): 1.0}), context=aw.Known(laws))
    for i in range(8):
        trial = study.ask()
        assert "rain" in trial.left
        study.tell(trial, trial.decision["a"], context=dict.fromkeys(trial.left, 0.1 * i))
    assert study.recommend().decision["a"] > 0.8


def side_of(study, *names):
    """The side of a control set."""
    return next(side for side in study._engine.sides if side.control.names == frozenset(names))


def sides(study):
    """What a rule sees, and the posterior of all variables."""
    engine = study._engine
    beliefs = engine.joint_beliefs(study.history)
    listed = [SideBelief(side.control, each, side.search) for side, each in zip(engine.sides, beliefs, strict=True)]
    return listed, engine.posterior(study.history)


def plans_of(listed):
    """The plans of all sets."""
    return Plans.of([side.belief for side in listed], [side.search for side in listed])


def test_all_sets_see_the_same_sampled_function():
    listed, _ = sides(play(study_of("ts-psq"), 10))
    row = {"a": 0.3, "b": 0.4, "c": 6.0}
    values = []
    for side in listed:
        space = SPACE.controlling(side.control.variables)
        decision = space.decisions.encode({name: row[name] for name in space.decisions})
        context = space.contexts.encode({name: row[name] for name in space.contexts})
        paths = side.belief.surrogate.fourier_paths(context, 1, torch.Generator().manual_seed(5))
        values.append(paths(decision)[0, 0, 0].item())
    assert values == pytest.approx([values[0]] * len(values))


def test_the_knowledge_gradient_against_simulated_outcomes():
    listed, posterior = sides(play(study_of("kg-cvs", surrogate=aw.GP(noise=0.2)), 8))
    plans = plans_of(listed)
    side: SideBelief = listed[0]
    lesson = Lesson(replace(side.belief, generator=torch.Generator().manual_seed(0)), plans, 1)
    decision = torch.tensor([[0.7]], dtype=torch.float64)
    exact = lesson(decision).item()
    point = torch.cat([decision, lesson._contexts], -1)[:, lesson._order]
    mean = posterior.data.shift + posterior.data.scale * (
        posterior.data.mean + posterior.data.kernel(point, posterior.data.points) @ posterior.data.weights
    )
    field = posterior.arranged(range(3), 3).field(torch.zeros(1, 0, dtype=torch.float64))
    sd = (field(point).sd[0, 0] ** 2 + posterior.data.noise * posterior.data.scale**2).sqrt()
    rng, gains = np.random.default_rng(0), []
    for _ in range(3000):
        outcome_seen = mean + sd * rng.standard_normal()
        after = posterior.given(point, outcome_seen).arranged(range(3), 3)
        means = after.field(torch.zeros(1, 0, dtype=torch.float64)).mean(plans.points.flatten(0, 1))
        gains.append(((means.reshape(plans.weights.shape) * plans.weights).sum(-1).max() - plans.means.max()).item())
    assert exact == pytest.approx(np.mean(gains), abs=4 * np.std(gains) / 3000**0.5)
    assert exact > 0


SURROGATES = {
    "matern": aw.GP("matern", outputscale="fit", transform="auto"),
    "averaged": aw.GP("matern32", draws=4),
    "botorch": lambda x, y: SingleTaskGP(x, y),
}


@pytest.mark.parametrize("acquisition", [aw.ObjectiveUCB(1.0), aw.UCB(1.0), aw.Thompson(), aw.ExpectedImprovement(8)])
@pytest.mark.parametrize("surrogate", SURROGATES)
def test_any_kernel_and_model(surrogate, acquisition):
    study = study_of(None, surrogate=SURROGATES[surrogate], acquisition=acquisition, initial=4)
    best = play(study, 7).recommend()
    assert tuple(best.decision) in [(name,) if isinstance(name, str) else name for name in COSTS]


@pytest.mark.parametrize("surrogate", ["matern", "averaged", "transformed"])
def test_information_per_cost_of_any_gp(surrogate):
    known = SURROGATES.get(surrogate, aw.GP("matern", transform="auto"))
    study = study_of(None, surrogate=known, initial=4)
    rows = [{"a": 0.1 * i, "b": -1 + 0.2 * i, "c": (3.0 * i) % 10} for i in range(10)]
    bent = 9 if surrogate == "transformed" else 1
    study.add([{**row, "value": -(abs(outcome(row)) ** bent)} for row in rows])
    listed, posterior = sides(study)
    assert isinstance(posterior, TransformedPosterior) == (surrogate == "transformed")
    plans = plans_of(listed)
    for side in listed:
        decisions = torch.full((3, len(side.control.variables)), 0.4, dtype=torch.float64)
        assert float(Lesson(side.belief, plans, 4)(decisions).min()) > 0


def test_a_matern_is_one_per_column_where_control_sets_split_them():
    study = study_of(None, surrogate=aw.GP("matern", lengthscales={"a": 0.2, "b": 0.5, "c": 0.9}, noise=0.05))
    surrogate = study._engine.beliefs.surrogates["value"]
    assert (surrogate.kernel, surrogate.lengthscales) == ("matern-columns", [0.2, 0.5, 0.9])
    assert aw.Study(SPACE, surrogate=aw.GP("matern"))._engine.sides[0].main.surrogate.kernel == "matern"


def test_what_is_known_of_the_variables_left_is_used_by_the_sets_that_leave_them():
    study = play(study_of("ucb-psq"), 8)
    for known in ({"b": 0.1}, {"b": 0.1, "c": 2.0}):
        trial = study.ask(context=known)
        told = {**(trial.context or {}), **(trial.partial or {})}
        assert told == {name: value for name, value in known.items() if name in trial.left}
    forecast = aw.Known({name: scipy.stats.uniform(0, 1) for name in LAWS}, samples=16)
    assert study.ask(forecast=forecast).cost is not None
    assert study.recommend(context={"c": 2.0}).control
    assert len(study.policy([{"c": 2.0}, {"c": 8.0}]).table) == 2
    values = policy_contexts(study._engine.uncontrolled, "c")
    assert [row["c"] for row in values][::6] == [0.0, 10.0]
    with pytest.raises(aw.InvalidInput, match="context"):
        study.ask(context={"d": 0.1})


def test_candidates_belong_to_their_variables_whatever_stands_before_them():
    space = aw.Space(w=aw.Context(0, 1), a=aw.Real(0, 1), b=aw.Real(0, 1))
    candidates = [{"a": 0.1, "b": 0.9}, {"a": 0.2, "b": 0.8}]
    study = aw.Study(space, control=aw.Control({"a": 1, "b": 1.5}), candidates=candidates, context=aw.KDE(16))
    assert study.ask().decision["a"] in (0.1, 0.2)


def test_the_order_in_which_values_are_told_does_not_matter():
    space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1), c=aw.Real(0, 1))
    control = aw.Control({("a", "b"): 0.1, "a": 1.0}, rule=aw.ExploreThenCommit(4))
    study = aw.Study(space, control=control, context=aw.KDE(16), initial=2)
    for i in range(6):
        trial = study.ask()
        done = dict(reversed(trial.decision.items()))
        study.tell(trial, float(i), decision=done, context=dict.fromkeys(reversed(trial.left), 0.5))
        assert list(study.trial(i).decision) == list(trial.decision)
    study.tell(study.ask(), failed=True)
    assert study._engine.ledger(study.history).plays[frozenset({"a", "b"})] >= 4
    assert study.ask().cost is not None


def test_ties_go_to_the_cheaper_set_and_the_frontier_agrees():
    space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1))
    always = aw.RobustSatisficing(-5, aw.TotalVariation(0.1))
    control = aw.Control({("a", "b"): 2, "a": 1})
    study = aw.Study(space, control=control, context=aw.KDE(32), initial=3, objective=always)
    for i in range(4):
        trial = study.ask()
        study.tell(trial, 0.1 * i, context=dict.fromkeys(trial.left, 0.2 * i))
    best = study.recommend()
    assert (best.control, best.cost) == (("a",), 1.0)
    assert best.frontier["frontier"].tolist() == [True, False]
    assert list(best.frontier.columns) == ["control", "cost", "value", "a", "b", "frontier"]


def test_radii_shrink_with_contexts_that_were_seen_not_with_trials():
    study = study_of("ucb-psq", context=aw.KDE(32), objective=aw.DRO(aw.TotalVariation(aw.DensityRadius())))
    rng = np.random.default_rng(0)
    rows = [{name: float(law.rvs(random_state=rng)) for name, law in LAWS.items()} for _ in range(40)]
    study.add([{**row, "value": outcome(row)} for row in rows])
    study.add([{**row, "value": outcome(row)} for row in rows[:2]], left=["c"])
    listed, _ = sides(study)
    radii = {side.control.variables: side.belief.objective.distance.radius for side in listed}
    assert radii[("a", "b")] == pytest.approx(2 ** (-2 / 5))


def test_heavy_contexts_are_not_thinned_away():
    """98% of the mass on one of 300 contexts: what is asked for and what is recommended agree without optimism."""
    points = np.random.default_rng(0).random((300, 1))
    weights = np.full(300, 0.02 / 299)
    weights[7] = 0.98
    rows = [
        {"a": x, "b": y, "value": np.cos(14 * x * (y + 0.3) + 7 * y) + 0.3 * np.sin(9 * x + 20 * y)}
        for x, y in np.random.default_rng(1).random((80, 2))
    ]
    space = aw.Space(a=aw.Real(0, 1), b=aw.Context(0, 1))
    options = {"objective": aw.Expectation(), "acquisition": aw.UCB(0.0), "surrogate": aw.GP(lengthscales=0.12)}
    study = aw.Study(space, context=aw.Finite(points, weights / weights.sum()), initial=3, seed=1, **options)
    study.add(rows)
    assert study.ask().decision["a"] == pytest.approx(study.recommend().decision["a"], abs=1e-3)


def test_plans_are_compared_by_all_contexts():
    rng = np.random.default_rng(0)
    points = rng.random((300, 2))
    points[0], weights = (0.95, 0.95), np.full(300, 0.1 / 299)
    weights[0] = 0.9
    space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1))
    control = aw.Control({"a": 1, "b": 1})
    study = aw.Study(space, method="kg-cvs", control=control, context=aw.Finite(points, weights), initial=3)
    study.add([{"a": x, "b": y, "value": -((x - 0.3) ** 2) - (y - 0.7) ** 2} for x, y in rng.random((40, 2))])
    listed, _ = sides(study)
    plans = plans_of(listed)
    best = max(float(side.belief.expected(side.search.sample(512, torch.Generator())).max()) for side in listed)
    assert plans.means.max().item() == pytest.approx(best, abs=5e-3)


def test_a_study_with_a_joint_law_can_be_pickled_and_says_what_it_is():
    study = study_of("ucb-psq", context=aw.Known(_joint, samples=16), objective=aw.CVaR(0.1))
    again = pickle.loads(pickle.dumps(study._engine.sides))
    assert [side.control for side in again] == [side.control for side in study._engine.sides]
    said = repr(study)
    for part in ("CVaR(level=0.1)", "ControlSet(a; cost 0.1)", "BestValue()", "budget 10.0"):
        assert part in said


def _joint(n, source):
    return np.stack([source.random(n), 2 * source.random(n) - 1, 10 * source.random(n)], axis=1)


def test_forecasts_speak_about_all_variables():
    uniform = scipy.stats.uniform(0, 1)
    forecast = aw.Forecast(by_step=lambda step: aw.Known({"a": uniform, "b": uniform}, samples=16))
    space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1))
    study = aw.Study(space, method="ucb-psq", control=aw.Control({"a": 1, "b": 1}), context=forecast, initial=3)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, 1.0, context=dict.fromkeys(trial.left, 0.5))
    assert len(study.trials()) == 4


def test_trials_can_be_added_to_another_study_with_control_sets():
    space = aw.Space(ph=aw.Real(4, 9), light=aw.Real(0, 1))
    control = aw.Control({"ph": 1, ("ph", "light"): 3}, budget=30)
    study, again = (aw.Study(space, control=control, context=aw.Uniform(), seed=seed) for seed in (1, 2))
    for number in range(6):
        trial = study.ask()
        study.tell(trial, float(number), context=dict.fromkeys(trial.left, 0.25))
    again.add(study.trials())
    columns = ["ph", "light", "value"]
    assert again.trials()[columns].equals(study.trials()[columns])
    learned = [study.trial(0).context, again.trial(0).context]
    assert learned[0] == learned[1]
