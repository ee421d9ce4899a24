# ruff: noqa: E402 (Optuna may be missing)
import math
import warnings

import pytest

import allweather as aw

optuna = pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'allweather[optuna]'")
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

from allweather.integrations.optuna import AllweatherSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)
WEATHER = aw.Space(rain=aw.Context(0, 1))
SPACE = {"x": FloatDistribution(0, 1)}
RAINS = (0.2, 0.5, 0.8, 0.4, 0.6, 0.3, 0.7, 0.5, 0.45, 0.55)


def make(directions=("maximize",), **words):
    words = {"context": aw.Empirical(), "search_space": SPACE, "initial": 4, "seed": 1, **words}
    return optuna.create_study(sampler=AllweatherSampler(WEATHER, **words), directions=directions)


def run(study, objective, trials=10):
    def noted(trial):
        trial.set_user_attr("context", {"rain": RAINS[trial.number]})
        return objective(trial, trial.suggest_float("x", 0, 1), RAINS[trial.number])

    study.optimize(noted, n_trials=trials)


def limited(trial, x, rain):
    """More is better, but x + 0.3 * rain must stay below 0.7."""
    trial.set_user_attr("over", x + 0.3 * rain - 0.7)
    return x


def over(trial):
    return [trial.user_attrs["over"]]


def test_constraints_of_a_function_are_kept():
    study = make(constraints_func=over)
    run(study, limited)
    best = study.sampler.recommend(study)
    assert 0.4 < best.decision["x"] < 0.56  # 0.55 on average
    assert best.feasible >= 0.9
    assert best.outcomes["outcome"].tolist() == ["objective_0", "constraint_0"]
    assert all(trial.system_attrs["constraints"] == (trial.user_attrs["over"],) for trial in study.trials)


def test_constraints_by_name_hold_with_a_probability():
    limits = {"over": aw.AtMost(0, probability=0.9)}
    study = make(limits=limits)
    if not hasattr(study.ask(SPACE), "set_constraint"):
        pytest.skip("this Optuna has constraints by function only")

    def objective(trial, x, rain):
        limited(trial, x, rain)
        trial.set_constraint("over", trial.user_attrs["over"])
        return x

    run(study, objective, trials=8)
    best = study.sampler.recommend(study)
    assert best.decision["x"] < 0.49  # 0.7 - 0.3 * 0.75
    assert best.outcomes["wanted"].tolist()[1] == "constraint_over at most 0 with probability 0.9"


def test_several_directions_have_a_front():
    study = make(("maximize", "minimize"), objectives=[aw.Expectation(), aw.CVaR(0.5)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names(["yield", "cost"])  # no Python name, but an identifier
    run(study, lambda trial, x, rain: (x * (1 + rain), x**2 * (1 + rain)))
    ours = study.sampler.as_study(study)
    assert ours.spec.outcomes["cost"] == aw.Minimize(aw.CVaR(0.5))
    front = ours.front()
    assert {"x", "yield", "cost"} <= set(front)
    assert len(front) > 2
    much, little = (
        study.sampler.recommend(study, weights={"yield": w, "cost": 1 - w}).decision["x"] for w in (0.95, 0.05)
    )
    assert little < much


def test_what_a_trial_lacks_is_waited_for():
    study = make(constraints_func=over)
    run(study, limited, trials=4)
    study.sampler = AllweatherSampler(WEATHER, context=aw.Empirical(), search_space=SPACE, initial=4)
    run(study, lambda trial, x, rain: x, trials=1)
    with pytest.warns(UserWarning, match="trial 4 has no constraint '0', which is waited for"):
        table = study.sampler.as_study(study).trials()
    assert table["state"].tolist() == ["complete"] * 4 + ["pending"]
    assert math.isnan(table["constraint_0"][4])


def test_pruned_trials_tell_their_constraints():
    study = make(constraints_func=over)
    run(study, limited, trials=2)

    def pruned(trial, x, rain):
        limited(trial, x, rain)
        raise optuna.TrialPruned

    run(study, pruned, trials=1)
    assert study.trials[2].state == TrialState.PRUNED
    table = study.sampler.as_study(study).trials()
    assert math.isnan(table["objective_0"][2])
    assert table["constraint_0"][2] == pytest.approx(study.trials[2].user_attrs["over"])


def test_standard_errors_are_given_by_name():
    study = make(constraints_func=over)

    def objective(trial, x, rain):
        trial.set_user_attr("sd", {"constraint_0": 0.01})
        return limited(trial, x, rain)

    run(study, objective, trials=2)
    assert study.sampler.as_study(study).trials()["constraint_0 sd"].tolist() == [0.01, 0.01]
    trial = study.ask(SPACE)
    trial.set_user_attr("context", {"rain": 0.5})
    trial.set_user_attr("over", 0.1)
    trial.set_user_attr("sd", 0.1)
    with pytest.raises(aw.InvalidInput, match=r'be given by name, such as {"objective_0": 0.1}'):
        study.tell(trial, 1.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"limits": aw.AtLeast(0)}, r"limits=...\)` must be AtMost\(0, ...\)"),
        ({"limits": {"over": aw.AtMost(1)}}, "kept where its value is at most 0"),
        ({"objectives": ["cvar"]}, r"objectives=...\)` must be objectives"),
        ({"objectives": [aw.CVaR(0.1)], "objective": aw.CVaR(0.1)}, "in place of `objective`"),
    ],
)
def test_what_does_not_fit_is_refused_when_the_sampler_is_made(words, said):
    with pytest.raises(aw.InvalidInput, match=said):
        AllweatherSampler(WEATHER, **words)


def test_objectives_must_match_the_directions():
    study = make(("maximize", "minimize", "minimize"), objectives=[aw.CVaR(0.5), aw.Expectation()])
    with pytest.raises(aw.InvalidInput, match="be one for each of the 3 directions"):
        study.ask(SPACE)
