"""Spaces proposed for tables."""

import pandas as pd
import pytest

import allweather as aw
from allweather.space.proposal import Proposal, proposal_tables, split_unit

REMARK = "a remark, a name or a date; runs of one day may share it as their occasion"
TABLE = (
    "date;Dose rate (mg/h);wood;Temp (°C);Temp (°F);load [%];flow;always;note;yield (%)\n"
    "02.03.;0,5;oak;20;68;10;0,001;7;ok;11,2\n"
    "03.03.;1,25;ash;25;77;30;0,1;7;loud;12\n"
    "04.03.;2,75;oak;35;95;95;20;7;dark;n/a\n"
    "05.03.;1.234,5;ash;30;86;50;3;7;;9\n"
    "06.03.;n/a;oak;20;68;20;5;7;wet;8\n"
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "days.csv"
    path.write_bytes(TABLE.encode("cp1252"))
    return path


def test_names_kinds_bounds_and_options_follow_from_the_cells(file):
    proposal = Proposal.of(file, contexts=["load"], outcome="yield")
    assert proposal.variables == {
        "Dose rate": aw.Real(0.5, 2000, log=True),
        "wood": aw.Choice("oak", "ash"),
        "Temp (°C)": aw.Real(20, 35),
        "Temp (°F)": aw.Real(68, 95),
        "load": aw.Context(aw.Real(0, 100)),
        "flow": aw.Real(0.001, 20, log=True),
    }
    assert {each.name: each.reason for each in proposal.columns} == {
        "date": f"5 different texts in 5 rows: {REMARK}",
        "Dose rate": "numbers from 0.5 to 1234.5, over orders of magnitude",
        "wood": "2 different texts in 5 rows",
        "Temp (°C)": "numbers in steps of 5 from 20 to 35",
        "Temp (°F)": "numbers in steps of 9 from 68 to 95",
        "load": "numbers in steps of 5 from 10 to 95, with a margin",
        "flow": "numbers from 0.001 to 20, over orders of magnitude",
        "always": "always 7: what does not vary cannot be learned about",
        "note": f"4 different texts in 4 rows: {REMARK}",
    }
    assert proposal.renamed == {"value": "yield (%)"}
    assert proposal.space.variables["Dose rate"].unit == "mg/h"


def test_a_study_takes_the_table_that_its_space_is_from(file):
    space = aw.Space.from_table(file, contexts=["load [%]"], outcome="yield (%)")
    study = aw.Study(space, seed=1)
    added = study.add(file, columns={"value": "yield"}, blank="failed", invalid="skip")
    assert [trial.state for trial in added] == ["complete", "complete", "failed", "complete"]
    assert 0.5 <= study.ask().decision["Dose rate"] <= 2000


def test_the_tables_make_the_same_space(file):
    from allweather.study import Spec

    proposal = Proposal.of(file, contexts=["load"], outcome="yield")
    assert Spec({"variables": dict(proposal_tables(proposal))}).space == proposal.space


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "name the column of the outcome: date, Dose rate"),
        ({"outcome": "yeild"}, "outcome=.*name columns of the table: date"),
        ({"outcome": "yield", "contexts": ["date"]}, "names 'date', which is no variable: 5 different texts"),
        ({"outcome": "yield", "contexts": ["yield"]}, "not name the outcome"),
        ({"outcome": "yield", "contexts": "load"}, "be a list of names"),
        ({"outcome": "yield", "contexts": ["Temp"]}, "name columns of the table"),
    ],
)
def test_what_cannot_be_proposed_is_refused(file, options, message):
    with pytest.raises(aw.InvalidInput, match=message):
        aw.Space.from_table(file, **options)


def test_frames_and_rows_are_tables_too():
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.25], "hot": [True, False, True], "n": [1, 2, 9], "value": [1.0, 2.0, 3.0]})
    expected = aw.Space(x=aw.Real(0.5, 2.3), n=aw.Context(aw.Integer(0, 10)))
    assert aw.Space.from_table(frame[["x", "n", "value"]], contexts=["n"]) == expected
    assert aw.Space.from_table(frame[["x", "n", "value"]].to_dict("records"), contexts=["n"]) == expected
    with pytest.raises(aw.InvalidInput, match="have rows below its header"):
        aw.Space.from_table(frame.iloc[:0])
    with pytest.raises(aw.InvalidInput, match="have a column that can be a variable"):
        aw.Space.from_table([{"value": 1.0, "note": "a"}, {"value": 2.0, "note": "b"}])


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("Dose (mg)", ("Dose", "mg")),
        (" order ", ("order", "")),
        ("f(x)", ("f", "x")),
        ("load [kN] ", ("load", "kN")),
        ("a (" + "b" * 31 + ")", ("a (" + "b" * 31 + ")", "")),
    ],
)
def test_units_in_brackets(header, found):
    assert split_unit(header) == found
