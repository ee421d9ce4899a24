"""A stall that orders before it knows the demand, run by Xopt: at most 12 litres wasted on four days of five.

python examples/xopt_generator.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from gest_api.vocs import VOCS, ContextualVariable
from xopt import Evaluator, Xopt

import allweather as aw
from allweather.integrations.gest_api import AllweatherGenerator

PROBLEM = VOCS(
    variables={"order": [0, 100], "demand": ContextualVariable(domain=[0, 100])},
    objectives={"profit": "MAXIMIZE"},
    constraints={"wasted": ["LESS_THAN", 12]},
)


class Stall:
    """An order, then a demand: a litre costs 2 and sells for 9."""

    def __init__(self, first: int) -> None:
        self.today = first

    def __call__(self, inputs: dict[str, Any]) -> dict[str, float]:
        """The outcomes of a day, with the demand."""
        order, demand = inputs["order"], min(float(np.random.default_rng(self.today).gamma(4, 8)), 100.0)
        self.today += 1
        return {"profit": 9 * min(order, demand) - 2 * order, "wasted": max(0.0, order - demand), "demand": demand}


def main(days: int = 7, folder: Path = Path("demo-output")) -> None:
    """Some more days, and what to order after them."""
    folder.mkdir(exist_ok=True)
    file = folder / "stall-xopt.csv"
    earlier = pd.read_csv(file, index_col="xopt_index") if file.is_file() else None
    generator = AllweatherGenerator(PROBLEM, outcomes={"wasted": aw.AtMost(12, probability=0.8)})
    stall = Stall(0 if earlier is None else len(earlier))
    xopt = Xopt(generator=generator, evaluator=Evaluator(function=stall), data=earlier, data_dump_file=str(file))
    for _ in range(days):
        xopt.step()
    print(f"{len(xopt.data)} days. What to order: {xopt.generator.recommend()}")


if __name__ == "__main__":
    main()
