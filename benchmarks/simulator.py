"""Contexts chosen against contexts drawn from their law, in studies of a simulator.

Ten problems, 40 runs of the simulator each, initial design included. All methods are told the law of the contexts, as
the points that decisions are judged on: with other points the law of rare contexts would differ, and with it the best
decision, by more than the methods differ. Defaults were chosen on seeds below 100; the table is on seeds from 100 on.
Results are kept in `benchmarks/results/simulator.jsonl`; runs that it holds are not repeated. `--quick` runs a
miniature.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console

import allweather as aw
from allweather.acquisition.context_rules import ContextRule
from allweather.benchmark.regret import Judge, Measure
from allweather.contexts import Reference
from allweather.problems import Problem, problem
from benchmarks.comparison import Ratio
from benchmarks.paired import OPTIMA, PairedRun, read

OBJECTIVES: dict[str, aw.Objective] = {
    "branin": aw.CVaR(0.3),
    "branin-williams": aw.CVaR(0.3),
    "marzat-f4": aw.CVaR(0.1),
    "marzat-f6": aw.VaR(0.25),
    "portfolio-uniform": aw.VaR(0.2),
    "rare-failure": aw.CVaR(0.05),
    "queue": aw.CVaR(0.1),
    "robot-push-short": aw.CVaR(0.3),
    "six-hump-camel": aw.DRO(aw.TotalVariation(0.4)),
    "newsvendor": aw.DRO(aw.ChiSquared(0.5)),
}
"""The problems, and what is wanted of each: `branin` is that of BoTorch's tutorial on environmental variables."""
RUNS, STOPS = 40, (20, 40)
"""Runs of the simulator, and after how many of them the recommendation is judged."""
POINTS = 512
"""Points of the law, which the learner is told and decisions are judged on."""
COSTLY = {"portfolio-uniform": 128}
"""The same where the function is expensive."""
SEEDS = range(100, 110)
RESULTS = Path(__file__).parent / "results" / "simulator.jsonl"
REFERENCE, HALF = "UCB(1), drawn", 0.5
"""What ratios are to, and the target."""
FLOOR = 1e-3
"""Of regrets, in units of the distance between the best decision and the median one."""


class Contender(NamedTuple):
    """A way to choose decision and context."""

    simulator: bool | ContextRule
    acquisition: aw.Acquisition | None = None
    goal: str | None = None


CONTENDERS: dict[str, Contender] = {
    "default": Contender(True),
    "UCB(1), drawn": Contender(aw.FromLaw(), aw.ObjectiveUCB(1.0)),
    "UCB(1), influential": Contender(aw.MostInfluential(), aw.ObjectiveUCB(1.0)),
    "UCB(2), drawn": Contender(aw.FromLaw(), aw.ObjectiveUCB(2.0)),
    "UCB(2), influential": Contender(aw.MostInfluential(), aw.ObjectiveUCB(2.0)),
    "UCB(2), deviation": Contender(aw.LargestDeviation(), aw.ObjectiveUCB(2.0)),
    "UCB(2), lacing": Contender(aw.LacingValue(), aw.ObjectiveUCB(2.0)),
    "UCB(2), gain": Contender(aw.LargestGain(), aw.ObjectiveUCB(2.0)),
    "UCB(2), averaged": Contender(aw.MostInfluential(samples=64), aw.ObjectiveUCB(2.0)),
    "UCB(2), averaged, drawn": Contender(aw.MostInfluential(samples=64, drawn=8), aw.ObjectiveUCB(2.0)),
    "KG, gain": Contender(aw.LargestGain(), aw.KnowledgeGradient()),
    "KG, influential": Contender(aw.MostInfluential(), aw.KnowledgeGradient()),
    "KG, drawn": Contender(aw.FromLaw(), aw.KnowledgeGradient()),
    "Thompson, influential": Contender(aw.MostInfluential(), aw.Thompson()),
    "Thompson, drawn": Contender(aw.FromLaw(), aw.Thompson()),
}


