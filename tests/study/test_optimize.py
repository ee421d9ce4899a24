import threading
import time
from types import FunctionType

import joblib
import pytest
from benchmarks.optimize_kills import kill_and_resume
from tests.warm import program

import allweather as aw
from allweather.study import function_workers
from allweather.study.optimize import claimed_trials

SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
QUIET = {"progress": False}


def study(**options):
    return aw.Study(SPACE, **{"initial": 100, "seed": 7, **options})


def profit(decision):
    return {"value": 2 * decision["order"], "context": {"demand": 0.5}}


def product(decision, context):
    return decision["order"] * context["demand"]


def unlucky(decision):
    if decision["order"] < 0.5:
        raise RuntimeError("broken\npump")
    return profit(decision)


def test_a_function_carries_out_trials_and_a_later_call_goes_on():
    own, seen = study(), []
    first = own.optimize(profit, 3, callback=lambda _, trial: seen.append(trial.number), **QUIET)
    assert [trial.number for trial in first] == seen == [0, 1, 2]
    assert all(trial.values == (2 * trial.decision["order"],) for trial in first)
    assert [trial.number for trial in own.optimize(profit, 2, **QUIET)] == [3, 4]
    by_hand = study()
    for _ in range(5):
        trial = by_hand.ask()
        by_hand.tell(trial, **profit(trial.decision))
    assert [t.decision for t in own.history.trials] == [t.decision for t in by_hand.history.trials]


def test_contexts_that_a_study_chooses_are_given_to_the_function():
    own = study(simulator=True, context=aw.Uniform())
    for trial in own.optimize(product, 3, workers=2, **QUIET):
        assert trial.values == (product(trial.decision, trial.context),)
    with pytest.raises(aw.InvalidInput, match="take the decision and the context"):
        own.optimize(profit, 1, **QUIET)


def test_several_outcomes_by_name_and_one_that_is_not_finite_is_a_failure():
    own = aw.Study(aw.Space(heat=aw.Real(0, 1)), outcomes={"gain": aw.Maximize(), "waste": aw.AtMost(1.0)})
    (trial,) = own.optimize(lambda decision: {"gain": decision["heat"], "waste": 0.5}, 1, **QUIET)
    assert trial.results["waste"].values == (0.5,)
    (bad,) = study().optimize(lambda _: float("nan"), 1, **QUIET)
    assert (bad.state, bad.reason) == ("failed", "the function's result is nan")


def test_an_exception_is_a_failed_trial_whose_message_is_kept(tmp_path):
    own = study(storage=f"sqlite:///{tmp_path}/a.db")
    done = own.optimize(unlucky, 6, **QUIET)
    failed = [trial for trial in done if trial.failed]
    assert failed
    assert len(failed) < 6
    again = aw.StudyLog.open(f"sqlite:///{tmp_path}/a.db").trial(failed[0].number)
    assert again.reason.startswith("RuntimeError: broken pump (test_optimize.py:")
    corrected = own.correct(again.number, 1.0, context={"demand": 0.1})
    assert (corrected.state, corrected.reason) == ("complete", "")


def test_retries_and_a_time_limit():
    attempts = []

    def second_time(decision):
        attempts.append(decision)
        return profit(decision) if len(attempts) == 2 else 1 / 0

    (trial,) = study().optimize(second_time, 1, retries=1, **QUIET)
    assert (trial.state, len(attempts)) == ("complete", 2)
    released = threading.Event()
    (slow,) = study().optimize(lambda _: released.wait(60), 1, timeout=0.05, **QUIET)
    released.set()
    assert (slow.state, slow.reason) == ("failed", "took longer than 0.05 s")


def test_several_workers_are_several_calls_at_a_time():
    together = threading.Barrier(4, timeout=60)

    def meet(decision):
        together.wait()
        return profit(decision)

    assert len(study().optimize(meet, 8, workers=4, **QUIET)) == 8


def test_a_result_that_a_study_refuses_ends_the_call_and_its_trial_stays_pending():
    own = study()
    with pytest.raises(aw.InvalidInput, match=r"the study rejects .* of trial 0"):
        own.optimize(lambda _: {"value": 1.0, "context": {"demand": 9}}, 3, **QUIET)
    assert own.history.trials[0].state == "pending"
    assert own.optimize(profit, 1, **QUIET)[0].number == 0


