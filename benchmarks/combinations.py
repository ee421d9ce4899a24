"""Try which features go together: `python -m benchmarks combinations`, `--only control`, `--quick`.

All pairs of features, every feature with every acquisition and objective, features that change the engine with every
rule, and their triples. Each combination is a small study that asks, tells and recommends. It works, or it is refused
with `InvalidInput`, or it is a traceback: any other exception, or a warning. Every refusal must be in the table of
docs/combinations.md, and everything in that table must be refused. Only the public interface is used.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from botorch.models import SingleTaskGP

import allweather as aw
from allweather.plots.report import write_report

PAGE = Path(__file__).parents[1] / "docs" / "combinations.md"
INITIAL, TRIALS = 2, 4
"""Trials of a study: of its initial design, and in all."""
Labels = frozenset[str]
Row = dict[str, Any]


@dataclass(frozen=True)
class Greedy(aw.Acquisition):
    """A user's own acquisition: the objective of the posterior mean."""

    def build(self, belief: aw.Belief) -> Callable[..., Any]:
        """Return the score.

        Args:
            belief: what is known.
        """
        return lambda decisions: belief.objective.upper(belief.band(decisions), belief.reference)


@dataclass(frozen=True)
class Median(aw.Objective):
    """A user's own objective."""

    def __call__(self, values: Any, reference: aw.Reference) -> Any:
        """Return the median.

        Args:
            values: of decisions in contexts.
            reference: of the contexts.
        """
        return aw.VaR(0.5)(values, reference)


def unfitted(points: Any, outcomes: Any) -> SingleTaskGP:
    """Return a BoTorch model with the hyperparameters that it begins with.

    Args:
        points: decisions and contexts.
        outcomes: at these.
    """
    return SingleTaskGP(points, outcomes)


def precise(points: Any, outcomes: Any, Yvar: Any) -> SingleTaskGP:
    """Return a BoTorch model of outcomes with known standard errors.

    Args:
        points: decisions and contexts.
        outcomes: at these.
        Yvar: the squares of their standard errors.
    """
    return SingleTaskGP(points, outcomes, Yvar)


