# ruff: noqa: E402 (Optuna may be missing)
import itertools
import logging
import math
import pickle
import time
import warnings
from wsgiref.util import setup_testing_defaults

import pytest
from tests.integrations.shifted import OBJECTIVE, SEEDS, TRIALS, days, outcome, paired
from tests.storage.workers import together

import allweather as aw

optuna = pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'allweather[optuna]'")
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from allweather.integrations.optuna import AllweatherSampler
from allweather.integrations.optuna.parameters import translate

optuna.logging.set_verbosity(optuna.logging.ERROR)
GRIP = aw.Space(grip=aw.Context(0, 1))
SPEED = {"speed": FloatDistribution(0, 1)}
MIXED = {
    "rate": FloatDistribution(1e-3, 1, log=True),
    "share": FloatDistribution(0, 1, step=0.25),
    "layers": IntDistribution(1, 5),
    "width": IntDistribution(8, 64, step=8),
    "epochs": IntDistribution(1, 100, log=True),
    "kind": CategoricalDistribution(["a", "b", None]),
    "flag": CategoricalDistribution([1, True]),
}


def make(seed=3, storage=None, direction="maximize", **words):
    words = {"context": aw.KDE(64), "objective": OBJECTIVE, "search_space": SPEED, "initial": 3, **words}
    sampler = AllweatherSampler(words.pop("space", GRIP), seed=seed, **words)
    return optuna.create_study(
        sampler=sampler, direction=direction, storage=storage, study_name="s", load_if_exists=True
    )


def step(study, grip, luck=0.0):
    trial = study.ask()
    speed = trial.suggest_float("speed", 0, 1)
    trial.set_user_attr("context", {"grip": float(grip)})
    study.tell(trial, float(outcome(speed, grip)) + luck)
    return speed


def run(study, seed, first=0, last=TRIALS):
    grips, luck = days(seed)
    return [step(study, *day) for day in list(zip(grips, luck, strict=True))[first:last]]


def test_fifteen_trials_hold_under_a_shift(record_property):
    def ours(seed):
        study = make(seed, initial=None)
        run(study, seed)
        return study.sampler.recommend(study).decision["speed"]

    def default(seed):
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed), direction="maximize")
        run(study, seed)
        return study.best_trial.params["speed"]

    name = f"Optuna {optuna.__version__} and the best trial of TPE"
    # What the objective does by itself is shown with BoTorch.
    paired(name, ours, None, default, record_property, seeds=SEEDS[:3])


def test_after_the_first_trials_it_goes_where_it_learned_to_go():
    learned, spread = run(make(initial=3), 0, last=8), run(make(initial=8), 0, last=8)
    assert learned[:3] == spread[:3]
    assert all(abs(there - here) > 1e-3 for there, here in zip(learned[3:], spread[3:], strict=True))


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_a_study_goes_on_after_a_pause_as_if_it_had_not_stopped(tmp_path, kind):
    def storage():
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/study.db"
        return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "log")))

    without = make()
    speeds = run(without, 0, last=9)
    before = run(make(storage=storage()), 0, last=5)
    again = make(storage=storage())
    assert before + run(again, 0, first=5, last=9) == speeds
    assert again.sampler.recommend(again).decision == without.sampler.recommend(without).decision


def test_the_same_seed_gives_the_same_study_and_another_one_another():
    assert run(make(seed=1), 0, last=6) == run(make(seed=1), 0, last=6)
    assert run(make(seed=1), 0, last=6) != run(make(seed=2), 0, last=6)


def test_a_pickled_sampler_is_the_same_sampler():
    study = make()
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    assert run(study, 0, last=5) == run(make(), 0, last=5)


def test_it_chooses_what_a_study_of_ours_would():
    study, ours = (
        make(),
        aw.Study(
            aw.Space(speed=aw.Real(0, 1), **GRIP.variables), context=aw.KDE(64), objective=OBJECTIVE, initial=3, seed=3
        ),
    )
    grips, luck = days(0)
    for day in range(6):
        trial = ours.ask()
        speed = step(study, grips[day], luck[day])
        assert speed == pytest.approx(trial.decision["speed"], abs=1e-3)
        ours.tell(
            trial,
            float(outcome(speed, grips[day])) + luck[day],
            context={"grip": grips[day]},
            decision={"speed": speed},
        )


