"""Compare the decisions of two versions of the library: `python -m benchmarks.same_decisions --record FILE`.

Every published method and the defaults in their variants play small problems with fixed seeds. `--record FILE` writes
decisions, chosen contexts, costs and the recommendation at the end; `--compare FILE` plays the same and prints the
largest difference of each case. Only the public interface is used, so that this file runs with either version:
`PYTHONPATH=OTHER/src:. python -m benchmarks.same_decisions --record FILE`.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from botorch.models import SingleTaskGP

import allweather as aw

STEPS = 20
"""Decisions after the initial design."""
SEEDS = 3
TOLERANCE = 1e-6
"""Largest difference that counts as the same decision: all variables have a range of 1."""
Row = dict[str, Any]
Played = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A small problem: variables, true outcomes and the law of what is not controlled."""

    name: str
    space: aw.Space
    outcomes: Callable[[Row], dict[str, float]]
    initial: int = 4

    def nature(self, source: np.random.Generator) -> Row:
        """Draw a value for every variable that may be left to nature.

        Args:
            source: of random numbers.
        """
        drawn = {name: float(source.beta(2, 3)) for name in self.space.variables}
        return drawn if "weather" not in drawn else {**drawn, "weather": "dry" if drawn["weather"] < 0.4 else "wet"}


def _ridge(row: Row) -> dict[str, float]:
    x, c = row["x"], row["c"]
    gain = math.sin(5 * x) - 2 * (x - c) ** 2 + 0.3 * x * c
    return {"value": gain, "gain": gain, "purity": 1 - x + 0.4 * (c - 0.5), "waste": (x - 0.8) ** 2 + 0.2 * c}


def _valley(row: Row) -> dict[str, float]:
    x, y, c, d = row["x"], row["y"], row["c"], row["d"]
    gain = -((x - 0.3 - 0.4 * c) ** 2) - (y - d) ** 2 + 0.5 * math.cos(4 * x * d) + 0.2 * y
    return {"value": gain, "gain": gain, "purity": 1.2 - x - 0.3 * y * c, "waste": (x + y - 1) ** 2 + 0.1 * d}


def _field(row: Row) -> dict[str, float]:
    a, b = row["a"], row["b"]
    gain = math.sin(4 * a) - 2 * (b - 0.6 * a - 0.2) ** 2
    return {"value": gain, "gain": gain, "purity": 1.1 - a + 0.3 * (b - 0.5), "waste": (a - b) ** 2}


def _plant(row: Row) -> dict[str, float]:
    a, b, d = row["a"], row["b"], row["d"]
    gain = -((a - 0.6) ** 2) - 1.5 * (b - 0.3) ** 2 - (d - a) ** 2 + 0.4 * math.cos(3 * b * d)
    return {"value": gain, "gain": gain, "purity": 1.2 - a - 0.2 * d, "waste": (b - d) ** 2}


def _kiln(row: Row) -> dict[str, float]:
    wet = row["weather"] == "wet"
    late = row["kind"] == "late"
    return {
        "value": -((row["count"] - 4 - 2 * wet) ** 2) / 9 - (math.log10(row["rate"]) + 1.5) ** 2 + 0.4 * (late == wet)
    }