TOGETHER = ("control sets", "limits", "several objectives", "simulator", "cautious", "context known at ask")
"""Features that change the engine: their triples are tried too."""
AHEAD = ("context known at ask", "partly known context", "forecast")
FEATURES = (
    *TOGETHER[:-1],
    *AHEAD,
    *("batch", "one occasion", "candidates", "linear constraint", "mixed variables", "minimize"),
    *("SQLite and resume", "change", "repeated outcomes", "known standard errors", "failures", "late contexts"),
    "table of past data",
)
SURROGATES: dict[str, Callable[[], Any]] = {
    "GP rbf": lambda: aw.GP("rbf"),
    "GP matern": lambda: aw.GP("matern"),
    "transformed outcomes": lambda: aw.GP("matern", outputscale="fit", transform="auto"),
    "outliers": lambda: aw.GP("matern", outputscale="fit", transform="auto", outliers="auto"),
    "kernel average": aw.KernelAverage,
    "BoTorch model": lambda: unfitted,
}
CONTEXTS = (
    *("KDE", "Empirical", "Drifting", "Discretised", "MeanBox", "Known", "Finite", "Uniform", "Independent"),
    *("forecast by step", "Ignored"),
)
LEARNED = ("KDE", "Empirical", "Drifting", "Discretised", "MeanBox")
GOALS = ("goal every-trial", "goal recommendation", "goal simulation")
AFTER = (
    *("recommend another objective", "recommend radii", "recommend tolerance", "recommend weights"),
    *("policy", "front", "check", "report"),
)
ACQUISITIONS: dict[str, Callable[[], aw.Acquisition]] = {
    "UCB": lambda: aw.UCB(2.0),
    "ObjectiveUCB": lambda: aw.ObjectiveUCB(1.0),
    "Thompson": lambda: aw.Thompson(32),
    "FourierThompson": lambda: aw.FourierThompson(64),
    "ExpectedImprovement": lambda: aw.ExpectedImprovement(4, 16),
    "KnowledgeGradient": lambda: aw.KnowledgeGradient(nodes=3),
    "OnlineKnowledgeGradient": aw.OnlineKnowledgeGradient,
    "Random": aw.Random,
    "MARS": lambda: aw.MARS(0.2, 4),
    "own acquisition": Greedy,
}
BALL = {"tv": aw.TotalVariation(0.2), "mmd": aw.MMD(0.1, lengthscale=0.3)}
OBJECTIVES: dict[str, Callable[[], aw.Objective]] = {
    "Expectation": aw.Expectation,
    "WorstCase": aw.WorstCase,
    "DRO TotalVariation": lambda: aw.DRO(BALL["tv"]),
    "DRO ChiSquared": lambda: aw.DRO(aw.ChiSquared(0.2)),
    "DRO KL": lambda: aw.DRO(aw.KL(0.2)),
    "DRO MMD": lambda: aw.DRO(BALL["mmd"]),
    "DRO Wasserstein": lambda: aw.DRO(aw.Wasserstein(0.1)),
    "General": lambda: aw.General(1.0, 0.5, BALL["tv"]),
    "GeneralAtUpper": lambda: aw.GeneralAtUpper(1.0, 0.5, BALL["tv"]),
    "GeneralByDifference": lambda: aw.GeneralByDifference(1.0, 0.5, BALL["tv"]),
    "CVaR": lambda: aw.CVaR(0.3),
    "VaR": lambda: aw.VaR(0.3),
    "Probability": lambda: aw.Probability(0.0),
    "MeanVariance": lambda: aw.MeanVariance(0.2),
    "EntropicRisk": lambda: aw.EntropicRisk(1.0),
    "MeanRisk": lambda: aw.MeanRisk(0.3, BALL["tv"]),
    "RobustSatisficing": lambda: aw.RobustSatisficing(-1.0, BALL["tv"]),
    "WorstCaseSensitivity": lambda: aw.WorstCaseSensitivity(BALL["tv"]),
    "MinimaxApproximation": lambda: aw.MinimaxApproximation(BALL["mmd"]),
    "VarianceRegularised": lambda: aw.VarianceRegularised(0.2),
    "RangeRegularised": lambda: aw.RangeRegularised(0.2),
    "LipschitzRegularised": lambda: aw.LipschitzRegularised(0.2),
    "own objective": Median,
}
CONTROL_RULES: dict[str, Callable[[], aw.Rule]] = {
    "BestValue": aw.BestValue,
    "NearBest": lambda: aw.NearBest(0.1),
    "CostAdaptive": lambda: aw.CostAdaptive(1.0),
    "ExploreThenCommit": lambda: aw.ExploreThenCommit(1),
    "ValuePerCost": aw.ValuePerCost,
    "GainPerCost": aw.GainPerCost,
    "InformationPerCost": aw.InformationPerCost,
}
SIMULATOR_RULES: dict[str, Callable[[], aw.ContextRule]] = {
    "LargestDeviation": aw.LargestDeviation,
    "LowestBound": aw.LowestBound,
    "LargestGain": aw.LargestGain,
    "MostInfluential": aw.MostInfluential,
    "LacingValue": aw.LacingValue,
    "LacingTail": aw.LacingTail,
    "FromLaw": aw.FromLaw,
}
IMPLIED = {
    "cautious": "limits",
    "one occasion": "batch",
    "front": "several objectives",
    "recommend weights": "several objectives",
    "MARS": "several objectives",
    **dict.fromkeys(CONTROL_RULES, "control sets"),
    **dict.fromkeys(SIMULATOR_RULES, "simulator"),
}
"""What comes with a label: only the smallest study that makes sense is tried."""
SLOTS = (AHEAD, tuple(SURROGATES), CONTEXTS, GOALS, tuple(CONTROL_RULES), tuple(SIMULATOR_RULES))
"""Of each of these a study has one."""


