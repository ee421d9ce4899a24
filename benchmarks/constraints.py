"""Constrained problems: a study of several outcomes against two studies by hand and against penalties.

Six problems with an uncontrolled context; see `constrained_problems`. A recommendation is judged under the true
function and law: whether it keeps every limit, and by how much its objective is worse than that of the best feasible
decision. An infeasible recommendation counts with the regret of the median feasible decision.

All studies are made with `goal="recommendation"`, since that is what is judged.

- `outcomes`: `Study(outcomes=...)`: expected improvement times the probability of feasibility.
- `optimistic`: the same with `ObjectiveUCB(1.0)`, upper bounds of the objective and of each limit, which is the default
  where every trial counts.
- `two studies`: one study of the objective and one of each limit, asked in turn, all told every result. Recommended is
  the tried decision with the best expected objective among those whose limits hold by the other studies' means.
- `penalty W`: one study of the objective less W spreads for every spread by which a measured limit is broken.

`python -m benchmarks constraints` runs what is not stored yet; `--show` prints the table of what is.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import allweather as aw
from benchmarks.constrained_problems import BY_NAME, PROBLEMS, ConstrainedProblem
from benchmarks.stored_runs import origin

RESULTS = Path(__file__).parent / "results" / "constraints.jsonl"
TRIALS, SEEDS = 40, range(100, 110)
GOAL = "recommendation"
WEIGHTS = (1.0, 3.0, 10.0)
METHODS = ("outcomes", "optimistic", "two studies", *(f"penalty {weight:g}" for weight in WEIGHTS))


def by_outcomes(problem: ConstrainedProblem, seed: int, acquisition: aw.Acquisition | None = None) -> dict[str, Any]:
    """Recommend after the trials of a study of several outcomes."""
    study = aw.Study(problem.space, outcomes=dict(problem.wanted), acquisition=acquisition, goal=GOAL, seed=seed)
    rng = np.random.default_rng([seed, 1])
    for _ in range(TRIALS):
        trial = study.ask()
        context = float(np.clip(problem.draw(rng, 1)[0], 0, 1))
        study.tell(trial, problem.observe(trial.decision, context, rng), context={"context": context})
    best = study.recommend(radii=[0.0])
    return {"decision": best.decision, "believed": best.feasible}


def by_two_studies(problem: ConstrainedProblem, seed: int) -> dict[str, Any]:
    """Recommend after the trials of one study for each outcome, asked in turn."""
    studies = {}
    for name, want in problem.wanted.items():
        direction = "maximize" if want.sign > 0 else "minimize"
        studies[name] = aw.Study(problem.space, objective=want.measure, direction=direction, goal=GOAL, seed=seed)
    rng = np.random.default_rng([seed, 1])
    rows: list[dict[str, Any]] = []
    for number in range(TRIALS):
        turn = list(studies.values())[number % len(studies)]
        trial = turn.ask()
        context = float(np.clip(problem.draw(rng, 1)[0], 0, 1))
        values = problem.observe(trial.decision, context, rng)
        for name, study in studies.items():
            if study is turn:
                study.tell(trial, values[name], context={"context": context})
            else:
                study.add([{**trial.decision, "context": context, "value": values[name]}])
        rows.append(dict(trial.decision))
    expected = {}
    for name, study in studies.items():
        belief = study.outlook().belief
        expected[name] = belief.expected(problem.space.decisions.encode(rows)).detach().numpy()
    fits = problem.feasible(expected)
    limits = [name for name in problem.wanted if problem.wanted[name].constrains]
    margin = np.min([expected[name] - problem.wanted[name].level(problem.wanted[name].measure) for name in limits], 0)
    best = int(np.where(fits, expected[problem.objective], -np.inf).argmax() if fits.any() else margin.argmax())
    return {"decision": rows[best], "believed": float(fits[best])}


def by_penalty(problem: ConstrainedProblem, seed: int, weight: float) -> dict[str, Any]:
    """Recommend after the trials of a study of the objective less a penalty."""
    study, spreads = aw.Study(problem.space, goal=GOAL, seed=seed), problem.spreads()
    rng = np.random.default_rng([seed, 1])
    for _ in range(TRIALS):
        trial = study.ask()
        context = float(np.clip(problem.draw(rng, 1)[0], 0, 1))
        values = problem.observe(trial.decision, context, rng)
        penalised = 0.0
        for name, want in problem.wanted.items():
            if want.constrains:
                short = want.sign * (want.threshold - values[name]) / spreads[name]  # type: ignore[attr-defined]
                penalised -= weight * max(0.0, short)
            else:
                penalised += want.sign * values[name] / spreads[name]
        study.tell(trial, penalised, context={"context": context})
    return {"decision": study.recommend(radii=[0.0]).decision, "believed": None}


def run(problem: ConstrainedProblem, method: str, seed: int) -> dict[str, Any]:
    """Run one method on one problem, and judge what it recommends.

    Args:
        problem: what is to be decided.
        method: one of `METHODS`.
        seed: of the study, the contexts and the noise.
    """
    began = time.process_time()
    if method == "outcomes":
        found = by_outcomes(problem, seed)
    elif method == "optimistic":
        found = by_outcomes(problem, seed, aw.ObjectiveUCB(1.0))
    elif method == "two studies":
        found = by_two_studies(problem, seed)
    else:
        found = by_penalty(problem, seed, float(method.split()[1]))
    seconds = time.process_time() - began
    decision = np.array([[found["decision"][name] for name in problem.bounds]])
    measures = problem.measures(decision)
    kept, (best, given_up) = bool(problem.feasible(measures)[0]), problem.answer
    regret = best - float(measures[problem.objective][0]) if kept else given_up
    return {
        "problem": problem.name,
        "method": method,
        "seed": seed,
        "feasible": kept,
        "regret": max(regret, 0.0) / given_up,
        "believed": found["believed"],
        "seconds": round(seconds, 1),
        "goal": GOAL,
        **origin(),
    }


def stored(place: Path = RESULTS) -> pd.DataFrame:
    """The runs that are stored in a file."""
    lines = place.read_text().splitlines() if place.exists() else []
    return pd.DataFrame([json.loads(line) for line in lines])


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Share of feasible recommendations and mean regret by problem and method, in units of giving up."""
    grouped = runs.groupby(["problem", "method"], sort=False)
    return grouped.agg(
        runs=("seed", "size"), feasible=("feasible", "mean"), regret=("regret", "mean"), seconds=("seconds", "mean")
    ).round(3)


