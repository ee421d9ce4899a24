import pytest

from allweather import InvalidInput, method, methods
from allweather.methods import registry
from allweather.methods.composition import Composition


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_METHODS", dict(registry._known()))

    @registry.named
    def my_own(width: float = 2.0) -> Composition:
        """A method of one's own.

        With more to say about it.
        """
        return method("gp-ucb", width=width)

    return my_own


def test_a_function_becomes_the_method_of_its_name(registered):
    assert methods()["my-own"] == "A method of one's own."
    assert method("my-own", width=3.0).acquisition.width == 3.0
    assert registered(1.0).acquisition == method("gp-ucb", width=1.0).acquisition


def test_every_method_has_a_description_and_they_come_by_name():
    assert list(methods()) == sorted(methods())
    assert all(said.endswith(".") for said in methods().values())


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(InvalidInput, match="did you mean 'wdrbo'"):
        method("wdrb")
    for name in (None, 7, ["wdrbo"]):
        with pytest.raises(InvalidInput, match=r"method\(name=\.\.\.\)"):
            method(name)


def test_an_unknown_setting_names_those_there_are():
    with pytest.raises(InvalidInput) as error:
        method("sbo-kde", wide=2.0)
    assert "width" in error.value.remedy
    assert "wide" in error.value.where