RIDGE = Task("ridge", aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), _ridge)
VALLEY = Task("valley", aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1), c=aw.Context(0, 1), d=aw.Context(0, 1)), _valley)
FIELD = Task("field", aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1)), _field)
PLANT = Task("plant", aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1), d=aw.Real(0, 1)), _plant)
MIXED = Task(
    "kiln",
    aw.Space(
        count=aw.Integer(1, 9),
        kind=aw.Choice("early", "late"),
        rate=aw.Real(0.001, 1, log=True),
        weather=aw.Context(aw.Choice("dry", "wet")),
    ),
    _kiln,
)
COSTS: dict[str, dict[Any, float]] = {
    "field": {"a": 0.1, "b": 0.1, ("a", "b"): 1.0},
    "plant": {"a": 0.1, ("a", "b"): 0.3, ("a", "b", "d"): 1.0},
}
SETTINGS: dict[str, Row] = {
    "sbo-kde": {"samples": 64},
    "drbo-kde": {"samples": 64},
    "drbo-mmd": {"size": 49},
    "drbo-mmd-minimax": {"size": 49},
    "drbo-simulator": {"size": 49},
    "stableopt": {"samples": 64},
    "robust-entropy-search": {"contexts": 32},
    "carbo": {"contexts": 32},
    "etc-50": {"plays": 5},
    "etc-100": {"plays": 8},
    "etc-ada": {"effort": 1.0},
    "robos": {"target": 0.4},
    "bpt-ucb": {"threshold": 0.3},
}
"""Few contexts, few explorations, and thresholds that the problems reach."""
SUBSETS = (
    *("ucb-cvs", "etc-50", "etc-100", "etc-ada", "ucb-psq", "ts-psq", "ei-psq"),
    *("ucb-psq-per-cost", "ts-psq-per-cost", "ei-psq-per-cost", "kg-cvs"),
)
"""Published methods that choose among control sets."""
BALL = aw.TotalVariation(0.1)
OUTCOMES: dict[str, Mapping[str, aw.Outcome]] = {
    "drcc": {"gain": aw.Maximize(aw.DRO(BALL)), "purity": aw.AtLeast(0.5, probability=0.8, distance=BALL)},
    "carbo": {"gain": aw.Maximize(aw.WorstCase()), "purity": aw.AtLeast(0.3, aw.WorstCase())},
    "mars": {"gain": aw.Maximize(aw.VaR(0.1)), "waste": aw.Minimize(aw.VaR(0.1))},
}
"""Outcomes of the published methods that need several."""
LIMIT = {"gain": aw.Maximize(), "purity": aw.AtLeast(0.45, probability=0.8)}
FRONT = {"gain": aw.Maximize(), "waste": aw.Minimize()}


@dataclass(frozen=True)
class Case:
    """A study that plays a task."""

    name: str
    task: Task
    arguments: Mapping[str, Any]
    """Of `Study`, but for seed and storage."""
    known: Sequence[str] = ()
    """Context variables that are known when a decision is asked for."""
    forecast: bool = False
    batch: int | None = None
    same_context: bool = False
    resume: bool = False
    """Whether the study is stored, and loaded again for every step."""
    change: Mapping[str, Any] | None = None
    """Given to `Study.change` in the middle."""
    awkward: bool = False
    """Whether some outcomes fail, have a standard error, are repeated, or come before their context."""
    start: Sequence[Row] = field(default=())
    """Decisions and contexts told before the first ask."""
    observed: int = 0
    """Contexts observed before the first ask, from which simulators learn their law."""

    def play(self, seed: int, steps: int) -> Played:
        """Play the task.

        Args:
            seed: of the study and of nature.
            steps: decisions after the initial design.
        """
        started = time.process_time()
        with TemporaryDirectory() as folder:
            player = _Player(self, seed, f"sqlite:///{folder}/study.db" if self.resume else None)
            asked: list[Row] = []
            initial = int(self.arguments.get("initial", 0))
            while len(asked) < initial + steps:
                asked += player.step(len(asked))
                if self.change is not None and len(asked) == initial + steps // 2:
                    player.study.change(**self.change)
            best = player.study.recommend()
        found = {"decision": _plain(best.decision), "value": float(best.value)}
        return {"asked": asked, "best": found, "seconds": round(time.process_time() - started, 2)}


