"""How often the 90% interval of a recommendation holds the truth, under the true function and the true context law.

For every problem and seed a study with default parts runs for 60 trials. After 15, 30 and 60 it recommends for a mean,
a worst mean in total variation and a CVaR; the interval of the recommended decision's objective is compared with its
true value. Two more suites run on functions drawn from the surrogate's prior, with a law that is learned and with one
that is known. Widths are compared with an oracle's: the same data and decision, but law and hyperparameters known.

    python -m benchmarks calibration                  # the report's seeds, 400 to 409; resumes where it was stopped
    python -m benchmarks calibration --seeds 0-4 --allowance 1.2 --results tuning.jsonl
    python -m benchmarks calibration --quick          # a miniature, nothing is kept

Contexts are drawn anew for every problem: with the same ones, one unlucky sample would be counted on all problems.
The adversary in total variation may go anywhere in the context box, in the study and in the truth.
"""

from __future__ import annotations

import argparse
import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import allweather as aw
from allweather._utils.timing import threads
from allweather.contexts.base import sobol, with_unseen
from allweather.engine import intervals
from allweather.problems import Problem, problem
from allweather.surrogates.observations import Observations
from benchmarks.paired import PROBLEMS as CAMPAIGN
from benchmarks.prior_functions import SHAPE, hyperparameters, prior_problem

PROBLEMS = tuple(name for name in CAMPAIGN if name not in ("plant-ph", "wind"))
"""Those whose true context distribution can be sampled without end."""
LEARNED, KNOWN = "prior, learned law", "prior, known law"
OBJECTIVES = {"mean": aw.Expectation(), "DRO": aw.DRO(aw.TotalVariation(0.2)), "CVaR": aw.CVaR(0.25)}
CHECKPOINTS = (15, 30, 60)
SEEDS = range(400, 410)
"""Those of the report: earlier ones were looked at when the ends of intervals were chosen."""
SAMPLES = 256
"""Contexts of the learner's reference, and as many of weight zero; more change intervals little."""
RESULTS = Path(__file__).parent / "results" / "calibration.jsonl"


class Interval(NamedTuple):
    """One interval and the truth, as it is kept: a row of plain numbers."""

    trials: int
    objective: str
    low: float
    high: float
    truth: float
    oracle_low: float
    oracle_high: float

    @property
    def held(self) -> bool:
        """Whether the interval holds the truth, to rounding."""
        slack = 1e-9 * (1 + abs(self.truth))
        return self.low - slack <= self.truth <= self.high + slack

    @property
    def width(self) -> float:
        """The width in units of the oracle's."""
        return (self.high - self.low) / max(self.oracle_high - self.oracle_low, 1e-12)


@dataclass(frozen=True)
class Case:
    """One run: a problem (or a suite of prior draws) and a seed."""

    name: str
    seed: int

    @property
    def drawn(self) -> bool:
        """Whether the function is a draw of the prior."""
        return self.name in (LEARNED, KNOWN)

    def problem(self) -> Problem:
        """The problem itself."""
        return prior_problem(self.seed) if self.drawn else problem(self.name)

    def study(self, chosen: Problem) -> aw.Study:
        """A study with default parts, told about the law only where it is known."""
        learned = aw.KDE(SAMPLES, unseen=SAMPLES)
        law = aw.Known(scipy.stats.beta(*SHAPE), SAMPLES, unseen=SAMPLES) if self.name == KNOWN else learned
        candidates = None if chosen.candidates is None else chosen.space.decisions.decode(chosen.candidates)
        return aw.Study(
            chosen.space,
            context=law,
            constraints=chosen.constraints,
            candidates=candidates,
            initial=chosen.initial,
            seed=self.seed,
        )

    def oracle(self, chosen: Problem) -> aw.GP:
        """The surrogate with known hyperparameters."""
        fitted = hyperparameters(self.seed) if self.drawn else fitted_to_truth(self.name)
        noise, size = math.sqrt(fitted.noise), fitted.outputscale
        return aw.GP("matern", list(fitted.lengthscales), outputscale=size, noise=noise, mean=fitted.mean)

    def run(self, checkpoints: tuple[int, ...] = CHECKPOINTS) -> list[Interval]:
        """The intervals after each number of trials."""
        chosen, rows = self.problem(), list[Interval]()
        study, oracle, truth = self.study(chosen), self.oracle(chosen), true_law(chosen)
        for number in range(max(checkpoints)):
            rng = np.random.default_rng([self.seed, number, zlib.crc32(self.name.encode())])
            context, trial = chosen.draw(rng), study.ask()
            study.tell(trial, chosen.observe(trial.decision, context, rng), context=context)
            if number + 1 in checkpoints:
                table = observations(study, chosen)
                rows += [measure(study, name, chosen, truth, oracle.fit(table)) for name in OBJECTIVES]
        return rows