def closure(labels: Iterable[str]) -> Labels:
    """Return labels with those that come with them.

    Args:
        labels: of a combination.
    """
    found = set(labels)
    return frozenset(found | {IMPLIED[label] for label in found if label in IMPLIED})


class Tried(NamedTuple):
    """What became of a combination."""

    labels: tuple[str, ...]
    outcome: str
    """works, refused or traceback."""
    message: str
    seconds: float


class Trying:
    """One study of a combination."""

    def __init__(self, labels: Labels, folder: str) -> None:
        self.labels, self.folder = labels, folder
        self.source = np.random.default_rng(0)

    def run(self) -> None:
        """Ask, tell, recommend, and look at the study."""
        self.study = self.build()
        self._begin()
        number = 0
        while number < TRIALS:
            if number >= TRIALS // 2 and "SQLite and resume" in self.labels:
                self.study = self.build()
            if number == TRIALS // 2 and "change" in self.labels:
                self.study.change({"x": {"upper": 5 if self.mixed else 1.2}})
            number += self._step(number)
        self._look()

    def __contains__(self, label: str) -> bool:
        return label in self.labels

    @property
    def mixed(self) -> bool:
        """Whether variables are integers, choices, and on a logarithmic scale."""
        return "mixed variables" in self

    @property
    def controlled(self) -> bool:
        """Whether there are control sets."""
        return "control sets" in self

    def build(self) -> aw.Study:
        """Return the study, new or resumed: what was changed since stays."""
        given: Row = {"initial": INITIAL, "seed": 1}
        if "SQLite and resume" in self:
            given |= {"storage": f"sqlite:///{self.folder}/study.db", "existing": "stored"}
        for label in self.labels:
            if label in SURROGATES:
                known = label == "BoTorch model" and "known standard errors" in self
                given["surrogate"] = precise if known else SURROGATES[label]()
            elif label in ACQUISITIONS:
                given["acquisition"] = ACQUISITIONS[label]()
            elif label in GOALS:
                given["goal"] = label.removeprefix("goal ")
        model = next((label for label in CONTEXTS if label in self), None)
        given["context"] = self._context_model(model or ("Empirical" if self.mixed else "KDE"))
        objective = next((OBJECTIVES[label]() for label in OBJECTIVES if label in self), None)
        if isinstance(objective, aw.RobustSatisficing) and "minimize" in self:
            objective = aw.RobustSatisficing(1.0, BALL["tv"])  # a target that can be reached
        given |= self._outcomes(objective)
        if "cautious" in self:
            given["cautious"] = 0.8
        if self.controlled:
            rule = next((CONTROL_RULES[label]() for label in CONTROL_RULES if label in self), None)
            given["control"] = aw.Control({"x": 1.0, ("x", "y"): 2.0}, **({} if rule is None else {"rule": rule}))
        if "simulator" in self:
            given["simulator"] = next((SIMULATOR_RULES[label]() for label in SIMULATOR_RULES if label in self), True)
        if "candidates" in self:
            given["candidates"] = [
                {name: self.value(name, u) for name in ("x", "y")} for u in (0.1, 0.3, 0.5, 0.7, 0.9)
            ]
        if "linear constraint" in self:
            given["constraints"] = [aw.LinearConstraint({"x": 1.0}, upper=3.0 if self.mixed else 0.8)]
        return aw.Study(aw.Space(**self._variables()), **given)

    def _variables(self) -> Row:
        if self.mixed:
            weather = aw.Context(aw.Choice("dry", "wet"))
            return {"x": aw.Integer(0, 4), "y": aw.Real(0.01, 1, log=True), "c": weather, "d": aw.Context(0, 1)}
        return {"x": aw.Real(0, 1), "y": aw.Real(0, 1), "c": aw.Context(0, 1), "d": aw.Context(0, 1)}

    def value(self, name: str, share: float) -> Any:
        """Return a value of a variable.

        Args:
            name: of the variable.
            share: of its range, below 1.
        """
        if not self.mixed:
            return share
        return {"x": round(4 * share), "y": 0.01 ** (1 - share), "c": "dry" if share < 0.5 else "wet"}.get(name, share)

    def _drawn(self, names: Iterable[str]) -> Row:
        return {name: self.value(name, float(self.source.beta(2, 3))) for name in names}

    def _left(self) -> tuple[str, ...]:
        """The variables that some control set leaves to nature."""
        return ("y", "c", "d") if self.controlled else ("c", "d")

    def _rows(self, names: Sequence[str], count: int = 6) -> list[Row]:
        return [
            {name: self.value(name, (3 * k + 5 * place) % 11 / 11) for place, name in enumerate(names)}
            for k in range(count)
        ]

    def _context_model(self, label: str) -> aw.ContextModel:
        names = list(self._variables()) if self.controlled else ["c", "d"]
        rows = self._rows(names)
        laws: Row = dict.fromkeys(names, scipy.stats.uniform(0, 1))
        each: dict[str, aw.ContextModel] = {
            name: aw.Finite([{name: self.value(name, u)} for u in (0.2, 0.8)]) for name in names
        }
        each["d"] = aw.KDE(8)
        if self.mixed:
            mixed = {
                "x": scipy.stats.randint(0, 5),
                "y": scipy.stats.loguniform(0.01, 1),
                "c": {"dry": 0.4, "wet": 0.6},
            }
            laws |= {name: law for name, law in mixed.items() if name in names}
        models: dict[str, Callable[[], aw.ContextModel]] = {
            "KDE": lambda: aw.KDE(16),
            "Empirical": aw.Empirical,
            "Drifting": lambda: aw.Drifting(5.0),
            "Discretised": lambda: aw.Discretised(16),
            "MeanBox": lambda: aw.MeanBox(16),
            "Known": lambda: aw.Known(laws, 16),
            "Finite": lambda: aw.Finite(rows),
            "Uniform": lambda: aw.Uniform(16),
            "Independent": lambda: aw.Independent(**each),
            "forecast by step": lambda: aw.Forecast(lambda step: aw.Finite(rows)),
            "Ignored": aw.Ignored,
        }
        return models[label]()

    def _outcomes(self, objective: aw.Objective | None) -> Row:
        several = "several objectives" in self
        down = "minimize" in self
        if not several and "limits" not in self:
            return {"objective": objective, "direction": "minimize" if down else "maximize"}
        main = (aw.Minimize if down else aw.Maximize)(*(() if objective is None else (objective,)))
        wanted: dict[str, aw.Outcome] = {"value": main}
        if several:
            wanted["waste"] = aw.Minimize(*((aw.VaR(0.2),) if "MARS" in self else ()))
        if "limits" in self:
            wanted["purity"] = aw.AtLeast(0.3, probability=0.8)
        return {"outcomes": wanted}

    def _results(self, row: Mapping[str, Any]) -> Any:
        x, y, c, d = (self._share(name, row[name]) for name in ("x", "y", "c", "d"))
        value = math.sin(4 * x) - (y - c) ** 2 + 0.3 * d
        value = -value if "minimize" in self else value
        every = {"value": value, "waste": (x - 0.7) ** 2 + 0.1 * c, "purity": 1.2 - x * y - 0.1 * d}
        if "several objectives" not in self and "limits" not in self:
            return value
        return {name: every[name] for name in every if name in self._outcomes(None)["outcomes"]}

    def _share(self, name: str, value: Any) -> float:
        if not self.mixed:
            return float(value)
        if name == "c":
            return 0.2 if value == "dry" else 0.8
        return float(value) / 4 if name == "x" else 1 + math.log(value) / math.log(100) if name == "y" else float(value)

    def _begin(self) -> None:
        names = list(self._variables())
        past = {"table of past data": 3, "cautious": 3, "check": 6}
        count = max((past[label] for label in past if label in self), default=0)
        if count:
            rows = self._rows(names, count)
            self.study.add([{**row, **self._table(row)} for row in rows])
        learned = not any(label in self for label in CONTEXTS if label not in (*LEARNED, "Independent"))
        if "simulator" in self and learned:
            self.study.observe_contexts(self._rows(names if self.controlled else ("c", "d"), 5))

    def _table(self, row: Row) -> Row:
        results = self._results(row)
        return results if isinstance(results, dict) else {"value": results}

    def _step(self, number: int) -> int:
        given: Row = {}
        if "context known at ask" in self:
            given["context"] = self._drawn(self._left())
        if "partly known context" in self:
            given["context"] = self._drawn(("c",))
        if "forecast" in self:
            given["forecast"] = aw.Finite(self._rows(self._left(), 4))
        if "batch" not in self:
            self._tell(self.study.ask(**given), number)
            return 1
        trials = self.study.ask(2, **given, same_context=True) if "one occasion" in self else self.study.ask(2, **given)
        shared = self._drawn(self._left())
        for place, trial in enumerate(trials):
            self._tell(trial, number + place, shared if "one occasion" in self else None)
        return 2

    def _tell(self, trial: aw.Trial, number: int, shared: Row | None = None) -> None:
        natural = shared or self._drawn(self._left())
        fixed = {**(trial.partial or {}), **(trial.context or {})}
        left = dict.fromkeys(("c", "d", *trial.left))
        context = {name: natural[name] for name in left if name not in fixed} or None
        results = self._results({**natural, **fixed, **trial.decision})
        more: Row = {"sd": self._like(results, 0.1)} if "known standard errors" in self else {}
        if "failures" in self and number % 3 == 1:
            self.study.tell(trial, failed=True, context=context)
            return
        if "repeated outcomes" in self:
            results = (
                {k: [v, v + 0.1] for k, v in results.items()} if isinstance(results, dict) else [results, results + 0.1]
            )
            more = {"sd": self._like(results, [0.1, 0.1])} if more else {}
        if "late contexts" in self and context is not None:
            self.study.tell(trial, results, **more)
            if number % 2 == 0 or number == TRIALS - 1:
                self.study.tell(trial, context=context)
            return
        self.study.tell(trial, results, context=context, **more)

    def _like(self, results: Any, sd: Any) -> Any:
        return dict.fromkeys(results, sd) if isinstance(results, dict) else sd

    def _look(self) -> None:
        given: Row = {}
        if "recommend another objective" in self:
            given["objective"] = aw.CVaR(0.4)
        if "recommend radii" in self:
            given["radii"] = [0.0, 0.2]
        if "recommend tolerance" in self:
            given["tolerance"] = 0.1
        if "recommend weights" in self:
            given["weights"] = {"value": 2.0, "waste": 1.0}
        if "context known at ask" in self:
            given["context"] = self._drawn(self._left())
        if "partly known context" in self:
            given["context"] = self._drawn(("c",))
        if "forecast" in self:
            given["forecast"] = aw.Finite(self._rows(self._left(), 4))
        best = self.study.recommend(**given)
        if not math.isfinite(float(best.value)):
            raise ArithmeticError(f"the recommendation is worth {best.value}")
        if "policy" in self:
            self.study.policy([{"c": self.value("c", u)} for u in (0.2, 0.7)])
        if "front" in self:
            self.study.front()
        if "check" in self:
            self.study.check("value" if "several objectives" in self or "limits" in self else None)
        if "report" in self:
            write_report(self.study, f"{self.folder}/report.html")