@pytest.mark.parametrize("given", [True, False])
def test_all_of_optunas_distributions_are_searched(given):
    study = make(search_space=MIXED if given else None, initial=4)

    def objective(trial):
        rate = trial.suggest_float("rate", 1e-3, 1, log=True)
        share = trial.suggest_float("share", 0, 1, step=0.25)
        layers, width = trial.suggest_int("layers", 1, 5), trial.suggest_int("width", 8, 64, step=8)
        epochs, fixed = trial.suggest_int("epochs", 1, 100, log=True), trial.suggest_int("fixed", 4, 4)
        kind, flag = trial.suggest_categorical("kind", ["a", "b", None]), trial.suggest_categorical("flag", [1, True])
        trial.set_user_attr("context", {"grip": 0.1 * (trial.number % 7)})
        return (
            -abs(math.log10(rate) + 2)
            - share
            + 0.01 * (layers + width + epochs + fixed)
            + (kind is None)
            + (flag is True)
        )

    study.optimize(objective, n_trials=8)
    assert len(study.get_trials(states=[TrialState.COMPLETE])) == 8
    best = study.sampler.recommend(study).decision
    assert set(best) == set(MIXED)
    study.enqueue_trial(best)
    study.optimize(objective, n_trials=1)
    assert study.trials[-1].params == {**best, "fixed": 4}


def test_smaller_is_better_where_the_study_says_so():
    down, up = make(direction="minimize"), make()
    for grip in (0.2, 0.5, 0.8, 0.4, 0.6):
        for study, sign in ((up, 1), (down, -1)):
            trial = study.ask(SPEED)
            trial.set_user_attr("context", {"grip": grip})
            study.tell(trial, sign * float(outcome(trial.params["speed"], grip)))
    assert down.sampler.recommend(down).decision["speed"] == pytest.approx(
        up.sampler.recommend(up).decision["speed"], abs=0.02
    )


def test_a_batch_looks_at_different_places():
    study = make()
    run(study, 0, last=6)
    speeds = sorted(study.ask(SPEED).params["speed"] for _ in range(4))
    assert min(later - sooner for sooner, later in itertools.pairwise(speeds)) > 1e-3


def test_workers_that_choose_at_the_same_time_do_not_choose_the_same():
    study = make()
    run(study, 0, last=6)
    first, second = study.ask(), study.ask()  # neither has said what it decides
    speeds = second.suggest_float("speed", 0, 1), first.suggest_float("speed", 0, 1)
    assert abs(speeds[0] - speeds[1]) > 1e-3


def test_threads_share_a_study():
    study, grips = make(), days(0)[0]

    def objective(trial):
        trial.set_user_attr("context", {"grip": float(grips[trial.number])})
        return float(outcome(trial.suggest_float("speed", 0, 1), grips[trial.number]))

    study.optimize(objective, n_trials=10, n_jobs=3)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 10
    assert len({trial.params["speed"] for trial in study.trials}) >= 8  # an end of the range may come again


def test_threads_learn_the_parameters_of_trials_that_end_meanwhile():
    study = make(search_space=None)

    def objective(trial):
        speed = trial.suggest_float("speed", 0, 1)
        time.sleep(0.05 * (1 + trial.number % 3))  # others end between the two
        trial.set_user_attr("context", {"grip": 0.5})
        return speed - trial.suggest_float("load", 0, 1)

    study.optimize(objective, n_trials=9, n_jobs=3)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 9


def test_trials_asked_for_before_the_parameters_are_known_go_on():
    study = make(search_space=None)
    batch = [study.ask() for _ in range(3)]
    for trial in batch:
        speed = trial.suggest_float("speed", 0, 1)
        trial.set_user_attr("context", {"grip": 0.5})
        study.tell(trial, speed)
    late = study.ask()
    assert 0 <= late.suggest_float("load", 0, 1) <= 1  # at random, as with Optuna's samplers
    assert set(late._relative_params) == {"speed"}


def work(storage):
    study = make(storage=storage)
    for grip in (0.4, 0.6, 0.5, 0.7):
        step(study, grip)


