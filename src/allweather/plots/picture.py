"""A figure: seen on a screen with plotly, printed with matplotlib, and described in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allweather.errors import InvalidInput, require
from allweather.plots.marks import Panel

PRINTED = (".png", ".pdf", ".svg")
SCREEN = (".html", ".json")


@dataclass(frozen=True, eq=False)
class Picture:
    """Panels side by side, before they are drawn.

    In a notebook it shows itself; elsewhere `show()` opens a browser, `save("figure.html")` writes an interactive page
    that needs no network, and `save("figure.pdf")` prints it with matplotlib.

    Example:
        >>> from allweather.plots import Line, Panel
        >>> panel = Panel("Profit", "order", "profit a day", (Line([0, 1, 2], [0, 3, 1], "mean"),))
        >>> picture = Picture("What an order earns", "The mean profit is highest at an order of 1.", (panel,))
        >>> picture.plotly().data[0].name
        'mean'
    """

    title: str
    says: str
    """What there is to see, in a sentence: for captions, and for people who do not see the figure."""
    panels: tuple[Panel, ...]
    columns: int = 2
    """How many panels stand side by side, at most."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of panels."""
        across = min(self.columns, len(self.panels))
        return -(-len(self.panels) // across), across

    def plotly(self) -> Any:
        """The figure as a `plotly.graph_objects.Figure`, to look at and to change."""
        with _needed("plotly"):
            from allweather.plots import plotly_backend
        return plotly_backend.figure(self)

    def matplotlib(self) -> Any:
        """The figure as a `matplotlib.figure.Figure`, for print."""
        with _needed("matplotlib"):
            from allweather.plots import matplotlib_backend
        return matplotlib_backend.figure(self)

    def show(self) -> None:
        """Open it where plotly shows figures: a notebook, or a browser."""
        self.plotly().show()

    def save(self, path: str | Path) -> Path:
        """Write the figure to a file.

        Args:
            path: ends in .html or .json (plotly), or in .png, .pdf or .svg (matplotlib).
        """
        target = Path(path)
        known = [*SCREEN, *PRINTED]
        require(target.suffix.lower() in known, "Picture.save(path=...)", f"end in one of {', '.join(known)}", path)
        write = self._writer(target.suffix.lower())
        try:
            write(target)
        except OSError as problem:
            raise InvalidInput(f"`{target}` cannot be written: {problem}") from None
        return target

    def _writer(self, kind: str) -> Callable[[Path], object]:
        if kind in PRINTED:
            drawn = self.matplotlib()
            return lambda target: drawn.savefig(target, dpi=150)
        figure = self.plotly()
        text = figure.to_json() if kind == ".json" else figure.to_html(include_plotlyjs=True, full_html=True)
        return lambda target: target.write_text(text, encoding="utf-8")

    def _repr_mimebundle_(self, *given: Any, **options: Any) -> Any:
        return self.plotly()._repr_mimebundle_(*given, **options)


@contextmanager
def _needed(package: str) -> Iterator[None]:
    try:
        yield
    except ImportError as missing:
        raise InvalidInput(f"figures need {package}: pip install 'allweather[plots]' ({missing})") from None
