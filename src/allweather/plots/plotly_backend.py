"""Draw figures with plotly, for the screen."""

from __future__ import annotations

import functools
import html
from typing import TYPE_CHECKING, Any

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
HEIGHT = 360
"""Pixels of a row of panels."""
TOP = 76
"""Pixels above the panels: for their titles, and above these for the toolbar."""
CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]]}
"""The toolbar: what is of use in our figures."""
ACROSS, UP = "%{xaxis.title.text}: %{x}", "%{yaxis.title.text}: %{y}"
HOVER = f"{ACROSS}<br>{UP}<extra>%{{fullData.name}}</extra>"
"""Names come from the figure, so that nothing in them is taken for a part of the template."""


def draw(figure: Picture) -> go.Figure:
    """Draw a figure; texts are escaped, so that a name such as `<b>` is shown as it is."""
    rows, columns = figure.shape
    heated = any(isinstance(mark, Heat) for panel in figure.panels for mark in panel.marks)
    drawn = make_subplots(
        rows,
        columns,
        subplot_titles=[_text(panel.title) for panel in figure.panels],
        horizontal_spacing=(0.2 if heated else 0.13) / max(columns - 1, 1),
        vertical_spacing=0.28 / max(rows, 1),
    )
    named: set[str] = set()
    for place, panel in enumerate(figure.panels):
        row, column = place // columns + 1, place % columns + 1
        alone = len({mark.name for mark in panel.marks}) == 1  # the title of its panel names it
        for mark in panel.placed:
            for trace in _traces(mark, drawn, (row, column)):
                shown = trace.showlegend is not False and trace.name not in named and not alone
                trace.update(legendgroup=trace.name, showlegend=shown)
                named.update([trace.name] if trace.showlegend else [])
                drawn.add_trace(trace, row, column)
        _axes(drawn, panel, row, column)
    drawn.update_layout(
        height=HEIGHT * rows + 62 + TOP,
        template="plotly_white",
        font={"family": FONT, "size": 13},
        margin={"l": 64, "r": 24, "t": TOP, "b": 110},
        legend={"orientation": "h", "yanchor": "top", "y": -0.24 / rows, "x": 0},
        hovermode="closest",
        hoverlabel={"namelength": -1},
        barmode="group",
        meta={"title": _text(figure.title), "says": _text(figure.says)},
    )
    return drawn


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
    hover = "%{text}<extra>%{fullData.name}</extra>" if said else HOVER
    return [
        go.Scatter(
            x=_places(mark.x),
            y=_places(mark.y),
            mode=mode,
            name=_text(mark.name),
            marker=style,
            text=said,
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
        "title": {"text": _text(mark.name), "side": "top"},
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


def _axes(drawn: go.Figure, panel: Panel, row: int, column: int) -> None:
    shared: dict[str, Any] = {"row": row, "col": column, "zeroline": False, "linecolor": GREY, "automargin": True}
    across: dict[str, Any] = {"hoverformat": ".4~g"}
    if panel.ticks:
        names = [_text(each) for each in panel.ticks]
        across = {"tickvals": list(range(len(names))), "ticktext": names, "range": [-0.6, len(names) - 0.4]}
    elif panel.whole_x:
        across = {"dtick": panel.step, "tick0": 0, "hoverformat": "d"}
    drawn.update_xaxes(title_text=_text(panel.x), type="log" if panel.log_x else None, **across, **shared)
    up = {"type": "log" if panel.log_y else None, "range": panel.limits, "hoverformat": ".4~g", **_headroom(panel)}
    drawn.update_yaxes(title_text=_text(panel.y), **up, **shared)


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
