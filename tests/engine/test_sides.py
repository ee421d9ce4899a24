import numpy as np
import pytest

import allweather as aw
from allweather.acquisition.optimize import Search
from allweather.engine.sides import Side, left_alone, make_sides, within
from allweather.methods.composition import Composition
from allweather.trials import History, Trial

SPACE = aw.Space(a=aw.Real(0, 1), wood=aw.Choice("oak", "pine"), b=aw.Real(-1, 1), rain=aw.Context(0, 1))


def sides_of(*sets, **words):
    control = aw.Control([aw.ControlSet(names, 1.0) for names in sets]) if sets else None
    outcomes = {"value": aw.Maximize()}
    given = {"constraints": (), "candidates": None, **words}
    return make_sides(Composition(), SPACE, outcomes, control, given["constraints"], given["candidates"], "cpu")


def side_by(*names) -> Side:
    return sides_of(names)[0]


def test_without_control_all_decisions_are_free_and_nothing_is_rearranged():
    (only,) = sides_of()
    assert only.control.variables == ("a", "wood", "b")
    assert (only.only, only.cost, only.left, only.order) == (True, None, (), None)
    assert isinstance(only.search, Search)


def test_controlled_variables_are_decisions_and_all_others_contexts():
    side = side_by("b")
    assert list(side.space.decisions) == ["b"]
    assert side.left == tuple(side.space.contexts)
    assert set(side.left) == {"a", "wood", "rain"}


def test_the_order_takes_columns_of_all_variables_to_the_split():
    names = {0: "a", 1: "oak", 2: "pine", 3: "b", 4: "rain"}
    assert [names[place] for place in side_by("b").order] == ["b", "a", "oak", "pine", "rain"]
    assert sorted(side_by("a", "wood").order) == [0, 1, 2, 3, 4]


def test_joint_points_go_back_to_the_order_of_the_fit():
    side = side_by("b")
    points = SPACE.joint.encode([{"a": 0.5, "wood": "pine", "b": 0.5, "rain": 0.25}])
    assert side.fitted_order(points[:, list(side.order)]).tolist() == points.tolist()


def test_candidates_keep_the_columns_of_their_set():
    candidates = SPACE.decisions.encode([{"a": 0.1, "wood": "oak", "b": 0.0}, {"a": 0.1, "wood": "pine", "b": 0.5}])
    (one,) = sides_of(("a",), candidates=candidates)
    assert one.search.candidates.tolist() == [[0.1]]


def test_a_history_of_all_variables_as_it_looks_under_a_split():
    trials = (
        Trial(0, {"a": 0.5, "wood": "pine"}, {"b": 0.0, "rain": 0.25}, (2.0,)),
        Trial(1, {"b": 1.0}, {"a": 0.1, "wood": "oak", "rain": 0.5}, (3.0,)),
        Trial(2, {"b": 0.0}, None),
    )
    whole = History(SPACE, 1, trials, whole=SPACE.joint)
    data = side_by("b").observations(whole)
    assert data.decisions.tolist() == [[0.5], [1.0]]
    assert data.contexts.tolist() == [[0.5, 0.0, 1.0, 0.25], [0.1, 1.0, 0.0, 0.5]]
    assert data.values.tolist() == [2.0, 3.0]
    assert side_by("b").contexts_seen(whole) == 1
    assert side_by("a", "wood", "b").contexts_seen(whole) == 2


def test_joint_observations_count_as_they_are_once_there_are_enough():
    box = aw.Space(a=aw.Context(0, 1), b=aw.Context(0, 1)).contexts
    rows = [{"a": 0.1 * i, "b": 0.2 * i} for i in range(5)]
    np.testing.assert_allclose(left_alone(rows, box), [[0.1 * i, 0.2 * i] for i in range(5)])


def test_before_that_values_are_put_together_and_a_variable_never_seen_is_uniform():
    box = aw.Space(a=aw.Context(0, 1), b=aw.Context(aw.Integer(0, 4))).contexts
    seen = left_alone([{"a": 0.1}, {"a": 0.2}, {"a": 0.3}], box)
    assert sorted(seen[:, 0].tolist()) == pytest.approx([0.1, 0.2, 0.3])
    assert set((4 * seen[:, 1]).tolist()) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    mixed = left_alone([{"a": 0.1}, {"a": 0.2}, {"b": 3}], box)
    assert mixed.tolist() == [[0.2, 0.75]]  # as many rows as the variable that was seen least, its newest
    assert left_alone([], box).shape == (64, 2)


def test_constraints_belong_to_the_sets_that_control_all_of_their_variables():
    limit = aw.LinearConstraint({"a": 1.0, "b": 1.0}, upper=1.0)
    assert within([limit], aw.ControlSet(("a", "b"), 1.0)) == (limit,)
    assert within([limit], aw.ControlSet(("wood",), 1.0)) == ()
    with pytest.raises(aw.InvalidInput, match="depend on controlled variables only"):
        within([limit], aw.ControlSet(("a",), 1.0))
