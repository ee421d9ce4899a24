"""`allweather policy`: the best decision for each known context."""

import pytest

import allweather as aw

DAYS = "order,demand,value\n20,30,80\n50,30,20\n35,30,95\n30,40,120\n60,55,195\n10,30,40\n40,20,-20\n"


@pytest.fixture
def fed(kiosk, folder):
    (folder / "days.csv").write_text(DAYS)
    kiosk("add", "days.csv")
    return kiosk


def test_the_terminal_and_python_have_the_same_policy(fed, folder):
    (folder / "contexts.csv").write_text("demand; \n20,5;\n50;\n")
    found = fed("policy", "--contexts", "contexts.csv", "--json").document
    rows = [{"demand": 20.5}, {"demand": 50.0}]
    assert found == aw.Study.load("sqlite:///allweather.db", "kiosk").policy(rows).to_dict()
    assert found["rows"][0]["order"] < found["rows"][1]["order"]


def test_a_policy_of_what_is_no_context_is_refused(kiosk, folder):
    assert "policy VARIABLE` must be a context: demand, got 'order'" in kiosk("policy", "order", code=2).err
    (folder / "contexts.csv").write_text("demand,order\n20,3\n")
    refused = kiosk("policy", "--contexts", "contexts.csv", code=2).err
    assert "contexts.csv: header` must name contexts (demand), got 'order'" in refused
    (folder / "contexts.csv").write_text("demand\nmany\n")
    refused = kiosk("policy", "--contexts", "contexts.csv", code=2).err
    assert "contexts.csv: `line 2, column 'demand'` must be a number" in refused
