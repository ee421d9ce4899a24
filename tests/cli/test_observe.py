"""Studies of a simulator from the command line."""

import pytest
from tests.cli.conftest import KIOSK

from allweather.cli.subprocesses import environment
from allweather.trials import Trial

SIMULATED = KIOSK.replace('name = "kiosk"', 'name = "kiosk"\nsimulator = "largest-deviation"\ninitial = 1', 1)


@pytest.fixture
def simulated(terminal, folder):
    (folder / "kiosk.toml").write_text(SIMULATED)
    (folder / "seen.csv").write_text("day,sold\n1,20\n2,30\n3,25\n")
    terminal("init", "kiosk.toml")
    return terminal


def test_contexts_are_observed_and_then_chosen(simulated):
    assert "observe_contexts" in simulated("ask", code=2).err
    assert simulated("observe", "seen.csv", "--column", "demand=sold", "--json").document == {"observed": 3}
    said = simulated("ask").out
    assert "with demand" in said
    assert "tell 0 VALUE\n" in said
    assert simulated("tell", 0, 12.5, "--json").document["trial"]["state"] == "complete"


def test_what_is_wrong_is_named(simulated, folder):
    assert "seen.csv" in simulated("observe", "seen.csv", code=2).err
    (folder / "none.csv").write_text("demand\n")
    assert "no rows" in simulated("observe", "none.csv", code=2).err


def test_commands_read_the_context():
    found = environment(Trial(0, {"order": 0.5}, {"demand": 0.25}), "kiosk")
    assert (found["AW_order"], found["AW_demand"]) == ("0.5", "0.25")
