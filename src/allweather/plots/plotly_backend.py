"""Draw figures with plotly, for the screen."""

from __future__ import annotations

import functools
import html
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from allweather.plots.marks import GREY, Bars, Dots, Heat, Line, Mark, Panel, Ribbon, Rule

if TYPE_CHECKING:
    from allweather.plots.picture import Picture

SYMBOLS = {
    "circle": "circle",
    "diamond": "diamond",
    "square": "square",
    "ring": "circle",
    "tick": "line-ns",
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
WIDTH, NARROW = 960, 640
"""Pixels that a figure is laid out for, and below which panels stand below each other, with smaller texts."""
PANEL = 290
"""Pixels of a panel from bottom to top."""
TOP, LEFT, NARROW_LEFT, RIGHT = 76, 70, 54, 24
"""Pixels around the panels: above them for a line of title, and above this for the toolbar; less beside narrow ones."""
BETWEEN, COLOURS = 88, 96
"""Pixels between panels side by side, for the texts of an axis, and further ones for the colours of a heat map."""
TICKS = 52
"""Pixels below a panel for ticks and a line of title."""
CHARACTER, LINE = 0.6, 1.3
"""Width of a character and height of a line, about, as multiples of the size of the font."""
ENTRY = 46
"""Pixels of a legend's entry beside its name."""
MOST_TICK = 18
"""Characters of a category in a line below the axis, at most."""
CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]]}
"""The toolbar: what is of use in our figures."""
ACROSS, UP = "%{xaxis.title.text}: %{x}", "%{yaxis.title.text}: %{y}"
HOVER = f"{ACROSS}<br>{UP}<extra>%{{fullData.name}}</extra>"
"""Names come from the figure, so that nothing in them is taken for a part of the template."""


class Sizes(NamedTuple):
    """Pixels of what a figure is made of."""

    font: int
    title: int
    label: int
    """Fonts of ticks and legends, of panels' titles, and of axes."""
    across: float
    """Of a panel from left to right."""
    between: float
    """Between panels side by side."""
    left: int
    """Beside the panels, for the texts of the axis."""
    room: float
    """For the legend."""

    @classmethod
    def of(cls, figure: Picture, columns: int, width: int) -> Sizes:
        """The sizes of a figure of so many columns and pixels."""
        heated = any(isinstance(mark, Heat) for panel in figure.panels for mark in panel.marks)
        left = NARROW_LEFT if width < NARROW else LEFT
        between, room = BETWEEN + heated * COLOURS, width - left - RIGHT
        across = (room - heated * COLOURS - (columns - 1) * between) / columns
        return cls(*((11, 13, 12) if width < NARROW else (13, 15, 14)), max(across, 100), between, left, room)


