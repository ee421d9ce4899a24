"""Campaigns: problems x methods x seeds, run in parallel and resumable, with one table of results."""

from __future__ import annotations

import itertools
import pickle  # nosec B403: only written, to see whether a run can be sent
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from allweather.benchmark.regret import Measure
from allweather.benchmark.run import Run
from allweather.benchmark.runner import execute, prepare
from allweather.errors import InvalidInput, require

Chosen = str | tuple[str, Mapping[str, Any]] | Mapping[str, Any]
"""A method, one with its settings, or a mapping with its name as `method`, settings, and parts in place of its own."""
ORDER = ["problem", "method", "measure", "seed", "step"]
"""Columns that the rows of a table are sorted by, where it has them."""


@dataclass(frozen=True)
class Campaign:
    """All combinations of problems, methods and seeds; with control sets a run ends when its budget is spent.

    Methods and problems are names, or names with settings: `{"wdrbo, wide": ("wdrbo", {"radius": 0.5})}`. A method may
    have parts of your own: `{"mine": {"method": "sbo-kde", "acquisition": Gutsy()}}`.

    Example:
        >>> [run.key for run in Campaign(["newsvendor"], ["erbo", "random"], [0], 3).runs()]
        ['newsvendor--erbo--0', 'newsvendor--random--0']
    """

    problems: Sequence[str] | Mapping[str, tuple[str, Mapping[str, Any]]]
    methods: Sequence[str] | Mapping[str, Chosen]
    seeds: Sequence[int]
    iterations: int | None = None
    """Steps after the free initial trials; with control sets a limit, or None for as many as the budget allows."""
    measures: tuple[Measure, ...] = (Measure(),)
    """What regret is measured by."""
    simple_every: int = 0
    """Interval of steps at which the regret of the recommendation is measured too; 0 for never."""
    initial: int | None = None
    """Free initial trials; by default the number of the problem."""
    budget: float | None = None
    """With control sets: the budget of a run; by default that of the problem."""
    redrawn: bool = False
    """Whether the problem is drawn again for every seed, by its option `seed`."""
    folder: Path | None = None
    """For journals and optima; a campaign executed again in the same folder is resumed."""
    name: str = ""
    """Name of its folder among the campaigns of a figure; by default its number."""
    _names: tuple[str, ...] = field(default=(), repr=False)

    @property
    def settings(self) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """Name and options of each problem, by its label."""
        return _settings(self.problems)

    def only(self, labels: Collection[str]) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """Return some of the problems, in the order of the campaign."""
        return {label: chosen for label, chosen in self.settings.items() if label in labels}

    def runs(self) -> list[Run]:
        """Return all runs, seed by seed, so that partial results compare the methods fairly."""
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

    def check(self, workers: int = 1) -> None:
        """Build the study of each method, on the first problem, and refuse what workers could not carry out.

        Args:
            workers: as in `execute`; where there are several, runs must be such that they can be sent.

        Raises:
            InvalidInput: if a method is unknown, its parts do not go together, or it cannot be sent to workers.

        Example:
            >>> Campaign(["newsvendor"], {"mine": {"method": "sbo-kde", "acquisition": "greedy"}}, [0], 3).check()
            Traceback (most recent call last):
            allweather.errors.InvalidInput: Campaign(methods=...) 'mine': `Study(acquisition=...)` must be an
            acquisition such as UCB(1.5), got 'greedy'
        """
        runs = {run.labels["method"]: run for run in reversed(self.runs())}
        for label, run in reversed(runs.items()):
            where = f"Campaign(methods=...) {label!r}"
            try:
                run.build_study(run.build_problem())
            except InvalidInput as error:
                raise error.within(where) from None
            if workers != 1:
                _require_sendable(run, where)

    def execute(self, workers: int = 1, progress: bool = True) -> pd.DataFrame:
        """Execute all runs with joblib, and return their results.

        Args:
            workers: processes, or workers of the backend set by `joblib.parallel_config("dask")`.
            progress: whether to show a progress bar on standard error.

        Returns:
            One row per step of every run.
        """
        runs = self.runs()
        self.check(workers)
        if self.folder is not None:
            for run in {run.optimum_key: run for run in runs}.values():
                prepare(run, self.folder)
        jobs = (joblib.delayed(execute)(run, self.folder) for run in runs)
        results = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")(jobs)
        tables: list[pd.DataFrame] = list(_with_progress(results, len(runs)) if progress else results)
        table: pd.DataFrame = pd.concat(tables, ignore_index=True)
        return table.sort_values([name for name in ORDER if name in table], ignore_index=True)


def _settings(chosen: Sequence[str] | Mapping[str, Chosen]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    if not isinstance(chosen, Mapping):
        return {name: (name, {}) for name in chosen}
    return {label: _named(label, each) for label, each in chosen.items()}


def _named(label: str, chosen: Chosen) -> tuple[str, Mapping[str, Any]]:
    if isinstance(chosen, str):
        return chosen, {}
    if not isinstance(chosen, Mapping):
        name, settings = chosen
        return name, settings
    where = f"Campaign(methods=...) {label!r}"
    require("method" in chosen, where, "name the method whose parts are replaced as `method`", dict(chosen))
    return chosen["method"], {name: each for name, each in chosen.items() if name != "method"}


def _require_sendable(run: Run, where: str) -> None:
    """Refuse a run that cannot be sent to another process."""
    try:
        pickle.dumps(joblib.wrap_non_picklable_objects(run))
    except (TypeError, ValueError, AttributeError, pickle.PicklingError) as error:
        remedy = "give the part by a class of a module that workers can import"
        raise InvalidInput(f"cannot be sent to workers: {error}", where=where, remedy=remedy) from None


def _with_progress(results: Iterable[pd.DataFrame], total: int) -> Iterable[pd.DataFrame]:
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