def _space(**more: Any) -> aw.Space:
    return aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1), **{"c": aw.Context(0, 1), **more})


def _table(study: aw.Study) -> aw.Study:
    rows = np.random.default_rng(0).random((6, 3)).tolist()
    study.add([{"x": x, "y": y, "c": c, "value": x - y * c} for x, y, c in rows])
    return study


def _control() -> aw.Control:
    return aw.Control({"x": 1.0, ("x", "y"): 2.0})


LIMIT = {"value": aw.Maximize(), "purity": aw.AtLeast(0.3)}
IMPOSSIBLE: dict[tuple[str, str], Callable[[], object]] = {
    ("context known at ask", "forecast"): lambda: aw.Study(_space()).ask(
        context={"c": 0.5}, forecast=aw.Finite([[0.2], [0.7]])
    ),
    ("simulator", "no contexts to learn the law from"): lambda: aw.Study(
        _space(), simulator=True, context=aw.KDE(16)
    ).ask(),
    ("simulator", "no context variables"): lambda: aw.Study(aw.Space(x=aw.Real(0, 1)), simulator=True),
    ("simulator", "Ignored"): lambda: aw.Study(_space(), simulator=True, context=aw.Ignored()),
    ("cautious", "no limits"): lambda: aw.Study(_space(), outcomes={"value": aw.Maximize()}, cautious=0.9),
    ("cautious", "no earlier results"): lambda: aw.Study(_space(), outcomes=LIMIT, cautious=0.9).ask(),
    ("control rules", "no control sets"): lambda: aw.Study(_space(), method="ucb-psq"),
    ("control sets", "linear constraint on a variable that a set leaves"): lambda: aw.Study(
        _space(), control=_control(), constraints=aw.LinearConstraint({"x": 1, "y": 1}, upper=1)
    ),
    ("front", "one objective"): lambda: _table(aw.Study(_space())).front(),
    ("recommend weights", "one objective"): lambda: _table(aw.Study(_space())).recommend(weights={"value": 1.0}),
    ("MARS", "one objective"): lambda: _table(aw.Study(_space(), acquisition=aw.MARS())).ask(),
    ("one objective for all", "several outcomes"): lambda: aw.Study(_space(), outcomes=LIMIT, objective=aw.CVaR(0.2)),
    ("minimize", "several outcomes"): lambda: aw.Study(_space(), outcomes=LIMIT, direction="minimize"),
    ("policy", "no context variables"): lambda: aw.Study(aw.Space(x=aw.Real(0, 1))).policy("x"),
}
"""What is documented to be refused, but is no pair of the features above."""


