"""Many runs: problems x methods x seeds, in parallel, resumable, as one tidy table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from allweather.benchmark.regret import Measure
from allweather.benchmark.runner import Run, execute, prepare

ORDER = ["problem", "method", "measure", "seed", "step"]
"""Of the rows of a table, by those of these columns that it has."""


@dataclass(frozen=True)
class Campaign:
    """Runs that belong together; with control sets every run goes on until its budget is spent.

    Methods and problems are names, or names with settings: `{"wdrbo, wide": ("wdrbo", {"radius": 0.5})}`.
    """

    problems: Sequence[str] | Mapping[str, tuple[str, Mapping[str, Any]]]
    methods: Sequence[str] | Mapping[str, tuple[str, Mapping[str, Any]]]
    seeds: Sequence[int]
    iterations: int | None = None
    """Steps after the free initial trials; with control sets the most there may be, none to go on for the budget."""
    measures: tuple[Measure, ...] = (Measure(),)
    simple_every: int = 0
    initial: int | None = None
    """Free initial trials, where not the problem's own number."""
    budget: float | None = None
    """With control sets: what a run may spend, where not the problem's own budget."""
    redrawn: bool = False
    """Whether the problem's option `seed` is the run's: another function for every seed."""
    folder: Path | None = None
    """Where journals and optima are kept; a campaign run again in the same folder goes on where it stopped."""
    _names: tuple[str, ...] = field(default=(), repr=False)

    def runs(self) -> list[Run]:
        """Every run, seed by seed, so that a partial result is a fair one."""
        chosen = itertools.product(self.seeds, _settings(self.problems).items(), _settings(self.methods).items())
        return [
            Run(
                problem=name,
                method=how,
                seed=seed,
                iterations=self.iterations,
                options={**options, "seed": seed} if self.redrawn else options,
                settings=settings,
                measures=self.measures,
                simple_every=self.simple_every,
                initial=self.initial,
                budget=self.budget,
                label=label,
                group=group,
            )
            for seed, (group, (name, options)), (label, (how, settings)) in chosen
        ]

    def execute(self, workers: int = 1, progress: bool = True) -> pd.DataFrame:
        """All runs, on joblib workers (processes by default; `joblib.parallel_config("dask")` for a cluster)."""
        runs = self.runs()
        if self.folder is not None:
            for run in {run.place: run for run in runs}.values():
                prepare(run, self.folder)
        jobs = (joblib.delayed(execute)(run, self.folder) for run in runs)
        results = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")(jobs)
        tables: list[pd.DataFrame] = list(_watched(results, len(runs)) if progress else results)
        table: pd.DataFrame = pd.concat(tables, ignore_index=True)
        return table.sort_values([name for name in ORDER if name in table], ignore_index=True)


def _settings(
    chosen: Sequence[str] | Mapping[str, tuple[str, Mapping[str, Any]]],
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    return dict(chosen) if isinstance(chosen, Mapping) else {name: (name, {}) for name in chosen}


def _watched(results: Iterable[pd.DataFrame], total: int) -> Iterable[pd.DataFrame]:
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        for table in results:
            row = table.iloc[-1]
            bar.update(task, advance=1, description=f"{row['problem']}, {row['method']}, seed {row['seed']}")
            yield table
