"""The default of `aw.Study(space)` against every published method: the campaign that chose it.

14 of the papers' problems, held-out seeds from 100 on, 30 trials after the problem's initial design, paired. Tuning
used seeds below 100 only.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import allweather as aw
from allweather.methods.composition import Composition
from allweather.problems import Problem
from benchmarks.paired import Builder, PairedRun, campaign

PROBLEMS = (
    "ackley",
    "ackley-4c",
    "branin",
    "complicated-hartmann",
    "goldstein-price",
    "hartmann6",
    "modified-branin",
    "newsvendor",
    "plant-ph",
    "portfolio-normal",
    "portfolio-uniform",
    "six-hump-camel",
    "three-hump-camel",
    "wind",
)
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
"""Strongest and cheapest first."""
SEEDS = range(100, 120)
TRIALS = 30
RESULTS = Path(__file__).parent / "results" / "defaults.jsonl"


def study_with(composition: Composition | None) -> Builder:
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
    """Published methods by name."""
    return {name: study_with(aw.method(name)) for name in PUBLISHED}


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks defaults")
    parser.add_argument("--methods", default=",".join(PUBLISHED))
    parser.add_argument("--seeds", default=f"{SEEDS.start}-{SEEDS.stop - 1}")
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args(arguments)
    first, _, last = chosen.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    methods = chosen.methods.split(",")
    runs = [PairedRun(name, method, seed) for method in methods for seed in seeds for name in PROBLEMS]
    campaign(runs, builders(), TRIALS, chosen.results)
