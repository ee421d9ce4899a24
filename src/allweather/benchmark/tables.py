"""Tables and figures of the papers that are not campaigns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from allweather.benchmark.ask_times import Wanted, ask_times
from allweather.contexts import KDE
from allweather.problems.hartmann import COMPLICATED


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper that is not a campaign: how to build it, and what the paper claims."""

    name: str
    source: str
    """Paper and number."""
    claim: str
    build: Callable[[Wanted], tuple[pd.DataFrame, str]]
    """From what is wanted to the table and how it compares."""
    draw: Callable[[pd.DataFrame, Path], Path] | None = None
    """Draws the table, where the paper has a figure."""


PUBLISHED = {"normal": (0.3222, 0.1315, 0.1156, 0.0962), "complicated": (0.6216, 0.5380, 0.4853, 0.4724)}
SIZES = (10, 100, 200, 300)


def kde_table2(wanted: Wanted) -> tuple[pd.DataFrame, str]:
    """Measure the L1 distance between a density and its kernel estimate, on the real line, unclipped (errata E2).

    Args:
        wanted: its seeds are the repetitions, 100 by default; quick is ten of them.

    Returns:
        The table, and its largest deviation from the published one.
    """
    repeats = 10 if wanted.quick else wanted.seeds or 100
    grid = np.linspace(-1, 2, 3001)
    rng = np.random.default_rng(0)
    normal = np.exp(-((grid - 0.5) ** 2) / 0.02) / np.sqrt(2 * np.pi * 0.01)
    densities = {"normal": normal, "complicated": COMPLICATED.density(grid)}
    rows = []
    for name, density in densities.items():
        for size, published in zip(SIZES, PUBLISHED[name], strict=True):
            found = []
            for _ in range(repeats):
                sample = torch.from_numpy(_unclipped(name, size, rng))[:, None]
                estimate = KDE(bandwidth="silverman").density(torch.from_numpy(grid)[:, None], sample).numpy()
                found.append(float(np.abs(estimate - density).sum()) * (grid[1] - grid[0]))
            error = np.std(found, ddof=1) / np.sqrt(repeats)
            row = {"law": name, "samples": size, "published": published, "mean": np.mean(found)}
            rows.append({**row, "standard_error": error})
    table = pd.DataFrame(rows)
    off = ((table["mean"] - table["published"]).abs() / table["published"]).max()
    return table, f"largest deviation {off:.1%}"


def _unclipped(law: str, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw (size,) from a law of kde, App. D, without clipping to the unit interval."""
    if law == "normal":
        return rng.normal(0.5, 0.1, size)
    centres, scales = np.array([*COMPLICATED.normals, *COMPLICATED.cauchys]).T
    part = rng.integers(len(centres), size=size)
    noise = np.where(part < len(COMPLICATED.normals), rng.standard_normal(size), rng.standard_cauchy(size))
    return np.asarray(centres[part] + scales[part] * noise)


TABLES = (
    Table(
        "kde-table2",
        "kde, Table 2",
        "The estimate improves with the sample, more slowly for the complicated law.",
        kde_table2,
    ),
    Table("subsets-cpu", "subsets, App. C.4", "No algorithm requires a significant amount of compute.", ask_times),
)
