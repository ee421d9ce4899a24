"""Make the files of this folder with the release that wrote them (commit 40bbca1): `python make.py` with its code."""

import json
import logging
import shutil
import sys
import tempfile
from pathlib import Path

import scipy.stats

import allweather as aw
from allweather.benchmark import Run
from allweather.benchmark.runner import execute

HERE = Path(__file__).parent
WEATHER = aw.Context(aw.Choice("dry", "wet"))
MIXED = aw.Space(order=aw.Real(1, 100, log=True), wood=aw.Choice("oak", "ash"), weather=WEATHER)
REAL = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
PLAIN = aw.Space(order=aw.Real(0, 1), pots=aw.Integer(1, 4))
GARDEN = aw.Space(ph=aw.Real(4, 9), light=aw.Real(0, 1))
STUDIES = {
    "default": (REAL, {}),
    "choice": (MIXED, {"seed": 3}),
    "nothing-random": (PLAIN, {"direction": "minimize"}),
    "parts": (
        REAL,
        {
            "context": aw.KDE(64),
            "objective": aw.DRO(aw.MMD(0.1)),
            "acquisition": aw.UCB(aw.BayesianWidth()),
            "surrogate": aw.GP("matern", noise=0.1),
        },
    ),
    "method": (REAL, {"method": "wdrbo", "initial": 3}),
    "known": (REAL, {"context": aw.Known(scipy.stats.norm(0.5, 0.1), samples=64), "objective": aw.CVaR(0.3)}),
    "control": (GARDEN, {"control": aw.Control({"ph": 1, ("ph", "light"): 2.5}, budget=30), "context": aw.KDE(32)}),
    "control-default": (GARDEN, {"control": aw.Control({"ph": 1, ("ph", "light"): 2.5}, budget=30)}),
    "code": (REAL, {"surrogate": aw.GP(noise=0.1), "objective": aw.DRO(aw.KL(lambda step: 1 / step))}),
}


def outcome(trial, number):
    """An outcome that depends on the decision in some smooth way."""
    numbers = [float(value) for value in trial.decision.values() if isinstance(value, int | float)]
    return sum((value - 0.3) ** 2 for value in numbers) + 0.1 * number


def happened(names, number):
    """The contexts of a trial."""
    told = {"demand": 0.2 + 0.07 * (number * 3 % 7), "weather": "dry" if number % 3 else "wet"}
    return {name: told.get(name, 0.4 + 0.05 * (number % 5)) for name in names}


def feed(study, count):
    """Ask and tell."""
    for number in range(count):
        trial = study.ask()
        names = trial.left or list(study.space.contexts)
        study.tell(trial, outcome(trial, number), context=happened(names, number))


def studies():
    """Exports, with the decision that is asked for next and the one that is recommended."""
    for name, (space, words) in STUDIES.items():
        with tempfile.TemporaryDirectory() as folder:
            study = aw.Study(space, **words, storage=f"sqlite:///{folder}/a.db", name=name)
            feed(study, 8)
            lines = study.export()
            best = study.recommend()
            document = {"recommended": best.decision, "value": best.value, "asked": dict(study.ask().decision)}
        text = "\n".join([*lines, json.dumps(document)])
        (HERE / f"{name}.jsonl").write_text(text + "\n")


def campaign():
    """The journal of a run."""
    run = Run("newsvendor", "drbo-kde", seed=1, iterations=4)
    with tempfile.TemporaryDirectory() as folder:
        execute(run, Path(folder))
        (journal,) = (Path(folder) / "journals").iterdir()
        shutil.copy(journal, HERE / "campaign-journal.jsonl")


def ax():
    """Ax's files of a client with a node, and the trial that is asked for next."""
    from allweather.integrations.ax import AllweatherNode  # isort: skip
    from ax.api.client import Client
    from ax.api.configs import RangeParameterConfig
    from ax.utils.common.logger import set_ax_logger_levels

    set_ax_logger_levels(logging.ERROR)
    given = {
        "default": {},
        "parts": {
            "context": aw.Known(aw.truncated_normal(0.5, 0.04)),
            "objective": aw.General(1.0, 0.5, aw.Wasserstein(0.1, norm=float("inf"))),
            "surrogate": aw.GP(lengthscales={"speed": 0.3, "grip": 0.5}),
        },
        "finite": {"context": aw.Finite([{"grip": 0.2}, {"grip": 0.7}], [0.4, 0.6]), "acquisition": aw.Thompson()},
        "method": {"method": aw.method("sbo-kde", width=2.0)},
        "named": {"method": "wdrbo"},
    }
    for name, words in given.items():
        client = Client(random_seed=3)
        client.configure_experiment([RangeParameterConfig(name="speed", bounds=(0, 1), parameter_type="float")])
        client.configure_optimization(objective="earned")
        node = AllweatherNode(aw.Space(grip=aw.Context(0, 1)), seed=3, initial=3, **words)
        client.set_generation_strategy(node.strategy())
        for number in range(5):
            ((index, values),) = client.get_next_trials(1).items()
            earned = -((values["speed"] - 0.1 * number) ** 2)
            client.complete_trial(index, {"earned": earned, "grip": 0.2 + 0.15 * number})
        client.save_to_json_file(str(HERE / f"ax-{name}.json"))
        ((_, values),) = client.get_next_trials(1).items()
        (HERE / f"ax-{name}-next.json").write_text(json.dumps(values) + "\n")


if __name__ == "__main__":
    for each in sys.argv[1:] or ("studies", "campaign", "ax"):
        globals()[each]()