class _Player:
    """One run of a case."""

    def __init__(self, case: Case, seed: int, storage: str | None) -> None:
        self.case, self.storage = case, storage
        self.source = np.random.default_rng(seed)
        self.study = aw.Study(case.task.space, **case.arguments, seed=seed, storage=storage)
        if case.start:
            self.study.add([{**row, **self._results(row)} for row in case.start])
        if case.observed:
            rows = [case.task.nature(self.source) for _ in range(case.observed)]
            names = tuple(case.task.space.contexts)
            self.study.observe_contexts([{name: row[name] for name in names} for row in rows])

    def step(self, number: int) -> list[Row]:
        """Ask and tell once; return what was asked.

        Args:
            number: of the step.
        """
        case = self.case
        if self.storage is not None:
            self.study = aw.Study.load(self.storage)
        natural = case.task.nature(self.source)
        given: Row = {"context": {name: natural[name] for name in case.known}} if case.known else {}
        if case.forecast:
            rows = [{name: float(self.source.random()) for name in case.task.space.contexts} for _ in range(5)]
            given["forecast"] = aw.Finite(rows, [0.4, 0.3, 0.1, 0.1, 0.1])
        if case.batch is None:
            trials = [self.study.ask(**given)]
        else:
            trials = self.study.ask(case.batch, **given, same_context=case.same_context)
        asked = [_asked(trial) for trial in trials]
        for place, trial in enumerate(trials):
            self._tell(trial, natural, number + place)
            natural = natural if case.same_context else case.task.nature(self.source)
        return asked

    def _tell(self, trial: aw.Trial, natural: Row, number: int) -> None:
        fixed = _fixed(trial)
        left = dict.fromkeys((*self.case.task.space.contexts, *trial.left))
        context = {name: natural[name] for name in left if name not in fixed}
        results = self._results({**trial.decision, **fixed, **context})
        value: Any = results.get("value", results)
        if self.case.awkward:
            self._tell_awkwardly(trial, value, context, number)
        else:
            self.study.tell(trial, value, context=context or None)

    def _tell_awkwardly(self, trial: aw.Trial, value: float, context: Row, number: int) -> None:
        if number % 5 == 1:
            self.study.tell(trial, context=context, failed=True)
        elif number % 5 == 2:
            self.study.tell(trial, [value, value + 0.1], context=context)
        elif number % 5 == 3:
            self.study.tell(trial, value, sd=0.05, context=context)
        else:
            self.study.tell(trial, value)
            self.study.tell(trial, context=context)

    def _results(self, row: Row) -> dict[str, float]:
        everything = self.case.task.outcomes(row)
        wanted = self.case.arguments.get("outcomes") or ("value",)
        noise = 0.02 * float(self.source.standard_normal())
        return {name: everything[name] + noise for name in wanted}


def _fixed(trial: aw.Trial) -> Row:
    """What is known of the context when the trial is asked for: chosen, or given."""
    return {**(trial.partial or {}), **(trial.context or {})}


def _asked(trial: aw.Trial) -> Row:
    return {"decision": _plain(trial.decision), "context": _plain(_fixed(trial)), "cost": trial.cost}


def _plain(row: Mapping[str, Any]) -> Row:
    return {key: value if isinstance(value, str) else float(value) for key, value in row.items()}


def cases() -> Iterator[Case]:
    """All cases: the published methods, and the variants of the default study."""
    for name in aw.methods():
        for task in (FIELD, PLANT) if name in SUBSETS else (RIDGE, VALLEY):
            yield _published(name, task)
    for task in (RIDGE, VALLEY):
        yield from _defaults(task)
    for task in (FIELD, PLANT):
        yield from _controlled(task)
    yield from _mixed()


def _published(name: str, task: Task) -> Case:
    method = aw.method(name, **SETTINGS.get(name, {}))
    arguments: Row = {"method": method, "initial": task.initial}
    if method.context is None:
        arguments["context"] = _known_law(task) if name in SUBSETS else aw.KDE(48) if task is RIDGE else _grid(task)
    if name in SUBSETS:
        arguments["control"] = aw.Control(COSTS[task.name])
    if name in OUTCOMES:
        arguments["outcomes"] = OUTCOMES[name]
    return Case(name, task, arguments, observed=0 if method.simulator is None else 12)


def _grid(task: Task) -> aw.ContextModel:
    source = np.random.default_rng(5)
    return aw.Finite([{name: float(source.random()) for name in task.space.contexts} for _ in range(32)])


def _known_law(task: Task) -> aw.ContextModel:
    laws = {name: aw.truncated_normal(0.4, 0.04, 0, 1) for name in task.space.variables}
    return aw.Known(laws, samples=64)


