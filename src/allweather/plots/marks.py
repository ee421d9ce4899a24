"""What a figure is made of: marks on panels, as data, before anything is drawn.

All texts are plain: whoever draws them sees to it that a name such as `<b>` or `$x$` is shown as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
AMBER, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#7F7F7F"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, AMBER, SKY, BLACK, GREY, "#8C6D31", "#6A3D9A")
"""After Okabe and Ito: told apart also by people who do not see all colours; dashes and symbols differ too."""
Dash = Literal["solid", "dash", "dot", "dashdot"]
DASHES: tuple[Dash, ...] = ("solid", "dash", "dashdot", "dot")
Numbers = Sequence[float] | np.ndarray
Places = Sequence[float] | Sequence[str] | np.ndarray
"""Positions on an axis: numbers, or the names of its categories."""


@dataclass(frozen=True, eq=False)
class Line:
    """Points joined by a line; `NaN` interrupts it."""

    x: Places
    y: Numbers
    name: str
    colour: str = BLUE
    dash: Dash = "solid"
    steps: bool = False
    """Whether it runs in steps: each value holds until the next."""


@dataclass(frozen=True, eq=False)
class Ribbon:
    """The area between two lines."""

    x: Numbers
    low: Numbers
    high: Numbers
    name: str
    colour: str = BLUE


@dataclass(frozen=True, eq=False)
class Dots:
    """Single points."""

    x: Places
    y: Places
    name: str
    colour: str = GREY
    symbol: Literal["circle", "diamond", "square", "ring", "tick"] = "circle"
    texts: Sequence[str] = ()
    """What is said of each point when one looks closer."""
    labelled: bool = False
    """Whether these texts stand beside the points."""


@dataclass(frozen=True, eq=False)
class Bars:
    """A bar at each place."""

    x: Places
    heights: Numbers
    name: str
    colour: str = SKY
    width: float | None = None
    """In units of the axis; where places are categories, bars of several marks stand side by side."""


@dataclass(frozen=True, eq=False)
class Heat:
    """A value for each pair of places, by colour."""

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
    """The axis on which it is `at`."""


Mark = Line | Ribbon | Dots | Bars | Heat | Rule


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes with marks on them."""

    title: str
    x: str
    """What the horizontal axis shows, in the user's words and units."""
    y: str
    marks: tuple[Mark, ...]
    log_x: bool = False
    log_y: bool = False
    limits: tuple[float, float] | None = field(default=None)
    """Of the vertical axis, where not all of the marks are to be seen."""
