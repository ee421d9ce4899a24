"""Draw figures with matplotlib, for print."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import matplotlib.figure
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from allweather.plots.marks import Bars, Dots, Heat, Line, Mark, Panel, Ribbon, Rule

if TYPE_CHECKING:
    from allweather.plots.picture import Picture

STYLES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
SYMBOLS = {"circle": "o", "diamond": "D", "square": "s", "ring": "o", "tick": "|"}
WIDTH, HEIGHT = 5.0, 3.7
"""Inches of a panel."""


def draw(figure: Picture) -> Figure:
    """Draw a figure; texts are escaped, so that a name such as `$x$` is shown as it is."""
    rows, columns = figure.shape
    drawn = matplotlib.figure.Figure(figsize=(WIDTH * columns, HEIGHT * rows), layout="constrained")
    axes: Any = drawn.subplots(rows, columns, squeeze=False)
    for axis, panel in zip(axes.flat, figure.panels, strict=False):
        _panel(axis, panel)
    for axis in list(axes.flat)[len(figure.panels) :]:
        axis.set_axis_off()
    return drawn


def _text(text: str) -> str:
    """Escape dollar signs, and the leading underscore that would hide a legend entry."""
    plain = str(text).replace("\\", "\\\\").replace("$", r"\$")
    return f"\u200b{plain}" if plain.startswith("_") else plain


def _places(values: Any) -> list[Any]:
    return [_text(each) if isinstance(each, str) else each for each in np.asarray(values).tolist()]


def _panel(axis: Any, panel: Panel) -> None:
    side_by_side = [mark for mark in panel.placed if isinstance(mark, Bars) and mark.width is None]
    for mark in panel.placed:
        if isinstance(mark, Bars) and mark.width is None:
            _grouped_bars(axis, mark, side_by_side)
        else:
            _draw(mark, axis)
    axis.set(title=_text(panel.title), xlabel=_text(panel.x), ylabel=_text(panel.y), ylim=panel.limits)
    if panel.ticks:
        axis.set_xticks(range(len(panel.ticks)), [_text(each) for each in panel.ticks])
    if panel.whole_x:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if panel.log_x:
        axis.set_xscale("log")
    if panel.log_y:
        axis.set_yscale("log")
    axis.spines[["top", "right"]].set_visible(False)
    entries: dict[str, Any] = {}
    for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
        entries.setdefault(name, handle)  # a line and its band share an entry
    crowded = len(entries) > 3 or any(isinstance(mark, Heat) for mark in panel.marks)
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.18), "ncols": 2} if crowded else {}
    if entries:
        axis.legend(entries.values(), entries, frameon=False, fontsize=8, **below)


def _grouped_bars(axis: Any, mark: Bars, group: list[Bars]) -> None:
    """Draw bars of several marks side by side over the same categories."""
    share = 0.8 / len(group)
    at = np.arange(len(mark.x)) + (group.index(mark) - (len(group) - 1) / 2) * share
    axis.bar(at, mark.heights, share, label=_text(mark.name), color=mark.colour)
    axis.set_xticks(range(len(mark.x)), _places(mark.x))


@functools.singledispatch
def _draw(mark: Mark, axis: Any) -> None:
    raise TypeError(f"unknown mark {mark!r}")


@_draw.register
def _(mark: Line, axis: Any) -> None:
    way = {"drawstyle": "steps-post"} if mark.steps else {}
    style = STYLES[mark.dash]
    axis.plot(_places(mark.x), mark.y, color=mark.colour, linestyle=style, label=_text(mark.name), **way)


@_draw.register
def _(mark: Ribbon, axis: Any) -> None:
    shade = {"color": mark.colour, "alpha": 0.18, "linewidth": 0}
    axis.fill_between(np.asarray(mark.x), np.asarray(mark.low), np.asarray(mark.high), label=_text(mark.name), **shade)


@_draw.register
def _(mark: Dots, axis: Any) -> None:
    x, y = _places(mark.x), _places(mark.y)
    inside = {"markerfacecolor": "white"} if mark.symbol == "ring" else {}
    axis.plot(x, y, SYMBOLS[mark.symbol], color=mark.colour, markersize=5, label=_text(mark.name), **inside)
    for at, up, said in zip(x, y, mark.texts if mark.labelled else (), strict=False):
        apart = (4, -12 if mark.below else 5)
        axis.annotate(_text(said), (at, up), apart, textcoords="offset points", ha="left", fontsize=8)


@_draw.register
def _(mark: Bars, axis: Any) -> None:
    axis.bar(_places(mark.x), mark.heights, mark.width or 0.8, label=_text(mark.name), color=mark.colour, alpha=0.8)


@_draw.register
def _(mark: Heat, axis: Any) -> None:
    x, y = _places(mark.x), _places(mark.y)
    words = [isinstance(each[0], str) for each in (x, y)]
    across, up = (list(range(len(each))) if word else each for each, word in zip((x, y), words, strict=True))
    mesh = axis.pcolormesh(across, up, mark.values, cmap="cividis", shading="nearest")
    for ticks, names, word in ((axis.set_xticks, x, words[0]), (axis.set_yticks, y, words[1])):
        if word:
            ticks(range(len(names)), names)
    axis.figure.colorbar(mesh, ax=axis, label=_text(mark.name))


@_draw.register
def _(mark: Rule, axis: Any) -> None:
    line = axis.axvline if mark.axis == "x" else axis.axhline
    line(mark.at, color=mark.colour, linestyle=STYLES[mark.dash], linewidth=1.2, label=_text(mark.name))
