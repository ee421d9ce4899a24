"""An Ax experiment of a stall that orders before it knows the demand, kept in a file and gone on with.

python examples/ax_node.py                   # again and again: each run adds a week
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
from ax.api.client import Client
from ax.api.configs import RangeParameterConfig
from ax.utils.common.logger import set_ax_logger_levels

import allweather as aw
from allweather.integrations.ax import AllweatherNode


def opened(path: Path) -> Client:
    """The client in a file, or a new one."""
    if path.exists():
        return Client.load_from_json_file(str(path))
    client = Client()
    client.configure_experiment(
        parameters=[RangeParameterConfig(name="order", bounds=(0, 100), parameter_type="float")]
    )
    client.configure_optimization(objective="profit")
    node = AllweatherNode(aw.Space(demand=aw.Context(0, 100)), objective=aw.DRO(aw.TotalVariation(0.4)))
    client.set_generation_strategy(node.strategy())
    return client


def main(days: int = 7, folder: Path = Path("demo-output")) -> None:
    """Some more days, and what to order after them."""
    set_ax_logger_levels(logging.ERROR)
    folder.mkdir(exist_ok=True)
    client = opened(folder / "stall-ax.json")
    for _ in range(days):
        for index, arm in client.get_next_trials(max_trials=1).items():
            demand = min(float(np.random.default_rng(index).gamma(4, 8)), 100.0)
            profit = 9 * min(arm["order"], demand) - 5 * arm["order"]
            client.complete_trial(index, {"profit": profit, "demand": demand})
    client.save_to_json_file(str(folder / "stall-ax.json"))
    node = AllweatherNode.of(client)
    print(f"{len(node.as_study().trials())} days. What to order: {node.recommend()}")


if __name__ == "__main__":
    main()
