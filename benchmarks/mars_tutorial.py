"""BoTorch's tutorial on robust multi-objective optimization under input noise, against a study with the method `mars`.

The problem, and the settings on BoTorch's side, are those of the tutorial: two functions of one variable whose setting
has an error of standard deviation 0.1, multivariate value at risk at probability 0.9, 4 Sobol points, then noisy
expected improvement of MARS with 32 perturbations, 256 samples, 20 restarts of 1024 raw samples. Ours has the error as
a context, reported as 0, and `InputNoise` as surrogate. Both are judged by the hypervolume of the true multivariate
value at risk of all decisions tried, over 512 perturbations. One thread; CPU time of deciding.

    python -m benchmarks mars_tutorial                  # both sides, one seed, 5 decisions as in the tutorial
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import scipy.stats
import torch
from botorch.acquisition.monte_carlo import qNoisyExpectedImprovement
from botorch.acquisition.multi_objective.multi_output_risk_measures import MARS, MVaR
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.models.transforms.input import InputPerturbation
from botorch.optim import optimize_acqf
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch.test_functions.multi_objective import ToyRobust
from botorch.utils.multi_objective.box_decompositions.dominated import DominatedPartitioning
from botorch.utils.sampling import draw_sobol_normal_samples, draw_sobol_samples, sample_simplex
from gpytorch.mlls import SumMarginalLogLikelihood
from torch import Tensor

import allweather as aw
from allweather.integrations.botorch import InputNoise
from benchmarks.stored_runs import origin

FIRST, DECISIONS, POINTS, JUDGED = 4, 5, 32, 512
PROBABILITY, RANGE = 0.9, 0.7
ERROR = 0.1 / RANGE
"""Standard deviation of the error, as a share of the variable's range."""
SD = 0.03
"""Standard error of the outcomes, which have none: hardly more than the least that BoTorch models allow."""
CORNER = torch.tensor([-14.1951, -3.1887], dtype=torch.float64)
CUBE = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
RESULTS = Path(__file__).parent / "results" / "mars_tutorial.jsonl"
PROBLEM = ToyRobust()
PROBLEM.levy.bounds = PROBLEM.levy.bounds.double()
PROBLEM.levy.forward = PROBLEM.levy._evaluate_true  # type: ignore[method-assign]  # errors lead out of its bounds
Step = tuple[Tensor, float]
"""All decisions so far (k, 1) in the unit cube, and the CPU time of choosing the last."""


def evaluate(decisions: Tensor) -> Tensor:
    """The two outcomes (k, 2) of decisions (k, 1) of the unit cube, without error; larger is better."""
    return -PROBLEM._evaluate_true(RANGE * decisions)


def hypervolume(decisions: Tensor) -> float:
    """The volume above the corner that the true multivariate values at risk of decisions (k, 1) dominate."""
    state = torch.random.get_rng_state()
    torch.manual_seed(0)
    errors = ERROR * draw_sobol_normal_samples(d=1, n=JUDGED, dtype=torch.float64)
    torch.random.set_rng_state(state)
    volume = DominatedPartitioning(ref_point=CORNER)
    for decision in decisions:
        reached = MVaR(n_w=JUDGED, alpha=PROBABILITY)(evaluate(decision + errors))
        volume.update(reached.reshape(-1, 2))
    return float(volume.compute_hypervolume())


def botorch_steps(seed: int, count: int) -> Iterator[Step]:
    """The loop of the tutorial, with its settings."""
    torch.manual_seed(seed)
    points = draw_sobol_samples(bounds=CUBE, n=FIRST, q=1, seed=seed).squeeze(-2)
    for _ in range(count):
        started, values = time.process_time(), evaluate(points)
        errors = ERROR * draw_sobol_normal_samples(d=1, n=POINTS, dtype=torch.float64)
        models = [_fixed(points, values[:, place, None], errors) for place in (0, 1)]
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        weights = sample_simplex(d=2, n=1, dtype=torch.float64).squeeze(0)
        risk = MARS(alpha=PROBABILITY, n_w=POINTS, chebyshev_weights=weights, ref_point=CORNER)
        risk.set_baseline_Y(model=model, X_baseline=points)
        sampler = SobolQMCNormalSampler(sample_shape=torch.Size([256]))
        score = qNoisyExpectedImprovement(
            model=model, X_baseline=points, objective=risk, prune_baseline=True, sampler=sampler
        )
        options = {"batch_limit": 5, "maxiter": 200}
        chosen, _ = optimize_acqf(score, CUBE, q=1, num_restarts=20, raw_samples=1024, options=options)
        points = torch.cat([points, chosen])
        yield points, time.process_time() - started


