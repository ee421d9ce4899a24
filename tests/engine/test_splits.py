import numpy as np
import pytest

import allweather as aw
from allweather.engine.splits import Split, SplitHistory, columns_of, left_alone, within
from allweather.trials import History, Trial

SPACE = aw.Space(a=aw.Real(0, 1), wood=aw.Choice("oak", "pine"), b=aw.Real(-1, 1), rain=aw.Context(0, 1))


def split_by(*names):
    return Split.of(aw.ControlSet(names, 1.0), SPACE)


def test_controlled_variables_are_decisions_and_all_others_contexts():
    split = split_by("b")
    assert list(split.space.decisions) == ["b"]
    assert split.left == tuple(split.space.contexts)
    assert set(split.left) == {"a", "wood", "rain"}


def test_the_order_takes_columns_of_all_variables_to_the_split():
    names = {0: "a", 1: "oak", 2: "pine", 3: "b", 4: "rain"}
    assert [names[place] for place in split_by("b").order] == ["b", "a", "oak", "pine", "rain"]
    assert sorted(split_by("a", "wood").order) == [0, 1, 2, 3, 4]
    assert columns_of(["wood", "b"], SPACE.decisions) == [1, 2, 3]


def test_a_history_of_all_variables_as_it_looks_under_a_split():
    trials = (
        Trial(0, {"a": 0.5, "wood": "pine"}, {"b": 0.0, "rain": 0.25}, (2.0,)),
        Trial(1, {"b": 1.0}, {"a": 0.1, "wood": "oak", "rain": 0.5}, (3.0,)),
        Trial(2, {"b": 0.0}, None),
    )
    whole = History(SPACE, 1, trials, whole=SPACE.joint)
    data = SplitHistory.under(split_by("b"), whole).observations
    assert data.decisions.tolist() == [[0.5], [1.0]]
    assert data.contexts.tolist() == [[0.5, 0.0, 1.0, 0.25], [0.1, 1.0, 0.0, 0.5]]
    assert data.values.tolist() == [2.0, 3.0]
    assert SplitHistory.under(split_by("b"), whole).contexts_seen == 1
    assert SplitHistory.under(split_by("a", "wood", "b"), whole).contexts_seen == 2


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
