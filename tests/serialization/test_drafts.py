import pytest

from allweather import DRO, TotalVariation
from allweather.errors import InvalidInput
from allweather.serialization.drafts import draft_spec
from allweather.study import Spec

GLUE = {"name": "glue", "0:name": "hardener", "0:lower": "5", "0:upper": "20"}


def test_a_draft_is_a_spec():
    entered = {**GLUE, "2:name": "humidity", "2:role": "context", "2:kind": "integer", "2:lower": "20", "2:upper": "80"}
    fields = draft_spec({**entered, "objective": "tail"}, 4)
    assert fields["objective"] == {"name": "cvar", "level": 0.2}
    assert list(Spec(fields).space.contexts) == ["humidity"]
    assert "objective" not in draft_spec({**GLUE, "objective": "tail"}, 1)
    assert draft_spec(entered, 4)["objective"] == "expectation"
    shifted = Spec(draft_spec({**entered, "objective": "shift"}, 4)).composition.objective
    assert shifted == DRO(TotalVariation(0.2))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"1:name": "hardener", "1:lower": "1", "1:upper": "2"}, "variables` must have different names"),
        ({"1:lower": "1"}, "variable 2` must have a name"),
        ({"1:name": "filler", "1:kind": "choice", "1:options": "chalk"}, "options of filler` must be at least two"),
        ({"1:name": "pots", "1:kind": "integer", "1:lower": "1.5", "1:upper": "2"}, "must be a whole number"),
        ({"objective": "luck"}, "objective` must be one of"),
    ],
)
def test_a_draft_that_is_none_is_named(changed, said):
    with pytest.raises(InvalidInput, match=said):
        draft_spec({**GLUE, **changed}, 2)
