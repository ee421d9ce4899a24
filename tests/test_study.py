import dataclasses
import math
import pickle

import numpy as np
import pandas as pd
import pytest
import torch

import allweather as aw
from allweather.engine import Situation
from allweather.engine.batch import Unresolved, conditioned, unresolved

SPACE = aw.Space(order=aw.Real(0, 2), demand=aw.Context(0, 1))


def profit(order, demand):
    return 9 * min(order, demand) + max(0.0, order - demand) - 5 * order


def demands(n, seed=0):
    return np.random.default_rng(seed).beta(2, 5, n).tolist()


def run(study, steps, seed=0, sign=1):
    for demand in demands(steps, seed):
        trial = study.ask()
        study.tell(trial, sign * profit(trial.decision["order"], demand), context={"demand": demand})
    return study


def table(n=12, seed=3):
    rng = np.random.default_rng(seed)
    orders, seen = rng.uniform(0, 1, n), rng.beta(2, 5, n)
    return pd.DataFrame(
        {"order": orders, "demand": seen, "value": [profit(*pair) for pair in zip(orders, seen, strict=True)]}
    )


class TestTheLoop:
    @pytest.mark.slow
    def test_a_space_alone_makes_a_study_that_finds_the_order(self):
        best = run(aw.Study(SPACE, seed=1), 25).recommend()
        sample = np.random.default_rng(5).beta(2, 5, 4000)
        earns = [np.mean(9 * np.minimum(o, sample) + np.maximum(0, o - sample) - 5 * o) for o in np.linspace(0, 1, 101)]
        chosen = best.decision["order"]
        earned = np.mean(9 * np.minimum(chosen, sample) + np.maximum(0, chosen - sample) - 5 * chosen)
        assert earned > 0.85 * max(earns)

    @pytest.mark.slow
    def test_same_seed_same_study_and_recommendations_do_not_disturb(self):
        first, second = aw.Study(SPACE, seed=4), aw.Study(SPACE, seed=4)
        run(first, 9)
        for demand in demands(9):
            trial = second.ask()
            second.tell(trial, profit(trial.decision["order"], demand), context={"demand": demand})
            second.recommend()
        pd.testing.assert_frame_equal(first.trials(), second.trials())
        assert not run(aw.Study(SPACE, seed=5), 9).trials().equals(first.trials())

    @pytest.mark.slow
    def test_it_goes_on_from_its_trials_as_if_it_had_not_stopped(self):
        """What storage will rely on: state is the list of trials, hyperparameters included."""
        whole = run(aw.Study(SPACE, seed=4), 12)
        broken = run(aw.Study(SPACE, seed=4), 9)
        resumed = aw.Study(SPACE, seed=4)
        resumed.restore(broken.history.trials)
        for demand in demands(12)[9:]:
            trial = resumed.ask()
            resumed.tell(trial, profit(trial.decision["order"], demand), context={"demand": demand})
        pd.testing.assert_frame_equal(resumed.trials(), whole.trials())

    @pytest.mark.slow
    def test_minimising_costs_is_maximising_profits(self):
        objective = aw.RobustSatisficing(0.1, aw.TotalVariation(0))
        costs = aw.RobustSatisficing(-0.1, aw.TotalVariation(0))
        for profits_want, costs_want in ((None, None), (objective, costs)):
            up = run(aw.Study(SPACE, seed=2, objective=profits_want), 9)
            down = run(aw.Study(SPACE, seed=2, objective=costs_want, direction="minimize"), 9, sign=-1)
            assert up.trials()["order"].tolist() == down.trials()["order"].tolist()
            best, cheapest = up.recommend(), down.recommend()
            assert best.decision == cheapest.decision
            assert best.expected == pytest.approx(-cheapest.expected)
            assert best.interval == pytest.approx((-cheapest.interval[1], -cheapest.interval[0]))
            assert cheapest.curve["value"].is_monotonic_increasing

    @pytest.mark.slow
    def test_without_contexts_it_is_plain_bayesian_optimization(self):
        study = aw.Study(aw.Space(x=aw.Real(-2, 3), y=aw.Real(-2, 3)), seed=0)
        for _ in range(20):
            trial = study.ask()
            x, y = trial.decision["x"], trial.decision["y"]
            study.tell(trial, -((x - 1) ** 2) - (y + 0.5) ** 2)
        best = study.recommend()
        assert best.decision["x"] == pytest.approx(1, abs=0.1)
        assert best.decision["y"] == pytest.approx(-0.5, abs=0.1)
        assert best.value == pytest.approx(0, abs=0.1)

    def test_one_thread_while_it_computes_and_as_before_after(self):
        before = torch.get_num_threads()
        seen = []

        def build(points, values):
            seen.append(torch.get_num_threads())
            from botorch.models import SingleTaskGP

            return SingleTaskGP(points, values)

        run(aw.Study(SPACE, surrogate=build, threads=1), 6)
        assert seen
        assert set(seen) == {1}
        assert torch.get_num_threads() == before

    def test_timings_of_the_stages(self):
        study = run(aw.Study(SPACE), 6)
        study.ask()
        assert set(study.timings) == {"fit", "reference", "factorise", "maximise"}


