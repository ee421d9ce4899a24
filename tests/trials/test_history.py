import pytest
import torch

import allweather as aw
from allweather.engine.batch import unresolved
from allweather.trials.history import History

SPACE = aw.Space(x=aw.Real(0, 2), c=aw.Context(0, 10))


def history():
    trials = (
        aw.Trial(0, {"x": 1.0}, {"c": 5.0}, (3.0, 4.0)),
        aw.Trial(1, {"x": 0.5}),
        aw.Trial(2, {"x": 0.2}, {"c": 1.0}),
        aw.Trial(3, {"x": 0.4}, {"c": 2.0}, failed=True),
        aw.Trial(4, {"x": 2.0}, None, (1.0,)),
    )
    return History(SPACE, -1, trials)


def test_observations_are_what_is_complete_and_contexts_what_was_seen():
    data = history().observations
    assert data.values.tolist() == [-3.0, -4.0]
    assert data.decisions.tolist() == [[0.5], [0.5]]
    assert data.seen.tolist() == [[0.5], [0.1], [0.2]]


def test_unresolved_trials_take_their_context_or_a_likely_one():
    reference = aw.Reference.checked([[0.9]], [1.0])
    sides = aw.Study(SPACE, direction="minimize")._engine.sides
    pending, failed = unresolved(history(), sides, lambda _: reference, torch.Generator().manual_seed(0))
    assert pending.tolist() == [[0.25, 0.9], [0.1, 0.1], [1.0, 0.9]]
    assert failed.tolist() == [[0.2, 0.2]]


def test_every_change_makes_a_new_history():
    before = history()
    after = before.told(before.find(1).told({"c": 3.0}, (7.0,)))
    assert before.trials[1].state == "pending"
    assert after.trials[1].state == "complete"
    assert (before.revision, after.revision, after.asked(aw.Trial(5, {"x": 0.0})).revision) == (0, 1, 1)
    with pytest.raises(aw.InvalidInput, match="the number of a trial, 0 to 4"):
        before.find(9)