def measure(study: aw.Study, name: str, chosen: Problem, truth: aw.Reference, oracle: Any) -> Interval:
    """The interval of the recommended decision, its true objective, and the oracle's interval."""
    objective = OBJECTIVES[name]
    best = study.outlook(objective=objective)  # what `recommend` shows, without its other figures
    decision = chosen.space.decisions.encode(best.decision)
    with torch.no_grad():
        value = float(objective(chosen.values(decision, truth.points), truth)[0])
        thin = with_unseen(chosen.truth(512), SAMPLES, torch.Generator().manual_seed(1))
        drawn = oracle.draws(decision, thin.points, 257, torch.Generator().manual_seed(2))[:, 0]
        levels = torch.tensor([0.05, 0.95], dtype=torch.float64)
        low, high = objective(drawn, thin).quantile(levels).tolist()
    complete = int((study.trials()["state"] == "complete").sum())
    found, _, top = best.chosen_objective
    return Interval(complete, name, found, top, value, low, high)


def true_law(chosen: Problem) -> aw.Reference:
    """The true law on a large sample, with points of weight zero all over the box."""
    return with_unseen(chosen.truth(4096), 1024, torch.Generator().manual_seed(0))


def observations(study: aw.Study, chosen: Problem) -> Observations:
    """What the study has seen, encoded."""
    rows = study.trials()
    decisions = chosen.space.decisions.encode(rows[list(chosen.space.decisions)])
    contexts = chosen.space.contexts.encode(rows[list(chosen.space.contexts)])
    return Observations.of(decisions, contexts, rows["value"].to_numpy())


@cache
def fitted_to_truth(name: str) -> Any:
    """Hyperparameters fitted to many values of the true function, in the outcome's units."""
    chosen = problem(name)
    split, count = chosen.space.decisions.columns, 384
    points = sobol(count, split + chosen.space.contexts.columns, torch.Generator().manual_seed(3))
    x: Tensor = chosen.space.decisions.snap(points[:, :split])
    with torch.no_grad():
        values = torch.cat([chosen.values(x[i : i + 1], points[i : i + 1, split:])[0] for i in range(count)])
    fitted = aw.GP("matern", outputscale="fit").fit(Observations.of(x, points[:, split:], values)).hyperparameters
    shift, scale = float(values.mean()), float(values.std())
    return type(fitted)(
        fitted.lengthscales, fitted.outputscale * scale**2, fitted.noise * scale**2, shift + scale * fitted.mean
    )


def kept(path: Path | None) -> dict[Case, list[Interval]]:
    """The cases that are done; a line that was cut off by a crash is ignored."""
    found: dict[Case, list[Interval]] = {}
    for line in path.read_text().splitlines() if path is not None and path.is_file() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        found[Case(entry["name"], entry["seed"])] = [Interval(*row) for row in entry["rows"]]
    return found


