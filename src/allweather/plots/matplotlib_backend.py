"""Draw figures with matplotlib, for print."""

from __future__ import annotations

import functools
import math
import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib.figure
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import MaxNLocator

from allweather.plots.marks import Bars, Dots, Heat, Line, Mark, Panel, Ribbon, Rule

if TYPE_CHECKING:
    from allweather.plots.picture import Picture

STYLES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
SYMBOLS = {"circle": "o", "diamond": "D", "square": "s", "ring": "o", "tick": "|"}
WIDTH, HEIGHT = 5.0, 3.7
"""Inches of a panel."""
CHARACTER = 0.56 / 72
"""Inches of a character, about, for each point of its font."""
LINE = 1.45 / 72
"""Inches of a line of text for each point of its font."""
TITLE, LABEL, SMALL = 12, 10, 8
"""Points of titles, of labels of axes, and of legends."""
BESIDE, ABOVE, COLOURS = 1.0, 1.3, 1.2
"""Inches beside and above axes that other texts take, and those of the colours of a heat map."""
MOST_TICK = 18
"""Characters of a category in a line below the axis, at most."""
HANDLE, MOST_COLUMNS = 0.55, 3
"""Inches of what stands before a name in a legend, and columns of legends, at most."""


def draw(figure: Picture, size: tuple[float, float] = (WIDTH, HEIGHT)) -> Figure:
    """Draw a figure; texts are escaped, so that a name such as `$x$` is shown as it is, and wrapped.

    Args:
        figure: what is drawn.
        size: width and height of a panel in inches.
    """
    rows, columns = figure.shape
    drawn = matplotlib.figure.Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    parts: Any = drawn.subfigures(rows, columns, squeeze=False)
    below = [
        _panel(part.subplots(), panel, size) for part, panel in zip(parts.flat, figure.panels, strict=False)
    ]  # legends must not take the room of the axes
    further = sum(max(below[row * columns : (row + 1) * columns]) for row in range(rows))
    drawn.set_size_inches(size[0] * columns, size[1] * rows + further)
    _keep_apart(drawn)
    return drawn


def _text(text: str, inches: float = math.inf, points: float = LABEL) -> str:
    """Escape dollar signs, and the leading underscore that would hide a legend entry; wrap what is too long."""
    if math.isfinite(inches):
        lines = textwrap.wrap(str(text), max(int(inches / (points * CHARACTER)), 8)) or [""]
    else:
        lines = [str(text)]
    plain = "\n".join(lines).replace("\\", "\\\\").replace("$", r"\$")
    return f"\u200b{plain}" if plain.startswith("_") else plain


def _places(values: Any) -> list[Any]:
    return [_text(each) if isinstance(each, str) else each for each in np.asarray(values).tolist()]


def _panel(axis: Any, panel: Panel, size: tuple[float, float]) -> float:
    """Draw a panel, and return the inches that it needs for its legend and texts of several lines."""
    heated = any(isinstance(mark, Heat) for mark in panel.marks)
    across = size[0] - BESIDE - (COLOURS if heated else 0)
    side_by_side = [mark for mark in panel.placed if isinstance(mark, Bars) and mark.width is None]
    for mark in panel.placed:
        if isinstance(mark, Bars) and mark.width is None:
            _grouped_bars(axis, mark, side_by_side)
        else:
            _draw(mark, axis)
    if panel.ticks:
        axis.set_xticks(range(len(panel.ticks)), [_text(each) for each in panel.ticks])
    ticks = _turn_ticks(axis, across)
    if panel.whole_x:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if panel.log_x:
        axis.set_xscale("log")
    if panel.log_y:
        axis.set_yscale("log")
    axis.spines[["top", "right"]].set_visible(False)
    up = size[1] - ABOVE
    axis.set(xlabel=_text(panel.x, across), ylabel=_text(panel.y, up), ylim=panel.limits)
    axis.set_title(_text(panel.title, across, TITLE), fontsize=TITLE)
    lines = (axis.get_title().count("\n") * TITLE + axis.get_xlabel().count("\n") * LABEL) * LINE
    return float(ticks + lines) + _legend(axis, size[0] - BESIDE)


def _legend(axis: Any, room: float) -> float:
    """Name the marks below the axes, where there are several names; return the inches that this takes."""
    entries: dict[str, Any] = {}
    for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
        entries.setdefault(name, handle)  # a line and its band share an entry
    if len(entries) < 2:  # the title names it
        return 0.0
    longest = max(map(len, entries)) * SMALL * CHARACTER + HANDLE
    columns = max(1, min(len(entries), int(room / longest), MOST_COLUMNS))
    said = [_text(each, room / columns - HANDLE, SMALL) for each in entries]
    plain = {"ncols": columns, "frameon": False, "fontsize": SMALL}
    axis.figure.legend(entries.values(), said, loc="outside lower center", **plain)
    lines = max(sum(each.count("\n") + 1 for each in said[column::columns]) for column in range(columns))
    return SMALL * LINE * lines + 0.1


def _keep_apart(drawn: Figure) -> None:
    """Move labels of points that cover a title or each other to the other side of their point, or leave them out."""
    labels = drawn.findobj(Annotation)
    if not labels:
        return
    FigureCanvasAgg(drawn)
    drawn.draw_without_rendering()
    taken = [axis.title.get_window_extent() for axis in drawn.axes]
    for label in labels:
        across, up = label.get_position()
        for side in (up, -up - 8):
            label.set_position((across, side))
            box = label.get_window_extent()
            if not any(box.overlaps(other) for other in taken) and drawn.bbox.fully_contains(box.x1, box.y1):
                taken.append(box)
                break
        else:
            label.set_visible(False)


def _turn_ticks(axis: Any, inches: float) -> float:
    """Wrap the names of categories, and turn them where they have no room; return the inches that this takes."""
    names = [each.get_text() for each in axis.get_xticklabels()]
    if not any(any(sign.isalpha() for sign in name) for name in names):
        return 0.0
    wrapped = ["\n".join(textwrap.wrap(name, MOST_TICK)) for name in names]
    widest = max(len(line) for name in wrapped for line in name.split("\n"))
    axis.set_xticks(axis.get_xticks(), wrapped)
    if widest * LABEL * CHARACTER * len(names) > inches:
        axis.tick_params(axis="x", labelrotation=90)
        return widest * LABEL * CHARACTER
    return max(name.count("\n") for name in wrapped) * LABEL * LINE


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
    axis.figure.colorbar(mesh, ax=axis, label=_text(mark.name, HEIGHT - ABOVE))


@_draw.register
def _(mark: Rule, axis: Any) -> None:
    line = axis.axvline if mark.axis == "x" else axis.axhline
    line(mark.at, color=mark.colour, linestyle=STYLES[mark.dash], linewidth=1.2, label=_text(mark.name))
