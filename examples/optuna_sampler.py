"""An Optuna study of a stall that orders before it knows the demand, kept in a file and gone on with.

python examples/optuna_sampler.py            # again and again: each run adds a week
optuna-dashboard sqlite:///demo-output/stall-optuna.db
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna

import allweather as aw
from allweather.integrations.optuna import AllweatherSampler


def week(trial: optuna.Trial) -> float:
    """An order, then a demand: a litre costs 5 and sells for 9."""
    order = trial.suggest_float("order", 0, 100)
    demand = min(float(np.random.default_rng(trial.number).gamma(4, 8)), 100.0)
    trial.set_user_attr("context", {"demand": demand})
    return 9 * min(order, demand) - 5 * order


def main(days: int = 7, folder: Path = Path("demo-output")) -> None:
    """Some more days, and what to order after them."""
    folder.mkdir(exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = AllweatherSampler(aw.Space(demand=aw.Context(0, 100)), objective=aw.DRO(aw.TotalVariation(0.4)))
    storage = f"sqlite:///{folder / 'stall-optuna.db'}"
    study = optuna.create_study(
        study_name="stall", storage=storage, sampler=sampler, direction="maximize", load_if_exists=True
    )
    study.optimize(week, n_trials=days)
    best = study.best_trial
    print(f"{len(study.trials)} days. The luckiest: {best.params['order']:.1f} litres, which earned {best.value:.0f}.")
    print(f"What to order: {sampler.recommend(study)}")


if __name__ == "__main__":
    main()
