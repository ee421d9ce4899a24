"""What was earned on real series: the cases of the documentation, over several years and seeds.

Runs the code of each page of docs/cases up to its heading `In miniature`, for all starts and seeds, keeps what is
found, and writes the page's table. Needs the extra `cases`.

    OMP_NUM_THREADS=1 python -m benchmarks cases stall
    python -m benchmarks cases --show                     # write the tables of what is stored
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.evidence import filled
from benchmarks.stored_runs import origin

PAGES = Path(__file__).parents[1] / "docs" / "cases"
RESULTS = Path(__file__).parent / "results" / "cases"
SEEDS = {"stall": 2, "greenhouse": 2, "nile": 2}
MEASURES = {
    "stall": {"profit": "euros a day"},
    "greenhouse": {"cost": "euros a night"},
    "nile": {"harvest": "harvest", "broken": "too little left"},
}
SHARES = ("broken",)


def code_of(case: str) -> dict[str, Any]:
    """The names that a page defines before its miniature."""
    text = (PAGES / f"{case}.md").read_text().split("\n## In miniature\n")[0]
    names: dict[str, Any] = {}
    for cell in re.findall(r"^```{code-cell} python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        exec(cell, names)
    return names


def run(case: str, seeds: int, count: int | None = None) -> list[dict[str, Any]]:
    """All rules and methods of a case.

    Args:
        case: name of its page.
        seeds: how many studies of each method decide on each series.
        count: of contexts, if fewer than the page has.
    """
    page = code_of(case)
    found: list[dict[str, Any]] = []
    for start in page["STARTS"]:
        happened = page["sequence"](start, count or page["COUNT"])
        for name, rule in page["RULES"].items():
            found.append({"method": name, "start": start, **rule(happened)})
        for name, method in page["METHODS"].items():
            for seed in range(seeds):
                found.append({"method": name, "start": start, "seed": seed, **method(happened, seed)})
    return found


def table(runs: pd.DataFrame, case: str) -> str:
    """What is stored of a case, as Markdown: best fixed decision first, then methods, then rules of thumb.

    Args:
        runs: of the case.
        case: name of its page.
    """
    names = list(dict.fromkeys(runs["method"]))
    learns = runs.groupby("method")["seed"].count() > 0
    ordered = [names[0], *(n for n in names if learns[n]), *(n for n in names[1:] if not learns[n])]
    measures = MEASURES[case]
    fixed = runs[runs["method"] == names[0]].set_index("start")
    first = next(iter(measures))
    lines = [f"| who decides | {' | '.join(measures.values())} | difference to the best fixed decision |"]
    lines.append("| --- |" + " ---: |" * (len(measures) + 1))
    for name in ordered:
        mine = runs[runs["method"] == name]
        cells = [_cell(mine[measure], measure in SHARES) for measure in measures]
        apart = mine[first] - fixed.loc[mine["start"], first].to_numpy()
        cells.append("" if name == names[0] else _cell(apart, signed=True))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(values: pd.Series[float], share: bool = False, signed: bool = False) -> str:
    """A mean, with its standard error where there are several runs."""
    unit = 100 if share else 1
    mean = f"{unit * values.mean():{'+' if signed else ''}.1f}{'%' if share else ''}"
    return mean if len(values) == 1 else f"{mean} ({unit * values.sem():.1f})"


def stored(case: str) -> pd.DataFrame:
    """The runs of a case that are kept."""
    return pd.DataFrame([json.loads(line) for line in (RESULTS / f"{case}.jsonl").read_text().splitlines()])


def main(arguments: Sequence[str] = ()) -> None:
    """Run cases, keep what was found in place of what was stored of them, and write the tables.

    Args:
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks cases", description=__doc__)
    parser.add_argument("cases", nargs="*", choices=list(SEEDS), default=[], help="which; all if none is named")
    parser.add_argument("--show", action="store_true", help="run nothing")
    chosen = parser.parse_args(arguments)
    for case in chosen.cases or SEEDS:
        if not chosen.show:
            found = [{**each, **origin()} for each in run(case, SEEDS[case])]
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{case}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in found))
        page = PAGES / f"{case}.md"
        page.write_text(filled(page.read_text(), {case: table(stored(case), case)}))
        print(table(stored(case), case))
