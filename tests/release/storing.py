# ruff: noqa: T201 (it is run by command)
"""What this version stores, kept for later ones: `python -m tests.release.storing` writes `stored/<version>/`.

A folder has a database, the export of each study, their specs, and `decisions.json`: what the version that wrote it
would ask next, and recommends. The studies name their parts, so that other defaults do not change them. Run it once,
when a version is released; `test_stored.py` opens all folders with the code of the day.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import allweather as aw
from allweather.storage import Database, Journal, export_lines
from allweather.study import Spec, Study

FOLDER = Path(__file__).with_name("stored")
RELEASED = 1_795_132_800.0
"""Seconds since 1970: 20 November 2026, the time of the first event; so files differ only where formats do."""
KIOSK = """
name = "kiosk"
seed = 7
initial = 3
acquisition = { name = "ucb", width = 1.5 }
context = { name = "kde", samples = 16 }
objective = { name = "dro", distance = { name = "total-variation", radius = 0.2 } }
surrogate = { name = "gp", kernel = "matern", noise = 1e-2 }

[variables]
order = { lower = 0, upper = 100, unit = "l" }
demand = { lower = 0, upper = 100, context = true }
"""
FARM = """
name = "farm"
seed = 3
initial = 3
direction = "minimize"
acquisition = { name = "ucb", width = 1.5 }
objective = { name = "expectation" }
surrogate = { name = "gp", kernel = "matern", noise = 1e-2 }

[control]
sets = [{ variables = ["ph"], cost = 1 }, { variables = ["ph", "light"], cost = 3 }]
budget = 20

[context]
name = "kde"
samples = 16

[variables]
ph = { lower = 4, upper = 9 }
light = { lower = 0, upper = 1 }
rows = { type = "integer", lower = 1, upper = 8 }
wood = { options = ["oak", "pine"], context = true }
"""
SPECS = {"kiosk": KIOSK, "farm": FARM}


def kiosk(study: Study) -> None:
    """Every kind of event that has no time limit: told, failed, corrected, withdrawn, added, observed, changed."""
    study.add([{"order": 15, "demand": 55, "value": 59}, {"order": 60, "demand": 30, "value": -150}])
    for demand in (22, 35, 48):
        trial = study.ask()
        study.tell(
            trial, 9 * min(trial.decision["order"], demand) - 5 * trial.decision["order"], context={"demand": demand}
        )
    study.correct(1, value=-30)
    study.change({"order": aw.Real(0, 120)}, radius=0.3)
    study.observe_contexts([{"demand": 28}, {"demand": 31}])
    wrong, failed, open_ = study.ask(), study.ask(), study.ask(context={"demand": 40})
    study.tell(wrong, 1e4, context={"demand": 20})
    study.withdraw(wrong)
    study.tell(failed, failed=True, context={"demand": 33})
    assert open_.context == {"demand": 40}  # it stays pending


def farm(study: Study) -> None:
    """Control sets, an integer, an option; repeated outcomes with standard errors."""
    for day, wood in enumerate(("oak", "pine", "pine", "oak")):
        trial = study.ask()
        planned = {"ph": 6.0, "light": 0.5, "rows": 3, **trial.decision}
        value = (planned["ph"] - 6.5) ** 2 + planned["light"] + 0.1 * planned["rows"] + (wood == "oak")
        left = {name: planned[name] for name in trial.left if name != "wood"}
        study.tell(trial, [value, value + 0.1 * day], sd=0.1, context={"wood": wood, **left})


def decisions(study: Study) -> dict[str, Any]:
    """What a study decides next, in plain data; it asks, and so changes the study."""
    best = study.recommend()
    asked = study.ask()
    return {
        "trials": len(study.trials()) - 1,
        "recommended": dict(best.decision),
        "value": best.value,
        "asked": dict(asked.decision),
        "left": list(asked.left),
    }


def write(folder: Path) -> None:
    """Write the fixtures of this version.

    Args:
        folder: a new one, or one whose files are replaced.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    decided = {}
    with TemporaryDirectory() as temporary:
        made = Path(temporary) / "made.db"
        address, seconds = f"sqlite:///{made}", itertools.count(RELEASED)
        with (
            patch("time.time", lambda: next(seconds)),
            patch("allweather.storage.journal.socket.gethostname", lambda: "host"),
            patch("allweather.storage.journal.os.getpid", lambda: 1),
        ):
            for name, text in SPECS.items():
                study = Study.from_spec(Spec.from_toml(text), address, name)
                {"kiosk": kiosk, "farm": farm}[name](study)
        connection = sqlite3.connect(made)
        connection.execute("VACUUM INTO ?", (str(folder / "studies.db"),))  # one file, without a log beside it
        connection.close()
        for name in SPECS:
            (folder / f"{name}.toml").write_text(Study.load(address, name).spec.to_toml())
            lines = export_lines(Journal.open(Database(address), name))
            (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
        for name in SPECS:
            decided[name] = decisions(Study.load(address, name))
    (folder / "decisions.json").write_text(json.dumps(decided, indent=1) + "\n")


if __name__ == "__main__":
    write(FOLDER / aw.__version__)
    for file in sorted((FOLDER / aw.__version__).iterdir()):
        print(f"{file.name}: {file.stat().st_size} bytes")
