"""The defaults of `aw.Study(space)` against every published method: the campaign that chose them.

14 of the papers' problems, 20 held-out seeds from 100 on, 30 trials after the problem's initial design. All methods see
the same initial design, contexts and noise. Defaults were chosen on seeds below 100. Results are kept in
`benchmarks/results/defaults.jsonl`; runs that it holds are not repeated. `--quick` runs a miniature.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

import allweather as aw
from allweather.methods.composition import Composition
from allweather.problems import Problem
from benchmarks.comparison import Ratio, Results
from benchmarks.paired import PROBLEMS, Builder, PairedRun, campaign, read

RECOMMENDING = "default, recommendation"
GOALS = {"default": "every-trial", RECOMMENDING: "recommendation", "published": "published"}
"""Rows of the table, and the goals they stand for."""
PUBLISHED = (
    "sbo-kde",
    "drbo-kde",
    "erbo",
    "wdrbo",
    "gp-ucb",
    "ucb-so",
    "ts-bocu",
    "drbo-chi2",
    "drbo-tv",
    "drbo-kl",
    "stableopt",
    "ucb-bocu",
    "ucb-bocu-1",
    "ucb-bocu-2",
    "ucb-ro",
    "wdrbo-exact",
    "drbo-mmd-minimax",
    "drbo-mmd",
    "random",
)
"""The strongest and cheapest first."""
SEEDS, TRIALS = range(100, 120), 30
RESULTS = Path(__file__).parent / "results" / "defaults.jsonl"
REFERENCE, ROBUST = "sbo-kde", "drbo-kde"
CUMULATIVE, SHIFTED, FINAL = 0.55, 1.00, 0.70
"""Targets: the default's cumulative regret against sbo-kde's, that of the worst mean nearby against drbo-kde's, and the
regret of the recommendation, for that goal, against the best published method's."""


def study_with(composition: Composition) -> Builder:
    """Studies with these parts; the problem tells nothing about its law."""

    def build(chosen: Problem, seed: int) -> aw.Study:
        candidates = None if chosen.candidates is None else chosen.space.decisions.decode(chosen.candidates)
        return aw.Study(
            chosen.space,
            method=composition,
            constraints=chosen.constraints,
            candidates=candidates,
            initial=chosen.initial,
            seed=seed,
        )

    return build


def builders() -> dict[str, Builder]:
    """Defaults and published methods by name."""
    goals = {name: study_with(Composition(goal=goal)) for name, goal in GOALS.items()}
    return goals | {name: study_with(aw.method(name)) for name in PUBLISHED}


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks defaults")
    parser.add_argument("--methods", nargs="+", default=["default", RECOMMENDING, *PUBLISHED])
    parser.add_argument("--seeds", default=f"{SEEDS.start}-{SEEDS.stop - 1}")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="only print the tables of what was run")
    parser.add_argument("--quick", action="store_true", help="two problems, one seed, three trials")
    chosen = parser.parse_args(arguments)
    if chosen.quick:
        return _quick()
    if not chosen.show:
        first, _, last = chosen.seeds.partition("-")
        runs = [
            PairedRun(name, method, seed)
            for seed in range(int(first), int(last or first) + 1)
            for method in chosen.methods
            for name in PROBLEMS
        ]
        campaign(runs, builders(), TRIALS, chosen.results)
    show(Results.of(read(chosen.results)))
    return None


def _quick() -> None:
    names = ["default", RECOMMENDING, REFERENCE, ROBUST]
    runs = [PairedRun(name, method, 0) for method in names for name in ("newsvendor", "three-hump-camel")]
    with tempfile.TemporaryDirectory() as folder:
        results = campaign(runs, builders(), 3, Path(folder) / "quick.jsonl", report=False)
    show(Results.of(results))


def show(results: Results) -> None:
    """Print the ratios, the targets, and where a published method is better."""
    console = Console(width=150)
    title = f"regret as a multiple of {REFERENCE}'s: geometric means of paired ratios (standard error of the logarithm)"
    table = Table(title=title)
    for column in ("method", "pairs", "cumulative", "cumulative, shifted", "recommendation", "recommendation, shifted"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for method in results.methods:
        cells = [
            results.ratio(method, REFERENCE, kind, measure)
            for kind in ("cumulative", "recommended")
            for measure in (0, 1)
        ]
        table.add_row(method, str(cells[0].pairs), *map(str, cells))
    console.print(table)
    for line in verdicts(results):
        console.print(line)


def verdicts(results: Results) -> list[str]:
    """What the targets say, one line each."""
    known = set(results.methods)
    if "default" not in known:
        return []
    published = [name for name in PUBLISHED if name in known]
    first = results.ratio("default", REFERENCE, "cumulative")
    second = results.ratio("default", ROBUST, "cumulative", 1)
    lines = [
        f"cumulative regret of the default against {REFERENCE}: {first}, {_met(first, CUMULATIVE)}",
        f"cumulative regret of the default in the shifted measure, against {ROBUST}: {second}, {_met(second, SHIFTED)}",
    ]
    if published and RECOMMENDING in known:
        ratios = {name: results.ratio(RECOMMENDING, name, "recommended") for name in published}
        best = max(ratios, key=lambda name: ratios[name].value)
        lines.append(
            f"regret of the recommendation, for that goal, against the best published method, {best}: {ratios[best]}, "
            f"{_met(ratios[best], FINAL)}"
        )
    better = [
        f"{name} on {problem} {ratio}"
        for problem in PROBLEMS
        for name in published
        if (ratio := results.ratio(name, "default", "cumulative", 0, problem)).better
    ]
    found = "; ".join(better) or "none"
    text = "published methods whose cumulative regret on some problem is lower than the default's by more than two"
    lines.append(f"{text} standard errors: {found}")
    return lines


def _met(ratio: Ratio, target: float) -> str:
    return f"target {target:.2f} {'met' if ratio.value <= target else 'not met'}"
