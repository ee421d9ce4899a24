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
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

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
from benchmarks.simulator import judged

FIRST, BATCHES, BATCH, POINTS = 8, 20, 2, 16
RESULTS = Path(__file__).parent / "results" / "botorch_tutorial.jsonl"
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
    """Lines of a Markdown table: regret and CPU time of both sides after equal evaluations."""
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    by = {(each["seed"], each["evaluations"], each["side"]): each for each in found}
    lines = ["| seed | evaluations | regret | BoTorch's regret | CPU seconds | BoTorch's |", "| --- " * 6 + "|"]
    for seed, evaluations, side in sorted(by):
        ours, theirs = by.get((seed, evaluations, "allweather")), by.get((seed, evaluations, "botorch"))
        if side == "botorch" and ours is not None and theirs is not None:
            cells = (seed, evaluations, ours["regret"], theirs["regret"], ours["seconds"], theirs["seconds"])
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines
