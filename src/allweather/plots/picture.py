"""Figures that can be shown, saved and converted to plotly or matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allweather._utils.installation import install_command
from allweather.errors import InvalidInput, require
from allweather.plots.marks import Panel

MATPLOTLIB = (".png", ".pdf", ".svg")
PLOTLY = (".html", ".json")


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure before it is drawn.

    A notebook displays it; elsewhere `show()` opens a browser, `save("figure.html")` writes an interactive page that
    needs no network, and `save("figure.pdf")` draws it with matplotlib.

    Args:
        title: of the figure.
        says: the caption, a sentence.
        panels: the axes with their marks.
        columns: panels side by side, at most.

    Example:
        >>> from allweather.plots import Line, Panel
        >>> panel = Panel("Profit", "order", "profit per day", (Line([0, 1, 2], [0, 3, 1], "mean"),))
        >>> picture = Picture("Profit by order", "The mean profit is highest at an order of 1.", (panel,))
        >>> picture.plotly().data[0].name
        'mean'
    """

    title: str
    says: str
    """The caption: what the figure shows, in a sentence, also for screen readers."""
    panels: tuple[Panel, ...]
    columns: int = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of panels."""
        across = min(self.columns, len(self.panels))
        return -(-len(self.panels) // across), across

    def plotly(self, width: int | None = None) -> Any:
        """Return the figure as a `plotly.graph_objects.Figure`.

        Args:
            width: pixels of the place where it is shown; by default 960. Below 640 panels stand below each other.
        """
        with _required("plotly"):
            from allweather.plots import plotly_backend
        return plotly_backend.draw(self) if width is None else plotly_backend.draw(self, width)

    @property
    def toolbar(self) -> dict[str, Any]:
        """The configuration of plotly's toolbar."""
        with _required("plotly"):
            from allweather.plots import plotly_backend
        return dict(plotly_backend.CONFIG)

    def matplotlib(self, size: tuple[float, float] | None = None) -> Any:
        """Return the figure as a `matplotlib.figure.Figure`.

        Args:
            size: width and height of a panel in inches; by default 5 x 3.7.
        """
        with _required("matplotlib"):
            from allweather.plots import matplotlib_backend
        return matplotlib_backend.draw(self) if size is None else matplotlib_backend.draw(self, size)

    def show(self) -> None:
        """Show the figure in a notebook or a browser."""
        self.plotly().show()

    def save(self, path: str | Path) -> Path:
        """Write the figure to a file and return its path.

        Args:
            path: ends in .html or .json (plotly), or in .png, .pdf or .svg (matplotlib).

        Raises:
            InvalidInput: if the ending is unknown or the file cannot be written.
        """
        target = Path(path)
        known = [*PLOTLY, *MATPLOTLIB]
        require(target.suffix.lower() in known, "Picture.save(path=...)", f"end in one of {', '.join(known)}", path)
        write = self._writer(target.suffix.lower())
        try:
            write(target)
        except OSError as error:
            raise InvalidInput(f"cannot be written: {error}", where=str(target)) from None
        return target

    def _writer(self, kind: str) -> Callable[[Path], object]:
        if kind in MATPLOTLIB:
            drawn = self.matplotlib()
            return lambda target: drawn.savefig(target, dpi=150)
        figure = self.plotly()
        page = {"include_plotlyjs": True, "full_html": True, "config": self.toolbar}
        text = figure.to_json() if kind == ".json" else figure.to_html(**page)
        return lambda target: target.write_text(text, encoding="utf-8")

    def _repr_mimebundle_(self, *given: Any, **options: Any) -> Any:
        return self.plotly()._repr_mimebundle_(*given, **options)


@contextmanager
def _required(package: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise InvalidInput(
            f"figures need {package} ({error})", remedy=f"install it with `{install_command('plots')}`"
        ) from None
