"""Small studies to look at."""

from functools import cache

import numpy as np

import allweather as aw


@cache
def stall(direction="maximize", objective=None, days=14):
    """A newsvendor; where it minimises, of losses."""
    space = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
    wanted = objective or aw.DRO(aw.TotalVariation(0.4))
    study = aw.Study(space, objective=wanted, context=aw.KDE(64), direction=direction, seed=3, name="stall")
    rng, sign = np.random.default_rng(3), 1 if direction == "maximize" else -1
    for _ in range(days):
        trial = study.ask()
        order, demand = trial.decision["order"], float(rng.beta(2, 6))
        profit = 9 * min(order, demand) + max(0, order - demand) - 5 * order
        study.tell(trial, sign * profit + 0.01 * rng.standard_normal(), context={"demand": demand})
    return study


@cache
def workshop():
    """Variables of every kind, with names that a careless page or picture would take for code."""
    space = aw.Space(
        width=aw.Real(1, 100),
        wood=aw.Choice("oak", "<b>pine</b>", "$ash$"),
        pots=aw.Integer(1, 6),
        heat=aw.Context(aw.Real(1, 1000, log=True)),
        season=aw.Context(aw.Choice("dry", "wet")),
        people=aw.Context(aw.Integer(0, 3)),
    )
    study = aw.Study(space, context=aw.KDE(64), objective=aw.DRO(aw.KL(0.1)), seed=1, name="<script>alert(1)</script>")
    rng = np.random.default_rng(0)
    for _ in range(9):
        trial = study.ask()
        done = trial.decision
        value = -abs(done["width"] - 40) / 20 - (done["wood"] == "oak") + 0.1 * done["pots"] + 0.05 * rng.normal()
        happened = {
            "heat": 10 ** rng.uniform(0, 2),
            "season": str(rng.choice(["dry", "wet"])),
            "people": int(rng.integers(4)),
        }
        study.tell(trial, value, context=happened)
    return study


@cache
def farm():
    """With control sets."""
    sets = aw.Control({"ph": 1, "light": 1, ("ph", "light"): 3}, budget=30)
    study = aw.Study(aw.Space(ph=aw.Real(4, 9), light=aw.Real(0, 1)), control=sets, context=aw.Uniform(), seed=3)
    rng = np.random.default_rng(1)
    for _ in range(9):
        trial = study.ask()
        left = {name: float(rng.uniform(4, 9) if name == "ph" else rng.random()) for name in trial.left}
        row = {**trial.decision, **left}
        study.tell(trial, -abs(row["ph"] - 6) + 4 * row["light"] * (1 - row["light"]), context=left)
    return study


@cache
def plain():
    """Without contexts."""
    study = aw.Study(aw.Space(x=aw.Real(0, 1), kind=aw.Choice("a", "b")), seed=1)
    for _ in range(7):
        trial = study.ask()
        study.tell(trial, float(np.sin(6 * trial.decision["x"])))
    return study