def _fixed(points: Tensor, values: Tensor, errors: Tensor) -> SingleTaskGP:
    noise = torch.full_like(values, 1e-7) * values.var()
    perturbed = InputPerturbation(perturbation_set=errors)
    return SingleTaskGP(points, values, noise, outcome_transform=Standardize(m=1), input_transform=perturbed)


def our_steps(seed: int, count: int) -> Iterator[Step]:
    """A study with the error as a context, from the same first points."""
    study = aw.Study(
        aw.Space(x=aw.Real(0, 1), slip=aw.Context(-0.5, 0.5)),
        method=aw.method("mars", level=1 - PROBABILITY, reference_point=CORNER.tolist()),
        context=aw.Known(scipy.stats.norm(0, ERROR), samples=POINTS),
        surrogate=InputNoise({"slip": "x"}),
        outcomes={name: aw.Maximize(aw.VaR(1 - PROBABILITY)) for name in ("first", "second")},
        initial=FIRST,
        seed=seed,
    )
    points = draw_sobol_samples(bounds=CUBE, n=FIRST, q=1, seed=seed).squeeze(-2)
    for x in points:
        _tell(study, study.ask(), x)
    for _ in range(count):
        started = time.process_time()
        trial = study.ask()
        seconds = time.process_time() - started
        chosen = torch.tensor([[trial.decision["x"]]], dtype=torch.float64)
        _tell(study, trial, chosen[0])
        points = torch.cat([points, chosen])
        yield points, seconds


def _tell(study: aw.Study, trial: aw.Trial, decision: Tensor) -> None:
    """Report a decision (1,) that was carried out without error, and measured without noise as BoTorch's side knows."""
    values = dict(zip(("first", "second"), evaluate(decision[None])[0].tolist(), strict=True))
    study.tell(trial, values, sd=dict.fromkeys(values, SD), context={"slip": 0.0}, decision={"x": float(decision)})


SIDES: dict[str, Callable[[int, int], Iterator[Step]]] = {"allweather": our_steps, "botorch": botorch_steps}


def table(place: Path = RESULTS) -> str:
    """The runs that are stored as Markdown, one row for each number of evaluations.

    Args:
        place: of the stored runs.
    """
    runs = [json.loads(line) for line in place.read_text().splitlines()]
    found = {(run["side"], run["seed"], run["evaluations"]): run for run in runs}
    rows = [
        "| seed | evaluations | hypervolume, `mars` | BoTorch | CPU s, `mars` | BoTorch |",
        "|---|---|---|---|---|---|",
    ]
    for seed, count in sorted({key[1:] for key in found}):
        sides = [found.get((side, seed, count)) for side in SIDES]
        cells = [f"{side['hypervolume']:.2f}" if side else "" for side in sides]
        cells += [f"{side['seconds']:.1f}" if side else "" for side in sides]
        rows.append(f"| {seed} | {count} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main(arguments: Sequence[str] = ()) -> None:
    """Run both sides once, append what they did to the file, and print the comparison.

    Args:
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks mars_tutorial", description=__doc__)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--decisions", type=int, default=DECISIONS)
    parser.add_argument("--sides", nargs="+", default=list(SIDES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args(list(arguments))
    for side in chosen.sides:
        seconds = 0.0
        with warnings.catch_warnings(), chosen.results.open("a") as file:
            warnings.simplefilter("ignore")
            for points, spent in SIDES[side](chosen.seed, chosen.decisions):
                seconds += spent
                line = {"side": side, "seed": chosen.seed, "evaluations": len(points)}
                line |= {"hypervolume": round(hypervolume(points), 4), "seconds": round(seconds, 2), **origin()}
                file.write(json.dumps(line) + "\n")
                file.flush()
    print(table(chosen.results))
