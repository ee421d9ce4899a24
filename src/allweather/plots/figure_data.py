"""The content of a figure, independent of the library that draws it."""

from __future__ import annotations

from dataclasses import dataclass

from allweather.plots.marks import Panel


@dataclass(frozen=True, eq=False)
class FigureData:
    """Panels with a title and a caption."""

    title: str
    says: str
    """The caption: what the figure shows, in a sentence, also for screen readers."""
    panels: tuple[Panel, ...]
    columns: int = 2
    """Panels side by side, at most."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of panels."""
        across = min(self.columns, len(self.panels))
        return -(-len(self.panels) // across), across