class TestAsk:
    def test_a_batch_takes_pending_trials_into_account(self):
        study = run(aw.Study(SPACE, acquisition=aw.UCB(2.0)), 8)
        orders = [trial.decision["order"] for trial in study.ask(5)]
        assert len(orders) == 5
        assert np.diff(sorted(orders)).min() > 2e-3
        alone = [run(aw.Study(SPACE, acquisition=aw.UCB(2.0)), 8).ask().decision["order"] for _ in range(2)]
        assert alone[0] == alone[1] == orders[0]

    def test_a_batch_equals_asking_one_by_one(self):
        together, alone = run(aw.Study(SPACE), 8), run(aw.Study(SPACE), 8)
        assert [t.decision for t in together.ask(3)] == [alone.ask().decision for _ in range(3)]

    @pytest.mark.slow
    def test_a_context_known_in_advance_is_answered(self):
        study = aw.Study(SPACE, seed=3)
        rng = np.random.default_rng(0)
        for _ in range(25):
            demand = float(rng.uniform(0.2, 1))
            trial = study.ask(context={"demand": demand})
            assert trial.context == {"demand": demand}
            study.tell(trial, profit(trial.decision["order"], demand))
        low, high = (study.recommend(context={"demand": d}).decision["order"] for d in (0.3, 0.9))
        assert low == pytest.approx(0.3, abs=0.1)
        assert high == pytest.approx(0.9, abs=0.1)

    def test_a_forecast_for_this_step_only(self):
        study = aw.Study(SPACE, objective=aw.Expectation(), acquisition=aw.UCB(0.0))
        study.add(table(40))
        dry, wet = (aw.Finite([{"demand": d}]) for d in (0.1, 0.6))
        low, high = study.ask(forecast=dry).decision["order"], study.ask(forecast=wet).decision["order"]
        assert low < 0.3 < high
        assert study.recommend(forecast=wet).decision["order"] > 0.4

    def test_a_study_by_forecast_needs_one(self):
        study = aw.Study(SPACE, context=aw.Forecast())
        study.add(table())
        with pytest.raises(aw.InvalidInput, match="Forecast"):
            study.ask()
        assert study.ask(forecast=aw.Empirical()).state == "pending"

    def test_candidates_are_the_only_choice(self):
        rows = [{"order": o} for o in (0.1, 0.25, 0.5)]
        study = run(aw.Study(SPACE, candidates=pd.DataFrame(rows)), 9)
        assert set(study.trials()["order"].round(12)) <= {0.1, 0.25, 0.5}
        assert round(study.recommend().decision["order"], 12) in {0.1, 0.25, 0.5}

    def test_constraints_hold(self):
        space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 4), c=aw.Context(0, 1))
        study = aw.Study(space, constraints=[aw.LinearConstraint({"a": 1, "b": 0.5}, upper=1.2)])
        for c in demands(10):
            trial = study.ask()
            assert trial.decision["a"] + 0.5 * trial.decision["b"] <= 1.2 + 1e-9
            study.tell(trial, trial.decision["a"] + trial.decision["b"] - c, context={"c": c})
        best = study.recommend().decision
        assert best["a"] + 0.5 * best["b"] == pytest.approx(1.2, abs=1e-3)
        assert best["b"] > 2

    def test_choices_and_whole_numbers_also_as_contexts(self):
        space = aw.Space(
            wood=aw.Choice("oak", "ash", "elm"),
            saws=aw.Integer(1, 9),
            weather=aw.Context(aw.Choice("dry", "wet")),
            crew=aw.Context(aw.Integer(1, 4)),
        )
        for context in (None, aw.KDE(32), aw.Empirical(unseen=8)):
            study = aw.Study(space, context=context, seed=1)
            rng = np.random.default_rng(0)
            for _ in range(14):
                trial = study.ask()
                row = {"weather": str(rng.choice(["dry", "wet"])), "crew": int(rng.integers(1, 5))}
                bonus = {"oak": 1.0, "ash": 0.0, "elm": 0.3}[trial.decision["wood"]]
                study.tell(trial, bonus - abs(trial.decision["saws"] - 2 * row["crew"]) / 9, context=row)
            best = study.recommend()
            assert best.decision["wood"] == "oak"
            assert set(best.worst["weather"]) <= {"dry", "wet"}
            assert set(best.worst["crew"]) <= {1, 2, 3, 4}

    def test_what_is_pending_is_believed_to_turn_out_as_expected(self):
        study = run(aw.Study(SPACE), 8)
        posterior = study._engine.posterior(study.history)
        point = torch.tensor([[0.9, 0.9]], dtype=torch.float64)
        aware = conditioned(posterior, Unresolved(point, point[:0]), torch.tensor(0.0))
        before, after = (each.field(point[:, 1:])(point[:, :1]) for each in (posterior, aware))
        assert after.sd < 0.5 * before.sd
        assert after.mean.item() == pytest.approx(before.mean.item())

    def test_contexts_of_pending_trials_are_the_usual_ones(self):
        """What this trial's context will be says nothing about the others."""
        study = run(aw.Study(SPACE), 8)
        study.ask()
        engine, history = study._engine, study.history
        for known in ({"context": {"demand": 0.99}}, {"forecast": aw.Finite([{"demand": 0.99}])}):
            situation = Situation.of(SPACE, known.get("context"), known.get("forecast"), "Study.ask")
            side, belief = engine.sides[0], engine.joint_beliefs(history, situation)[0].main
            usual = engine.beliefs.pending_reference(side, belief, side.known(situation))
            assert usual.points.max() < 0.9
            pending = unresolved(history, engine.sides, lambda _, law=usual: law, torch.Generator()).pending
            assert pending[0, 1] < 0.9

    def test_a_batch_is_asked_for_as_a_whole_or_not_at_all(self):
        class Moody(aw.UCB):
            asked = 0

            def build(self, belief):
                Moody.asked += 1
                if Moody.asked == 3:
                    raise RuntimeError("no more")
                return super().build(belief)

        study = run(aw.Study(SPACE, acquisition=Moody(), initial=8), 8)
        with pytest.raises(RuntimeError):
            study.ask(5)
        assert len(study.trials()) == 8

    def test_references_are_on_legal_contexts(self):
        space = aw.Space(
            x=aw.Real(0, 1), crew=aw.Context(aw.Integer(1, 4)), weather=aw.Context(aw.Choice("dry", "wet"))
        )
        study = aw.Study(space, context=aw.KDE(32, unseen=8))
        rows = [
            {"x": 0.1, "crew": 1, "weather": "dry", "value": 1.0},
            {"x": 0.9, "crew": 3, "weather": "wet", "value": 2.0},
        ]
        study.add(rows)
        parts, seen = study._engine.sides[0].main, study.history.observations
        points, _ = parts.reference(seen, 2, torch.Generator().manual_seed(0))
        torch.testing.assert_close(points, space.contexts.snap(points), rtol=0, atol=0)
        assert len(points.unique(dim=0)) > 2


