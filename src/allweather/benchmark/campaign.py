"""Many runs: problems x methods x seeds, in parallel, resumable, as one tidy table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from allweather.benchmark.regret import Judge, Measure
from allweather.benchmark.runner import Run, execute
from allweather.problems import problem


@dataclass(frozen=True)
class Campaign:
    """Runs that belong together.

    Methods and problems are names, or names with settings: `{"wdrbo, wide": ("wdrbo", {"radius": 0.5})}`.
    """

    problems: Sequence[str] | Mapping[str, tuple[str, Mapping[str, Any]]]
    methods: Sequence[str] | Mapping[str, tuple[str, Mapping[str, Any]]]
    seeds: Sequence[int]
    iterations: int
    measures: tuple[Measure, ...] = (Measure(),)
    simple_every: int = 0
    initial: int | None = None
    """Free initial trials, where not the problem's own number."""
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
                options=options,
                settings=settings,
                measures=self.measures,
                simple_every=self.simple_every,
                initial=self.initial,
                label=label,
                group=group,
            )
            for seed, (group, (name, options)), (label, (how, settings)) in chosen
        ]

    def execute(self, workers: int = 1, progress: bool = True) -> pd.DataFrame:
        """All runs, on joblib workers (processes by default; `joblib.parallel_config("dask")` for a cluster)."""
        for group, (name, options) in _settings(self.problems).items():
            for measure in self.measures:  # once, before workers would each look for the optimum
                if self.folder is not None:
                    Judge.of(problem(name, **options), measure, self.folder / "optima" / group)
        runs = self.runs()
        jobs = (joblib.delayed(execute)(run, self.folder) for run in runs)
        results = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")(jobs)
        tables: list[pd.DataFrame] = list(_watched(results, len(runs)) if progress else results)
        table: pd.DataFrame = pd.concat(tables, ignore_index=True)
        return table.sort_values(["problem", "method", "measure", "seed", "step"], ignore_index=True)


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
    with Progress(*columns) as bar:
        task = bar.add_task("", total=total)
        for table in results:
            row = table.iloc[-1]
            bar.update(task, advance=1, description=f"{row['problem']}, {row['method']}, seed {row['seed']}")
            yield table
