"""Random worst cases, studies and command lines: nothing but right values and clear refusals.

python -m benchmarks fuzz --cases 100000 --studies 10000 --lines 10000 --results fuzz.jsonl
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PART = 250
"""Cases that are stored together."""


def worst_case(source):
    """Check one worst case at a scale of 1e-280 to 1e280 and a radius of 1e-14 to 1e6; return what is wrong."""
    import torch

    import allweather as aw

    n = int(source.integers(1, 12))
    scale, radius = 10.0 ** source.uniform(-280, 280), 10.0 ** source.uniform(-14, 6)
    values = source.standard_normal(n)
    values = values.round() if source.random() < 0.3 else values
    weights = source.random(n) * (source.random(n) < 0.8)
    weights = weights / weights.sum() if weights.sum() else np.full(n, 1 / n)
    points = source.random((n, 2)) if source.random() < 0.8 else np.tile(source.random((1, 2)), (n, 1))
    kind = (aw.TotalVariation, aw.ChiSquared, aw.KL, aw.MMD, aw.Wasserstein)[int(source.integers(5))]
    plain, scaled = (aw.worst_case(each, weights, kind(radius), points=points) for each in (values, values * scale))
    reachable = values[weights > 0] if kind in (aw.ChiSquared, aw.KL) else values
    room = 1e-6 * max(float(np.abs(values).max()), 1e-9)
    distance = kind(radius).between(torch.tensor(scaled.weights), aw.Reference.checked(points, weights)).item()
    wrong = {
        "is not finite": not np.isfinite([scaled.value, *scaled.weights]).all(),
        "depends on the scale": abs(scaled.value / scale - plain.value) > room,
        "has no distribution": abs(scaled.weights.sum() - 1) > 1e-9 or scaled.weights.min() < -1e-12,
        "leaves the ball": distance > radius * (1 + 1e-6) + 1e-12,
        "is out of range": not reachable.min() - room <= plain.value <= values @ weights + room,
    }
    return ", ".join(f"{kind.__name__} {name}" for name, found in wrong.items() if found)


ODD = (
    0,
    1,
    -1,
    0.5,
    1e300,
    -1e300,
    1e-300,
    float("nan"),
    float("inf"),
    2**60,
    10**20,
    "",
    "x",
    " a b ",
    "1_000",
    None,
    True,
)


def study(source):
    """Make a study of odd values, ask and tell; return the name of an error that is no refusal."""
    import allweather as aw

    def odd():
        return ODD[int(source.integers(len(ODD)))]

    try:
        space = aw.Space(x=aw.Real(odd(), odd()), n=aw.Integer(odd(), odd()), c=aw.Context(odd(), odd()))
    except aw.InvalidInput:
        space = aw.Space(x=aw.Real(0, 1), n=aw.Integer(0, 4), c=aw.Context(0, 1))
    try:
        own = aw.Study(space, seed=int(source.integers(5)), initial=odd())
    except aw.InvalidInput:
        own = aw.Study(space)
    trial = own.ask()
    for act in (
        lambda: own.tell(trial, odd(), context={"c": odd()}),
        lambda: own.tell(odd(), odd()),
        lambda: own.correct(trial, odd()),
        lambda: own.add([{"x": odd(), "n": odd(), "c": odd(), "value": odd()}]),
    ):
        try:
            act()
        except aw.InvalidInput:
            continue
    return ""


WORDS = (
    *("init", "ask", "tell", "correct", "add", "show", "export", "import", "backup", "restore", "methods", "problems"),
    *(
        "--study",
        "--storage",
        "--json",
        "--context",
        "--decision",
        "--failed",
        "--csv",
        "--salvage",
        "--all",
        "--withdraw",
    ),
    *(
        "kiosk.toml",
        "kiosk",
        "no-such-file",
        "sqlite:///allweather.db",
        "sqlite:////dev/full",
        "demand=3",
        "demand=nan",
    ),
    *("0", "1", "-1", "1_0", "3.5", "99999999999999999999", "", " ", "\0", "\x1b[2J", "x" * 5000, "-n", "--", "-h"),
)
SPEC = "[variables]\norder = { lower = 0, upper = 100 }\ndemand = { lower = 0, upper = 100, context = true }\n"


def line(source):
    """Run one random command line in this folder; return what escaped from it."""
    from typer.testing import CliRunner

    from allweather.cli import app

    words = [WORDS[int(source.integers(12))], *(WORDS[int(each)] for each in source.integers(len(WORDS), size=4))]
    ended = CliRunner().invoke(app, words[: int(source.integers(1, 6))])
    escaped = ended.exception is not None and not isinstance(ended.exception, SystemExit)
    unexpected = "Traceback" in ended.output or "unexpected error" in ended.output
    return f"{words}: {ended.exception or ended.output[-200:]!r}" if escaped or unexpected else ""


def main(words=()):
    """Run the fuzzers; exit with 1 if one of them found something."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz", description=__doc__)
    for name, count in (("cases", 2000), ("studies", 200), ("lines", 200), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--results", type=Path, help="file of what was found; a run that was stopped goes on from it")
    given, before = parser.parse_args(list(words)), Path.cwd()
    results = given.results.resolve() if given.results else None
    found = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("kiosk.toml").write_text(SPEC)
        try:
            for act, count in ((worst_case, given.cases), (study, given.studies), (line, given.lines)):
                found += _many(act, count, given.seed, results)
        finally:
            os.chdir(before)
    for each in found[:20]:
        print(each)
    sys.exit(1 if found else 0)


def _many(act, count, seed, results):
    """Draw so many cases in parts, leave out parts that were drawn before, and return what is wrong."""
    name = act.__name__
    lines = results.read_text().splitlines() if results and results.exists() else []
    known = [row for row in map(json.loads, lines) if (row["act"], row["seed"]) == (name, seed)]
    done = {row["first"]: row for row in known if row["first"] < count}
    for first in range(0, count, PART):
        if first in done:
            continue
        started, last = time.process_time(), min(first + PART, count)
        wrong = [f"{number}: {text}" for number in range(first, last) if (text := tried(act, seed, number))]
        spent = round(time.process_time() - started, 2)
        done[first] = {"act": name, "seed": seed, "first": first, "tried": last - first, "wrong": wrong, "cpu": spent}
        if results:
            with results.open("a") as file:
                file.write(json.dumps(done[first]) + "\n")
    wrong = [f"{name} {text}" for row in done.values() for text in row["wrong"]]
    total = {key: sum(row[key] for row in done.values()) for key in ("tried", "cpu")}
    print(f"{name}: {total['tried']} tried, {len(wrong)} wrong, {total['cpu']:.0f} s of CPU", flush=True)
    return wrong


def tried(act, seed, number):
    """Draw one case by its number, and return what is wrong with it."""
    source = np.random.default_rng([seed, number])
    try:
        return act(source)
    except Exception as error:
        return f"raised {type(error).__name__}: {str(error)[:200]}"