class TestTell:
    def test_a_trial_is_a_fact(self):
        study = aw.Study(SPACE)
        trial = study.ask()
        with pytest.raises(aw.InvalidInput, match="is immutable"):
            trial.decision["order"] = 9.0
        assert pickle.loads(pickle.dumps(trial)) == trial
        assert dataclasses.asdict(trial)["decision"] == trial.decision

    def test_a_failed_trial_may_still_tell_its_context(self):
        study = aw.Study(SPACE)
        trial = study.ask()
        study.tell(trial, failed=True)
        assert study.tell(trial, context={"demand": 0.3}).state == "failed"
        assert len(study.history.observations.seen) == 1
        other = study.ask()
        study.tell(other, 1.0, context={"demand": 0.3})
        with pytest.raises(aw.InvalidInput, match="has an outcome"):
            study.tell(other, failed=True)

    @pytest.mark.parametrize("value", [np.float64(1.0), np.array(1.0), np.array([1.0]), torch.tensor(1.0), 1, (1.0,)])
    def test_numbers_of_every_kind(self, value):
        study = aw.Study(SPACE)
        assert study.tell(study.ask(), value, context={"demand": np.float64(0.3)}).values == (1.0,)

    def test_a_context_that_arrives_later(self):
        study = run(aw.Study(SPACE), 6)
        trial = study.ask()
        assert study.tell(trial, 0.3).state == "pending"
        assert study.tell(trial.number, context={"demand": 0.2}).state == "complete"
        late = study.ask()
        study.tell(late, context={"demand": 0.4})
        assert study.tell(late, 0.1).state == "complete"
        assert len(study.history.observations) == 8

    def test_a_row_of_a_table_is_a_context(self):
        study = aw.Study(SPACE)
        assert study.tell(study.ask(), 0.3, context=table().iloc[0][["demand"]]).state == "complete"

    def test_a_realised_decision_that_differs_from_the_plan(self):
        study = aw.Study(SPACE)
        trial = study.ask()
        study.tell(trial, 0.3, context={"demand": 0.2}, decision={"order": 1.5})
        assert study.trials().loc[0, "order"] == 1.5
        assert study.history.observations.decisions.item() == pytest.approx(0.75)

    def test_repeated_outcomes_are_rows_but_one_context(self):
        study = aw.Study(SPACE)
        study.tell(study.ask(), [1.0, 2.0, 3.0], context={"demand": 0.2})
        data = study.history.observations
        assert data.values.tolist() == [1.0, 2.0, 3.0]
        assert len(data.seen) == 1
        assert study.trials().loc[0, "value"] == 2.0

    def test_failed_trials_are_avoided_and_their_contexts_remembered(self):
        study = run(aw.Study(SPACE, acquisition=aw.UCB(0.5)), 10)
        tempting = study.ask()
        study.tell(tempting, context={"demand": 0.3}, failed=True)
        again = study.ask()
        assert abs(again.decision["order"] - tempting.decision["order"]) > 1e-3
        assert len(study.history.observations.seen) == 11
        assert study.trials().loc[10, "state"] == "failed"
        assert len(study.history.observations) == 10

    def test_nothing_but_failures_keeps_spreading_out(self):
        study = aw.Study(SPACE, initial=3)
        orders = []
        for _ in range(6):
            trial = study.ask()
            orders.append(trial.decision["order"])
            study.tell(trial, failed=True)
        assert len(set(orders)) == 6

    @pytest.mark.parametrize(
        ("told", "said"),
        [
            ({"value": math.nan, "context": {"demand": 0.2}}, "be finite"),
            ({"value": math.inf, "context": {"demand": 0.2}}, "be finite"),
            ({"value": "many", "context": {"demand": 0.2}}, "be a number"),
            ({"value": [], "context": {"demand": 0.2}}, "be a number or several"),
            ({"value": [1.0, math.nan], "context": {"demand": 0.2}}, "be finite"),
            ({"value": 1.0, "context": {"demand": 1.2}}, "context demand"),
            ({"value": 1.0, "context": {"demnd": 0.2}}, "lacks 'demand'"),
            ({"value": 1.0, "context": {"demand": 0.2}, "decision": {"order": 9}}, "decision order"),
            ({"value": 1.0, "failed": True}, "one or the other"),
            ({}, "tell a value"),
            ({"value": 1e200, "context": {"demand": 0.2}}, "below 1e150"),
            ({"value": {1.0: 2}, "context": {"demand": 0.2}}, "be a number"),
            ({"value": 1.0, "context": 0.2}, "be given by name (demand)"),
            ({"value": 1.0, "context": "much"}, "be given by name (demand)"),
        ],
    )
    def test_bad_news_is_refused_and_nothing_is_lost(self, told, said):
        study = aw.Study(SPACE)
        trial = study.ask()
        before = study.trials()
        with pytest.raises(aw.InvalidInput) as caught:
            study.tell(trial, **told)
        assert said in str(caught.value)
        pd.testing.assert_frame_equal(study.trials(), before)
        study.tell(trial, 1.0, context={"demand": 0.2})
        assert study.trials().loc[0, "state"] == "complete"

    def test_strangers_and_second_thoughts_are_refused(self):
        study = aw.Study(SPACE)
        trial = study.ask()
        study.tell(trial, 1.0, context={"demand": 0.2})
        for stranger in (7, -1, "first", None, False):
            with pytest.raises(aw.InvalidInput, match="trial"):
                study.tell(stranger, 1.0)
        with pytest.raises(aw.InvalidInput, match="told once"):
            study.tell(trial, 2.0)
        with pytest.raises(aw.InvalidInput, match="told once"):
            study.tell(trial, context={"demand": 0.3})
        failed = study.ask()
        study.tell(failed, failed=True)
        with pytest.raises(aw.InvalidInput, match="failed"):
            study.tell(failed, 2.0)


