"""A picture is the same on a screen and in print, and shows texts as they are."""

import json
import sys

import numpy as np
import pytest
from tests.plots.studies import workshop

import allweather as aw
from allweather.plots import Bars, Dots, Heat, Line, Panel, Picture, Ribbon, Rule

HOSTILE = "<script>alert('1')</script> $x_1$ & _y"


def every_mark(name):
    x = np.linspace(0, 1, 5)
    numbers = (
        Ribbon(x, x - 1, x + 1, name),
        Line(x, x, name, steps=True),
        Dots(x, x, name, symbol="ring", texts=[name] * 5, labelled=True),
        Bars(x, x, name, width=0.2),
        Rule(0.5, name),
        Rule(0.5, name, axis="y"),
    )
    words = (Bars(["a", name], [1, 2], name), Bars(["a", name], [2, 1], "other"))
    heat = (Heat(["a", name], x, np.outer(x, [1, 2]), name), Rule("a", name))
    panels = [Panel(name, name, name, marks) for marks in (numbers, words, heat)]
    return Picture(name, name, tuple(panels))


def test_every_mark_is_drawn_on_both():
    picture = every_mark("plain")
    drawn = picture.plotly()
    kinds = [trace.type for trace in drawn.data]
    assert (kinds.count("scatter"), kinds.count("bar"), kinds.count("heatmap")) == (6 + 0, 3, 1)
    axes = picture.matplotlib().axes
    assert [axis.get_title() for axis in axes[:3]] == ["plain"] * 3
    assert len(axes[0].lines) == 4
    assert len(axes[1].patches) == 4
    assert [tick.get_text() for tick in axes[1].get_xticklabels()] == ["a", "plain"]


@pytest.mark.parametrize(("below", "side"), [(False, "top right"), (True, "bottom right")])
def test_labels_of_points_have_room_within_the_panel(below, side):
    dots = Dots([0, 1], [2, 4], "dots", texts=["a", "b"], labelled=True, below=below)
    drawn = Picture("", "", (Panel("", "x", "y", (dots, Rule(0, "lowest", axis="y"))),)).plotly()
    assert set(drawn.data[0].textposition) == {side}
    assert drawn.layout.yaxis.autorangeoptions.include == pytest.approx(-0.6 if below else 4.6)


def test_texts_are_shown_as_they_are(tmp_path):
    picture = every_mark(HOSTILE)
    for kind in ("html", "json", "svg", "png", "pdf"):
        saved = picture.save(tmp_path / f"picture.{kind}")
        assert "<script>alert" not in saved.read_bytes().decode("latin-1")
    figure = json.loads((tmp_path / "picture.json").read_text())
    assert figure["data"][0]["name"] == "&lt;script&gt;alert('1')&lt;/script&gt; $x_1$ &amp; _y"
    axis = picture.matplotlib().axes[0]
    assert axis.get_title() == HOSTILE.replace("$", r"\$")


def test_a_page_of_its_own(tmp_path):
    text = every_mark("plain").save(tmp_path / "a.html").read_text()
    assert len(text) > 1_000_000  # with all that it needs
    assert "<script src" not in text


@pytest.mark.parametrize("name", ["a.gif", "a", "a.html.zip"])
def test_unknown_kinds_of_files_are_refused(name, tmp_path):
    with pytest.raises(aw.InvalidInput, match=r"Picture.save\(path=...\)` must end in one of .html"):
        every_mark("plain").save(tmp_path / name)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(aw.InvalidInput, match="cannot be written"):
        every_mark("plain").save(tmp_path / "no" / "a.png")


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "allweather.plots.plotly_backend", None)
    monkeypatch.delattr(aw.plots, "plotly_backend", raising=False)
    with pytest.raises(aw.InvalidInput, match=r"figures need plotly .*pip install .*\[plots\]'"):
        every_mark("plain").plotly()


def test_a_notebook_shows_it():
    bundle = every_mark("plain")._repr_mimebundle_()
    assert isinstance(bundle, dict)


def test_figures_hold_numbers_that_json_can_hold():
    for name in ("robustness", "contexts", "profile", "slices"):
        figure = aw.plots.STUDY_FIGURES[name](workshop()).plotly()
        json.loads(figure.to_json(), parse_constant=lambda said: pytest.fail(said))


def test_categories_and_whole_numbers_have_ticks_of_their_own():
    boxes = Ribbon([-0.3, 0.3, float("nan"), 0.7, 1.3], [1, 1, 0, 2, 2], [3, 3, 0, 4, 4], "interval")
    panel = Panel(
        "A", "wood", "y", (boxes, Line([-0.3, 0.3], [2, 2], "mean"), Rule("oak", "best")), ticks=("ash", "oak")
    )
    counted = Panel("B", "trial", "y", (Line([0, 37], [1, 2], "outcome"),), whole_x=True)
    drawn = Picture("t", "s.", (panel, counted)).plotly()
    assert drawn.data[0].x == (-0.3, 0.3, 0.3, -0.3, None, 0.7, 1.3, 1.3, 0.7, None)
    assert drawn.layout.xaxis.ticktext == ("ash", "oak")
    assert drawn.layout.shapes[0].x0 == 1
    assert drawn.layout.xaxis2.dtick == 5
    assert [trace.showlegend for trace in drawn.data] == [True, True, True, False]
    assert [text.get_text() for text in Picture("t", "s.", (panel,)).matplotlib().axes[0].get_xticklabels()] == [
        "ash",
        "oak",
    ]
