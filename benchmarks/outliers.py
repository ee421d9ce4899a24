"""The default with and without outliers, on outcomes of which 5% are multiplied by 100 and on clean ones.

Six of the papers' problems, ten held-out seeds from 100 on, 30 trials after the problem's initial design. All runs of a
problem and seed have the same initial design, contexts and noise, and the same trials are wrong. Limits were chosen on
seeds below 100. Results are kept in `benchmarks/results/outliers.jsonl`; runs that it holds are not repeated.

    python -m benchmarks outliers --show --page docs/messy_data.md
    python -m benchmarks outliers --problems wind --seeds 0-3 --results other.jsonl
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from allweather.methods.composition import Composition
from allweather.methods.defaults import default_surrogate
from benchmarks.comparison import Ratio, Results
from benchmarks.defaults import study_with
from benchmarks.evidence import filled
from benchmarks.paired import judges, read
from benchmarks.stored_runs import origin

PROBLEMS = ("ackley", "branin", "goldstein-price", "hartmann6", "newsvendor", "three-hump-camel")
SEEDS, TRIALS = range(100, 110), 30
SHARE, FACTOR = 0.05, 100.0
"""Of the outcomes that are wrong, and what they are multiplied by."""
METHODS = {
    "kept, clean": ("none", False),
    "set aside, clean": ("auto", False),
    "kept, wrong": ("none", True),
    "set aside, wrong": ("auto", True),
}
"""Rows of the table: what the surrogate does about outliers, and whether some outcomes are wrong."""
CLEAN_TARGET, WRONG_TARGET = 1.03, 1.3
"""Of the regret of a recommendation that sets outliers aside, relative to one of clean outcomes that keeps them."""
RESULTS = Path(__file__).parent / "results" / "outliers.jsonl"


def execute(name: str, method: str, seed: int, trials: int) -> dict[str, Any]:
    """Carry out a run.

    Args:
        name: of the problem.
        method: one of `METHODS`.
        seed: of the run.
        trials: how many decisions are chosen, after the problem's initial design.
    """
    outliers, contaminated = METHODS[method]
    chosen, (judge, *_) = judges(name)
    surrogate = replace(default_surrogate(), outliers=outliers)
    study, started = study_with(Composition(surrogate=surrogate))(chosen, seed), time.process_time()
    total, wrong = 0.0, list[int]()
    lot = np.random.default_rng([seed, zlib.crc32(name.encode())]).random(chosen.initial + trials) < SHARE
    for number in range(chosen.initial + trials):
        rng = np.random.default_rng([seed, number])
        context = chosen.draw(rng)
        trial = study.ask()
        value = chosen.observe(trial.decision, context, rng)
        if contaminated and lot[number]:
            value, wrong = FACTOR * value, [*wrong, number]
        study.tell(trial, value, context=context)
        if number >= chosen.initial:
            total += judge.regret(chosen.space.decisions.encode(trial.decision)[0])
    best = study.outlook()
    regret = judge.regret(chosen.space.decisions.encode(best.decision)[0])
    return {
        "problem": name,
        "method": method,
        "seed": seed,
        "trials": trials,
        "cumulative": [float(f"{max(total, 0.0):.6g}")],
        "recommended": [float(f"{max(regret, 0.0):.6g}")],
        "wrong": wrong,
        "set_aside": [each.trial for each in best.suspicious if each.set_aside],
        "seconds": round(time.process_time() - started, 2),
        **origin(),
    }


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing, and print the tables.

    Args:
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks outliers")
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", default=f"{SEEDS.start}-{SEEDS.stop - 1}")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, help="a page of the documentation, whose table is written")
    parser.add_argument("--show", action="store_true", help="only print the tables of what was run")
    chosen = parser.parse_args(arguments)
    first, _, last = chosen.seeds.partition("-")
    results = read(chosen.results)
    known = {(each["problem"], each["method"], each["seed"]) for each in results}
    runs = [
        (name, method, seed)
        for seed in range(int(first), int(last or first) + 1)
        for name in chosen.problems
        for method in chosen.methods
    ]
    for run in [] if chosen.show else runs:
        if run not in known:
            results.append(execute(*run, chosen.trials))
            with chosen.results.open("a") as file:
                file.write(json.dumps(results[-1]) + "\n")
    if chosen.page is not None:
        text = filled(chosen.page.read_text(), {"outliers": "\n".join(page(results))})
        chosen.page.write_text(text)
    print("\n".join(page(results)))
    show(results)


def ratios(found: Sequence[dict[str, Any]], kind: str, problem: str | None = None) -> list[Ratio]:
    """Regret of the three other methods as multiples of that of the first.

    Args:
        found: results of runs.
        kind: `recommended` or `cumulative`.
        problem: only of this problem; of all if not given.
    """
    results, (reference, *others) = Results.of(found), METHODS
    return [results.ratio(method, reference, kind, problem=problem) for method in others]


def page(found: Sequence[dict[str, Any]]) -> list[str]:
    """The lines of the table of the documentation.

    Args:
        found: results of runs.
    """
    problems = [name for name in PROBLEMS if any(each["problem"] == name for each in found)]
    _, *others = METHODS
    lines = [f"| regret of the recommendation | pairs | {' | '.join(others)} |", "| --- | ---: | ---: | ---: | ---: |"]
    for name in [*problems, None]:
        cells = ratios(found, "recommended", name)
        lines.append(f"| {name or 'all'} | {cells[0].pairs} | {' | '.join(map(str, cells))} |")
    cells = ratios(found, "cumulative")
    return [*lines, f"| all, cumulative regret | {cells[0].pairs} | {' | '.join(map(str, cells))} |"]


def show(found: Sequence[dict[str, Any]]) -> None:
    """Print how many wrong outcomes were set aside, what was set aside besides, seconds, and whether targets are met.

    Args:
        found: results of runs.
    """
    table = Table("run", "runs", "wrong", "of them set aside", "set aside besides", "seconds")
    for method in METHODS:
        own = [each for each in found if each["method"] == method]
        wrong = sum(len(each["wrong"]) for each in own)
        right = sum(len({*each["wrong"]} & {*each["set_aside"]}) for each in own)
        besides = sum(len({*each["set_aside"]} - {*each["wrong"]}) for each in own)
        seconds = f"{np.mean([each['seconds'] for each in own]):.2f}" if own else "-"
        table.add_row(method, str(len(own)), str(wrong), str(right), str(besides), seconds)
    Console(width=120).print(table)
    clean, _, wrong_ratio = ratios(found, "recommended")
    for said, ratio, target in (("clean", clean, CLEAN_TARGET), ("wrong", wrong_ratio, WRONG_TARGET)):
        print(f"{said}: {ratio}, target {target} {'met' if ratio.value <= target else 'not met'}")