class TestAdd:
    def test_a_data_frame_a_file_and_rows(self, tmp_path):
        frame = table()
        frame.to_csv(tmp_path / "past.csv", index=False)
        studies = [aw.Study(SPACE, seed=1) for _ in range(4)]
        studies[0].add(frame)
        studies[1].add(tmp_path / "past.csv")
        studies[2].add(str(tmp_path / "past.csv"))
        studies[3].add(frame.to_dict("records"))
        decisions = [study.ask().decision["order"] for study in studies]
        assert decisions == pytest.approx([decisions[0]] * 4, abs=1e-6)
        assert (studies[0].trials()["state"] == "complete").sum() == len(frame)

    def test_words_and_whole_numbers_from_a_file(self, tmp_path):
        space = aw.Space(wood=aw.Choice("oak", 7), saws=aw.Integer(1, 9), wet=aw.Context(aw.Choice(True, False)))
        (tmp_path / "past.csv").write_text("wood,saws,wet,value\noak,3,True,1.5\n7,4.0,False,2\n")
        study = aw.Study(space)
        study.add(tmp_path / "past.csv")
        assert [trial.decision for trial in study.history.trials] == [
            {"wood": "oak", "saws": 3},
            {"wood": 7, "saws": 4},
        ]
        assert [trial.context for trial in study.history.trials] == [{"wet": True}, {"wet": False}]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda f: f.rename(columns={"demand": "demnd"}), "lacks 'demand' and has unknown 'demnd'"),
            (lambda f: f.drop(columns="value"), "lacks 'value'"),
            (lambda f: f.assign(value=math.nan), "row 1"),
            (lambda f: f.assign(demand=[*f["demand"][:-1], 3.0]), "row 12"),
            (lambda f: f.assign(order="lots"), "row 1, column 'order'"),
            (lambda f: "nowhere.csv", "nowhere.csv"),
            (lambda f: 3, "Study.add(table=...)"),
            (lambda f: [1, 2], "named values"),
        ],
    )
    def test_all_or_nothing(self, change, said):
        study = aw.Study(SPACE)
        with pytest.raises(aw.InvalidInput) as caught:
            study.add(change(table()))
        assert said in str(caught.value)
        assert len(study.trials()) == 0

    def test_repeated_outcomes_in_a_row(self):
        study = aw.Study(SPACE)
        study.add({"order": 0.5, "demand": 0.2, "value": [1.0, 2.0]})
        assert study.history.observations.values.tolist() == [1.0, 2.0]

    def test_an_empty_table_changes_nothing(self):
        study = aw.Study(SPACE)
        assert study.add(table().iloc[:0]) == []
        assert study.ask().number == 0