@dataclass(frozen=True)
class Told(Measure):
    """Regret by an objective under fewer points of the true law."""

    points: int = POINTS

    def reference(self, problem: Problem) -> Reference:
        """Return the true law on these points."""
        return problem.truth(self.points)


@cache
def judged(name: str) -> tuple[Judge, float]:
    """The judge of a problem's decisions, and the regret of the median decision."""
    judge = Judge.of(problem(name), Told("simulator", OBJECTIVES[name], points=COSTLY.get(name, POINTS)), OPTIMA)
    kept = OPTIMA / f"optimum-{name}-simulator.json"
    stored = json.loads(kept.read_text())
    if "median" not in stored:
        box = judge.problem.space.decisions
        spread = torch.rand(64, box.columns, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        with torch.no_grad():
            stored["median"] = judge.best - float(judge.value(spread).median())
        kept.write_text(json.dumps(stored))
    return judge, float(stored["median"])


@cache
def _median(name: str) -> float:
    """The regret of the median decision, from the file of the optimum: without the problem, which may need data."""
    kept = OPTIMA / f"optimum-{name}-simulator.json"
    return float(json.loads(kept.read_text())["median"]) if kept.is_file() else judged(name)[1]


def build(chosen: Problem, contender: Contender, objective: aw.Objective, seed: int) -> aw.Study:
    """A study that is told the law of the contexts."""
    points, weights = chosen.truth(COSTLY.get(chosen.name, POINTS))
    rows = chosen.space.contexts.decode(points)
    return aw.Study(
        chosen.space,
        context=aw.Finite(rows, weights.tolist()),
        objective=objective,
        acquisition=contender.acquisition,
        goal=contender.goal,  # type: ignore[arg-type]
        simulator=contender.simulator,
        constraints=chosen.constraints,
        seed=seed,
    )


def execute(run: PairedRun, contender: Contender, runs: int = RUNS, stops: Sequence[int] = STOPS) -> dict[str, Any]:
    """Carry out a run.

    Returns:
        The regret of the recommendation after some of the simulator's runs, and seconds of CPU time.
    """
    judge, _ = judged(run.problem)
    chosen, started, regrets = judge.problem, time.process_time(), list[float]()
    study = build(chosen, contender, OBJECTIVES[run.problem], run.seed)
    for number in range(runs):
        trial = study.ask()
        rng = np.random.default_rng([run.seed, number])
        study.tell(trial, chosen.observe(trial.decision, trial.context or {}, rng))
        if number + 1 in stops:
            decision = chosen.space.decisions.encode(study.outlook().decision)[0]
            regrets.append(float(f"{max(judge.regret(decision), 0.0):.6g}"))
    seconds = round(time.process_time() - started, 2)
    return {"problem": run.problem, "method": run.method, "seed": run.seed, "regrets": regrets, "seconds": seconds}


def ratio(results: Sequence[Mapping[str, Any]], method: str, against: str, place: int = -1, name: str = "") -> Ratio:
    """Geometric mean of paired ratios of regret.

    Args:
        results: lines of the file.
        method: whose regret is the numerator.
        against: whose regret is the denominator.
        place: of the regret among those after 20 and 40 runs.
        name: only of this problem.
    """
    by = {(each["problem"], each["method"], each["seed"]): each["regrets"] for each in results}
    logarithms = []
    for (which, who, seed), regrets in by.items():
        other = by.get((which, against, seed))
        if who == method and other is not None and name in ("", which):
            floor = FLOOR * _median(which)
            logarithms.append(np.log((regrets[place] + floor) / (other[place] + floor)))
    n = len(logarithms)
    if not n:
        return Ratio(np.nan, np.nan, 0)
    error = float(np.std(logarithms, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return Ratio(float(np.exp(np.mean(logarithms))), error, n)


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks simulator")
    parser.add_argument("--methods", nargs="+", default=["default", REFERENCE])
    parser.add_argument("--problems", nargs="+", default=list(OBJECTIVES))
    parser.add_argument("--seeds", default=f"{SEEDS.start}-{SEEDS.stop - 1}")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="only print the tables of what was run")
    parser.add_argument("--quick", action="store_true", help="one problem, one seed, six runs")
    chosen = parser.parse_args(arguments)
    if chosen.quick:
        chosen.methods, chosen.problems, chosen.seeds = ["default", REFERENCE], ["rare-failure"], "0"
        with tempfile.TemporaryDirectory() as folder:
            return _campaign(chosen, Path(folder) / "quick.jsonl", 6, (6,))
    return _campaign(chosen, chosen.results)


def _campaign(chosen: argparse.Namespace, path: Path, runs: int = RUNS, stops: Sequence[int] = STOPS) -> None:
    results = read(path)
    known = {(each["problem"], each["method"], each["seed"]) for each in results}
    first, _, last = chosen.seeds.partition("-")
    wanted = [
        PairedRun(name, method, seed)
        for seed in range(int(first), int(last or first) + 1)
        for name in chosen.problems
        for method in chosen.methods
    ]
    for run in [] if chosen.show else wanted:
        if run.key not in known:
            results.append(execute(run, CONTENDERS[run.method], runs, stops))
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write(json.dumps(results[-1]) + "\n")
            print(*run.key, results[-1]["regrets"], f"{results[-1]['seconds']} s", flush=True)
    console = Console(width=120)
    for line in (*table(results).splitlines(), *verdicts(results)):
        console.print(line, markup=False)


def table(results: Sequence[Mapping[str, Any]], seeds: range = SEEDS) -> str:
    """A Markdown table: regret after all runs as a multiple of the reference's, by problem and method.

    Args:
        results: lines of the file.
        seeds: those that count.
    """
    own = [each for each in results if each["seed"] in seeds]
    methods = [name for name in dict.fromkeys(each["method"] for each in own) if name != REFERENCE]
    lines = ["| problem | objective | seeds | " + " | ".join(methods) + " |"]
    lines.append("| --- " * 2 + "| ---: " * (len(methods) + 1) + "|")
    for name in (*OBJECTIVES, ""):
        ratios = [ratio(own, method, REFERENCE, -1, name) for method in methods]
        wanted = f"`{OBJECTIVES[name]!r}`" if name else ""
        pairs = max((each.pairs for each in ratios), default=0)
        lines.append(f"| {name or 'all'} | {wanted} | {pairs} | " + " | ".join(map(_shown, ratios)) + " |")
    return "\n".join(lines)


def _shown(found: Ratio) -> str:
    """A ratio; one pair alone has no standard error."""
    return f"{found.value:.2f}" if found.pairs == 1 else str(found)


def verdicts(results: Sequence[Mapping[str, Any]], seeds: range = SEEDS) -> list[str]:
    """What the targets say of the default, one line each."""
    own = [each for each in results if each["seed"] in seeds]
    whole = ratio(own, "default", REFERENCE)
    if not whole.pairs:
        return []
    met = "met" if whole.value <= HALF else "not met"
    found = {name: ratio(own, "default", REFERENCE, -1, name) for name in OBJECTIVES}
    known = {name: each for name, each in found.items() if each.pairs > 2}  # fewer say nothing about their error
    worse = [f"{name} {each}" for name, each in known.items() if np.log(each.value) > 2 * each.error]
    planned = len(OBJECTIVES) * len(seeds)
    return [
        f"regret of the default against contexts drawn from the law, of {whole.pairs} pairs of {planned} planned: "
        f"{whole}, target {HALF:.2f} {met}",
        f"worse by more than two standard errors, of {len(known)} problems with three seeds or more: "
        f"{'; '.join(worse) or 'none'}",
    ]
