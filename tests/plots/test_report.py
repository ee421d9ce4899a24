"""The report says what the study knows, needs nothing from outside, and gives the study back."""

import base64
import re
from functools import cache

import pytest
from tests.plots.studies import farm, plain, stall, workshop

import allweather as aw
from allweather.plots.report import reasons, report_html, write_report
from allweather.storage import Database, import_lines


@cache
def shown(study, static):
    return report_html(study(), static=static)


@pytest.mark.parametrize(
    ("study", "static"), [(stall, True), (stall, False), (workshop, False), (farm, False), (plain, True)]
)
def test_a_report_of_every_study(study, static):
    text = shown(study, static)
    assert "<script>alert(1)" not in text
    assert ("<script" in text) == (not static)
    assert ("window.innerWidth" in text) == (not static)  # which of two layouts fits
    page = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "<script src" not in text
    for name, value in reasons(study()).decision.items():
        assert f"<dt>{name}</dt>" in text
        assert value.replace("<", "&lt;").replace(">", "&gt;") in text


def test_the_study_comes_back_out_of_the_report(tmp_path):
    study = stall()
    text = shown(stall, static=True)
    (journal,) = set(re.findall(r"data:application/jsonl;base64,([A-Za-z0-9+/=]+)", text))
    url = f"sqlite:///{tmp_path}/again.db"
    database = Database(url)
    name = import_lines(database, base64.b64decode(journal).decode().split("\n"))
    again = aw.Study.load(url, name)
    assert again.recommend().decision == study.recommend().decision
    assert again.recommend().value == study.recommend().value


def test_another_objective_is_not_said_to_come_back():
    assert "reproduce the recommendation" in shown(stall, static=True)
    assert "reproduce the recommendation" not in report_html(stall(), aw.WorstCase(), static=True)


def test_names_are_no_part_of_commands():
    study = aw.Study(aw.Space(order=aw.Real(0, 1)), name='a"$(touch x)`id`')
    study.add({"order": 0.5, "value": 1.0})
    commands = re.findall(r"<pre>(allweather .*?)</pre>", report_html(study, static=True), flags=re.DOTALL)
    assert commands
    assert not any("touch" in command for command in commands)


def test_one_number_for_one_thing():
    study = stall()
    best, outlook = study.recommend(), study.outlook()
    assert best.value == outlook.objectives([best.decision]).middle[0]
    assert best.interval == (outlook.objectives([best.decision]).low[0], outlook.objectives([best.decision]).high[0])


def test_reasons_in_words():
    why = reasons(stall())
    best = stall().recommend(radii=[0.0, 0.4])
    assert f"the mean outcome is {best.expected:.4g}" in " ".join(why.sentences)
    assert "up to 20% of the probability moves to other contexts" in " ".join(why.sentences)
    assert f"the mean outcome is {best.curve['value'].iloc[1]:.4g}" in " ".join(why.sentences)
    robust, bold = why.compared
    assert float(robust.shifted) >= float(bold.shifted)
    assert float(robust.expected) <= float(bold.expected)


def test_what_is_left_to_gain_in_words():
    best = stall().recommend()
    said = " ".join(reasons(stall()).sentences)
    assert f"better by more than {best.possible_gain:.4g}, with 95% probability" in said
    assert f"one more trial gains {best.gain_text} on average" in said
    assert "Warning" not in said
    unreached = reasons(stall(), aw.RobustSatisficing(99.0, aw.TotalVariation(0.1)))
    assert "95% probability" not in " ".join(unreached.sentences)


def noise():
    """Outcomes that nothing explains, and a model that takes them for exact."""
    exact = aw.GP(lengthscales=0.5, outputscale=1.0, noise=1e-4)
    study = aw.Study(aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)), surrogate=exact, seed=1)
    values = [1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0]
    study.add([{"order": n / 8, "demand": 0.5, "value": value} for n, value in enumerate(values)])
    return study


def test_a_warning_of_a_model_that_predicts_nothing():
    study = noise()
    assert study.recommend().warning
    *_, warning, assumption = reasons(study).sentences
    assert warning == f"Warning: {study.recommend().warning}."
    assert assumption == f"Interval: it assumes that {study.recommend().assumption}."
    assert "Warning: the model predicts outcomes worse than a constant does" in report_html(study, static=True)


@pytest.mark.parametrize("static", [True, False])
def test_the_check_is_in_the_report(static):
    text = shown(stall, static)
    assert f"<figcaption><strong>Check of the model.</strong> {stall().check()}</figcaption>" in text


def test_a_report_of_few_outcomes_has_no_check():
    study = aw.Study(aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)), seed=1)
    study.add([{"order": n / 4, "demand": 0.5, "value": float(n)} for n in range(4)])
    assert "Check of the model" not in report_html(study, static=True)


def test_a_target_that_is_out_of_reach_is_said():
    why = reasons(stall(), aw.RobustSatisficing(99.0, aw.TotalVariation(0.1)))
    assert "is not reached by any decision" in " ".join(why.sentences)


def test_pending_trials_are_told_of():
    study = aw.Study(aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)))
    study.add({"order": 0.5, "demand": 0.5, "value": 1.0})
    study.ask(2)
    assert reasons(study).sentences[:2] == ["The recommendation is based on 1 complete trial.", "2 trials are pending."]


def test_code_is_not_made_a_recipe(tmp_path):
    study = aw.Study(
        aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)), objective=aw.DRO(aw.KL(lambda step: 0.1)), seed=1
    )
    study.add([{"order": x / 3, "demand": 0.5, "value": x} for x in range(4)])
    text = write_report(study, tmp_path / "report.html", static=True).read_text()
    assert "Some parts of the study are Python code" in text


def test_nothing_to_report():
    with pytest.raises(aw.InvalidInput, match="at least one complete trial"):
        report_html(aw.Study(aw.Space(order=aw.Real(0, 1))))
    with pytest.raises(aw.InvalidInput, match=r"write_report\(path=...\)` must end in .html"):
        write_report(stall(), "report.pdf")


@cache
def oven():
    study = aw.Study(
        aw.Space(heat=aw.Real(0, 1)),
        outcomes={"gain": aw.Maximize(), "purity": aw.AtLeast(0.3, probability=0.9)},
        seed=1,
    )
    study.add([{"heat": h / 6, "gain": h / 6, "purity": 1 - h / 6} for h in range(7)])
    return study


def test_a_report_is_about_every_outcome(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    study = oven()
    text, best = report_html(study, static=True, progress=True), study.recommend()
    for said in best.outcome_texts:
        assert f"<li>{said[0].upper()}{said[1:]}.</li>" in text
    assert "Wanted: maximize the mean of gain; purity at least 0.3 with probability 0.9." in text
    for name in ("gain", "purity"):
        assert f"Check of the model of {name}" in text
    assert "report:" in capsys.readouterr().err


def test_checks_of_each_outcome():
    first, other = (aw.plots.check(oven(), outcome=name) for name in ("gain", "purity"))
    assert first.title == aw.plots.check(oven()).title == "Check of the model of gain"
    assert sorted(other.panels[0].marks[1].x) == pytest.approx([1 - h / 6 for h in range(6, -1, -1)])
    with pytest.raises(aw.InvalidInput, match="be one of"):
        aw.plots.check(oven(), outcome="waste")


def test_progress_of_several_outcomes_looks_at_fewer_past_recommendations():
    objective = aw.plots.progress(oven()).panels[1]
    assert len(objective.marks[0].x) == 6
