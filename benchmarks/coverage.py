"""How much of a figure of a paper is stored: panels, methods, seeds and iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from allweather.benchmark.figures import Figure
from benchmarks import stored_runs
from benchmarks.stored_runs import Record


@dataclass(frozen=True)
class Panel:
    """A problem, with a measure of regret if there is one, as the paper has it and as it is stored."""

    problem: str
    measure: str | None
    methods: tuple[str, ...]
    seeds: int
    iterations: int | None
    """None where the budget ends a run."""
    runs: dict[str, dict[int, int]]
    """Stored steps by method and seed."""

    def stored(self, method: str) -> tuple[int, int]:
        """The stored seeds of a method, and the steps that all of them have.

        Args:
            method: its label.
        """
        own = self.runs.get(method, {})
        return len(own), min(own.values(), default=0)

    def half(self, ours: Sequence[str]) -> bool:
        """Whether all methods of the paper have at least half of its seeds with half of its iterations.

        Args:
            ours: methods that the paper does not have.
        """
        least = (self.iterations or 0) / 2
        paper = [name for name in self.methods if name not in ours]
        return all(
            2 * sum(steps >= least for steps in self.runs.get(name, {}).values()) >= self.seeds for name in paper
        )

    @property
    def lacking(self) -> str:
        """What is not stored, in words; empty where everything is."""
        stored = {name: self.stored(name) for name in self.methods}
        absent = [name for name, (seeds, _) in stored.items() if not seeds]
        if len(absent) == len(stored):
            return "nothing is stored"
        seeds = min(count for count, _ in stored.values() if count)
        steps = min(length for count, length in stored.values() if count)
        parts = [f"{seeds} of {self.seeds} seeds"] if seeds < self.seeds else []
        if self.iterations is not None and steps < self.iterations:
            parts.append(f"{steps} of {self.iterations} iterations")
        return ", ".join([*parts, *(["without " + ", ".join(absent)] if absent else [])])


@dataclass(frozen=True)
class Coverage:
    """The panels of a figure, and what is stored of them."""

    panels: tuple[Panel, ...]
    ours: tuple[str, ...] = ()
    """Methods that the paper does not have."""

    @classmethod
    def of(cls, figure: Figure, records: Sequence[Record]) -> Coverage:
        """The coverage of a figure by stored runs.

        Args:
            figure: of the catalogue.
            records: its stored runs.
        """
        stored: dict[tuple[Any, ...], dict[int, int]] = {}
        for each in records:
            key = (each["problem"], each.get("measure"), each["method"])
            stored.setdefault(key, {})[each["seed"]] = stored_runs.length(each)
        panels: dict[tuple[str, str | None], Panel] = {}
        for campaign in figure.campaigns():
            by_cost = campaign.iterations is None
            for problem in campaign.problems:
                for measure in [None] if by_cost else [each.name for each in campaign.measures]:
                    runs = {name: stored.get((problem, measure, name), {}) for name in campaign.methods}
                    key = problem, measure
                    known = panels[key].runs if key in panels else {}
                    runs = known | runs  # a panel may have methods of several campaigns
                    panels[key] = Panel(*key, tuple(runs), len(campaign.seeds), campaign.iterations, runs)
        return cls(tuple(panels.values()), figure.ours)

    @property
    def reproduced(self) -> int:
        """Panels with at least half of the paper's seeds and iterations."""
        return sum(panel.half(self.ours) for panel in self.panels)

    @property
    def whole(self) -> bool:
        """Whether the figure counts as reproduced: all its panels have at least half of the seeds and iterations."""
        return self.reproduced == len(self.panels)

    @property
    def size(self) -> str:
        """Seeds and iterations of the paper."""
        first = self.panels[0]
        steps = "whole budgets" if first.iterations is None else f"{first.iterations} iterations"
        return f"{first.seeds} seeds and {steps}"

    @property
    def seeds(self) -> str:
        """Stored seeds of those of the paper, over all methods with runs."""
        counts = [panel.stored(name)[0] for panel in self.panels for name in panel.methods]
        return _range([count for count in counts if count], self.panels[0].seeds)

    @property
    def iterations(self) -> str:
        """Stored iterations of those of the paper."""
        first = self.panels[0]
        if first.iterations is None:
            return "until the budget is spent"
        steps = [panel.stored(name)[1] for panel in self.panels for name in panel.methods]
        return _range([each for each in steps if each], first.iterations)

    def lacking(self) -> list[str]:
        """What is not stored, problem by problem; problems that lack the same are named together."""
        found: dict[str, list[str]] = {}
        for problem, panels in groupby(self.panels, key=lambda panel: panel.problem):
            by_text: dict[str, list[str]] = {}
            own = list(panels)
            for panel in own:
                by_text.setdefault(panel.lacking, []).append(panel.measure or "")
            for text, measures in by_text.items():
                part = f" ({', '.join(measures)})" if len(measures) < len(own) else ""
                found.setdefault(text, []).append(problem + part)
        return [f"{', '.join(dict.fromkeys(names))}: {text}" for text, names in found.items() if text]


def _range(numbers: Sequence[int], whole: int) -> str:
    if not numbers:
        return f"0 of {whole}"
    low, high = min(numbers), max(numbers)
    return f"{low} of {whole}" if low == high else f"{low} to {high} of {whole}"
