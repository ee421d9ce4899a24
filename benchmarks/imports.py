"""What imports cost: `import allweather` with a study, and commands that compute nothing, against `import torch`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

import allweather as aw

RUNS = 9
TRIALS = 1000
TARGETS = {"import": 1.3, "commands": 0.6}


def seconds(*words: str) -> float:
    """CPU time of a new interpreter with these arguments."""
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return used.ru_utime + used.ru_stime


def large_study(url: str) -> None:
    """Store a study of `TRIALS` trials, each asked and told but the last `RUNS`."""
    study = aw.Study(aw.Space(order=aw.Real(0, 100), demand=aw.Context(0, 100)), storage=url, name="kiosk")
    told = TRIALS - RUNS
    known = [aw.Trial(n, {"order": n % 97 + 0.5}, {"demand": n % 89 + 0.25}, (1.0,)) for n in range(told)]
    study.restore([*known, *(aw.Trial(n, {"order": 3.5}) for n in range(told, TRIALS))])


def main() -> None:
    """Turn by turn, so that what else the machine does hits all alike; the quickest of each counts."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'kiosk.db'}"
        large_study(url)
        command = ("-m", "allweather.cli")
        place = ("--storage", url)
        runs = [
            (
                seconds("-c", "import botorch"),
                seconds("-c", "import allweather as aw; aw.Study"),
                seconds("-c", "import torch"),
                seconds(*command, "tell", str(TRIALS - 1 - run), "1.5", "--context", "demand=31", *place),
                seconds(*command, "show", *place),
                seconds(*command, "--help"),
            )
            for run in range(RUNS)
        ]
    botorch, ours, torch, tell, show, told_help = (min(column) for column in zip(*runs, strict=True))
    console = Console(width=110)
    console.print(
        f"allweather.Study {ours:.2f} s, import botorch {botorch:.2f} s of CPU time: ratio {ours / botorch:.2f} "
        f"(target {TARGETS['import']})"
    )
    console.print(f"import torch {torch:.2f} s; of that, on a study of {TRIALS} trials:")
    for name, taken in (("tell", tell), ("show", show), ("--help", told_help)):
        console.print(f"allweather {name}: {taken:.2f} s, ratio {taken / torch:.2f} (target {TARGETS['commands']})")
