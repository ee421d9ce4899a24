"""What the journal costs: opening a study of 10,000 trials and telling one more, against a fit at 100 observations."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from rich.console import Console
from rich.table import Table

import allweather as aw
from allweather._utils.timing import threads
from allweather.storage import Database, import_lines

TRIALS = 10_000
SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))


def lines(url: str) -> list[str]:
    """A journal of many told trials, and one that waits for its outcome."""
    aw.Study(SPACE, storage=url, name="empty")
    with Database(url).reading() as connection:
        spec = json.loads(connection.exec_driver_sql("SELECT spec FROM studies").scalar_one())
    head = {"format": "allweather-journal", "version": "0001", "name": "long", "spec": spec}
    rows, rng = [], np.random.default_rng(0)
    for number in range(TRIALS + 1):
        asked = {"number": number, "decision": {"order": rng.random()}}
        rows.append({"kind": "asked", "trial": number, "payload": asked})
        if number < TRIALS:
            told = {"context": {"demand": rng.random()}, "values": [rng.standard_normal()], "failed": False}
            rows.append({"kind": "told", "trial": number, "payload": told})
    stamp = {"at": time.time(), "worker": "benchmark"}
    return [json.dumps(head), *(json.dumps({"number": i, **row, **stamp}) for i, row in enumerate(rows, start=1))]


def fits() -> tuple[float, float]:
    """Median seconds of a fit of 100 observations, by BoTorch and by us."""
    theirs, ours = [], []
    for seed in range(5):
        points = torch.rand(100, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        values = (6 * points).sin().sum(-1) + points.prod(-1)
        started = time.perf_counter()
        model = SingleTaskGP(points, values[:, None])
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        theirs.append(time.perf_counter() - started)
        table = aw.Observations.of(points[:, :2], points[:, 2:], values)
        started = time.perf_counter()
        aw.GP().fit(table)
        ours.append(time.perf_counter() - started)
    return statistics.median(theirs), statistics.median(ours)


def main() -> None:
    """Print the ratios."""
    with threads(1), tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'study.db'}"
        import_lines(Database(url), lines(url))
        started = time.perf_counter()
        study = aw.Study(SPACE, storage=url, name="long")
        study.tell(TRIALS, 1.0, context={"demand": 0.5})
        told = time.perf_counter() - started
        started = time.perf_counter()
        rows = len(study.trials())
        read = time.perf_counter() - started
        theirs, ours = fits()
    table = Table(title=f"a study of {rows} trials in SQLite, one thread")
    for column in ("what", "seconds", "of a BoTorch fit at 100", "of our fit at 100"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for what, seconds in (("open and tell one more", told), ("read it all", read)):
        table.add_row(what, f"{seconds:.4f}", f"{seconds / theirs:.2f}", f"{seconds / ours:.2f}")
    table.add_row("a fit at 100 observations", f"{theirs:.3f} (BoTorch), {ours:.3f} (ours)", "1", "1")
    Console(width=120).print(table)
