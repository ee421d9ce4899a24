"""What standard errors are worth: outcomes that are precise and noisy in turn, told with and without them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import allweather as aw

SPACE = aw.Space(dose=aw.Real(0, 1), heat=aw.Real(0, 1), ambient=aw.Context(0, 1))
ERRORS = (0.02, 0.8)
"""Standard errors of even and odd trials."""
TRIALS, SEEDS = 20, range(4)
AMBIENT = np.linspace(0.005, 0.995, 100)


def bowl(dose: float, heat: float, ambient: np.ndarray | float) -> np.ndarray:
    """An outcome without noise that falls everywhere, and whose best dose moves with the context."""
    return np.asarray(1 - 4 * (dose - 0.3 - 0.2 * np.asarray(ambient)) ** 2 - 4 * (heat - 0.7) ** 2)


def hill(dose: float, heat: float, ambient: np.ndarray | float) -> np.ndarray:
    """A narrow hill at the same place: elsewhere all outcomes are nearly 0, which precise ones say, too."""
    away = (dose - 0.3 - 0.2 * np.asarray(ambient)) ** 2 + (heat - 0.7) ** 2
    return np.asarray(np.exp(-away / (2 * 0.15**2)))


PROBLEMS: dict[str, Callable[..., np.ndarray]] = {"bowl": bowl, "hill": hill}


def regret(decision: aw.Row, problem: str = "bowl") -> float:
    """What a decision lacks of the best mean outcome, which is that of a dose of 0.4 and a heat of 0.7."""
    outcome = PROBLEMS[problem]
    chosen = outcome(float(decision["dose"]), float(decision["heat"]), AMBIENT)
    return float(outcome(0.4, 0.7, AMBIENT).mean() - chosen.mean())


def run(seed: int, told: bool, trials: int = TRIALS, initial: int | None = None, problem: str = "bowl") -> float:
    """The regret of the recommendation after some trials, with standard errors told or kept back."""
    study, source = aw.Study(SPACE, seed=seed, initial=initial), np.random.default_rng(seed)
    for number in range(trials):
        sd, ambient = ERRORS[number % 2], float(source.random())
        trial = study.ask()
        exact = float(PROBLEMS[problem](**trial.decision, ambient=ambient))
        measured = exact + sd * float(source.standard_normal())
        study.tell(trial, measured, sd=sd if told else None, context={"ambient": ambient})
    return regret(study.recommend().decision, problem)


def main() -> None:
    """Print the regret of each seed and their means, on both problems."""
    low, high = ERRORS
    for problem in PROBLEMS:
        title = (
            f"{problem}: regret of the recommendation after {TRIALS} trials, standard errors {low} and {high} in turn"
        )
        table = Table(title=title)
        for column in ("seed", "told", "not told"):
            table.add_column(column, justify="right")
        found = np.array([[run(seed, told, problem=problem) for told in (True, False)] for seed in SEEDS])
        for seed, row in zip(SEEDS, found, strict=True):
            table.add_row(str(seed), *(f"{each:.4f}" for each in row))
        told, kept = found.mean(0)
        table.add_row("mean", f"{told:.4f}", f"{kept:.4f}")
        table.add_row("ratio", f"{told / kept:.2f}", "")
        Console(width=120).print(table)
