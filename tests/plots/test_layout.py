"""No text of a figure leaves the canvas or covers another, whatever the size of the panels."""

import json
from functools import cache
from itertools import combinations

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from plotly.offline import get_plotlyjs
from tests.dashboard.browsers import launched, watched
from tests.plots import studies

import allweather as aw
from allweather.plots import STUDY_FIGURES, Bars, Dots, Line, Panel, Picture, Rule

SIZES = ((3.6, 3.2), (5.0, 3.7), (7.0, 4.5))
WIDTHS = (360, 760, 1200)
"""Pixels of a phone, of half a screen, and of a wide report."""
ON_SCREEN = """async figures => {
    const found = {};
    for (const [name, width, figure] of figures) {
        const plot = document.body.appendChild(document.createElement("div"));
        plot.style.width = `${width}px`;
        await Plotly.newPlot(plot, { ...figure, config: { staticPlot: true } });
        const canvas = plot.querySelector(".main-svg").getBoundingClientRect();
        const texts = [...plot.querySelectorAll("text")]
            .map(each => [each.textContent.trim(), each.getBoundingClientRect()])
            .filter(([text, box]) => text && box.width > 0);
        const apart = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left) < 1
            || Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) < 1;
        const cut = ([, box]) => box.left < canvas.left - 1 || box.right > canvas.right + 1
            || box.top < canvas.top - 1 || box.bottom > canvas.bottom + 1;
        const troubles = [texts.length > 3 ? [] : ["nothing is drawn"], texts.filter(cut).map(([text]) => text),
            ...texts.map(([one, box], at) => texts.slice(at + 1).filter(([, other]) => !apart(box, other))
                .map(([other]) => `${one} | ${other}`))].flat();
        if (troubles.length) found[`${name}, ${width} pixels`] = troubles;
        plot.remove();
    }
    return found;
}"""
LONG = "purity of the product after the second washing at least 0.95 with probability 0.9 within 0.1 in total variation"


def hidden_ticks(figure):
    """Labels of ticks outside of the view, which matplotlib keeps and does not draw."""
    found = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            ticks = {*axis.get_major_ticks(), *axis.get_minor_ticks()} - set(axis._update_ticks())
            found |= {id(label) for tick in ticks for label in (tick.label1, tick.label2)}
    return found


def troubles(figure):
    """Texts that are cut, and pairs of which one covers the other, by more than a pixel."""
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    hidden = hidden_ticks(figure)
    texts = [each for each in figure.findobj(Text) if each.get_visible() and each.get_text().strip("\u200b ")]
    boxes = [(each.get_text(), each.get_window_extent()) for each in texts if id(each) not in hidden]
    width, height = figure.bbox.width, figure.bbox.height
    cut = [text for text, box in boxes if min(box.x0, box.y0) < -1 or box.x1 > width + 1 or box.y1 > height + 1]
    pairs = [
        (one, other)
        for (one, first), (other, second) in combinations(boxes, 2)
        if min(first.x1, second.x1) - max(first.x0, second.x0) > 1
        and min(first.y1, second.y1) - max(first.y0, second.y0) > 1
    ]
    return cut + pairs


@cache
def oven():
    wanted = {"gain": aw.Maximize(), "purity": aw.AtLeast(0.3, probability=0.9), "waste": aw.Minimize()}
    study = aw.Study(aw.Space(heat=aw.Real(0, 1), lot=aw.Context(0, 1)), outcomes=wanted, context=aw.KDE(32), seed=1)
    rows = [(h / 6, (h % 3) / 3) for h in range(7)]
    study.add([{"heat": h, "lot": c, "gain": h + c, "purity": 1.2 - h - c / 9, "waste": h * h} for h, c in rows])
    return study


@cache
def pictures():
    """Every figure once, of a study that is quick and has much to say."""
    several = dict.fromkeys(("robustness", "feasibility", "limits", "front", "progress"), oven)
    own = dict.fromkeys(("profile", "slices", "contexts"), studies.workshop) | {"check": studies.plain}
    found = {name: (several | own | {"control_sets": studies.farm})[name] for name in STUDY_FIGURES}
    return {name: STUDY_FIGURES[name](study(), None) for name, study in found.items()} | {"comparison": compared()}


def compared():
    methods = ["wdrbo with a wide radius", "erbo", "random", "sbo-kde"]
    rows = [("newsvendor", name, s, t, t + s) for name in methods for s in (0, 1) for t in (1, 4, 9)]
    columns = ["problem", "method", "seed", "step", "cumulative"]
    return aw.plots.comparison(pd.DataFrame(rows, columns=columns))


@pytest.mark.parametrize("name", [*STUDY_FIGURES, "comparison"])
def test_figures(name):
    for size in SIZES:
        assert troubles(pictures()[name].matplotlib(size)) == [], size


def crowded():
    x = [0.0, 0.5, 1.0]
    lines = tuple(Line(x, [n, 1, 2], f"{LONG}, {n}") for n in range(4))
    near = Dots([0.99, 1.0], [2.0, 2.0], "labels", texts=["no shift: 12.3456", "radius 0.4: 12.3456"], labelled=True)
    bars = (
        Bars([f"an option with a long name, {n}" for n in range(5)], [1, 2, 3, 4, 5], "shares"),
        Rule(3, LONG, axis="y"),
    )
    return Picture("crowded", "", (Panel(LONG, LONG, LONG, (*lines, near)), Panel("bars", "option", LONG, bars)))


@pytest.mark.parametrize("size", SIZES)
def test_long_texts_are_wrapped(size):
    assert troubles(crowded().matplotlib(size)) == []


def test_texts_that_cover_each_other_are_found():
    figure = crowded().matplotlib()
    figure.text(0.5, 0.5, "one")
    figure.text(0.5, 0.5, "other")
    figure.text(0.99, 0.5, "cut off here")
    assert {("one", "other"), "cut off here"} <= set(troubles(figure))


def test_figures_on_the_screen():
    broken = crowded().plotly(760)
    broken.add_annotation(text="one", x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    broken.add_annotation(text="other", x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    broken.add_annotation(text="cut off here", x=1.2, y=0.5, xref="paper", yref="paper", showarrow=False)
    drawn = {**pictures(), "crowded": crowded()}
    figures = [(name, width, drawn[name].plotly(width)) for name in drawn for width in WIDTHS]
    sent = [(name, width, json.loads(figure.to_json())) for name, width, figure in [*figures, ("broken", 760, broken)]]
    with launched() as browser, watched(browser) as page:
        page.add_script_tag(content=get_plotlyjs())
        found = page.evaluate(ON_SCREEN, sent)
    assert {"one | other", "cut off here"} <= set(found.pop("broken, 760 pixels"))
    assert found == {}