def ratio(runs: pd.DataFrame, method: str, other: str, kept: bool = False) -> tuple[float, int]:
    """Mean regret of a method as a share of another's, over the runs that both have; and how many these are.

    Args:
        runs: as they are stored.
        method: one of `METHODS`.
        other: another one.
        kept: whether only runs count in which both kept their limits.
    """
    table = runs[runs["feasible"] | (not kept)].pivot_table(
        index=["problem", "seed"], columns="method", values="regret"
    )
    both = table[[method, other]].dropna() if {method, other} <= set(table) else table.iloc[:0]
    return (float(both[method].mean() / both[other].mean()) if len(both) else float("nan")), len(both)


def best_penalty(runs: pd.DataFrame) -> str:
    """The penalty with the smallest mean regret over all problems, chosen after the fact."""
    means = runs[runs["method"].str.startswith("penalty")].groupby("method")["regret"].mean()
    return str(means.idxmin()) if len(means) else METHODS[-1]


def page_table(runs: pd.DataFrame) -> str:
    """The stored runs by method as Markdown, with the verdicts on the targets.

    Args:
        runs: as they are stored.
    """
    rows = ["| method | runs | limits kept | regret | regret where kept | CPU s a run |", "|---|---|---|---|---|---|"]
    for method in [name for name in METHODS if name in set(runs["method"])]:
        part = runs[runs["method"] == method]
        kept, regret, seconds = part["feasible"].mean(), part["regret"].mean(), part["seconds"].mean()
        where = part[part["feasible"]]["regret"].mean()
        rows.append(f"| {method} | {len(part)} | {kept:.2f} | {regret:.3f} | {where:.3f} | {seconds:.0f} |")
    ours = runs[runs["method"] == "outcomes"]
    kept = float(ours["feasible"].mean())
    verdict = f"target 0.85 {'met' if kept >= 0.85 else 'not met'}" if len(ours) else "not run yet"
    said = [f"limits kept in {kept:.2f} of {len(ours)} runs: {verdict}"]
    for other in ("two studies", best_penalty(runs), "optimistic"):
        for kept_only in (True, False):
            value, pairs = ratio(runs, "outcomes", other, kept_only)
            verdict = "not run yet" if not pairs else f"target 0.50 {'met' if value <= 0.5 else 'not met'}"
            verdict = "no target" if pairs and other == "optimistic" else verdict
            among = "in which both kept their limits" if kept_only else "in all"
            said.append(f"regret against `{other}`: {value:.2f} over {pairs} pairs {among}: {verdict}")
    table = runs.pivot_table(index="problem", columns="method", values="regret", sort=False)
    names = [name for name in METHODS if name in table]
    lines = [f"| problem | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    lines += [
        f"| {problem} | {' | '.join(f'{row[name]:.3f}' for name in names)} |" for problem, row in table.iterrows()
    ]
    return "\n".join([*rows, "", *(f"- {each}" for each in said), "", "Regret by problem:", "", *lines])


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is not stored yet, or print what is.

    Args:
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks constraints", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what is stored")
    parser.add_argument("--seeds", type=int, nargs="*", default=list(SEEDS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--results", type=Path, default=RESULTS, help="where runs are stored")
    parser.add_argument("--problems", nargs="*", default=[problem.name for problem in PROBLEMS])
    chosen = parser.parse_args(list(arguments))
    known = stored(chosen.results)
    done = set() if known.empty else set(zip(known["problem"], known["method"], known["seed"], strict=True))
    for seed in () if chosen.show else chosen.seeds:
        for name in chosen.problems:
            for method in chosen.methods:
                if (name, method, seed) not in done:
                    result = run(BY_NAME[name], method, seed)
                    with chosen.results.open("a") as lines:
                        lines.write(json.dumps(result) + "\n")
    found = stored(chosen.results)
    if not found.empty:
        print(summary(found).to_string())
        print(found.groupby("method", sort=False)[["feasible", "regret"]].mean().round(3).to_string())
