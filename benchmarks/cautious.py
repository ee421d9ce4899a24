"""Cautious mode on functions drawn from the model: how often a decision asked for breaks its limit.

Gain and purity are draws of the surrogate's prior over two decisions and a context. The limit is a chance constraint
that three decisions of ten keep. A study with `cautious=0.9` begins with one decision that keeps it, measured in ten
contexts, and asks for ten more; each is judged under the true function and law. The law is known or learned, and the
hyperparameters are known or fitted.

    python -m benchmarks cautious                       # what is not stored yet; prints the table
    python -m benchmarks cautious --functions 3 --results /tmp/tuning.jsonl --first 0
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.special import betaincinv

import allweather as aw
from allweather.surrogates import Hyperparameters
from benchmarks.prior_functions import NOISE, SHAPE, Cosines, hyperparameters
from benchmarks.stored_runs import origin

RESULTS = Path(__file__).parent / "results" / "cautious.jsonl"
STATED, SHARE, ASKS, KNOWN, CONTEXTS = 0.9, 0.8, 10, 10, 32
"""The stated probability, that of the chance constraint, decisions asked for and known, contexts of the true law."""
LAW = betaincinv(*SHAPE, (np.arange(CONTEXTS) + 0.5) / CONTEXTS)
CASES = ("known law", "learned law", "learned law, fitted")


@dataclass(frozen=True, eq=False)
class Drawn:
    """Gain and purity, two draws of the prior, and the source of contexts and noise."""

    prior: Hyperparameters
    outcomes: dict[str, Cosines]
    rng: np.random.Generator

    @classmethod
    def of(cls, seed: int) -> Drawn:
        """The functions of a seed."""
        prior, generator = hyperparameters(seed), torch.Generator().manual_seed(seed)
        drawn = {name: Cosines.drawn(prior, 2, generator) for name in ("gain", "purity")}
        return cls(prior, drawn, np.random.default_rng([seed, 3]))

    def kept(self, decisions: np.ndarray) -> np.ndarray:
        """The purity (b,) of decisions (b, 2) that is reached with the probability of the limit."""
        values = self.outcomes["purity"](torch.from_numpy(decisions), torch.from_numpy(LAW)[:, None]).numpy()
        return np.quantile(values, 1 - SHARE, axis=1, method="higher")

    def measure(self, decision: np.ndarray) -> dict[str, float]:
        """A context, and the outcomes of a decision (2,) in it."""
        context = float(self.rng.choice(LAW))
        place, at = torch.from_numpy(decision)[None], torch.tensor([[context]], dtype=torch.float64)
        values = {name: float(each(place, at)) + NOISE * self.rng.normal() for name, each in self.outcomes.items()}
        return {"c": context, **values}


def run(case: str, seed: int, asks: int = ASKS) -> dict[str, Any]:
    """Ask cautiously on one drawn pair of functions.

    Args:
        case: one of `CASES`.
        seed: of the functions, the contexts and the study.
        asks: how many decisions are asked for.
    """
    began, drawn = time.process_time(), Drawn.of(seed)
    some = drawn.rng.random((2000, 2))
    threshold, high = np.quantile(drawn.kept(some), (0.7, 0.97))
    start = some[int(np.argmin(np.abs(drawn.kept(some) - high)))]
    model = aw.GP("matern52", list(drawn.prior.lengthscales), outputscale=1.0, noise=NOISE, mean=0.0)
    study = aw.Study(
        aw.Space(x1=aw.Real(0, 1), x2=aw.Real(0, 1), c=aw.Context(0, 1)),
        outcomes={"gain": aw.Maximize(), "purity": aw.AtLeast(float(threshold), probability=SHARE)},
        cautious=STATED,
        context=aw.Finite([[c] for c in LAW]) if case == "known law" else None,
        surrogate=None if case.endswith("fitted") else model,
        seed=seed,
    )
    for _ in range(KNOWN):
        study.add([{"x1": start[0], "x2": start[1], **drawn.measure(start)}])
    broken, moved = 0, 0.0
    for _ in range(asks):
        trial = study.ask()
        decision = np.array([trial.decision["x1"], trial.decision["x2"]])
        broken += int(drawn.kept(decision[None])[0] < threshold)
        moved = max(moved, float(np.abs(decision - start).max()))
        values = drawn.measure(decision)
        study.tell(trial, {name: values[name] for name in drawn.outcomes}, context={"c": values["c"]})
    told = {"case": case, "seed": seed, "asks": asks, "broken": broken, "moved": round(moved, 3)}
    return {**told, "seconds": round(time.process_time() - began, 1), **origin()}


def table(place: Path = RESULTS) -> str:
    """The share of decisions that broke their limit, with its standard error over functions, as Markdown.

    Args:
        place: of the stored runs.
    """
    runs = pd.DataFrame([json.loads(line) for line in place.read_text().splitlines()])
    rows = ["| | functions | decisions | broken (standard error) | stated, at most | farthest from the start |"]
    rows.append("|---|---|---|---|---|---|")
    for case, group in runs.groupby("case", sort=False):
        shares = group["broken"] / group["asks"]
        error = shares.std() / len(group) ** 0.5 if len(group) > 1 else float("nan")
        rows.append(
            f"| {case} | {len(group)} | {group['asks'].sum()} | {shares.mean():.3f} ({error:.3f}) | {1 - STATED:.2f} "
            f"| {group['moved'].mean():.2f} |"
        )
    return "\n".join(rows)


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is not stored yet, and print the table.

    Args:
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks cautious", description=__doc__)
    parser.add_argument("--functions", type=int, default=20)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args(list(arguments))
    lines = chosen.results.read_text().splitlines() if chosen.results.exists() else []
    done = {(run["case"], run["seed"]) for run in map(json.loads, lines)}
    for seed in range(chosen.first, chosen.first + chosen.functions):
        for case in chosen.cases:
            if (case, seed) not in done:
                result = run(case, seed)
                with chosen.results.open("a") as file:
                    file.write(json.dumps(result) + "\n")
    print(table(chosen.results))
