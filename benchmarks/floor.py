"""The regret of a recommendation that no method can go below on average: the function known, the law learned.

The decision that is best under the true function and the context distribution that the default learns from the same
contexts. What is left is the error of the learned distribution; it says how much better a method could be.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

from allweather._utils.timing import threads
from allweather.acquisition.optimize import Search
from allweather.methods.defaults import every_trial
from benchmarks.comparison import Results
from benchmarks.defaults import REFERENCE, SEEDS, TRIALS
from benchmarks.defaults import RESULTS as REGRETS
from benchmarks.paired import PROBLEMS, PairedRun, judges, read

NAME = "function known, law learned"
RESULTS = REGRETS.with_name("floor.jsonl")


def floor(name: str, seed: int, trials: int = TRIALS) -> list[float]:
    """Regret, by measure, of the decision that is best for the true function under the learned law.

    Args:
        name: of the problem.
        seed: of the contexts.
        trials: after the initial design.
    """
    chosen, judged = judges(name)
    draws = [chosen.draw(np.random.default_rng([seed, number])) for number in range(chosen.initial + trials)]
    contexts = chosen.space.contexts.encode(draws)
    model, generator = every_trial(chosen.space).context.on(chosen.space), torch.Generator().manual_seed(seed)
    points, weights = model.reference(contexts, len(contexts), generator)
    search = Search(chosen.space.decisions, chosen.constraints, chosen.candidates)
    best = search.best(lambda decisions: chosen.values(decisions, points) @ weights, generator)
    return [float(f"{max(judge.regret(best.decision), 0.0):.6g}") for judge in judged]


def with_floor(results: list[dict[str, object]], floors: Path = RESULTS) -> Results:
    """The results of the campaign, and the floor as one more method."""
    return Results.of([*results, *read(floors)])


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing, and print the ratio to the reference's regret."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks floor")
    parser.add_argument("--seeds", default=f"{SEEDS.start}-{SEEDS.stop - 1}")
    parser.add_argument("--regrets", type=Path, default=REGRETS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args(arguments)
    first, _, last = chosen.seeds.partition("-")
    known = {PairedRun(each["problem"], NAME, each["seed"]).key for each in read(chosen.results)}
    for seed in range(int(first), int(last or first) + 1):
        for name in PROBLEMS:
            if PairedRun(name, NAME, seed).key in known:
                continue
            with threads(1):
                lost = floor(name, seed)
            row = {"problem": name, "method": NAME, "seed": seed, "trials": TRIALS, "recommended": lost}
            with chosen.results.open("a") as file:
                file.write(json.dumps({**row, "cumulative": [0.0] * len(lost)}) + "\n")
    results = with_floor(read(chosen.regrets), chosen.results)
    Console().print(f"{NAME}, against {REFERENCE}: {results.ratio(NAME, REFERENCE, 'recommended')}")