def combinations(quick: bool = False) -> Iterator[tuple[str, ...]]:
    """Return all combinations, each once.

    Args:
        quick: only the features that change the engine, and their triples.
    """
    core = (*TOGETHER, *(() if quick else (*SURROGATES, *GOALS)))
    features = TOGETHER if quick else (*FEATURES, *SURROGATES, *CONTEXTS, *GOALS, *AFTER)
    beside = (*ACQUISITIONS, *(() if quick else OBJECTIVES))
    groups = (
        ((label,) for label in (*features, *beside, *CONTROL_RULES, *SIMULATOR_RULES)),
        itertools.combinations(features, 2),
        itertools.product(features, beside),
        itertools.product(core, (*CONTROL_RULES, *SIMULATOR_RULES)),
        itertools.product(CONTROL_RULES, ACQUISITIONS),
        itertools.combinations(TOGETHER, 3),
    )
    seen = set()
    for labels in itertools.chain(*groups):
        whole = closure(labels)
        if whole in seen or any(len(whole.intersection(slot)) > 1 for slot in SLOTS):
            continue
        seen.add(whole)
        yield labels


def attempt(labels: Sequence[str], action: Callable[[], object]) -> Tried:
    """Run one combination.

    Args:
        labels: its features.
        action: what to do.
    """
    started = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            action()
        outcome, message = "works", ""
    except aw.InvalidInput as problem:
        outcome, message = "refused", str(problem)
    except Exception as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        outcome, message = "traceback", f"{type(problem).__name__} at {place}: {str(problem)[:300]}"
    return Tried(tuple(labels), outcome, message, time.process_time() - started)


