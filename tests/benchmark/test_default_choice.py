"""The campaign that chose the defaults, in miniature."""

import pytest
from benchmarks import default_choice
from benchmarks.default_choice import REFERENCE, candidates, main

from allweather.methods.composition import Composition


def test_a_campaign_resumes_and_prints_ratios_to_its_reference(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(default_choice, "CHECKPOINTS", (1, 2))
    path = tmp_path / "results.jsonl"
    chosen = ["--settings", "newsvendor", "--seeds", "0", "--results", str(path), "--candidates", REFERENCE]
    main(chosen)
    first = path.read_text()
    main([*chosen, "ObjectiveUCB(1)"])
    assert path.read_text().startswith(first)
    assert len(path.read_text().splitlines()) == 2
    assert "1.00 (nan)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("goal", "name"), [("every-trial", "OnlineKnowledgeGradient(3)"), ("recommendation", "ObjectiveUCB(1)")]
)
def test_what_was_chosen_is_the_default(goal, name):
    """Up to the space, which both are bound to later."""
    space = default_choice.setting("newsvendor")[0].space
    found, chosen = (each.on(space, 1) for each in (Composition(goal=goal), candidates()[name]))
    assert found.acquisition == chosen.acquisition
    assert repr(found.surrogate) == repr(chosen.surrogate)
