import numpy as np
import pytest
import torch

import allweather as aw
from allweather.engine.batch import unresolved

SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
WEEK = (0.2, 0.3, 0.25, 0.4, 0.6, 0.35, 0.55)


def laws(study):
    engine, history = study._engine, study.history
    parts, seen = engine.sides[0].main, history.observations.seen
    reference = parts.context.reference(seen, 1, torch.Generator().manual_seed(0))
    draws = parts.context.resample(seen, reference, 8, torch.Generator().manual_seed(0))
    return reference, draws, history.occasions_with(["demand"])


def test_four_runs_a_day_for_a_week_are_seven_days():
    row = {"order": 0.5, "value": 1.0}
    daily, alone = aw.Study(SPACE), aw.Study(SPACE)
    daily.add([{**row, "demand": each, "occasion": f"day {day}"} for day, each in enumerate(WEEK) for _ in range(4)])
    alone.add([{**row, "demand": each} for each in WEEK])
    (points, weights), draws, seen = laws(daily)
    (points_alone, weights_alone), draws_alone, seen_alone = laws(alone)
    assert (seen, seen_alone, len(daily.trials())) == (7, 7, 28)
    assert torch.equal(points, points_alone)
    assert torch.equal(weights, weights_alone)
    assert torch.equal(draws, draws_alone)


@pytest.mark.parametrize("place", [None, "sqlite:///{}/s.db"])
def test_a_batch_of_one_occasion_is_told_its_context_once(tmp_path, place):
    study = aw.Study(SPACE, storage=place and place.format(tmp_path), initial=2)
    trials = study.ask(3, same_context=True)
    assert {trial.occasion for trial in trials} == {"ask 0"}
    assert study.tell(trials[0], 1.0).state == "pending"
    assert study.tell(trials[1], 2.0, context={"demand": 0.4}).state == "complete"
    assert list(study.trials()["state"]) == ["complete", "complete", "pending"]
    assert study.tell(trials[2], 3.0).context == {"demand": 0.4}
    assert study.history.occasions_with(["demand"]) == 1
    (other,) = study.ask(1, same_context=True)
    assert other.occasion == "ask 3"
    assert study.tell(other, 1.0, context={"demand": 0.5}, occasion="ask 3").state == "complete"
    if place:
        assert aw.Study.load(place.format(tmp_path)).trials().equals(study.trials())


def test_pending_trials_of_one_occasion_share_their_unknown_context():
    study = aw.Study(SPACE, initial=2)
    study.add([{"order": 0.1 * n, "demand": each, "value": each} for n, each in enumerate(WEEK)])
    study.ask(4, same_context=True)
    study.ask()
    reference = study._engine.sides[0].main.context.reference(study.history.observations.seen, 1, torch.Generator())
    source = torch.Generator().manual_seed(1)
    pending = unresolved(study.history, study._engine.sides, lambda _: reference, source).pending
    assert len(pending[:4, 1].unique()) == 1
    assert pending[4, 1] != pending[0, 1]


def test_known_and_unknown_errors_mix_and_are_restored():
    study = aw.Study(SPACE, seed=1, initial=3)
    for number, demand in enumerate(WEEK):
        study.tell(study.ask(), demand - 0.1 * number, sd=[None, 0.3][number % 2], context={"demand": demand})
    assert np.isnan(study.trials()["sd"]).tolist() == [True, False] * 3 + [True]
    again = aw.Study(SPACE, seed=1, initial=3)
    again.restore([study.trial(number) for number in range(7)])
    assert again.ask().decision == study.ask().decision
    study.correct(1, sd=0.01)
    assert study.trials()["sd"][1] == 0.01


def test_a_file_as_people_have_it(tmp_path):
    text = "Date; order ;Demand [l];yield %;by\n2026-05-04; 0,5;0,25;1,5;A\n2026-05-04;0,6;0,25;;B\n"
    (tmp_path / "runs.csv").write_text(text)
    study = aw.Study(SPACE)
    columns = {"value": "yield %", "occasion": "Date"}
    added = study.add(tmp_path / "runs.csv", columns=columns, blank="failed")
    assert [trial.state for trial in added] == ["complete", "failed"]
    assert added[0].occasion == added[1].occasion == "2026-05-04"
    with pytest.raises(aw.InvalidInput, match=r"line 3, column 'yield %'.*have an outcome.*blank"):
        study.add(tmp_path / "runs.csv", columns=columns)
    (late,) = study.add([{"order": 0.1, "demand": None, "value": None}], blank="pending")
    assert study.tell(late, 3.0, context={"demand": 0.5}).state == "complete"
    with pytest.raises(aw.InvalidInput, match="row 1, column 'demand'"):
        study.add([{"order": 0.1, "demand": None, "value": 3.0}], blank="pending")


def test_a_failed_trial_gets_the_context_of_its_occasion():
    study = aw.Study(aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)), seed=1)
    failed, other = study.ask(2, same_context=True)
    study.tell(failed, failed=True, reason="the pump broke")
    study.tell(other, 1.0, context={"demand": 0.25})
    after = study.trial(failed.number)
    assert (after.state, after.context, after.reason) == ("failed", {"demand": 0.25}, "the pump broke")


def test_reasons_are_texts_of_failures():
    study = aw.Study(aw.Space(order=aw.Real(0, 1)), seed=1)
    trial = study.ask()
    for words in ({"value": 1.0, "reason": "none"}, {"failed": True, "reason": 3}):
        with pytest.raises(aw.InvalidInput, match=r"Study.tell\(reason=...\)"):
            study.tell(trial, **words)
