"""`allweather check`: the verdict and the importance of variables."""

import re

import pytest

import allweather as aw

DAYS = "order,demand,value\n20,30,80\n50,30,20\n35,30,95\n30,40,120\n60,55,195\n10,30,40\n40,20,-20\n"
URL = "sqlite:///allweather.db"


@pytest.fixture
def fed(kiosk, folder):
    (folder / "days.csv").write_text(DAYS)
    kiosk("add", "days.csv")
    return kiosk


def test_the_terminal_and_python_see_the_same_check(fed):
    found = aw.Study.load(URL, "kiosk").check()
    assert fed("check", "--json").document == found.to_dict()
    verdict, *table = fed("check").out.splitlines()
    assert verdict == found.verdict
    rows = re.findall(r"(\w+)\s*│\s*(\d+%)", "\n".join(table))
    assert rows == [(name, f"{share:.0%}") for name, share in found.ranked]
    assert {name for name, _ in rows} == {"order", "demand"}


def test_few_outcomes_and_none(kiosk, folder):
    assert "at least one complete trial" in kiosk("check", code=2).err
    (folder / "days.csv").write_text("".join(DAYS.splitlines(keepends=True)[:4]))
    kiosk("add", "days.csv")
    assert kiosk("check").out == "Too few outcomes to check the model: at least 5 are needed.\n"
    assert kiosk("check", "--json").document["explained"] is None


def test_every_outcome_is_checked(terminal, folder):
    (folder / "oven.toml").write_text(
        """
[surrogate]
name = "gp"
lengthscales = 0.5
noise = 0.001
[variables]
heat = { lower = 0, upper = 1 }
[outcomes]
yield = "maximize"
purity = { name = "at-least", threshold = 0.5 }
"""
    )
    rows = "".join(f"{h / 5},{h / 5 + 0.2},{1 - h * h / 30}\n" for h in range(6))
    (folder / "runs.csv").write_text(f"heat,yield,purity\n{rows}")
    terminal("init", "oven.toml")
    terminal("add", "runs.csv")
    lines = [line for line in terminal("check").out.splitlines() if ": The model predicts" in line]
    assert [line.partition(":")[0] for line in lines] == ["yield", "purity"]
    assert terminal("check", "--json").document["outcomes"]["purity"]["explained"] > 0.5
    assert terminal("check", "--outcome", "purity").out.startswith("The model predicts")