def test_processes_share_a_study(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    make(storage=storage)
    together(2, work, storage)
    study = make(storage=storage)
    assert len(study.trials) == 8
    assert len({trial.params["speed"] for trial in study.trials}) >= 6
    assert study.sampler.recommend(study).decision


def test_the_dashboard_shows_the_contexts(tmp_path):
    dashboard = pytest.importorskip("optuna_dashboard", reason="optuna-dashboard is not installed")
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/study.db")
    run(make(storage=storage), 0, last=4)
    said, request = {}, {"PATH_INFO": "/api/studies/1", "QUERY_STRING": "after=0"}
    setup_testing_defaults(request)
    body = b"".join(dashboard.wsgi(storage)(request, lambda status, *rest: said.update(status=status)))
    assert said["status"].startswith("200")
    assert b'"key":"context"' in body.replace(b" ", b"")
    assert body.count(b"grip") >= 4


def told_without(study, context=None, value=1.0):
    trial = study.ask(SPEED)
    if context is not None:
        trial.set_user_attr("context", context)
    study.tell(trial, value)


@pytest.mark.parametrize(
    ("context", "value", "said"),
    [
        (None, 1.0, r"must name grip before trial 4 is told, got None.*tell_context\(study, 4"),
        ({"gripp": 0.5}, 1.0, "trial 4: .*lacks 'grip' and has unknown 'gripp'.*tell_context"),
        ({"grip": math.nan}, 1.0, r"trial 4: .*must be a number in \[0, 1\], got nan"),
        ({"grip": 1.5}, 1.0, r"trial 4: .*must be a number in \[0, 1\], got 1.5"),
        ("wet", 1.0, "trial 4: .*be given by name"),
        ({"grip": 0.5}, math.inf, "value.*of trial 4, which is treated as failed.*must be finite"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_when_told_and_kept(tmp_path, context, value, said):
    study = make(storage=f"sqlite:///{tmp_path}/study.db")
    run(study, 0, last=4)
    with pytest.raises(aw.InvalidInput, match=said):
        told_without(study, context, value)
    assert study.trials[4].value == value
    with pytest.warns(UserWarning, match="trial 4"):
        step(study, 0.4)  # the study goes on
    study.sampler.tell_context(study, 4, {"grip": 0.5})
    if math.isfinite(value):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(study.sampler.as_study(study).trials().query("state == 'complete'")) == 6


def test_a_context_told_later_is_kept_with_the_study(tmp_path):
    study, other = make(storage=f"sqlite:///{tmp_path}/study.db"), make()
    run(other, 0, last=5)
    run(study, 0, last=4)
    with pytest.raises(aw.InvalidInput):
        told_without(study, None, other.trials[4].value)
    study.sampler.tell_context(study, 4, other.trials[4].user_attrs["context"])
    again = make(storage=f"sqlite:///{tmp_path}/study.db")
    assert run(again, 0, 5, 7) == run(other, 0, 5, 7)
    for wrong, context, said in ((99, {"grip": 0.5}, "of the 7"), (True, {"grip": 0.5}, "of the 7"), (1, {}, "lacks")):
        with pytest.raises(aw.InvalidInput, match=said):
            again.sampler.tell_context(again, wrong, context)


def test_failed_and_pruned_trials_are_avoided_and_their_contexts_learned():
    study = make()
    run(study, 0, last=5)
    for state in (TrialState.PRUNED, TrialState.FAIL):
        trial = study.ask(SPEED)
        trial.set_user_attr("context", {"grip": 0.3})
        study.tell(trial, state=state)
    trial = study.ask(SPEED)
    with pytest.warns(UserWarning, match="nan"):
        study.tell(trial, math.nan)
    study.tell(study.ask(), state=TrialState.FAIL)  # it never said what it decided
    table = study.sampler.as_study(study).trials()
    assert table["state"].tolist() == ["complete"] * 5 + ["failed", "failed", "expired"]
    assert table["grip"].tolist()[5:7] == [0.3, 0.3]
    step(study, 0.5)


def test_an_interrupted_trial_counts_for_nothing():
    def objective(trial):
        speed = trial.suggest_float("speed", 0, 1)
        if trial.number == 5 and study is stopped:
            raise KeyboardInterrupt
        trial.set_user_attr("context", {"grip": 0.5})
        return float(outcome(speed, 0.5))

    stopped, other = make(), make()
    study = other
    other.optimize(objective, n_trials=5)
    study = stopped
    with pytest.raises(KeyboardInterrupt):
        stopped.optimize(objective, n_trials=9)
    assert stopped.trials[5].state == TrialState.FAIL
    found = [each.sampler.recommend(each).decision["speed"] for each in (stopped, other)]
    assert found[0] == pytest.approx(found[1], abs=1e-6)
    assert stopped.ask(SPEED).params["speed"] == pytest.approx(other.ask(SPEED).params["speed"], abs=0.02)


def test_workers_that_were_killed_while_choosing_cost_little(monkeypatch):
    study, counts, ask = make(), [], aw.Study.ask
    run(study, 0, last=3)
    for _ in range(20):
        study.ask()
    monkeypatch.setattr(aw.Study, "ask", lambda ours, n: counts.append(n) or ask(ours, n))
    study.ask(SPEED)
    assert counts == [8]


def test_trials_from_elsewhere_are_learned_from():
    study = make()
    study.add_trial(
        create_trial(params={"speed": 0.4}, distributions=SPEED, value=0.7, user_attrs={"context": {"grip": 0.4}})
    )
    study.enqueue_trial({"speed": 0.9})
    assert step(study, 0.5) == 0.9
    assert study.sampler.as_study(study).trials()["speed"].tolist() == [0.4, 0.9]
    study.add_trial(create_trial(params={"speed": 0.4}, distributions=SPEED, value=0.7))
    with pytest.warns(UserWarning, match=r"trial 2 has no context; report it by `sampler.tell_context\(study, 2"):
        step(study, 0.5)


def objective_with(suggest):
    def objective(trial):
        suggest(trial)
        trial.set_user_attr("context", {"grip": 0.5})
        return 1.0

    return objective


def conditional(trial):
    if trial.suggest_categorical("kind", ["a", "b"]) == "a" or trial.number == 0:
        trial.suggest_float("x", 0, 1)
    else:
        trial.suggest_float("y", 0, 1)


@pytest.mark.parametrize(
    ("suggest", "shared"),
    [
        (conditional, {"kind"}),
        (lambda trial: trial.suggest_float("x", 0, 1 + trial.number), set()),
        (lambda trial: (trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1 + trial.number)), {"x"}),
    ],
)
def test_parameters_that_change_are_random_and_the_others_chosen(suggest, shared, caplog, monkeypatch):
    # A server that ran in this process leaves out lines that are repeated.
    monkeypatch.setattr(logging.getLogger("allweather"), "filters", [])
    study = make(search_space=None)
    study.optimize(objective_with(suggest), n_trials=8)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 8
    assert set(study.sampler.infer_relative_search_space(study, study.trials[-1])) == shared
    assert "is sampled at random: not all complete trials have it" in caplog.text
    if shared:
        assert set(study.sampler.recommend(study).decision) == shared


def test_the_space_that_is_asked_for_is_answered():
    study = make(search_space=None)

    def objective(trial):
        trial.set_user_attr("context", {"grip": 0.5})
        return -abs(trial.suggest_float("x", 0, 1) - 0.7) + trial.suggest_int("y", 0, 3)

    study.optimize(objective, n_trials=5)
    space = {"x": FloatDistribution(0, 1)}
    answer = study.sampler.sample_relative(study, study.ask()._cached_frozen_trial, space)
    assert set(answer) == {"x"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.PartialFixedSampler({"y": 2}, study.sampler)
    study.optimize(objective, n_trials=2)
    assert [trial.params["y"] for trial in study.trials[-2:]] == [2, 2]


def test_trials_without_a_given_parameter_are_refused_by_name():
    study = make(search_space=None)
    narrow, wide = {"speed": FloatDistribution(0, 0.5)}, {"speed": FloatDistribution(0, 1)}
    for speed, space in ((0.3, narrow), (0.8, wide)):
        attrs = {"context": {"grip": 0.5}}
        study.add_trial(create_trial(params={"speed": speed}, distributions=space, value=1.0, user_attrs=attrs))
    assert not study.sampler.infer_relative_search_space(study, study.trials[-1])
    study.sampler = AllweatherSampler(GRIP, search_space=wide)
    step(study, 0.5)
    study.sampler = AllweatherSampler(GRIP, search_space={**wide, "more": IntDistribution(0, 4)})
    with pytest.raises(aw.InvalidInput, match="parameters of trial 0` must include \\['more', 'speed'\\]"):
        study.ask(wide)


def test_a_value_out_of_range_is_left_out_with_a_warning():
    study = make()
    run(study, 0, last=4)
    study.enqueue_trial({"speed": 1.8})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna's own, of the value
        step(study, 0.5)
    with pytest.warns(
        UserWarning, match=r"'speed' of trial 4` must be within FloatDistribution.*got 1.8.*excluded from"
    ):
        assert 0 <= step(study, 0.5) <= 1
    with pytest.warns(UserWarning, match="trial 4"):
        assert len(study.sampler.as_study(study).trials()) == 5


def test_names_of_our_own_columns_are_refused_at_once():
    for name in ("value", "cost", "state", "self"):
        with pytest.raises(aw.InvalidInput, match=f"AllweatherSampler` must not name a parameter .*got '{name}'"):
            make(search_space={name: FloatDistribution(0, 1)})
        with pytest.raises(aw.InvalidInput, match=f"got '{name}'"):
            make(search_space=None).ask({name: FloatDistribution(0, 1)})
    with pytest.raises(aw.InvalidInput, match=r"AllweatherSampler` must not name a parameter or context.*got 'worst'"):
        make(space=aw.Space(worst=aw.Context(0, 1)))


def test_fine_steps_are_not_listed():
    fine = translate("x", FloatDistribution(0, 3, step=1e-9))
    assert (fine.ours(1.5), fine.theirs(1_000_000_000)) == (1_500_000_000, 1.0)
    even = translate("x", IntDistribution(2, 2 * 10**12, step=2))
    assert (even.ours(10), even.theirs(4), type(even.theirs(4))) == (4, 10, int)
    for wrong in (3, 0, 2 * 10**12 + 2):
        with pytest.raises(ValueError, match="not a whole number of steps"):
            even.ours(wrong)


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_options_may_be_anything():
    choices = [[8, 8], (16,), math.nan, math.inf, None, "a", 1]
    any_kind = translate("x", CategoricalDistribution(choices))
    for place, choice in enumerate(choices):
        name = any_kind.ours(choice)
        assert any_kind.variable.encode(name, "x")[place] == 1
        assert any_kind.theirs(name) is choice


def test_a_study_without_complete_trials_recommends_nothing():
    study = make(search_space=None)
    with pytest.raises(aw.InvalidInput, match="complete trial first"):
        study.sampler.recommend(study)
    told = make()
    with pytest.raises(aw.InvalidInput, match="at least one complete trial"):
        told.sampler.recommend(told)


def test_the_recommendation_answers_other_questions_too():
    study = make()
    run(study, 0, last=8)
    sampler = study.sampler
    forecast = aw.Finite([{"grip": 0.1}, {"grip": 0.2}])
    for words in (
        {"objective": aw.Expectation()},
        {"context": {"grip": 0.9}},
        {"forecast": forecast},
        {"radii": [0.1]},
    ):
        assert set(sampler.recommend(study, **words).decision) == {"speed"}
    assert sampler.recommend(study, context={"grip": 0.95}).decision["speed"] > 0.5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"space": aw.Space(speed=aw.Real(0, 1))},
            r"AllweatherSampler\(space=...\)` must hold contexts only",
        ),
        ({"space": aw.Space(x=aw.Real(0, 1), grip=aw.Context(0, 1))}, "hold contexts only"),
        ({"space": None}, "hold contexts only"),
        ({"objective": "dro"}, "be an objective"),
        ({"method": "wdrb"}, "knows no 'wdrb'"),
        ({"seed": -1}, r"AllweatherSampler\(seed=...\)` must be a whole number"),
        ({"initial": 0}, r"AllweatherSampler\(initial=...\)` must be a whole number"),
        ({"search_space": ["speed"]}, r"search_space=...\)` must map names"),
        ({"search_space": {}}, "have a parameter with several values, got {}"),
        ({"search_space": {"speed": FloatDistribution(1, 1)}}, "have a parameter with several values"),
        ({"search_space": {"speed": (0, 1)}}, "parameter 'speed'` must have an Optuna distribution"),
        ({"method": "ucb-cvs"}, r"AllweatherSampler\(method=...\)` must not require control sets"),
    ],
)
def test_what_does_not_fit_is_refused_when_the_sampler_is_made(words, said):
    with pytest.raises(aw.InvalidInput, match=said):
        AllweatherSampler(**{"space": GRIP, **words})


def test_a_context_named_like_a_parameter_is_refused():
    study = make(search_space={"grip": FloatDistribution(0, 1)})
    with pytest.raises(aw.InvalidInput, match="not name a context like a parameter"):
        study.ask({"grip": FloatDistribution(0, 1)})


def test_contexts_of_a_simulator_are_chosen():
    law = aw.Finite([{"demand": 0.2}, {"demand": 0.6}], [0.9, 0.1])
    sampler = AllweatherSampler(
        aw.Space(demand=aw.Context(0, 1)), context=law, simulator=aw.LargestDeviation(), initial=2, seed=1
    )
    study = optuna.create_study(sampler=sampler, direction="maximize")

    def objective(trial):
        order = trial.suggest_float("order", 0, 1)
        return -abs(order - sampler.chosen_context(trial)["demand"])

    study.optimize(objective, n_trials=5)
    assert {trial.user_attrs["context"]["demand"] for trial in study.trials} == {0.2, 0.6}
    assert sampler.as_study(study).outlook().contexts()["believed"].tolist() == pytest.approx([0.9, 0.1])
