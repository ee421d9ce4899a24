"""Xopt running a study of ours, beside Xopt's own generator, on a problem with a contextual variable and a constraint.

The problem is the reactor of `constrained_problems`: the yield, with a purity of at least 0.9, of two decisions in a
context. Xopt evaluates 25 times; the five first points, contexts and noise are the same for both.

- `drawn`: contexts are independent. Judged is what is recommended at the end for the law of the contexts: ours is told
  that the limit must hold with probability 90%, which VOCS cannot say. A recommendation that breaks the limit counts as
  the median of the feasible decisions.
- `slow`: the context moves along a sine of period 25, as in Xopt's notebook about contextual variables. Judged is every
  evaluation after the first five, against the best decision for its context; one that is too impure counts as the
  median of the feasible decisions. Ours has `latest_context=True`: both expect the latest context. Also with
  `cautious=0.9`, since every evaluation is judged.

Xopt's own is `UpperConfidenceBoundGenerator` with its defaults, as in that notebook; it recommends `get_optimum()`.

`python -m benchmarks.xopt_generator`, by a Python that has Xopt 3.2, runs what is not stored yet and writes the table
of docs/gest_api.md; `python -m benchmarks xopt_generator` only writes the table.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

import allweather as aw
from benchmarks.constrained_problems import BY_NAME, ConstrainedProblem
from benchmarks.evidence import filled
from benchmarks.stored_runs import origin

RESULTS = Path(__file__).parent / "results" / "xopt_generator.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "gest_api.md"
PROBLEM = BY_NAME["reactor"]
LIMIT = 0.9
FIRST, TRIALS, SEEDS, PERIOD = 5, 25, range(100, 110), 25
SIDES = {
    "allweather": "`AllweatherGenerator`",
    "cautious": "`AllweatherGenerator(cautious=0.9)`",
    "xopt": "Xopt's `UpperConfidenceBoundGenerator`",
}
LAWS = {"drawn": "contexts are independent", "slow": "the context moves slowly"}
Record = dict[str, Any]


def contexts(law: str, seed: int) -> np.ndarray:
    """The context of every evaluation."""
    rng = np.random.default_rng([seed, 1])
    if law == "drawn":
        return np.clip(PROBLEM.draw(rng, TRIALS), 0, 1)
    return 0.5 * (1 + np.sin(2 * np.pi * (np.arange(TRIALS) / PERIOD + rng.uniform())))


def run(law: str, side: str, seed: int) -> Record:
    """What one generator did in one run of Xopt.

    Args:
        law: of the contexts.
        side: which generator.
        seed: of the first points, contexts and noise.
    """
    from xopt import Evaluator, Xopt

    coming, noise = iter(contexts(law, seed)), np.random.default_rng([seed, 2])

    def evaluate(inputs: Mapping[str, Any]) -> dict[str, float]:
        context = float(next(coming))
        return {**PROBLEM.observe(inputs, context, noise), "context": context}

    torch.manual_seed(seed)
    started = time.process_time()
    xopt = Xopt(generator=generator(law, side, seed), evaluator=Evaluator(function=evaluate))
    design = generator(law, "allweather", seed).suggest(FIRST)
    xopt.evaluate_data([{name: point[name] for name in PROBLEM.bounds} for point in design])
    for _ in range(TRIALS - FIRST):
        xopt.step()
    table = xopt.data
    if law == "drawn":
        judged = recommended(PROBLEM, recommend(xopt.generator, side))
    else:
        tail = table.iloc[FIRST:]
        judged = tracked(PROBLEM, tail[list(PROBLEM.bounds)].to_numpy(float), tail["context"].to_numpy(float))
    known = {"law": law, "side": side, "seed": seed, "trials": len(table)}
    return {**known, **judged, "cpu_s": round(time.process_time() - started, 1), "xopt": version("xopt"), **origin()}


def generator(law: str, side: str, seed: int) -> Any:
    """The generator of a side."""
    from gest_api.vocs import VOCS, ContextualVariable

    vocs = VOCS(
        variables={
            **{name: list(ends) for name, ends in PROBLEM.bounds.items()},
            "context": ContextualVariable(domain=[0, 1]),
        },
        objectives={"yield": "MAXIMIZE"},
        constraints={"purity": ["GREATER_THAN", LIMIT]},
    )
    if side == "xopt":
        from xopt.generators.bayesian.upper_confidence_bound import UpperConfidenceBoundGenerator

        return UpperConfidenceBoundGenerator(vocs=vocs)
    from allweather.integrations.gest_api import AllweatherGenerator

    wanted: dict[str, aw.Outcome] = {"purity": PROBLEM.wanted["purity"]} if law == "drawn" else {}
    return AllweatherGenerator(
        vocs,
        outcomes=wanted,
        initial=FIRST,
        seed=seed,
        latest_context=law == "slow",
        cautious=0.9 if side == "cautious" else None,
    )


def recommend(chosen: Any, side: str) -> np.ndarray:
    """The decision (1, d) that a generator recommends at the end."""
    if side != "xopt":
        decision = chosen.recommend(radii=[0.0]).decision
        return np.array([[decision[name] for name in PROBLEM.bounds]])
    chosen.train_model()
    return np.asarray(chosen.get_optimum()[list(PROBLEM.bounds)].to_numpy(float))


def recommended(problem: ConstrainedProblem, decision: np.ndarray) -> Record:
    """Whether a recommendation keeps the limit under the law of the contexts, and its regret."""
    measures = problem.measures(decision)
    kept = bool(problem.feasible(measures)[0])
    best, lost = problem.answer
    regret = best - float(measures[problem.objective][0]) if kept else lost
    return {"kept": float(kept), "regret": round(max(regret, 0.0), 4)}


def tracked(problem: ConstrainedProblem, decisions: np.ndarray, seen: np.ndarray) -> Record:
    """How many evaluations keep the limit in their contexts, and their mean regret.

    Args:
        problem: the problem.
        decisions: (n, d).
        seen: the context of each (n,).
    """
    sides = [np.linspace(*ends, 101) for ends in problem.bounds.values()]
    grid = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, len(sides))
    regrets, kept = [], []
    for decision, context in zip(decisions, seen, strict=True):
        values = problem.outcomes(np.vstack([decision, grid]), np.full(len(grid) + 1, context))
        fits, made = values["purity"] >= LIMIT, values[problem.objective]
        best = made[fits].max()
        kept.append(bool(fits[0]))
        regrets.append(best - (made[0] if fits[0] else np.median(made[1:][fits[1:]])))
    return {"kept": round(float(np.mean(kept)), 4), "regret": round(float(np.mean(regrets)), 4)}


def stored(path: Path = RESULTS) -> list[Record]:
    """The runs that a file holds."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def table(found: Iterable[Record]) -> str:
    """The comparison as Markdown: median, and the range of the middle half, over seeds."""
    records = list(found)
    lines = ["| contexts | generator | regret, percentage points of yield | limit kept | seeds | CPU seconds a run |"]
    lines += ["|---|---|---:|---:|---:|---:|"]
    for law, said in LAWS.items():
        for side, name in SIDES.items():
            own = [each for each in records if (each["law"], each["side"]) == (law, side)]
            if own:
                low, middle, high = np.quantile([each["regret"] for each in own], (0.25, 0.5, 0.75))
                kept = np.mean([each["kept"] for each in own])
                spent = np.mean([each["cpu_s"] for each in own])
                regret = f"{middle:.1f} ({low:.1f} to {high:.1f})"
                lines.append(f"| {said} | {name} | {regret} | {kept:.0%} | {len(own)} | {spent:.0f} |")
    return "\n".join(lines)


def tables(path: Path = RESULTS) -> dict[str, str]:
    """The table by the name of its place on the page."""
    return {"xopt": table(stored(path)) if path.is_file() else "Not run yet."}


def show(arguments: Sequence[str] = ()) -> None:
    """Write the table of the stored runs into the page."""
    PAGE.write_text(filled(PAGE.read_text(), tables()))
    print(tables()["xopt"])


def main(arguments: Sequence[str] = (), one: Callable[[str, str, int], Record] = run) -> None:
    """Run what is not stored yet, and write the table.

    Args:
        arguments: of the command.
        one: carries out one run.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.xopt_generator")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many, at most 10")
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args(arguments)
    known = {(each["law"], each["side"], each["seed"]) for each in stored(chosen.results)}
    for seed in SEEDS[: chosen.seeds]:
        for law in LAWS:
            for side in SIDES:
                if (law, side, seed) not in known and (law, side) != ("drawn", "cautious"):
                    with warnings.catch_warnings(), chosen.results.open("a") as file:
                        warnings.simplefilter("ignore")
                        file.write(json.dumps(one(law, side, seed)) + "\n")
    if chosen.results == RESULTS:
        show()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1:])