def _defaults(task: Task) -> Iterator[Case]:
    few: Row = {"context": aw.KDE(48), "initial": task.initial}
    names = list(task.space.contexts)
    safe = [
        {"x": 0.1 + 0.1 * k, **{name: 0.1 + 0.2 * k for name in task.space.variables if name != "x"}} for k in range(4)
    ]
    yield Case("default", task, {"initial": task.initial})
    for goal in ("every-trial", "recommendation", "simulation"):
        yield Case(f"goal {goal}", task, {**few, "goal": goal})
    yield Case("minimize", task, {**few, "direction": "minimize"})
    yield Case("default DRO", task, {**few, "objective": aw.DRO(aw.TotalVariation(0.3))})
    yield Case("default CVaR", task, {**few, "objective": aw.CVaR(0.2)})
    yield Case("limits", task, {**few, "outcomes": LIMIT})
    yield Case("limits, recommendation", task, {**few, "outcomes": LIMIT, "goal": "recommendation"})
    yield Case("several objectives", task, {**few, "outcomes": FRONT})
    yield Case("cautious", task, {**few, "outcomes": LIMIT, "cautious": 0.8}, start=safe)
    yield Case("simulator", task, {**few, "context": _grid(task), "simulator": True})
    yield Case("simulator, some", task, {**few, "context": _grid(task), "simulator": names[:1]})
    yield Case("simulator with limits", task, {**few, "context": _grid(task), "simulator": True, "outcomes": LIMIT})
    yield Case("known context", task, few, known=names)
    yield Case("partly known context", task, few, known=names[:1])
    yield Case("forecast", task, few, forecast=True)
    yield Case("batch", task, few, batch=4)
    yield Case("one occasion", task, few, batch=4, same_context=True)
    yield Case("resumed", task, few, resume=True)
    yield Case("changed", task, few, change={"variables": {"x": aw.Real(0.2, 1.2)}})
    yield Case("awkward outcomes", task, few, awkward=True)
    yield Case("expected improvement", task, {**few, "acquisition": aw.ExpectedImprovement(), "surrogate": aw.GP()})
    yield Case("knowledge gradient", task, {**few, "acquisition": aw.KnowledgeGradient()})
    yield Case("Thompson sampling", task, {**few, "acquisition": aw.Thompson()})
    yield Case("BoTorch model", task, {**few, "surrogate": SingleTaskGP})
    names = list(task.space.decisions)
    source = np.random.default_rng(3)
    yield Case(
        "candidates", task, {**few, "candidates": [dict.fromkeys(names, float(each)) for each in source.random(25)]}
    )
    within = aw.LinearConstraint(dict.fromkeys(names, 1.0), upper=0.8)
    yield Case("constraints", task, {**few, "constraints": [within]})


def _mixed() -> Iterator[Case]:
    few: Row = {"context": aw.Empirical(), "initial": MIXED.initial}
    yield Case("integer, choice and log variables", MIXED, few)
    yield Case("integer, choice and log variables, DRO", MIXED, {**few, "objective": aw.DRO(aw.TotalVariation(0.3))})


def _controlled(task: Task) -> Iterator[Case]:
    law = {"context": _known_law(task), "initial": task.initial, "control": aw.Control(COSTS[task.name])}
    whole = tuple(task.space.variables)
    rule = aw.Control({"a": 0.1, whole: 1.0}, rule=aw.BestValue())
    yield Case("control, all defaults", task, {"control": law["control"], "initial": task.initial})
    yield Case("control", task, law)
    yield Case("control, learned law", task, {**law, "context": aw.KDE(48)})
    yield Case("control with limits", task, {**law, "control": rule, "outcomes": LIMIT})
    yield Case("control with a simulator", task, {**law, "control": rule, "simulator": True})
    yield Case("control in batches", task, law, batch=2)


def play_all(only: str | None, steps: int, seeds: int) -> Iterator[tuple[str, Played]]:
    """Play the cases, one run after the other.

    Args:
        only: part of the names of the cases to play; None for all.
        steps: decisions after the initial design.
        seeds: runs of each case.
    """
    for case in cases():
        for seed in range(seeds):
            key = f"{case.name} | {case.task.name} | {seed}"
            if only is None or only in key:
                yield key, _outcome(case, seed, steps)