def draw(figure: Picture, width: int = WIDTH) -> go.Figure:
    """Draw a figure; texts are escaped, so that a name such as `<b>` is shown as it is, and wrapped.

    Args:
        figure: what is drawn.
        width: pixels of the place where it is shown; below 640 panels stand below each other.
    """
    columns = 1 if width < NARROW else figure.shape[1]
    rows, sizes = -(-len(figure.panels) // columns), Sizes.of(figure, columns, width)
    titles = [_wrapped(panel.title, sizes.across, sizes.title) for panel in figure.panels]
    ticks = [_categories(panel, sizes) for panel in figure.panels]
    below = max(
        TICKS + each.height + _further(_wrapped(panel.x, sizes.across, sizes.label), sizes.label)
        for panel, each in zip(figure.panels, ticks, strict=True)
    )
    above = max(_further(title, sizes.title) for title in titles)
    gap = below + above + 2.6 * sizes.title
    area = rows * PANEL + (rows - 1) * gap
    drawn = make_subplots(
        rows,
        columns,
        subplot_titles=titles,
        horizontal_spacing=sizes.between / (columns * (sizes.across + sizes.between) - sizes.between) * (columns > 1),
        vertical_spacing=gap / area * (rows > 1),
    )
    drawn.update_annotations(font_size=sizes.title)
    named: dict[str, str] = {}
    for place, panel in enumerate(figure.panels):
        row, column = place // columns + 1, place % columns + 1
        alone = len({mark.name for mark in panel.marks}) == 1  # the title of its panel names it
        for mark in panel.placed:
            for trace in _traces(mark, drawn, (row, column)):
                shown = trace.showlegend is not False and trace.name not in named and not alone
                trace.update(legendgroup=trace.name, showlegend=shown)
                if shown:
                    named[trace.name] = _wrapped(mark.name, sizes.room - ENTRY, sizes.font)
                drawn.add_trace(trace, row, column)
        _axes(drawn, panel, (row, column), ticks[place], sizes)
        _keep_apart(drawn, panel, (row, column), sizes)
    drawn.for_each_trace(lambda trace: trace.update(name=named.get(trace.name, trace.name)))
    if width < NARROW:  # a name beside what is said would leave the screen
        drawn.for_each_trace(lambda trace: trace.update(hovertemplate=_together(trace.hovertemplate)))
    legend = _rows(list(named.values()), sizes) * sizes.font * LINE * 1.15 + 16 if named else 0
    drawn.update_layout(
        height=round(TOP + above + area + below + legend),
        template="plotly_white",
        font={"family": FONT, "size": sizes.font},
        margin={"l": sizes.left, "r": RIGHT, "t": round(TOP + above), "b": round(below + legend)},
        legend={"orientation": "h", "yanchor": "top", "y": -below / area, "x": 0},
        hovermode="closest",
        hoverlabel={"namelength": -1},
        barmode="group",
        meta={"title": _text(figure.title), "says": _text(figure.says)},
    )
    return drawn


def _together(template: str | None) -> str | None:
    """Return a template that says the name of a trace below what it says."""
    found = None if template is None else re.fullmatch(r"(.*)<extra>(.+)</extra>", template)
    return f"{found[1]}<br>{found[2]}<extra></extra>" if found else template


def _wrapped(text: str, pixels: float, font: float) -> str:
    """Escape a text, in lines of at most so many pixels."""
    return "<br>".join(map(_text, textwrap.wrap(str(text), max(int(pixels / (font * CHARACTER)), 8)) or [""]))


def _further(text: str, font: float) -> float:
    """Return the pixels of all lines of a text but the first."""
    return text.count("<br>") * font * LINE


def _rows(names: list[str], sizes: Sizes) -> int:
    """Return the lines of a legend, about."""
    lines, left = 0, 0.0
    for name in names:
        parts = name.split("<br>")
        wide = ENTRY + max(map(len, parts)) * sizes.font * CHARACTER
        lines, left = (lines, left - wide) if wide <= left else (lines + len(parts), sizes.room - wide)
    return lines


class _Ticks(NamedTuple):
    """The names of categories below a panel."""

    names: list[str]
    lines: list[str]
    """The same, escaped and wrapped."""
    turned: bool
    height: float
    """Pixels that they take beyond those of a line of numbers."""


def _categories(panel: Panel, sizes: Sizes) -> _Ticks:
    """Wrap the names of categories, and turn them where they have no room."""
    words = (each for mark in panel.marks for each in getattr(mark, "x", ()) if isinstance(each, str))
    names = list(dict.fromkeys(panel.ticks or words))
    lines = [textwrap.wrap(name, MOST_TICK) or [""] for name in names]
    widest = max((len(line) for each in lines for line in each), default=0) * sizes.font * CHARACTER
    turned = (widest + 8) * len(names) > sizes.across
    tallest = max((len(each) for each in lines), default=1) - 1
    height = widest if turned else tallest * sizes.font * LINE
    return _Ticks(names, ["<br>".join(map(_text, each)) for each in lines], turned, height)


def _text(text: str) -> str:
    return html.escape(str(text), quote=False)


def _places(values: Any) -> list[Any]:
    """Return positions; names of categories are escaped."""
    listed = np.asarray(values).tolist()
    return [_text(each) if isinstance(each, str) else each for each in listed]


@functools.singledispatch
def _traces(mark: Mark, drawn: go.Figure, place: tuple[int, int]) -> list[Any]:
    raise TypeError(f"unknown mark {mark!r}")


@_traces.register
def _(mark: Line, drawn: go.Figure, place: tuple[int, int]) -> list[Any]:
    shape = "hv" if mark.steps else "linear"
    style = {"color": mark.colour, "dash": mark.dash, "shape": shape, "width": 2}
    said = [_text(each) for each in mark.texts] or None
    hover = HOVER.replace("%{x}", "%{text}") if said else HOVER
    points = {"x": _places(mark.x), "y": _places(mark.y), "text": said}
    return [go.Scatter(**points, mode="lines", name=_text(mark.name), line=style, hovertemplate=hover)]


@_traces.register
def _(mark: Ribbon, drawn: go.Figure, place: tuple[int, int]) -> list[Any]:
    red, green, blue = (int(mark.colour[at : at + 2], 16) for at in (1, 3, 5))
    shade = f"rgba({red},{green},{blue},0.18)"
    outline: dict[str, list[Any]] = {"x": [], "y": []}
    edges = [np.asarray(each, dtype=float) for each in (mark.x, mark.low, mark.high)]
    for piece in np.split(np.arange(len(edges[0])), np.flatnonzero(np.isnan(edges[0]))):
        x, low, high = (each[piece[np.isfinite(edges[0][piece])]].tolist() for each in edges)
        outline["x"] += [*x, *x[::-1], None]
        outline["y"] += [*high, *low[::-1], None]
    return [
        go.Scatter(
            **outline,
            mode="lines",
            fill="toself",
            fillcolor=shade,
            line={"width": 0},
            hoverinfo="skip",
            name=_text(mark.name),
        )
    ]


@_traces.register
def _(mark: Dots, drawn: go.Figure, place: tuple[int, int]) -> list[Any]:
    edge = {"line": {"width": 1.5, "color": mark.colour}} if mark.symbol in ("ring", "tick") else {}
    fill = "white" if mark.symbol == "ring" else mark.colour
    style = {"color": fill, "symbol": SYMBOLS[mark.symbol], "size": 8, **edge}
    said = [_text(each) for each in mark.texts] or None
    mode = "markers+text" if mark.labelled else "markers"
    hover = "%{hovertext}<extra>%{fullData.name}</extra>" if said else HOVER
    return [
        go.Scatter(
            x=_places(mark.x),
            y=_places(mark.y),
            mode=mode,
            name=_text(mark.name),
            marker=style,
            text=said if mark.labelled else None,
            hovertext=said,
            textposition="bottom right" if mark.below else "top right",
            cliponaxis=False,
            hovertemplate=hover,
        )
    ]


@_traces.register
def _(mark: Bars, drawn: go.Figure, place: tuple[int, int]) -> list[Any]:
    style = {"color": mark.colour, "line": {"width": 0}}
    points = {"x": _places(mark.x), "y": _places(mark.heights), "width": mark.width}
    return [go.Bar(**points, name=_text(mark.name), marker=style, hovertemplate=HOVER)]


@_traces.register
def _(mark: Heat, drawn: go.Figure, place: tuple[int, int]) -> list[Any]:
    axis = drawn.get_subplot(*place)
    right, (low, high) = axis.xaxis.domain[1], axis.yaxis.domain
    bar = {
        "title": {"text": _text(mark.name), "side": "right"},
        "thickness": 12,
        "len": high - low,
        "x": right + 0.01,
    }
    bar |= {"y": (low + high) / 2, "yanchor": "middle"}
    cells = {"x": _places(mark.x), "y": _places(mark.y), "z": np.asarray(mark.values).tolist(), "colorbar": bar}
    hover = f"{ACROSS}<br>{UP}<br>%{{fullData.name}}: %{{z:.4~g}}<extra></extra>"
    smooth = "best" if not isinstance(mark.x[0], str) and not isinstance(mark.y[0], str) else False
    return [
        go.Heatmap(
            **cells,
            name=_text(mark.name),
            colorscale="Cividis",
            zsmooth=smooth,
            hovertemplate=hover,
            showlegend=False,
        )
    ]


@_traces.register
def _(mark: Rule, drawn: go.Figure, place: tuple[int, int]) -> list[Any]:
    style = {"color": mark.colour, "dash": mark.dash, "width": 1.5}
    at = _text(mark.at) if isinstance(mark.at, str) else mark.at
    (drawn.add_vline if mark.axis == "x" else drawn.add_hline)(at, row=place[0], col=place[1], line=style)
    # Shapes have no entry in the legend, so an empty trace adds it.
    return [go.Scatter(x=[None], y=[None], mode="lines", name=_text(mark.name), line=style)]


def _axes(drawn: go.Figure, panel: Panel, place: tuple[int, int], ticks: _Ticks, sizes: Sizes) -> None:
    shared: dict[str, Any] = {"row": place[0], "col": place[1], "zeroline": False, "linecolor": GREY}
    shared |= {"automargin": True, "title_font_size": sizes.label}
    across: dict[str, Any] = {"hoverformat": ".4~g"}
    if ticks.names:
        at = list(range(len(ticks.names))) if panel.ticks else [_text(each) for each in ticks.names]
        across = {"tickvals": at, "ticktext": ticks.lines, "tickangle": -90 if ticks.turned else 0}
        across |= {"range": [-0.6, len(at) - 0.4]} if panel.ticks else {}
    elif panel.whole_x:
        across = {"dtick": panel.step, "tick0": 0, "hoverformat": "d"}
    elif panel.log_x:
        across |= {"dtick": "D2"}
    title = _wrapped(panel.x, sizes.across, sizes.label)
    drawn.update_xaxes(title_text=title, type="log" if panel.log_x else None, **across, **shared)
    up = {"type": "log" if panel.log_y else None, "range": panel.limits, "hoverformat": ".4~g", **_headroom(panel)}
    drawn.update_yaxes(title_text=_wrapped(panel.y, PANEL, sizes.label), **up, **shared)


def _keep_apart(drawn: go.Figure, panel: Panel, place: tuple[int, int], sizes: Sizes) -> None:
    """Place labels of points where they leave neither the panel nor cover each other, or leave them out."""
    marks = [mark for mark in panel.marks if isinstance(mark, Line | Dots)]
    if not any(isinstance(mark, Dots) and mark.labelled for mark in marks):
        return
    across = _scale(_places([each for mark in marks for each in mark.x]), panel.log_x, sizes.across)
    upwards = _scale([each for mark in marks for each in mark.y], panel.log_y, PANEL)
    taken: list[_Box] = []
    for trace in drawn.select_traces({"mode": "markers+text"}, *place):
        ups = ("bottom", "top") if trace.textposition.startswith("bottom") else ("top", "bottom")
        texts, sides = list(trace.text), []
        for at, text in enumerate(texts):
            wide, tall = len(text) * sizes.font * CHARACTER + 8, sizes.font * LINE + 6
            boxes = {
                f"{up} {side}": _Box.of(across(trace.x[at]), upwards(trace.y[at]), wide, tall, f"{up} {side}")
                for up in ups
                for side in ("right", "left")
            }
            free = [name for name, box in boxes.items() if box.right < sizes.across + RIGHT and box.is_apart(taken)]
            texts[at] = text if free else ""
            sides.append(free[0] if free else "top right")
            taken += [boxes[name] for name in free[:1]]
        trace.update(text=texts, textposition=sides)


def _scale(values: Sequence[Any], log: bool, pixels: float) -> Callable[[Any], float]:
    """Return where a value stands on an axis, about, in pixels; categories are in their order."""
    names = list(dict.fromkeys(each for each in values if isinstance(each, str)))

    def plain(value: Any) -> float:
        return names.index(value) if isinstance(value, str) else float(np.log10(value)) if log else float(value)

    low, high = min(map(plain, values)), max(map(plain, values))
    return lambda value: (plain(value) - low) / (high - low or 1) * pixels


class _Box(NamedTuple):
    """Where a label stands, in pixels from the lower left corner of its panel."""

    left: float
    right: float
    low: float
    high: float

    @classmethod
    def of(cls, x: float, y: float, wide: float, tall: float, side: str) -> _Box:
        """The box of a label beside a point."""
        left, low = (x if "right" in side else x - wide), (y if "top" in side else y - tall)
        return cls(left, left + wide, low, low + tall)

    def is_apart(self, others: list[_Box]) -> bool:
        """Whether it covers none of the others."""
        return not any(
            self.left < each.right and each.left < self.right and self.low < each.high and each.low < self.high
            for each in others
        )


def _headroom(panel: Panel) -> dict[str, Any]:
    """Return the option that keeps labels of points within the panel."""
    labelled = [mark for mark in panel.marks if isinstance(mark, Dots) and mark.labelled]
    if not labelled:
        return {}
    heights = [float(each) for mark in panel.marks if isinstance(mark, Line | Dots) for each in mark.y]
    heights += [float(mark.at) for mark in panel.marks if isinstance(mark, Rule) and mark.axis == "y"]
    low, high = min(heights), max(heights)
    room = 0.15 * (high - low)
    return {"autorangeoptions": {"include": low - room if labelled[0].below else high + room}}
