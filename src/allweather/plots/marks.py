"""Marks and panels: the content of a figure as data, before anything is drawn.

Texts are plain; the backends escape them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
AMBER, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#7F7F7F"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, AMBER, SKY, BLACK, GREY, "#8C6D31", "#6A3D9A")
"""After Okabe and Ito (2008), for colour-blind readers; dashes and symbols differ too."""
Dash = Literal["solid", "dash", "dot", "dashdot"]
DASHES: tuple[Dash, ...] = ("solid", "dash", "dashdot", "dot")
Numbers = Sequence[float] | np.ndarray
Places = Sequence[float] | Sequence[str] | np.ndarray
"""Positions on an axis: numbers, or the names of its categories."""


@dataclass(frozen=True, eq=False)
class _Points:
    """Positions with a name in the legend and a colour."""

    x: Places
    y: Places
    name: str
    colour: str = BLUE


@dataclass(frozen=True, eq=False)
class Line(_Points):
    """Points joined by a line; NaN interrupts it."""

    dash: Dash = "solid"
    steps: bool = False
    """Whether each value holds until the next, as in a step function."""
    texts: Sequence[str] = ()
    """What is shown on hover in place of the horizontal position."""


@dataclass(frozen=True, eq=False)
class Ribbon:
    """The area between two lines; NaN positions separate several areas."""

    x: Numbers
    low: Numbers
    high: Numbers
    name: str
    colour: str = BLUE


@dataclass(frozen=True, eq=False)
class Dots(_Points):
    """Single points."""

    colour: str = GREY
    symbol: Literal["circle", "diamond", "square", "ring", "tick"] = "circle"
    texts: Sequence[str] = ()
    """Text of each point, shown on hover."""
    labelled: bool = False
    """Whether the texts are written beside the points."""
    below: bool = False
    """Whether they are written below the points, where a line through these rises, and not above."""


@dataclass(frozen=True, eq=False)
class Bars:
    """A bar at each position."""

    x: Places
    heights: Numbers
    name: str
    colour: str = SKY
    width: float | None = None
    """In units of the axis; None for categories, where the bars of several marks are side by side."""


@dataclass(frozen=True, eq=False)
class Heat:
    """A heat map: a value for each pair of positions."""

    x: Places
    y: Places
    values: np.ndarray
    """(y, x)"""
    name: str


@dataclass(frozen=True, eq=False)
class Rule:
    """A straight line across the panel."""

    at: float | str
    name: str
    colour: str = GREY
    dash: Dash = "dot"
    axis: Literal["x", "y"] = "x"
    """The axis that `at` is a position on."""


Mark = Line | Ribbon | Dots | Bars | Heat | Rule


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes with marks on them."""

    title: str
    x: str
    """Label of the horizontal axis."""
    y: str
    """Label of the vertical axis."""
    marks: tuple[Mark, ...]
    log_x: bool = False
    log_y: bool = False
    limits: tuple[float, float] | None = field(default=None)
    """Of the vertical axis; by default all marks are visible."""
    whole_x: bool = False
    """Whether the horizontal axis counts: it has ticks at whole numbers only."""
    ticks: tuple[str, ...] = ()
    """Categories of the horizontal axis, at 0, 1, 2, ...; marks may be between them too."""

    @property
    def placed(self) -> tuple[Mark, ...]:
        """The marks, with categories as positions where the axis has `ticks`."""
        return tuple(_numbered(mark, self.ticks) for mark in self.marks) if self.ticks else self.marks

    @property
    def step(self) -> int:
        """Distance of ticks at whole numbers: about eight of them."""
        ends = [float(each) for mark in self.placed for each in np.asarray(getattr(mark, "x", [])).ravel()]
        wanted = (max(ends, default=0.0) - min(ends, default=0.0)) / 8
        steps = (lead * int(10**power) for power in range(18) for lead in (1, 2, 5))
        return next(step for step in steps if step >= wanted)


def _numbered(mark: Mark, names: Sequence[str]) -> Mark:
    if isinstance(mark, Heat):
        return mark
    if isinstance(mark, Rule):
        return replace(mark, at=names.index(mark.at)) if isinstance(mark.at, str) and mark.axis == "x" else mark
    return replace(mark, x=[names.index(each) if isinstance(each, str) else each for each in mark.x])


def spread(values: Numbers) -> np.ndarray:
    """Return a value of each category as that of both ends of a segment, with a gap after it.

    Example:
        >>> spread([1.0, 2.0]).tolist()
        [1.0, 1.0, nan, 2.0, 2.0, nan]
    """
    column = np.asarray(values, dtype=float)[:, None]
    return np.asarray(np.concatenate([column, column, np.full_like(column, np.nan)], axis=1)).ravel()


def segments(count: int, half: float = 0.3) -> np.ndarray:
    """Return the positions of segments around 0, 1, 2, ..., with a gap after each.

    Args:
        count: the number of categories.
        half: of the width of a segment.
    """
    return np.asarray(spread(np.arange(count)) + np.tile([-half, half, 0.0], count))