def campaign(
    cases: list[Case], path: Path | None, checkpoints: tuple[int, ...] = CHECKPOINTS
) -> dict[Case, list[Interval]]:
    """Run the cases that are not done yet, and keep each as a line of `path`."""
    found = kept(path)
    for case in cases:
        if case in found:
            continue
        with threads(1):
            found[case] = case.run(checkpoints)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = [[float(f"{each:.6g}") if isinstance(each, float) else each for each in row] for row in found[case]]
            with path.open("a") as file:
                file.write(json.dumps({"name": case.name, "seed": case.seed, "rows": rows}) + "\n")
    return {case: found[case] for case in cases}


def cells(rows: list[Interval], checkpoints: tuple[int, ...]) -> list[str]:
    """Coverage after each number of trials, coverage by objective, and the median width."""
    coverage = [_share([row for row in rows if row.trials == trials]) for trials in checkpoints]
    by_objective = [_share([row for row in rows if row.objective == name]) for name in OBJECTIVES]
    widths = [np.median([row.width for row in rows if row.trials == trials]) for trials in checkpoints]
    return [*coverage, *by_objective, *(f"{width:.1f}" for width in widths)]


def _share(rows: list[Interval]) -> str:
    return f"{np.mean([row.held for row in rows]):.2f}" if rows else "-"


def printed(found: dict[Case, list[Interval]], checkpoints: tuple[int, ...] = CHECKPOINTS) -> Table:
    """The table: one row per problem, then all of them, then the prior's draws."""
    table = Table(title="share of 90% intervals that hold the truth; median width in units of an oracle's")
    table.add_column("problem")
    widths = [f"width {trials}" for trials in checkpoints]
    for column in ("seeds", *(f"{trials} trials" for trials in checkpoints), *OBJECTIVES, *widths):
        table.add_column(column, justify="right")
    names = list(dict.fromkeys(case.name for case in found))
    by_name = {name: [row for case, rows in found.items() if case.name == name for row in rows] for name in names}
    plain = [name for name in names if name not in (LEARNED, KNOWN)]
    by_name["all problems"] = [row for name in plain for row in by_name[name]]
    order = [*plain, *(["all problems"] if plain else []), *(name for name in (LEARNED, KNOWN) if name in names)]
    for name in order:
        seeds = sum(case.name == name for case in found) or len({case.seed for case in found if not case.drawn})
        table.add_row(name, f"{seeds}", *cells(by_name[name], checkpoints), end_section=name == order[len(plain) - 1])
    return table


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks calibration")
    parser.add_argument("--quick", action="store_true", help="a miniature, nothing is kept")
    parser.add_argument("--show", action="store_true", help="only print what is kept")
    parser.add_argument("--seeds", default=f"{SEEDS.start}-{SEEDS.stop - 1}")
    parser.add_argument("--problems", default=";".join((*PROBLEMS, LEARNED, KNOWN)), help="by name, separated by ;")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--allowance", type=float, default=intervals.ALLOWANCE, help="what intervals are widened by")
    chosen = parser.parse_args(arguments)
    intervals.ALLOWANCE = chosen.allowance
    if chosen.quick:
        cases, checkpoints = [Case(name, 0) for name in ("three-hump-camel", LEARNED, KNOWN)], (11, 12)
        found = campaign(cases, None, checkpoints)
    else:
        checkpoints = CHECKPOINTS
        cases = list(kept(chosen.results)) if chosen.show else planned(chosen.problems.split(";"), chosen.seeds)
        found = campaign(cases, chosen.results)
    Console(width=150).print(printed(found, checkpoints))


def planned(names: Sequence[str], seeds: str) -> list[Case]:
    """All cases, seed by seed; three times as many draws of the prior, since each is another function."""
    first, _, last = seeds.partition("-")
    start, stop = int(first), int(last or first) + 1
    cases = [Case(name, seed) for seed in range(start, stop) for name in names]
    drawn = [name for name in names if name in (LEARNED, KNOWN)]
    return cases + [Case(name, seed) for seed in range(stop, start + 3 * (stop - start)) for name in drawn]