def _outcome(case: Case, seed: int, steps: int) -> Played:
    try:
        return case.play(seed, steps)
    except Exception as problem:  # an error is a result too: it is compared
        return {"error": f"{type(problem).__name__}: {problem}"}


def difference(before: Played, after: Played) -> tuple[float, str]:
    """The largest difference of two runs, and where it is.

    Args:
        before: what was recorded.
        after: what was played now.
    """
    if "error" in before or "error" in after:
        same = before.get("error") == after.get("error")
        return (
            (0.0, "") if same else (math.inf, f"{before.get('error', 'no error')} -> {after.get('error', 'no error')}")
        )
    found = []
    for step, (old, new) in enumerate(zip(before["asked"], after["asked"], strict=False)):
        found.append((max(_far(old[key], new[key]) for key in ("decision", "context", "cost")), f"step {step}"))
    far = max(_far(before["best"][key], after["best"][key]) for key in ("decision", "value"))
    first = next((each for each in found if each[0] > TOLERANCE), (0.0, ""))
    return max(far, *(size for size, _ in found)), first[1] or ("recommendation" if far > TOLERANCE else "")


def _far(old: Any, new: Any) -> float:
    if isinstance(old, dict) and isinstance(new, dict):
        return math.inf if old.keys() != new.keys() else max((_far(old[key], new[key]) for key in old), default=0.0)
    if isinstance(old, int | float) and isinstance(new, int | float):
        return abs(old - new)
    return 0.0 if old == new else math.inf


def record(path: Path, only: str | None, steps: int, seeds: int) -> None:
    """Play and write the runs, after each of them; runs that the file has already are kept.

    Args:
        path: of the file.
        only: part of the names of the cases to play.
        steps: decisions after the initial design.
        seeds: runs of each case.
    """
    runs: dict[str, Played] = {}
    for key, played in play_all(only, steps, seeds):
        runs[key] = played
        print(f"{key}: {played.get('error') or played['seconds']}", flush=True)
        path.write_text(json.dumps({"version": aw.__version__, "steps": steps, "seeds": seeds, "runs": runs}))


def compare(path: Path, only: str | None) -> int:
    """Play what was recorded, print the largest difference of each case, and return how many cases differ.

    Args:
        path: of the file.
        only: part of the names of the cases to play.
    """
    kept = json.loads(path.read_text())
    largest: dict[str, tuple[float, str]] = {}
    for key, played in play_all(only, kept["steps"], kept["seeds"]):
        if key not in kept["runs"]:
            print(f"{key}: not recorded")
            continue
        name, _, which = key.partition(" | ")
        size, where = difference(kept["runs"][key], played)
        if size > TOLERANCE:
            print(f"  {key}: {size:.3g} from {where} on", flush=True)
        largest[name] = max(largest.get(name, (0.0, "")), (size, f"{which}, {where}"))
    for name, (size, _) in largest.items():
        print(f"{name:32} {size:.3g}")
    differ = {name: where for name, (size, where) in largest.items() if size > TOLERANCE}
    print(f"{len(largest) - len(differ)} of {len(largest)} cases agree to {TOLERANCE:g}")
    for name, where in differ.items():
        print(f"differs: {name} ({where})")
    return len(differ)


def main(arguments: Sequence[str] | None = None) -> None:
    """Record decisions, or compare them with recorded ones.

    Args:
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks same_decisions", description=__doc__)
    parser.add_argument("--record", type=Path, metavar="FILE")
    parser.add_argument("--compare", type=Path, metavar="FILE")
    parser.add_argument("--only", help="part of the names of the cases")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    given = parser.parse_args(arguments)
    if given.record is not None:
        record(given.record, given.only, given.steps, given.seeds)
    if given.compare is not None:
        raise SystemExit(int(compare(given.compare, given.only) > 0))


if __name__ == "__main__":
    main()