def play(labels: Sequence[str]) -> Tried:
    """Try one combination.

    Args:
        labels: of its features.
    """
    with TemporaryDirectory() as folder:
        return attempt(labels, lambda: Trying(closure(labels), folder).run())


def documented(text: str) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return the rows of the table of what cannot be combined: each has labels on either side.

    Args:
        text: of the page.
    """
    _, _, rest = text.partition("## What cannot be combined, and why")
    rows = re.findall(r"^\|([^|]+)\|([^|]+)\|[^|]+\|$", rest.partition("\n## ")[0], flags=re.MULTILINE)
    sides = [tuple(frozenset(part.strip() for part in cell.split(";")) for cell in row) for row in rows]
    return [(one, other) for one, other in sides if not any(cell.startswith("---") for cell in one)][1:]


def covered(labels: Iterable[str], rows: Iterable[tuple[frozenset[str], frozenset[str]]]) -> bool:
    """Return whether a row of the table names features of a combination on both sides.

    Args:
        labels: of the combination.
        rows: of the table.
    """
    whole = closure(labels)
    return any(whole & one and whole & other and len(whole & (one | other)) > 1 for one, other in rows)


def report(tried: Sequence[Tried], rows: Sequence[tuple[frozenset[str], frozenset[str]]]) -> bool:
    """Print counts, refusals and tracebacks; return whether all is as documented.

    Args:
        tried: the combinations.
        rows: of the table of what cannot be combined.
    """
    counts = Counter(each.outcome for each in tried)
    refused = [each for each in tried if each.outcome == "refused"]
    failed = [each for each in tried if each.outcome == "traceback"]
    strange = [each for each in refused if not covered(each.labels, rows)]
    needless = [each for each in tried if each.outcome == "works" and covered(each.labels, rows)]
    _print_by_message("Refused, and documented", [each for each in refused if each not in strange])
    _print_by_message("Refused, and not documented", strange)
    _print_by_message("Documented to be refused, but works", needless)
    _print_by_message("Tracebacks", failed)
    share = counts["works"] / max(len(tried), 1)
    said = ", ".join(f"{counts[name]} {name}" for name in ("works", "refused", "traceback"))
    print(f"\n{len(tried)} combinations: {said}; {share:.1%} work, {len(strange)} refusals are not documented")
    slowest = sorted(tried, key=lambda each: -each.seconds)[:5]
    print(f"{sum(each.seconds for each in tried):.0f} s of CPU time; the slowest:")
    for each in slowest:
        print(f"  {' + '.join(each.labels)}: {each.seconds:.1f} s")
    return not (strange or failed or needless)


def _print_by_message(title: str, tried: Sequence[Tried]) -> None:
    print(f"\n{title}: {len(tried)}")
    by_message: dict[str, list[str]] = {}
    for each in tried:
        by_message.setdefault(each.message, []).append(" + ".join(each.labels))
    for message, names in by_message.items():
        print(f"  {message or 'no error'}")
        for name in names:
            print(f"    {name}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Try combinations and print what became of them.

    Args:
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks combinations", description=__doc__)
    parser.add_argument("--only", default="", help="part of the name of one of the features")
    parser.add_argument("--quick", action="store_true", help="only features that change the engine, and acquisitions")
    given = parser.parse_args(arguments)
    tried = []
    for number, labels in enumerate(combinations(given.quick)):
        if any(given.only in label for label in closure(labels)):
            tried.append(play(labels))
            if number % 100 == 99:
                print(f"{number + 1} combinations", file=sys.stderr, flush=True)
    rows = documented(PAGE.read_text()) if PAGE.is_file() else []
    right = report(tried, rows)
    impossible = [attempt(each, IMPOSSIBLE[each]) for each in IMPOSSIBLE]
    wrong = [each for each in impossible if each.outcome != "refused"]
    print(f"\n{len(impossible) - len(wrong)} of {len(impossible)} impossible requests are refused")
    for each in (*wrong, *(each for each in impossible if each not in wrong and not covered(each.labels, rows))):
        print(
            f"  {' + '.join(each.labels)}: {each.outcome}, {'' if each in wrong else 'not documented: '}{each.message}"
        )
    if not right or wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
