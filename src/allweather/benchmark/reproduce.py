"""A figure or table of the papers by name: run it, and set what came out beside what was claimed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.figures import FIGURES
from allweather.benchmark.report import figure, paired, summary
from allweather.contexts import KDE
from allweather.errors import InvalidInput, require_count
from allweather.problems.hartmann import COMPLICATED
from allweather.registry import unknown


class Reproduction(NamedTuple):
    """What came out."""

    name: str
    source: str
    claim: str
    table: pd.DataFrame
    verdict: str
    figure: Path | None
    results: pd.DataFrame


def reproducible() -> list[str]:
    """The figures and tables that can be reproduced.

    Example:
        >>> "kde-table2" in reproducible()
        True
    """
    return sorted([*FIGURES, "kde-table2"])


def reproduce(
    name: str,
    seeds: int | None = None,
    iterations: int | None = None,
    quick: bool = False,
    problems: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    workers: int = 1,
    folder: Path | None = None,
) -> Reproduction:
    """Run a figure or table of the papers.

    Args:
        name: see `reproducible`.
        seeds: how many, if not as many as in the paper.
        iterations: of each run, if not as many as in the paper.
        quick: in miniature: one seed, three iterations, the first problem.
        problems: only these.
        methods: only these.
        workers: processes.
        folder: for journals, tables and figures; the same folder goes on where it stopped.
    """
    if name == "kde-table2":
        return _kde_table2(10 if quick else seeds or 100)
    if name not in FIGURES:
        raise unknown("reproduce(name=...)", name, reproducible())
    chosen = FIGURES[name]
    for number, where in ((seeds, "seeds"), (iterations, "iterations")):
        if number is not None:
            require_count(number, f"reproduce({where}=...)", low=1)
    campaigns = _only(_only(chosen.campaigns(), "problems", problems), "methods", methods)
    campaigns = [_sized(each, seeds, iterations, quick) for each in campaigns[: 1 if quick else None]]
    tables = []
    for place, each in enumerate(campaigns):
        own = None if folder is None else folder / name / f"{place:02d}"
        tables.append(dataclasses.replace(each, folder=own).execute(workers, progress=not quick))
    results = pd.concat(tables, ignore_index=True)
    verdict = ""
    if {chosen.first, chosen.second} <= set(results["method"]):
        compared = paired(results, chosen.first, chosen.second)
        won = int((compared["gain"] > 0).sum())
        verdict = f"{chosen.first} lost less than {chosen.second} in {won} of {len(compared)} settings"
    drawn = None if folder is None else figure(results, folder / name / f"{name}.png")
    if folder is not None:
        results.to_csv(folder / name / f"{name}.csv", index=False)
    return Reproduction(name, chosen.source, chosen.claim, summary(results), verdict, drawn, results)


def _only(campaigns: list[Campaign], what: str, wanted: Sequence[str] | None) -> list[Campaign]:
    """The campaigns restricted to some of their problems or methods."""
    if wanted is None:
        return campaigns
    kept = []
    for each in campaigns:
        known = getattr(each, what)
        names = [name for name in known if name in wanted]
        if names:
            chosen = {name: known[name] for name in names} if isinstance(known, dict) else names
            changed: dict[str, Any] = {what: chosen}
            kept.append(dataclasses.replace(each, **changed))
    if not kept:
        known = sorted({name for each in campaigns for name in getattr(each, what)})
        raise InvalidInput(f"`reproduce({what}=...)` must name some of {', '.join(known)}, got {list(wanted)}")
    return kept


def _sized(campaign: Campaign, seeds: int | None, iterations: int | None, quick: bool) -> Campaign:
    count = 1 if quick else seeds
    names = list(campaign.problems)[:1]
    first: Any = {name: campaign.problems[name] for name in names} if isinstance(campaign.problems, dict) else names
    return dataclasses.replace(
        campaign,
        problems=first if quick else campaign.problems,
        seeds=campaign.seeds if count is None else list(campaign.seeds)[:count],
        iterations=3 if quick else iterations or campaign.iterations,
    )


PUBLISHED = {"normal": (0.3222, 0.1315, 0.1156, 0.0962), "complicated": (0.6216, 0.5380, 0.4853, 0.4724)}
SIZES = (10, 100, 200, 300)


def _kde_table2(repeats: int) -> Reproduction:
    """The L1 distance between a density and its kernel estimate, over the line and before any clipping (errata)."""
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
                estimate = KDE().density(torch.from_numpy(grid)[:, None], sample).numpy()
                found.append(float(np.abs(estimate - density).sum()) * (grid[1] - grid[0]))
            error = np.std(found, ddof=1) / np.sqrt(repeats)
            row = {"law": name, "samples": size, "published": published, "mean": np.mean(found)}
            rows.append({**row, "standard_error": error})
    table = pd.DataFrame(rows)
    off = ((table["mean"] - table["published"]).abs() / table["published"]).max()
    claim = "The estimate improves with the sample, more slowly for the complicated law."
    return Reproduction("kde-table2", "kde, Table 2", claim, table, f"largest deviation {off:.1%}", None, table)


def _unclipped(law: str, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draws (size,) of a law of kde, App. D, that may lie outside the unit interval."""
    if law == "normal":
        return rng.normal(0.5, 0.1, size)
    centres, scales = np.array([*COMPLICATED.normals, *COMPLICATED.cauchys]).T
    part = rng.integers(len(centres), size=size)
    noise = np.where(part < len(COMPLICATED.normals), rng.standard_normal(size), rng.standard_cauchy(size))
    return np.asarray(centres[part] + scales[part] * noise)
