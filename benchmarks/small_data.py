"""How often an interval is absurd on few data: wider than three times the range of the outcomes, without a warning.

500 data sets of 4 to 30 trials: one to four variables of all kinds, one or two contexts, outcomes that are smooth,
rough, noisy, heavy-tailed, stepped, nearly constant or have an outlier.

    python -m benchmarks small_data                       # seeds from 1000 on, which nobody tuned on; some minutes
    python -m benchmarks small_data --count 40 --first 0
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import allweather as aw

WIDE = 3.0
"""Times the range of the outcomes."""
Rows = np.ndarray
FUNCTIONS: dict[str, Callable[[Rows, np.random.Generator], np.ndarray]] = {
    "smooth": lambda u, source: -((u - source.random(u.shape[1])) ** 2).sum(1),
    "rough": lambda u, source: np.sin(14 * u + source.random(u.shape[1])).sum(1),
    "noisy": lambda u, source: -(u**2).sum(1) + source.normal(0, 1, len(u)),
    "heavy tails": lambda u, source: -np.exp(8 * u[:, 0]) - u[:, -1],
    "cauchy noise": lambda u, source: u[:, 0] + 0.1 * source.standard_cauchy(len(u)),
    "outlier": lambda u, source: u.sum(1) + 100.0 * (np.arange(len(u)) == 1),
    "step": lambda u, source: (u[:, 0] > 0.6) * 5.0 - u[:, -1],
    "nearly constant": lambda u, source: 3e6 + 1e-3 * source.normal(size=len(u)),
    "product": lambda u, source: -((u[:, 0] - u[:, -1]) ** 2),
    "counts": lambda u, source: source.poisson(1 + 4 * u[:, 0]).astype(float),
}


class Found(NamedTuple):
    """One data set and its interval."""

    kind: str
    trials: int
    share: float
    """Width in units of the range of the outcomes."""
    warned: bool

    @property
    def absurd(self) -> bool:
        """Wide without a warning."""
        return self.share > WIDE and not self.warned


def study_of(seed: int) -> tuple[str, aw.Study, np.ndarray]:
    """A study with one small data set, its kind and outcomes.

    Args:
        seed: of the data set.
    """
    source = np.random.default_rng(seed)
    kind = list(FUNCTIONS)[seed % len(FUNCTIONS)]
    decisions, contexts = int(source.integers(1, 4)), int(source.integers(1, 3))
    variables: dict[str, Any] = {f"x{i}": aw.Real(0, 1) for i in range(decisions)}
    if source.random() < 0.3:
        variables["n"] = aw.Integer(0, 10)
    variables |= {f"c{i}": aw.Context(0, 1) for i in range(contexts)}
    trials = int(source.integers(4, 31))
    units = source.random((trials, len(variables)))
    outcomes = FUNCTIONS[kind](units, source)
    rows = [
        {name: int(11 * min(u, 0.999)) if name == "n" else float(u) for name, u in zip(variables, row, strict=True)}
        | {"value": float(outcome)}
        for row, outcome in zip(units, outcomes, strict=True)
    ]
    study = aw.Study(aw.Space(**variables), seed=seed)
    study.add(rows)
    return kind, study, outcomes


def measure(seed: int) -> Found:
    """The interval of one data set.

    Args:
        seed: of the data set.
    """
    kind, study, outcomes = study_of(seed)
    best = study.recommend()
    share = (best.interval[1] - best.interval[0]) / max(float(np.ptp(outcomes)), 1e-300)
    return Found(kind, len(outcomes), share, bool(best.warning))


def main(arguments: Sequence[str] = ()) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks small_data", description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=1000, help="first seed")
    chosen = parser.parse_args(arguments)
    show([measure(seed) for seed in range(chosen.first, chosen.first + chosen.count)])


def show(found: Sequence[Found]) -> None:
    """Print one line per kind of data."""
    table = Table(title=f"intervals wider than {WIDE:g} times the range of the outcomes")
    for column in ("data", "sets", "median width", "widest", "wide, warned", "wide, not warned"):
        table.add_column(column, justify="left" if column == "data" else "right")
    for kind in [*FUNCTIONS, "all"]:
        rows = [each for each in found if kind in (each.kind, "all")]
        if not rows:
            continue
        shares = [each.share for each in rows]
        warned = sum(each.share > WIDE and each.warned for each in rows)
        absurd = sum(each.absurd for each in rows)
        cells = [f"{np.median(shares):.2f}", f"{max(shares):.2f}", str(warned), f"{absurd} ({absurd / len(rows):.1%})"]
        table.add_row(kind, str(len(rows)), *cells)
    Console(width=110).print(table)
