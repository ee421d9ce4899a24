"""Kill `Study.optimize` with four workers at random moments, resume it, and check that nothing is lost or repeated.

python -m benchmarks optimize_kills --kills 10
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

SCRIPT = """
import json, random, sys, time
import allweather as aw

def note(*words):
    with open("log", "a") as file:
        file.write(json.dumps(words) + "\\n")

def profit(decision):
    note("call", decision["order"])
    time.sleep(0.03 * random.random())
    return {"value": 2 * decision["order"], "context": {"demand": 0.5}}

space = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
study = aw.Study(space, initial=1000, seed=7, storage="sqlite:///study.db")
left = int(sys.argv[1]) - sum(trial.state == "complete" for trial in study.history.trials)
told = lambda _, trial: note("told", trial.decision["order"])
if left:
    study.optimize(profit, left, workers=4, callback=told, progress=False)
"""
"""Notes every call of the function, and every trial after it was told, in the order in which they happen."""


@contextmanager
def _program(*words, cwd):
    """A process that ends with the block."""
    started = subprocess.Popen([sys.executable, *words], cwd=cwd, stderr=subprocess.PIPE, text=True)
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def kill_and_resume(folder, kills, seed, trials, program=_program):
    """Kill the script, let it end, and return what is wrong, and how many trials ran when it was killed."""
    (folder / "script.py").write_text(SCRIPT)
    chance, running = random.Random(seed), 0
    for kill in range(kills):
        enough = len(_notes(folder)) + chance.randint(2, max(2, 2 * trials // (kills + 1)))
        with program("script.py", str(trials), cwd=folder) as run:
            while len(_notes(folder)) < enough and run.poll() is None:
                time.sleep(0.002)
            time.sleep(0.02 * chance.random())
            ended = run.poll() is not None
            run.kill()
            run.wait()
        running += _running(folder)
        if ended:
            return [f"it ended before kill {kill + 1}"], running
    with program("script.py", str(trials), cwd=folder) as run:
        said = run.communicate(timeout=120)[1]
    return ([said] if said else []) + _wrong(folder, trials), running


def _notes(folder):
    path = folder / "log"
    whole = path.read_text().rpartition("\n")[0] if path.exists() else ""
    return [json.loads(line) for line in whole.splitlines()]


def _running(folder):
    return sum(trial.state == "pending" for trial in _stored(folder))


def _stored(folder):
    from allweather.study import StudyLog

    return StudyLog.open(f"sqlite:///{folder}/study.db").history.trials


def _wrong(folder, trials):
    """What was told must be stored and never called again; no decision is asked for twice."""
    wrong, told = [], set()
    for what, order in _notes(folder):
        if order in told:
            wrong.append(f"{order} was told, and then {what} again")
        if what == "told":
            told.add(order)
    stored = _stored(folder)
    orders = [trial.decision["order"] for trial in stored]
    if len(set(orders)) < len(orders):
        wrong.append("a decision was asked for twice")
    lost = told - {trial.decision["order"] for trial in stored if trial.values == (2 * trial.decision["order"],)}
    if lost:
        wrong.append(f"lost: {sorted(lost)}")
    states = [trial.state for trial in stored]
    if states != ["complete"] * trials:
        wrong.append(f"{states.count('complete')} of {trials} trials are complete, {len(states)} were asked for")
    return wrong


def main(arguments):
    """Print what is wrong, and exit with 1 if anything is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks optimize_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--trials", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        wrong, running = kill_and_resume(Path(folder), given.kills, given.seed, given.trials)
    print(f"{given.kills} kills, {running} trials running when killed, {given.trials} trials in the end")
    print("\n".join(wrong) or "nothing lost, no trial carried out again after it was told")
    sys.exit(bool(wrong))
