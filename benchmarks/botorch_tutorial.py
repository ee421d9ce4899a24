"""BoTorch's tutorial on risk-averse optimization with environmental variables, against a study of a simulator.

The problem, and the settings on BoTorch's side, are those of the tutorial: minus the Branin function of a decision and
a uniform environmental variable, conditional value at risk of the worst 30%, 8 Sobol points, then 20 batches of two
from `qMultiFidelityKnowledgeGradient` with 16 fantasies, 16 points of the environment, 10 restarts of 128 raw samples.
Ours asks for batches of two as well. One thread; CPU time of deciding, without the simulator and the recommendation.
Results hold the points that were evaluated, and every batch has random numbers of its own, so that `--batches 3` does
three more.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from botorch.acquisition import qMultiFidelityKnowledgeGradient, qSimpleRegret
from botorch.acquisition.risk_measures import CVaR
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.models.transforms.input import AppendFeatures
from botorch.optim import optimize_acqf
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

import allweather as aw
from benchmarks.comparison import Ratio
from benchmarks.simulator import judged

FIRST, BATCHES, BATCH, POINTS = 8, 20, 2, 16
RESULTS = Path(__file__).parent / "results" / "botorch_tutorial.jsonl"
FLOOR = 1e-4
"""Of regrets: where both sides found the best decision there is nothing to compare."""
CUBE = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
Evaluate = Callable[[Tensor], Tensor]
"""Joint points (b, 2) of the unit cube to outcomes (b,)."""


class Step(NamedTuple):
    """Where a method stands."""

    evaluations: int
    seconds: float
    """CPU time of deciding so far."""
    decision: float
    """Recommended, in the unit cube."""
    points: Sequence[Sequence[float]] = ()
    """Evaluated since the step before; empty where they are not needed to go on."""


def botorch_steps(evaluate: Evaluate, seed: int, batches: int, before: Sequence[Step] = ()) -> Iterator[Step]:
    """The loop of the tutorial, with its settings; it goes on after the steps before."""
    points = draw_sobol_samples(bounds=CUBE, n=FIRST, q=1, seed=seed).squeeze(-2)
    points = torch.cat([points, *(torch.tensor(step.points, dtype=torch.float64) for step in before)])
    seconds = before[-1].seconds if before else 0.0
    values, measure = evaluate(points)[:, None], CVaR(alpha=0.7, n_w=POINTS)
    for batch in range(len(before), len(before) + batches):
        torch.manual_seed(1000 * seed + batch)
        started = time.process_time()
        model = _fitted(points, values)
        knowledge = qMultiFidelityKnowledgeGradient(
            model=model, num_fantasies=16, objective=measure, project=lambda joint: joint[..., :-1]
        )
        chosen, _ = optimize_acqf(knowledge, bounds=CUBE, q=BATCH, num_restarts=10, raw_samples=128)
        seconds += time.process_time() - started
        points, values = torch.cat([points, chosen]), torch.cat([values, evaluate(chosen)[:, None]])
        final = qSimpleRegret(model=_fitted(points, values), objective=measure)
        best, _ = optimize_acqf(final, bounds=CUBE[:, :1], q=1, num_restarts=10, raw_samples=128)
        yield Step(len(points), seconds, float(best), chosen.tolist())


def _fitted(points: Tensor, values: Tensor) -> SingleTaskGP:
    environment = draw_sobol_samples(bounds=CUBE[:, -1:], n=POINTS, q=1).squeeze(-2)
    model = SingleTaskGP(
        points, values, input_transform=AppendFeatures(feature_set=environment), outcome_transform=Standardize(m=1)
    )
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def our_steps(evaluate: Evaluate, seed: int, batches: int, before: Sequence[Step] = ()) -> Iterator[Step]:
    """A study of a simulator, from the same first points; it takes seconds, and is not resumed."""
    if before:
        return
    space = aw.Space(x=aw.Real(0, 1), w=aw.Context(0, 1))
    study = aw.Study(space, context=aw.Uniform(64), objective=aw.CVaR(0.3), simulator=True, initial=1, seed=seed)
    points = draw_sobol_samples(bounds=CUBE, n=FIRST, q=1, seed=seed).squeeze(-2)
    rows = zip(points.tolist(), evaluate(points).tolist(), strict=True)
    study.add([{"x": x, "w": w, "value": value} for (x, w), value in rows])
    seconds = 0.0
    for batch in range(batches):
        started = time.process_time()
        trials = study.ask(BATCH)
        seconds += time.process_time() - started
        for trial in trials:
            joint = torch.tensor([[trial.decision["x"], (trial.context or {})["w"]]], dtype=torch.float64)
            study.tell(trial, float(evaluate(joint)))
        yield Step(FIRST + BATCH * (batch + 1), seconds, float(study.outlook().decision["x"]))


SIDES = {"allweather": our_steps, "botorch": botorch_steps}


def main(arguments: Sequence[str] = ()) -> None:
    """Run both sides, append what they did to the file, and print the comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks botorch_tutorial")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batches", type=int, default=BATCHES, help="further ones, at most 20 in all")
    parser.add_argument("--sides", nargs="+", default=list(SIDES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="only print what was run")
    chosen = parser.parse_args(arguments)
    judge, _ = judged("branin")
    for side in [] if chosen.show else chosen.sides:

        def evaluate(joint: Tensor) -> Tensor:
            return torch.stack([judge.problem.values(row[None, :1], row[None, 1:])[0, 0] for row in joint.detach()])

        before = _before(chosen.results, side, chosen.seed)
        further = BATCHES if side == "allweather" else min(chosen.batches, BATCHES - len(before))
        with warnings.catch_warnings(), chosen.results.open("a") as file:
            warnings.simplefilter("ignore")
            for step in SIDES[side](evaluate, chosen.seed, further, before):
                regret = judge.regret(torch.tensor([step.decision], dtype=torch.float64))
                line = {"side": side, "seed": chosen.seed, "evaluations": step.evaluations}
                line |= {"seconds": round(step.seconds, 2), "regret": float(f"{max(regret, 0.0):.4g}")}
                line |= {"points": step.points} if step.points else {}
                file.write(json.dumps(line) + "\n")
                file.flush()
    print("\n".join(table(chosen.results)))


def _before(path: Path, side: str, seed: int) -> list[Step]:
    """The steps that a file holds, in order."""
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    own = [each for each in found if (each["side"], each["seed"]) == (side, seed)]
    own = [each for each in own if "points" in each or side == "allweather"]  # others cannot be resumed
    return [Step(each["evaluations"], each["seconds"], 0.0, each.get("points", [])) for each in own]


def table(path: Path = RESULTS) -> list[str]:
    """Lines of a Markdown table, and of a verdict: both sides after equal evaluations, means over seeds.

    Regrets are geometric means, with a floor; CPU seconds are those up to there.
    """
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    by = {(each["evaluations"], each["seed"], each["side"]): each for each in found}
    pairs = {key[:2]: [by[*key[:2], side] for side in SIDES] for key in by if all((*key[:2], s) in by for s in SIDES)}
    lines = ["| evaluations | seeds | regret | BoTorch's regret | CPU seconds | BoTorch's |", "| ---: " * 6 + "|"]
    for evaluations in sorted({each for each, _ in pairs}):
        steps = np.array([_numbers(pair) for (each, _), pair in pairs.items() if each == evaluations])
        regrets, seconds = np.exp(np.log(steps[..., 0]).mean(0)), steps[..., 1].mean(0)
        shown = [f"{each:.2g}" for each in regrets] + [f"{each:.1f}" for each in seconds]
        cells = (evaluations, len(steps), *shown)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return [*lines, "", *_verdict(pairs)] if pairs else lines


def _numbers(pair: Sequence[dict[str, Any]]) -> list[list[float]]:
    """Regret and CPU seconds of both sides."""
    return [[max(each["regret"], FLOOR), each["seconds"]] for each in pair]


def _verdict(pairs: dict[tuple[int, int], Any]) -> list[str]:
    """How the sides compare over all numbers of evaluations, with the standard error over seeds."""
    seeds = sorted({seed for _, seed in pairs})
    steps = [np.array([_numbers(pair) for (_, own), pair in pairs.items() if own == seed]) for seed in seeds]
    logs = [float(np.log(each[:, 0, 0] / each[:, 1, 0]).mean()) for each in steps]
    error = np.std(logs, ddof=1) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
    ratio = Ratio(math.exp(np.mean(logs)), error, len(logs))
    spent = sum(each[:, 0, 1].max() for each in steps) / sum(each[:, 1, 1].max() for each in steps)
    return [
        f"Regret as a multiple of BoTorch's, over all these numbers of evaluations: {ratio}; CPU time: {spent:.3f}."
    ]
