"""Several outcomes on the command line."""

import pytest

from allweather.cli.tell import read_errors, read_values
from allweather.errors import InvalidInput

REACTOR = """
name = "reactor"
initial = 2
[surrogate]
name = "gp"
lengthscales = 0.5
noise = 0.001
[context]
name = "kde"
samples = 16
[variables]
heat = { lower = 0, upper = 1 }
lot = { lower = 0, upper = 1, context = true }
[outcomes]
yield = "maximize"
purity = { name = "at-least", threshold = 0.5, probability = 0.9 }
"""


def test_names_and_values():
    assert read_values(["yield=1", "yield=2", "purity=0.5"], ["yield", "purity"])["yield"] == [1.0, 2.0]
    assert read_errors(["yield=0.1"], ["yield", "purity"]) == {"yield": 0.1}
    assert read_errors(["0.1"], []) == 0.1
    assert read_values([], ["yield"]) is None
    for wrong in ("93.1", "taste=1", "yield=much"):
        with pytest.raises(InvalidInput):
            read_values([wrong], ["yield", "purity"])


def test_ask_tell_and_recommend(terminal, folder):
    (folder / "reactor.toml").write_text(REACTOR)
    terminal("init", "reactor.toml")
    assert "allweather tell 0 yield=... purity=... --context lot=..." in terminal("ask").out
    told = terminal("tell", 0, "yield=0.4", "--sd", "yield=0.1", "--context", "lot=0.5", "--json").document["trial"]
    assert told["state"] == "pending"
    assert told["results"] == {"yield": {"values": [0.4], "sds": [0.1]}, "purity": {}}
    assert "complete" in terminal("tell", 0, "purity=0.9").out
    terminal("ask")
    assert "purity failed" in terminal("tell", 1, "yield=0.1", "--failed-outcome", "purity", "--context", "lot=0.4").out
    assert "purity 0.8" in terminal("correct", 1, "purity=0.8").out
    (folder / "past.csv").write_text("heat,lot,yield,purity\n0.2,0.5,0.3,0.8\n0.9,0.4,0.9,0.1\n")
    terminal("add", "past.csv")
    assert "yield 0.3, purity 0.8" in terminal("show").out
    best = terminal("recommend", "--json").document
    assert {"yield", "purity"} == {each["outcome"] for each in best["outcomes"]}
    assert 0 <= best["feasible"] <= 1
    assert "VALUE" in terminal("tell", 0, "3", code=2).err
