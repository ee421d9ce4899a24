"""Compare the speed of two versions of the library: `python -m benchmarks.same_speed --record FILE`, `--compare FILE`.

CPU milliseconds of asks, recommendations, worst cases, whole runs of published methods, and of opening and telling a
stored study. `--compare FILE` measures again and prints the ratio to the record. Only the public interface is used, so
that this file runs with either version: `PYTHONPATH=OTHER/src:. python -m benchmarks.same_speed --record FILE`. Take
records in turns on a quiet machine, each for itself; `--compare` takes several and uses the least of each.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.stats
import torch
from rich.console import Console
from rich.table import Table

import allweather as aw

SPACE = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1), c=aw.Context(0, 1), d=aw.Context(0, 1))
FARM = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1), c=aw.Real(0, 1))
STUDIES: dict[str, dict[str, Any]] = {
    "default": {},
    "Expectation, UCB": {"objective": aw.Expectation(), "acquisition": aw.UCB(1.5)},
    "DRO(TV)": {"objective": aw.DRO(aw.TotalVariation(0.2)), "acquisition": aw.UCB(1.5)},
    "DRO(MMD)": {"context": aw.Discretised(64), "objective": aw.DRO(aw.MMD(0.1)), "acquisition": aw.UCB(1.5)},
    "DRO(W)": {"context": aw.Discretised(64), "objective": aw.DRO(aw.Wasserstein(0.1)), "acquisition": aw.UCB(1.5)},
    "CVaR": {"objective": aw.CVaR(0.2)},
    "Thompson": {"acquisition": aw.Thompson()},
    "EI": {"acquisition": aw.ExpectedImprovement()},
    "KG": {"acquisition": aw.KnowledgeGradient()},
    "simulator": {"simulator": True, "context": aw.Uniform(64)},
}
DISTANCES = [aw.TotalVariation(0.3), aw.ChiSquared(0.3), aw.KL(0.2), aw.Wasserstein(0.1), aw.MMD(0.1, lengthscale=0.1)]
RUNS = ("sbo-kde", "drbo-kde", "wdrbo", "ts-bocu", "drbo-chi2")
TRIALS, REPEATS, STEPS = (30, 100), 7, 20


def rows(count: int) -> list[dict[str, float]]:
    """Outcomes of a smooth function at random places."""
    points = np.random.default_rng(0).random((count, 4))
    values = np.sin(5 * points[:, 0]) * points[:, 2] + (points[:, 1] - points[:, 3]) ** 2
    return [
        {"x": x, "y": y, "c": c, "d": d, "value": float(value)}
        for (x, y, c, d), value in zip(points.tolist(), values, strict=True)
    ]


def median(calls: Sequence[Callable[[], object]]) -> float:
    """CPU milliseconds of a call; the first one only warms up."""
    found = []
    for call in calls:
        started = time.process_time()
        call()
        found.append(1e3 * (time.process_time() - started))
    return float(np.median(found[1:] or found))


def measured() -> Iterator[tuple[str, float]]:
    """Every measurement with its name."""
    for name, parts in STUDIES.items():
        for count in TRIALS:
            studies = [_known(aw.Study(SPACE, seed=1, **parts), rows(count)) for _ in range(REPEATS)]
            yield f"ask, {name}, {count} trials", median([study.ask for study in studies])
            yield f"recommend, {name}, {count} trials", median([study.recommend for study in studies])
    law = aw.Known({name: scipy.stats.uniform(0, 1) for name in FARM.variables}, samples=256)
    control = aw.Control({"a": 0.1, "b": 0.1, ("a", "b"): 0.2, ("a", "b", "c"): 1.0})
    farmed = [{"a": row["x"], "b": row["y"], "c": row["c"], "value": row["value"]} for row in rows(40)]
    for method in ("ucb-psq", "ts-psq", "kg-cvs"):
        options: dict[str, Any] = {"method": method, "control": control, "context": law, "seed": 1}
        studies = [_known(aw.Study(FARM, **options), farmed) for _ in range(REPEATS)]
        yield f"ask, {method}", median([study.ask for study in studies])
        yield f"recommend, {method}", median([study.recommend for study in studies])
    contexts = torch.linspace(0, 1, 64, dtype=torch.float64)[:, None]
    reference = aw.Reference(contexts, torch.full((64,), 1 / 64, dtype=torch.float64))
    values = torch.randn(1024, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64).cumsum(-1)
    for distance in DISTANCES:
        calls = [lambda distance=distance: distance.worst_case(values, reference)] * REPEATS
        yield f"worst cases, {type(distance).__name__}", median(calls)
    for method in RUNS:
        yield f"run, {method}", median([lambda method=method: _run(method)] * 3)
    yield from _stored()


def _known(study: aw.Study, table: list[dict[str, float]]) -> aw.Study:
    study.add(table)
    return study


def _run(method: str) -> None:
    study = aw.Study(aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), method=method, seed=2)
    source = np.random.default_rng(0)
    for _ in range(STEPS):
        trial, c = study.ask(), float(source.random())
        x = float(trial.decision["x"])
        study.tell(trial, float(np.sin(5 * x) - (x - c) ** 2), context={"c": c})


def _stored() -> Iterator[tuple[str, float]]:
    with TemporaryDirectory() as folder:
        place = f"sqlite:///{folder}/studies.db"
        study = _known(aw.Study(SPACE, seed=1, storage=place), rows(200))
        trials = study.ask(REPEATS)
        yield "load", median([lambda: aw.Study.load(place)] * REPEATS)
        tells = [lambda trial=trial: study.tell(trial, 1.0, context={"c": 0.5, "d": 0.5}) for trial in trials]
        yield "tell", median(tells)


def main(arguments: Sequence[str] | None = None) -> None:
    """Record measurements, or compare with records.

    Args:
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_speed", description=__doc__)
    parser.add_argument("--record", type=Path, metavar="FILE")
    parser.add_argument("--compare", type=Path, nargs="+", metavar="FILE", help="records of the other version")
    parser.add_argument("--own", type=Path, nargs="*", default=[], metavar="FILE", help="further records of this one")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    now = dict(measured())
    if chosen.record:
        chosen.record.write_text(json.dumps(now))
    if chosen.compare:
        least = [
            {name: min(each[name] for each in found) for name in now}
            for found in (
                [json.loads(file.read_text()) for file in chosen.compare],
                [now, *(json.loads(file.read_text()) for file in chosen.own)],
            )
        ]
        table = Table("measurement", "before ms", "now ms", "ratio")
        for name in now:
            before, after = (each[name] for each in least)
            table.add_row(name, f"{before:.2f}", f"{after:.2f}", f"{after / before:.2f}")
        Console().print(table)


if __name__ == "__main__":
    main()