class TestRecommend:
    @pytest.mark.slow
    def test_it_says_what_it_knows(self):
        study = run(aw.Study(SPACE, objective=aw.DRO(aw.TotalVariation(0.3)), seed=1), 20)
        best = study.recommend()
        low, high = best.interval
        assert low < best.value < high
        assert best.curve["radius"].iloc[0] == 0
        assert best.curve["value"].iloc[0] == pytest.approx(best.expected)
        assert best.curve["value"].is_monotonic_decreasing
        assert list(best.worst.columns) == ["demand", "believed", "worst"]
        assert (best.worst["worst"] - best.worst["believed"]).abs().sum() == pytest.approx(0.3, abs=1e-6)
        shifted = np.average(best.worst["demand"], weights=best.worst["worst"])
        assert shifted < np.average(best.worst["demand"], weights=best.worst["believed"])
        assert (best.distance, best.radius) == ("TotalVariation", 0.3)
        assert "order =" in str(best)

    @pytest.mark.slow
    def test_the_interval_covers_the_truth_about_as_often_as_it_says(self):
        law = aw.Finite([{"demand": d} for d in (0.1, 0.3, 0.6)])
        inside = 0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            study = aw.Study(SPACE, context=law, objective=aw.Expectation(), seed=seed, initial=20)
            for _ in range(12):
                trial = study.ask()
                o, d = trial.decision["order"], float(rng.choice([0.1, 0.3, 0.6]))
                study.tell(
                    trial, math.sin(3 * o) + d * math.cos(2 * o) + 0.1 * rng.standard_normal(), context={"demand": d}
                )
            best = study.recommend()
            o = best.decision["order"]
            truth = np.mean([math.sin(3 * o) + d * math.cos(2 * o) for d in (0.1, 0.3, 0.6)])
            inside += best.interval[0] <= truth <= best.interval[1]
        assert inside >= 12

    @pytest.mark.slow
    def test_another_objective_and_other_radii(self):
        study = run(aw.Study(SPACE, seed=1), 20)
        bold, timid = study.recommend(objective=aw.Expectation()), study.recommend(objective=aw.CVaR(0.1))
        assert timid.decision["order"] < bold.decision["order"]
        assert bold.expected > timid.expected
        assert study.recommend(radii=[0.0, 0.5]).curve["radius"].tolist() == [0.0, 0.5]

    def test_not_the_luckiest_trial(self):
        study = aw.Study(SPACE, objective=aw.Expectation())
        study.add(table(30))
        study.add([{"order": 1.9, "demand": 0.2, "value": 3.0}, {"order": 1.9, "demand": 0.2, "value": -9.0}])
        assert study.recommend().decision["order"] < 1.0

    def test_refuses_by_name(self):
        study = aw.Study(SPACE)
        with pytest.raises(aw.InvalidInput, match="at least one complete trial"):
            study.recommend()
        study.add(table())
        for wrong in (
            {"objective": "mean"},
            {"forecast": 3},
            {"radii": [-1.0]},
            {"radii": []},
            {"context": {"demand": 5}},
        ):
            with pytest.raises(aw.InvalidInput):
                study.recommend(**wrong)

    def test_it_looks_near_the_best_of_many_trials(self):
        """A narrow peak among many data is found again, wherever it lies."""
        rng = np.random.default_rng(2)
        space = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1), c=aw.Context(0, 1))
        points = np.concatenate([rng.uniform(0, 1, (150, 3)), rng.normal([0.93, 0.9, 0.5], 0.01, (4, 3))])
        values = [2.0 if k >= 150 else 0.0 for k in range(154)]
        study = aw.Study(space, objective=aw.Expectation(), surrogate=aw.GP(lengthscales=[0.02, 0.02, 1.0], noise=0.05))
        study.add(pd.DataFrame(points, columns=["x", "y", "c"]).assign(value=values))
        best = study.recommend().decision
        assert best["x"] == pytest.approx(0.93, abs=0.05)
        assert best["y"] == pytest.approx(0.9, abs=0.05)


