"""Random worst cases, studies and command lines: nothing but right values and clear refusals.

python -m benchmarks fuzz --cases 100000 --studies 10000 --lines 10000
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np


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
    given, found = parser.parse_args(list(words)), Counter()
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("kiosk.toml").write_text(SPEC)
        try:
            for act, count in ((worst_case, given.cases), (study, given.studies), (line, given.lines)):
                started, source = time.process_time(), np.random.default_rng(given.seed)
                wrong = list(filter(None, (_tried(act, source) for _ in range(count))))
                found.update(wrong)
                print(
                    f"{act.__name__}: {count} tried, {len(wrong)} wrong, {time.process_time() - started:.0f} s of CPU"
                )
        finally:
            os.chdir(before)
    for each, count in found.most_common(20):
        print(count, each)
    sys.exit(1 if found else 0)


def _tried(act, source):
    try:
        return act(source)
    except Exception as error:
        return f"{act.__name__} raised {type(error).__name__}: {str(error)[:200]}"
