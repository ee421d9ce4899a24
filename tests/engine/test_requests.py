import pytest

import allweather as aw
from allweather.engine import Situation
from allweather.engine.factory import build_engine
from allweather.engine.requests import propose, view_posterior
from allweather.study import Spec
from allweather.trials import History, Trial

SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
QUICK = Spec.of(SPACE, context=aw.KDE(16), objective=aw.Expectation(), acquisition=aw.UCB(1.0), seed=3)


def test_each_proposal_sees_those_before_it():
    trials = propose(build_engine(QUICK), History(SPACE, 1), 4, Situation(), None)
    assert [trial.number for trial in trials] == [0, 1, 2, 3]
    assert len({trial.decision["order"] for trial in trials}) == 4
    known = propose(build_engine(QUICK), History(SPACE, 1), 1, Situation(), {"demand": 0.5})
    assert known[0].context == {"demand": 0.5}


def test_a_view_needs_an_outcome_and_an_objective():
    engine, empty = build_engine(QUICK), History(SPACE, 1)
    with pytest.raises(aw.InvalidInput, match=r"`Study\.recommend\(\)` needs at least one complete trial"):
        view_posterior(engine, empty, Situation(), None, "Study.recommend")
    one = empty.added([Trial(0, {"order": 0.5}, {"demand": 0.5}, (1.0,), asked=False)])
    with pytest.raises(aw.InvalidInput, match=r"Study\.outlook\(objective=\.\.\.\)"):
        view_posterior(engine, one, Situation(), "mean", "Study.outlook")
    assert set(view_posterior(engine, one, Situation(), aw.WorstCase(), "Study.outlook").decision) == {"order"}
