"""Orders before the demand is known: at most 12 litres wasted on four days of five.

Run it where the folder `package` is: `python package/samplers/allweather/example.py`.
"""

from __future__ import annotations

import random

import optuna
import optunahub

import allweather as aw


def objective(trial: optuna.Trial) -> float:
    """An order, then a demand: a litre costs 5 and sells for 9."""
    order = trial.suggest_float("order", 0, 100)
    demand = min(random.Random(trial.number).gammavariate(4, 8), 100.0)
    trial.set_user_attr("context", {"demand": demand})
    trial.set_user_attr("wasted", max(0.0, order - demand))
    return 9 * min(order, demand) - 5 * order


def main(trials: int = 20) -> None:
    """Some trials, and what to order after them."""
    module = optunahub.load_local_module(package="samplers/allweather", registry_root="./package/")
    sampler = module.AllweatherSampler(
        aw.Space(demand=aw.Context(0, 100)),
        constraints_func=lambda trial: [trial.user_attrs["wasted"] - 12],
        limits=aw.AtMost(0, probability=0.8),
    )
    study = optuna.create_study(sampler=sampler, direction="maximize")
    study.optimize(objective, n_trials=trials)
    print(sampler.recommend(study))


if __name__ == "__main__":
    main()
