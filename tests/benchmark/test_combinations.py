"""Combinations of features are tried, and refusals are compared with the documented ones."""

import pytest
from benchmarks.combinations import (
    IMPOSSIBLE,
    PAGE,
    attempt,
    closure,
    combinations,
    covered,
    documented,
    play,
    report,
)

from allweather.errors import InvalidInput

TEXT = """
## What cannot be combined, and why

| feature | not together with | reason |
|---|---|---|
| simulator | Ignored; no context variables | nothing to choose |

## Next

| a | b | c |
|---|---|---|
| limits | simulator | none |
"""
ROWS = [(frozenset({"simulator"}), frozenset({"Ignored", "no context variables"}))]


def test_the_table_is_read_from_the_page():
    assert documented(TEXT) == ROWS
    assert covered(("LargestDeviation", "Ignored"), ROWS)  # a rule of simulators
    assert not covered(("simulator", "limits"), ROWS)


def test_a_combination_is_tried_once_and_has_one_of_each_kind():
    whole = [closure(labels) for labels in combinations()]
    assert len(whole) == len(set(whole)) > 2000
    assert not any({"KDE", "Known"} <= labels for labels in whole)
    assert frozenset({"control sets", "limits", "simulator"}) in whole


@pytest.mark.parametrize("labels", [("late contexts", "own acquisition"), ("limits", "batch"), ("control sets",)])
def test_what_works(labels):
    assert play(labels).outcome == "works"


def test_outcomes_are_told_apart(capsys):
    def refuse():
        raise InvalidInput("no")

    tried = [attempt(["simulator", "Ignored"], refuse), attempt(["limits"], refuse), attempt(["batch"], lambda: 1 / 0)]
    assert [each.outcome for each in tried] == ["refused", "refused", "traceback"]
    assert not report(tried, ROWS)
    said = capsys.readouterr().out
    assert "3 combinations: 0 works, 2 refused, 1 traceback; 0.0% work, 1 refusals are not documented" in said
    assert "ZeroDivisionError at test_combinations.py" in said


@pytest.mark.parametrize("labels", IMPOSSIBLE)
def test_what_is_documented_as_impossible_is_refused(labels):
    assert attempt(labels, IMPOSSIBLE[labels]).outcome == "refused"
    assert covered(labels, documented(PAGE.read_text()))
