"""Stored runs of the papers' figures: one JSON line per run and measure, with version, commit and machine."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import allweather as aw
from allweather.benchmark import settled

FOLDER = Path(__file__).parent / "results" / "papers"
STEPS = (1, 2, 5, 10, 15, 16, 20, 30, 40, 50, 60, 75, 90, 100, 125, 150, 175, *range(200, 1001, 50))
"""At which the cumulative regret is stored; also at the last step and half of it."""
BY_COST = ("spent", "simple", "cumulative", "plays", "settled", "converged", "spent_on_cheap")
"""What results of a campaign with control sets have of a stored run; all but the first two are of the whole run."""
Record = dict[str, Any]


@cache
def origin() -> dict[str, str]:
    """Version, commit, machine and date of the runs that are made now.

    The commit is the last that is in the shared repository: one of a clone may be rewritten before it gets there.
    """
    commit = _git("merge-base", "HEAD", "origin/main") or _git("rev-parse", "HEAD") or "unknown"
    machine = f"{_processor()}, {platform.system()}, one thread"
    return {
        "version": aw.__version__,
        "commit": commit[:10],
        "machine": machine,
        "date": datetime.now(UTC).date().isoformat(),
    }


def records(figure: str, results: pd.DataFrame) -> list[Record]:
    """The records of one run.

    Args:
        figure: name of the figure.
        results: of `execute`, for one run.
    """
    if "spent" in results:
        return [_record_by_cost(figure, results)]
    return [_record(figure, block) for _, block in results.groupby("measure", sort=False)]


def _record(figure: str, block: pd.DataFrame) -> Record:
    last = int(block["step"].max())
    kept = block[block["step"].isin({*STEPS, last // 2, last})]
    names = ["cumulative", *(name for name in ("regret", "reward") if name in block)]
    curves = {name: [_short(value) for value in kept[name]] for name in names}
    spent = block["seconds"].cumsum()[kept.index]
    return {
        **_keys(figure, block),
        "measure": str(block["measure"].iloc[0]),
        "steps": kept["step"].tolist(),
        **curves,
        "seconds": [_short(value) for value in spent],
        "cpu_s": _short(block["seconds"].sum()),
        **origin(),
    }


def _record_by_cost(figure: str, block: pd.DataFrame) -> Record:
    """The simple regret is a step function: the plays that improved it, and the last, are all of it."""
    kept = block[block["simple"].diff().fillna(-1) < 0]
    kept = pd.concat([kept, block.tail(1)]).drop_duplicates("step")
    end = settled(block).iloc[0]
    return {
        **_keys(figure, block),
        "plays": len(block),
        "spent": [_short(value) for value in kept["spent"]],
        "simple": [_short(value) for value in kept["simple"]],
        "cumulative": _short(block["cumulative"].iloc[-1]),
        "settled": _short(end["settled"]),
        "converged": bool(end["converged"]),
        "spent_on_cheap": _short(block.loc[block["cheap"], "cost"].sum()),
        "cpu_s": _short(block["seconds"].sum()),
        **origin(),
    }


def _keys(figure: str, block: pd.DataFrame) -> Record:
    first = block.iloc[0]
    return {"figure": figure, **{name: first[name] for name in ("problem", "method")}, "seed": int(first["seed"])}


def append(folder: Path, found: Iterable[Record]) -> None:
    """Write records to the file of their figure."""
    folder.mkdir(parents=True, exist_ok=True)
    for record in found:
        with (folder / f"{record['figure']}.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")


def read(folder: Path = FOLDER) -> list[Record]:
    """All records, in the order of their files; of a run that was stored twice, the longer."""
    found: dict[tuple[Any, ...], Record] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            key = identity(record)
            if key not in found or length(record) > length(found[key]):
                found[key] = record
    return list(found.values())


def identity(record: Record) -> tuple[Any, ...]:
    """What identifies a record."""
    return tuple(record.get(name) for name in ("figure", "problem", "method", "measure", "seed"))


def length(record: Record) -> int:
    """Steps of the run."""
    return int(record["plays"] if "plays" in record else record["steps"][-1])


def table(found: Iterable[Record]) -> pd.DataFrame:
    """The records of one figure as results of a campaign, at the steps that are stored.

    The seconds of a row are those since the last step that is stored: their sum is the time of the run.
    """
    parts = []
    for record in found:
        keys = {name: record[name] for name in ("problem", "method", "measure", "seed") if name in record}
        if "spent" in record:
            values = {name: record[name] for name in BY_COST if name in record}
            seconds = np.full(len(record["spent"]), record["cpu_s"] / length(record))
        else:
            values = {"step": record["steps"], "cumulative": record["cumulative"]}
            values |= {name: record[name] for name in ("regret", "reward") if name in record}
            even = record["cpu_s"] / length(record) * np.array(record["steps"])
            seconds = np.diff(record.get("seconds", even), prepend=0.0)
        parts.append(pd.DataFrame({**keys, **values, "seconds": seconds}))
    return pd.concat(parts, ignore_index=True)


def unknown_commits(found: Iterable[Record]) -> list[str]:
    """The commits of records that are not in this repository; none where its history was cut off."""
    if _git("rev-parse", "--is-shallow-repository") != "false":
        return []
    return sorted(commit for commit in {each["commit"] for each in found} if _git("cat-file", "-t", commit) != "commit")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _short(value: float) -> float:
    return float(f"{float(value):.6g}")


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