class TestAwkwardData:
    @pytest.mark.parametrize("distance", [aw.MMD(0.1, lengthscale=0.3), aw.KL(0.1), aw.Wasserstein(0.1)], ids=repr)
    @pytest.mark.slow
    def test_a_target_that_is_hard_to_reach(self, distance):
        study = aw.Study(SPACE, context=aw.KDE(16), objective=aw.RobustSatisficing(-0.2, distance))
        rng = np.random.default_rng(4)
        for _ in range(6):
            trial = study.ask()
            order, demand = trial.decision["order"], float(rng.beta(2, 5))
            study.tell(trial, math.sin(5 * order) * demand - abs(order - demand), context={"demand": demand})
        assert math.isfinite(study.recommend().expected)

    @pytest.mark.parametrize(
        "rows",
        [
            [(0.5, 0.3, 1.0)],
            [(0.5, 0.3, 1.0)] * 8,
            [(o, 0.3, 2.0) for o in (0.1, 0.5, 0.9, 1.3, 1.8)],
            [(o, 0.3, o) for o in (0.1, 0.5, 0.9, 1.3, 1.8)],
            [(0.5, d, d) for d in (0.1, 0.2, 0.9)],
            [(o, d, 1e9 * (o - d)) for o, d in ((0.1, 0.2), (0.5, 0.9), (1.0, 0.1), (1.9, 0.4), (0.3, 0.3))],
            [(o, d, 1e9 + o - d) for o, d in ((0.1, 0.2), (0.5, 0.9), (1.0, 0.1), (1.9, 0.4), (0.3, 0.3))],
            [(o, d, 1e-9 * o) for o, d in ((0.1, 0.2), (0.5, 0.9), (1.0, 0.1), (1.9, 0.4), (0.3, 0.3))],
        ],
        ids=["one", "duplicates", "constant", "equal contexts", "equal decisions", "1e9", "1e9 offset", "1e-9"],
    )
    @pytest.mark.parametrize("acquisition", [aw.UCB(), aw.Thompson(64), aw.ExpectedImprovement(8, 32)], ids=repr)
    def test_the_study_stays_usable(self, rows, acquisition):
        study = aw.Study(SPACE, acquisition=acquisition, initial=1, seed=0)
        study.add([dict(zip(("order", "demand", "value"), row, strict=True)) for row in rows])
        for demand in (0.2, 0.7):
            trial = study.ask()
            study.tell(trial, rows[-1][2], context={"demand": demand})
        best = study.recommend()
        assert 0 <= best.decision["order"] <= 2
        assert all(map(math.isfinite, (best.value, best.expected, *best.interval)))

    @pytest.mark.slow
    def test_huge_and_zero_radii(self):
        for radius in (0.0, 1e6):
            for distance in (aw.TotalVariation, aw.ChiSquared, aw.KL, aw.MMD, aw.Wasserstein):
                study = aw.Study(SPACE, context=aw.KDE(16), objective=aw.DRO(distance(radius)), initial=1)
                study.add(table(6))
                study.ask()
                assert math.isfinite(study.recommend().value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: aw.Study(3), "Study(space=...)"),
        (lambda: aw.Study(aw.Space(c=aw.Context(0, 1))), "have a variable to decide"),
        (lambda: aw.Study(aw.Space(value=aw.Real(0, 1))), "not name a variable like a column"),
        (lambda: aw.Study(SPACE, direction="up"), "Study(direction=...)"),
        (lambda: aw.Study(SPACE, seed=-1), "Study(seed=...)"),
        (lambda: aw.Study(SPACE, initial=0), "Study(initial=...)"),
        (lambda: aw.Study(SPACE, threads=0), "Study(threads=...)"),
        (lambda: aw.Study(SPACE, context=aw.DRO(aw.KL(0.1))), "Study(context=...)"),
        (lambda: aw.Study(SPACE, objective=aw.KL(0.1)), "Study(objective=...)"),
        (lambda: aw.Study(SPACE, acquisition="ucb"), "Study(acquisition=...)"),
        (lambda: aw.Study(SPACE, surrogate="gp"), "BoTorch(build=...)"),
        (lambda: aw.Study(SPACE, surrogate=aw.GP), "not its class"),
        (lambda: aw.Study(SPACE, candidates=[{"order": 3}]), "decision order"),
        (
            lambda: aw.Study(SPACE, constraints=[aw.LinearConstraint({"order": 1}, lower=5)]),
            "constraints that leave none",
        ),
        (lambda: aw.Study(SPACE).ask(0), "Study.ask(n=...)"),
        (lambda: aw.Study(SPACE).ask(context={"demand": 2}), "context demand"),
        (lambda: aw.Study(SPACE).ask(forecast=[0.1]), "Study.ask(forecast=...)"),
        (lambda: aw.Study(SPACE).ask(context={"demand": 0.1}, forecast=aw.KDE()), "not both"),
    ],
)
def test_refuses_by_name(make, said):
    with pytest.raises(aw.InvalidInput) as caught:
        make()
    assert said in str(caught.value)


def test_trials_can_be_added_to_another_study():
    study = aw.Study(SPACE_OF_ADDING, seed=1)
    study.add([{"order": 0.2, "demand": 0.3, "value": 1.0}, {"order": 0.4, "demand": 0.5, "value": 2.0}])
    trials = study.trials()
    again = aw.Study(SPACE_OF_ADDING, seed=1)
    again.add(trials)
    again.add(trials.iloc[0])
    again.add(trials.reset_index(), again=True)
    assert again.trials()["value"].tolist() == [1.0, 2.0, 1.0, 1.0, 2.0]
    study.ask()
    with pytest.raises(aw.InvalidInput, match=r"row 3, column 'state'` must be of a complete trial.*got 'pending'"):
        again.add(study.trials())
    assert len(again.trials()) == 5


SPACE_OF_ADDING = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: aw.Study(aw.Space(x=aw.Real(0, 1)), initial=10**9),
        lambda: aw.Study(aw.Space(x=aw.Real(0, 1)), seed=10**20),
        lambda: aw.KDE(10**9),
        lambda: aw.Thompson(features=10**9),
    ],
)
def test_counts_have_upper_limits(make):
    with pytest.raises(aw.InvalidInput, match="be at most"):
        make()
