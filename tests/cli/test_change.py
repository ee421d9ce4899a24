"""The command that changes a study."""

import sys

import pytest


def test_bounds_objective_and_nothing(kiosk):
    assert (
        kiosk("change", "--upper", "order=200", "--lower", "order=-5").out
        == "order lower: 0 -> -5.0\norder upper: 100 -> 200.0\n"
    )
    assert "order upper: 100" not in kiosk("change", "--upper", "order=200").out
    assert kiosk("change", "--upper", "order=200").out == "Nothing is different.\n"
    found = kiosk("change", "--radius", "0.4", "--json").document
    assert found == {"changes": [{"name": "objective distance radius", "before": 0.2, "after": 0.4}]}
    assert "cvar(level=0.1)" in kiosk("change", "--level", "0.1").out
    assert "decision, -5 to 200" in kiosk("show").out
    assert kiosk("ask").code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name something to change"),
        (("--upper", "odrer=3"), "did you mean 'order'"),
        (("--upper", "order"), "name=value"),
        (("--upper", "order=-3"), "lower below upper"),
        (("--option", "order=oak"), "has bounds and no options"),
        (("--budget", "3"), "control sets"),
        (("--cost", "3"), "NAMES=X"),
    ],
)
def test_what_does_not_fit_is_refused(kiosk, words, says):
    assert says in kiosk("change", *words, code=2).err


def test_bounds_need_no_torch(kiosk, monkeypatch):
    monkeypatch.setitem(sys.modules, "allweather.study.study", None)  # importing it would fail
    assert "order upper: 100 -> 150.0" in kiosk("change", "--upper", "order=150").out


def test_earlier_trials_are_told_by_the_bounds_they_had(kiosk):
    kiosk("ask")
    kiosk("change", "--upper", "order=1", "--upper", "demand=50")
    assert "order = 80" in kiosk("tell", 0, 3, "--decision", "order=80", "--context", "demand=60").out
    kiosk("ask")
    assert "[0, 1]" in kiosk("tell", 1, 3, "--decision", "order=80", "--context", "demand=6", code=2).err
