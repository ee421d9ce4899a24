"""What standard errors are worth: outcomes that are precise and noisy in turn, told with and without them."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import allweather as aw

SPACE = aw.Space(dose=aw.Real(0, 1), heat=aw.Real(0, 1), ambient=aw.Context(0, 1))
ERRORS = (0.02, 0.8)
"""Standard errors of even and odd trials."""
TRIALS, SEEDS = 20, range(4)
AMBIENT = np.linspace(0.005, 0.995, 100)


def outcome(dose: float, heat: float, ambient: np.ndarray | float) -> np.ndarray:
    """The outcome without noise, whose best dose moves with the context."""
    return np.asarray(1 - 4 * (dose - 0.3 - 0.2 * np.asarray(ambient)) ** 2 - 4 * (heat - 0.7) ** 2)


def regret(decision: aw.Row) -> float:
    """What a decision lacks of the best mean outcome, which is that of a dose of 0.4 and a heat of 0.7."""
    chosen = outcome(float(decision["dose"]), float(decision["heat"]), AMBIENT)
    return float(outcome(0.4, 0.7, AMBIENT).mean() - chosen.mean())


def run(seed: int, told: bool, trials: int = TRIALS, initial: int | None = None) -> float:
    """The regret of the recommendation after some trials, with standard errors told or kept back."""
    study, source = aw.Study(SPACE, seed=seed, initial=initial), np.random.default_rng(seed)
    for number in range(trials):
        sd, ambient = ERRORS[number % 2], float(source.random())
        trial = study.ask()
        measured = float(outcome(**trial.decision, ambient=ambient)) + sd * float(source.standard_normal())
        study.tell(trial, measured, sd=sd if told else None, context={"ambient": ambient})
    return regret(study.recommend().decision)


def main() -> None:
    """Print the regret of each seed and their means."""
    low, high = ERRORS
    table = Table(title=f"regret of the recommendation after {TRIALS} trials, standard errors {low} and {high} in turn")
    for column in ("seed", "told", "not told"):
        table.add_column(column, justify="right")
    found = np.array([[run(seed, told) for told in (True, False)] for seed in SEEDS])
    for seed, row in zip(SEEDS, found, strict=True):
        table.add_row(str(seed), *(f"{each:.4f}" for each in row))
    told, kept = found.mean(0)
    table.add_row("mean", f"{told:.4f}", f"{kept:.4f}")
    table.add_row("ratio", f"{told / kept:.2f}", "")
    Console(width=120).print(table)
