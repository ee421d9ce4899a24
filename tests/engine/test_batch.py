import math

import torch
from tests.acquisition.beliefs import belief

import allweather as aw
from allweather.acquisition.optimize import Search
from allweather.contexts import Reference
from allweather.engine.batch import PendingPenalty, Unresolved, conditioned, keep_apart, unresolved
from allweather.engine.sides import make_sides
from allweather.methods.composition import Composition
from allweather.trials import History, Trial

LINE = Search(aw.Space(x=aw.Real(0, 1)).decisions)


def peak(decisions):
    return -((decisions[:, 0] - 0.5) ** 2)


def at(*values):
    return torch.tensor(values, dtype=torch.float64)[:, None]


def seeded():
    return torch.Generator().manual_seed(0)


def test_a_decision_that_nobody_tries_stays():
    decision = at(0.5)[0]
    for pending in (at(), at(0.2, 0.502)):
        assert keep_apart(decision, pending, peak, LINE, seeded()) is decision


def test_a_decision_that_is_pending_is_moved_to_the_best_one_elsewhere():
    moved = keep_apart(at(0.5)[0], at(0.5005), peak, LINE, seeded()).item()
    assert 0.02 < abs(moved - 0.5) < 0.2


def test_the_penalty_is_as_high_as_the_range_of_the_score():
    spread = at(0.0, 0.25, 0.5)
    penalised = PendingPenalty.of(peak, at(0.5), spread)
    assert penalised.height == 0.25
    assert penalised(at(0.5)).item() == -0.25
    torch.testing.assert_close(penalised(at(0.0)), peak(at(0.0)))


def test_a_flat_score_is_penalised_too():
    flat = PendingPenalty.of(lambda d: torch.zeros(len(d)), at(0.5), at(0.1, 0.9))
    assert flat(at(0.5)).item() == -1
    never = PendingPenalty.of(lambda d: torch.full((len(d),), -math.inf), at(0.5), at(0.1, 0.9))
    assert never.height == 1


def test_pending_trials_narrow_the_belief_and_failed_ones_lower_it():
    before = belief()
    point = torch.tensor([[0.31, 0.47]], dtype=torch.float64)[:, : before.observations.joint.shape[1]]
    columns, worst = before.observations.decisions.shape[1], before.observations.values.min()
    decision, context = point[:, :columns], point[:, columns:]

    def moments(posterior):
        mean, sd = posterior.field(context)(decision)
        return mean.item(), sd.item()

    assert conditioned(before.surrogate, Unresolved(point[:0], point[:0]), worst) is before.surrogate
    mean, sd = moments(before.surrogate)
    pending_mean, pending_sd = moments(conditioned(before.surrogate, Unresolved(point, point[:0]), worst))
    assert abs(pending_mean - mean) < 1e-6
    assert pending_sd < sd
    failed_mean, _ = moments(conditioned(before.surrogate, Unresolved(point[:0], point), worst))
    assert failed_mean < mean


def test_contexts_of_pending_trials_are_drawn_once_for_each_occasion():
    space = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
    trials = [
        Trial(0, {"x": 0.1}, occasion="Mon"),
        Trial(1, {"x": 0.2}, occasion="Mon"),
        Trial(2, {"x": 0.3}, {"c": 0.5}),
    ]
    sides = make_sides(Composition(), space, {"value": aw.Maximize()}, None, (), None, "cpu")
    law = Reference.checked([[0.2], [0.7], [0.9]], [0.3, 0.3, 0.4])
    found = unresolved(History(space, 1, tuple(trials)), sides, lambda side: law, seeded())
    assert found.pending[:, 0].tolist() == [0.1, 0.2, 0.3]
    assert found.pending[0, 1] == found.pending[1, 1]
    assert found.pending[2, 1] == 0.5
    assert found.failed.shape == (0, 2)
