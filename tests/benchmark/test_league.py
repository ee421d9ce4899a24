"""The leagues, in miniature."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from benchmarks import league, rivals, unseen_problems
from benchmarks.league import FIRST, SECOND, Composition, main
from benchmarks.league_runs import Recommended, StudyPlayer, append, is_stuck, stored_runs
from benchmarks.league_tables import STORED, Published, Standings, ratio
from benchmarks.rivals import RIVALS

import allweather as aw


def record(method: str, seed: int, regrets: list[float], problem: str = "newsvendor", **other) -> dict:
    """A run as it is stored; its cumulative regret is kept at 30 trials."""
    total = {"30": float(np.sum(regrets[:30]))}
    return {
        "method": method,
        "problem": problem,
        "seed": seed,
        "trials": len(regrets),
        "cumulative": total,
        "regrets": regrets,
        "random": 1.0,
        "optimum": 0.464,
        "recommended": {"30": {"regret": 0.1, "held": seed % 2 == 0, "width": 1.0}},
        "ask_cpu_s": 1.0,
        **other,
    }


class Fixed:
    """A method that always takes the same order, and says that it earns between 0.1 and 0.2."""

    def __init__(self, problem, seed):
        self.seen = []

    def ask(self):
        return {"order": 0.5}

    def tell(self, context, value):
        self.seen.append((context["demand"], value))

    def recommend(self):
        return Recommended({"order": 0.5}, (0.1, 0.2))


def test_regret_is_that_of_the_true_mean_outcome_after_the_initial_design():
    found = FIRST.execute("newsvendor", Fixed, 7, 12)
    judge = FIRST.judge("newsvendor")
    each = judge.best - float(judge.value(judge.problem.space.decisions.encode({"order": 0.5}))[0])
    assert judge.problem.initial == 5
    assert found["cumulative"]["12"] == pytest.approx(12 * each, rel=1e-5)
    assert found["regrets"] == pytest.approx([each] * 12, rel=1e-2)
    assert sorted(found["recommended"], key=int) == ["10", "12"]
    assert found["recommended"]["10"]["held"] is (0.1 <= judge.best - each <= 0.2)
    assert found["random"] == pytest.approx(FIRST.random_loss("newsvendor"), rel=1e-3)


def test_methods_see_the_same_contexts():
    first, second = Fixed(None, 0), Fixed(None, 0)
    for method in (first, second):
        FIRST.execute("newsvendor", lambda problem, seed, method=method: method, 3, 1)
    assert first.seen == second.seen
    assert len(first.seen) == 6


def test_a_campaign_resumes_and_repeats_shorter_runs(tmp_path, capsys):
    path = tmp_path / "results.jsonl"
    entrants = {"fixed": Fixed}
    FIRST.campaign(["newsvendor"], entrants, [3], {"fixed": 2}, path)
    with path.open("a") as file:
        file.write('{"problem": "newsv')  # the process was killed here
    FIRST.campaign(["newsvendor"], entrants, [3, 4], {"fixed": 2}, path)
    assert [each["seed"] for each in stored_runs(path)] == [3, 4]
    FIRST.campaign(["newsvendor"], entrants, [3], {"fixed": 3}, path)
    assert sorted((each["seed"], each["trials"]) for each in stored_runs(path)) == [(3, 3), (4, 2)]
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_the_longer_of_two_runs_counts(tmp_path):
    path = tmp_path / "results.jsonl"
    for length in (2, 3, 1):
        append(path, record("default", 0, [0.1] * length))
    assert [each["trials"] for each in stored_runs(path)] == [3]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Optuna, TPE", "mixed kinds"),
        ("Optuna, GP", "shared stock"),
        ("BoTorch, decisions alone", "high frequency"),
        ("BoTorch, contexts seen", "shared stock"),
    ],
)
def test_rivals_begin_alike_and_keep_what_decisions_must(name, label, monkeypatch):
    pytest.importorskip("optuna")
    monkeypatch.setattr(rivals, "RESTARTS", 1)
    monkeypatch.setattr(rivals, "RAW_SAMPLES", 4)
    monkeypatch.setattr(rivals, "FEW_RESTARTS", 1)
    monkeypatch.setattr(rivals, "FEW_RAW_SAMPLES", 4)
    chosen = dataclasses.replace(unseen_problems.PROBLEMS[label](), initial=3)
    player, alike = RIVALS[name](chosen, 4), RIVALS["Optuna, TPE"](chosen, 4)
    rng, asked = np.random.default_rng(0), []
    for number in range(4):
        decision, context = player.ask(), chosen.draw(rng)
        asked.append(decision)
        if number < 3:
            assert decision == alike.initial[number]
        player.tell(context, chosen.observe(decision, context, rng))  # which refuses decisions that break a constraint
    best = player.recommend()
    assert best.interval is None
    assert best.decision in asked
    if name == "Optuna, TPE":
        assert best.decision == asked[int(np.argmax(player.values))]


def test_a_default_plays_and_has_an_interval():
    player = league.entrants()["default"](FIRST.judge("newsvendor").problem, 0)
    assert isinstance(player, StudyPlayer)
    rng = np.random.default_rng(0)
    for _ in range(6):
        decision = player.ask()
        context = FIRST.judge("newsvendor").problem.draw(rng)
        player.tell(context, float(decision["order"] - context["demand"]))
    found = player.recommend()
    low, high = found.interval
    assert low < high


def test_the_interval_of_another_objective_is_not_judged():
    study = aw.Study(FIRST.judge("newsvendor").problem.space, objective=aw.CVaR(0.2), seed=0)
    study.add([{"order": o / 4, "demand": 0.5, "value": -abs(o - 2)} for o in range(5)])
    assert StudyPlayer(study).recommend().interval is None


def test_variants_do_not_run_on_held_out_seeds(tmp_path):
    for seeds in ("100-101", "98-101"):
        with pytest.raises(SystemExit):
            main(["--methods", "untransformed", "--seeds", seeds, "--results", str(tmp_path / "none.jsonl")])
    assert not (tmp_path / "none.jsonl").exists()
    assert all(isinstance(build(), Composition) for build in league.VARIANTS.values())


def test_the_tables_show_what_was_run(tmp_path, capsys):
    path = tmp_path / "results.jsonl"
    for seed in (100, 101):
        append(path, record("sbo-kde", seed, [0.2 + 0.01 * seed] * 30))
        append(path, record("default", seed, [0.1 + 0.005 * seed] * 30))
    main(["--show", "--results", str(path)])
    printed = capsys.readouterr().out
    assert "0.50" in printed
    assert "ledrbo, as published" in printed


def test_ratios_are_of_means_over_seeds():
    found = ratio([({1: 1.0, 2: 3.0}, {1: 4.0, 2: 4.0}), ({1: 2.0, 2: 2.0}, Published(1.0, 1e-9))])
    assert found.value == pytest.approx(1.0)
    assert found.low < 1 < found.high
    assert (found.problems, found.seeds) == (2, 2)


def test_the_error_of_a_ratio_is_that_of_its_means():
    rng = np.random.default_rng(0)
    sample = {seed: float(value) for seed, value in enumerate(rng.normal(10, 1, 100))}
    assert ratio([(sample, Published(5.0, 0.0))]).error == pytest.approx(0.01, rel=0.15)
    assert ratio([({0: 3.0, 1: 3.0}, Published(5.0, 0.5))]).error == pytest.approx(0.1, rel=0.1)
    assert ratio([(sample, sample)]).error == 0


def test_published_regrets_are_corrected_where_their_optimum_is_wrong():
    right = Standings.of([record("default", 100, [0.1] * 30)])
    assert right.corrected("newsvendor") is None
    wrong = Standings.of([record("default", 100, [0.1] * 30, optimum=0.514)])
    assert wrong.corrected("newsvendor") == pytest.approx(0.05)
    before, after = (each.sample(STORED.format("ledrbo"), "newsvendor", len, 30) for each in (right, wrong))
    assert after.mean - before.mean == pytest.approx(1.5)
    assert right.cumulative("default", STORED.format("ledrbo"), 30).value == pytest.approx(3 / 1.261)


def test_stuck_runs_lose_much_more_than_the_median_and_than_nothing():
    settled, stuck, noise = [0.001] * 195, [0.001] * 100 + [0.1] * 95, [1e-6] * 100 + [4e-6] * 95
    assert is_stuck(record("default", 0, stuck), 0.001)
    assert not is_stuck(record("default", 0, noise), 1e-6)
    standings = Standings.of([record("default", seed, stuck if seed == 3 else settled) for seed in range(5)])
    assert standings.stuck("default") == (1, 5)
    assert standings.held("default", 30) == (3, 5)


def test_published_results_are_complete():
    assert set(league.SETTINGS) == set(json.loads(league.FOLDER.joinpath("league_rivals.json").read_text())["problems"])


@pytest.mark.parametrize("label", unseen_problems.PROBLEMS)
def test_noise_of_a_problem_of_our_own_has_mean_zero(label):
    chosen = unseen_problems.PROBLEMS[label]()
    middling = torch.full((1, chosen.space.decisions.columns), 0.3, dtype=torch.float64)
    (decision,) = chosen.space.decisions.decode(chosen.space.decisions.snap(middling))
    rng = np.random.default_rng(0)
    context = chosen.draw(rng)
    points = chosen.space.decisions.encode(decision), chosen.space.contexts.encode(context)
    drawn = np.array([chosen.observe(decision, context, rng) for _ in range(300)])
    spread = drawn.std()
    assert drawn.mean() == pytest.approx(chosen.values(*points).item(), abs=4 * spread / 300**0.5 + 1e-12)
    noisy = ("rare breakdown", "noisy corner", "irrelevant variables", "mixed kinds", "heavy tails", "narrow basin")
    assert (spread > 1e-9) == (label in noisy)


def test_the_optima_of_the_second_league_are_those_of_its_problems(monkeypatch):
    monkeypatch.setattr("benchmarks.league_runs.RANDOM_DECISIONS", 16)
    judge = SECOND.judge("narrow basin")
    top = judge.problem.space.decisions.encode({"x1": 0.81695, "x2": 0.22232})
    assert judge.best == pytest.approx(1.1388, abs=1e-4) == float(judge.value(top)[0])
    demand = unseen_problems.shared_stock().truth(1024).points
    assert np.corrcoef(demand.numpy().T)[0, 1] == pytest.approx(0.6, abs=0.1)


def test_no_choice_is_made_on_the_second_league(tmp_path):
    with pytest.raises(SystemExit):
        main(["--second", "--seeds", "0-1", "--results", str(tmp_path / "none.jsonl")])


def test_the_second_league_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.league_runs.RANDOM_DECISIONS", 16)
    path = tmp_path / "second.jsonl"
    main(
        [
            "--second",
            "--problems",
            "trip",
            "--methods",
            "default",
            "--seeds",
            "500",
            "--trials",
            "1",
            "--results",
            str(path),
        ]
    )
    (found,) = stored_runs(path)
    assert (found["problem"], found["seed"], len(found["regrets"])) == ("trip", 500, 1)
    assert "as published" not in capsys.readouterr().out