@pytest.mark.parametrize(
    "given",
    [{"trials": 0}, {"workers": 0}, {"until_gain": -1}, {"timeout": 0}, {"retries": -1}, {"callback": 3}],
)
def test_settings_that_make_no_sense_are_refused(given):
    (name,) = given
    own = study()
    with pytest.raises(aw.InvalidInput, match=f"Study.optimize\\({name}="):
        own.optimize(profit, **{"trials": 1, **given}, **QUIET)
    assert not own.history.trials


def test_one_line_per_trial_and_an_early_end(capsys):
    own = aw.Study(SPACE, initial=3, seed=7)
    done = own.optimize(profit, 20, until_gain=100.0)
    said = capsys.readouterr().err
    for trial in done:
        assert f"trial {trial.number} is complete: order = {trial.decision['order']:.6g}, demand = 0.5 gave" in said
    assert 3 <= len(done) < 20
    best = own.recommend()
    assert f"best so far {best.value:.4g}, possible gain {best.possible_gain:.3g}" in said
    assert "Stopped. The possible gain is" in said


def test_an_interrupted_call_leaves_its_trials_to_the_next(capsys):
    own = study()

    def interrupt(_, trial):
        if trial.number == 1:
            raise KeyboardInterrupt

    by_hand = own.ask()  # is not taken over
    with pytest.raises(KeyboardInterrupt):
        own.optimize(lambda decision: time.sleep(0.02) or profit(decision), 9, workers=3, callback=interrupt)
    assert "the next call carries them out first" in capsys.readouterr().err
    left = [trial.number for trial in own.history.trials if trial.run and trial.state == "pending"]
    assert left
    done = own.optimize(profit, len(left), **QUIET)
    assert sorted(trial.number for trial in done) == left
    assert own.trial(by_hand.number).state == "pending"


def test_trials_of_a_call_that_still_runs_are_left_alone(tmp_path):
    first, second = (study(storage=f"sqlite:///{tmp_path}/a.db") for _ in range(2))
    (trial,) = first._ask(run="one")
    with claimed_trials(first, "one"), claimed_trials(second, "two") as left:
        assert left == []
    with claimed_trials(second, "two") as left:
        assert [each.number for each in left] == [trial.number]
    assert [path.name for path in tmp_path.glob("*.run")] == []


def by_value(decision):
    return {"value": 2 * decision["order"], "context": {"demand": 1 / (decision["order"] >= 0.5)}}


@pytest.mark.parametrize(
    ("backend", "function"), [("loky", FunctionType(by_value.__code__, {})), ("multiprocessing", by_value)]
)
def test_processes(backend, function):
    own = study()
    with joblib.parallel_config(backend=backend):
        done = own.optimize(function, 5, workers=2, **QUIET)
    assert sorted(trial.number for trial in done) == [0, 1, 2, 3, 4]
    for trial in done:
        assert trial.failed == (trial.decision["order"] < 0.5)


def test_dask():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        with joblib.parallel_config(backend="dask"):
            done = study().optimize(unlucky, 5, workers=2, **QUIET)
        assert client.status == "running"
    assert sum(trial.failed for trial in done) < 5
    assert len(done) == 5


def test_a_worker_that_dies_leaves_its_trial_pending():
    own = study()
    end = FunctionType((lambda _: __import__("os")._exit(3)).__code__, {"__builtins__": __builtins__})
    with joblib.parallel_config(backend="loky"), pytest.raises(aw.InvalidInput, match="the worker did not finish"):
        own.optimize(end, 1, workers=2, **QUIET)
    assert own.history.trials[0].state == "pending"


def test_functions_with_one_or_two_arguments():
    assert function_workers.takes_context(product)
    assert not function_workers.takes_context(lambda decision, seed=3: 0.0)
    assert not function_workers.takes_context(lambda *arguments: 0.0)


def test_a_call_with_four_workers_killed_three_times_loses_nothing_and_repeats_nothing(tmp_path):
    wrong, running = kill_and_resume(tmp_path, kills=3, seed=3, trials=24, program=program)
    assert wrong == []
    assert running
