"""Figures of phi: campaigns, their panels (Fig. 1 and 7), run times (Fig. 2) and the adaptive radii (Fig. 6)."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from botorch.test_functions import synthetic

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import (
    CLOSE,
    Beats,
    Claim,
    CloseToBest,
    Faster,
    Finding,
    InMost,
    Least,
    Relative,
    Sentence,
    SimilarTime,
    exactly,
)
from allweather.benchmark.figures import Figure, Settings, Table, Wanted, plain
from allweather.benchmark.from_problem import FromProblem, resolved
from allweather.benchmark.regret import Measure
from allweather.benchmark.regret_figure import PALETTE
from allweather.benchmark.summaries import standard_error
from allweather.contexts import ContextModel, Known, Reference
from allweather.contexts import Uniform as EverywhereAlike
from allweather.distances import ChiSquared, Distance, TotalVariation
from allweather.methods import method
from allweather.objectives import DRO, Objective
from allweather.problems import problem
from allweather.problems.base import Problem
from allweather.problems.formula import Formula
from allweather.problems.laws import Independent, Uniform
from allweather.schedules import DivergenceRadius, Progress
from allweather.space import Space
from allweather.space.variables import Context, Real
from allweather.study import Study
from allweather.surrogates import GP

PLANAR = ("branin", "goldstein-price", "six-hump-camel", "three-hump-camel")
PROBLEMS = (*PLANAR, "robot-push")
SEEDS = range(30)
RADII = (0.0, 0.1, 0.3, 0.5, 1.0)
CONTEXTS = 30
"""The paper's |C|."""
SIZES = (30, 100, 500)
ROBUST = ("drbo-chi2", "drbo-tv", "drbo-kl", "drbo-mmd")
DIFFERENT, SAME = "branin|goldstein-price|shift-example", "six-hump-camel|three-hump-camel"
"""Problems whose stochastic and robust solutions differ, or are the same, in Fig. 7 as the paper says."""


WIDTH = 1.5
"""Of the confidence bound of every method. A guess: the text says "as in Srinivas et al." and gives no number."""
ITERATIONS, RADII_ITERATIONS = 60, 50
"""Of Fig. 3 and 5, and of Fig. 1, 4 and 7. Guesses: the text gives no number."""
LAMBDAS = (1, 5)
"""Of Fig. 5, in standard deviations of the function over its box. A guess: the text says nothing of units."""
_COMMON = (
    f"width {WIDTH:g} for all methods",
    "ten initial trials",
    "the radius of DRBO-MMD, that of Kirschner et al. 2020",
)
_BALL = "the ball of the regret, for total variation: that of Eq. 6 and one of radius 1"


def _measures() -> tuple[Measure, ...]:
    """Eq. 6: the worst case over the ball around p_t of the step's radius, for chi-squared and total variation."""
    balls: tuple[tuple[str, Distance], ...] = (
        ("chi2", ChiSquared(DivergenceRadius("chi-squared"))),
        ("TV", TotalVariation(DivergenceRadius("total-variation"))),
    )
    return tuple(Measure(f"Eq. 6 {name}", DRO(ball), "told") for name, ball in balls)


def reference(size: int) -> FromProblem[ContextModel]:
    """Return the p_t of a problem, of which the methods draw contexts at each step.

    It is the distribution that the learner is told, where there is one (wind, the shift example), and else uniform. The
    regret is measured under the same.

    Args:
        size: number of contexts, the paper's |C|.
    """
    return FromProblem(lambda problem: _drawn_from(problem, size))


def _drawn_from(problem: Problem, size: int) -> ContextModel:
    belief = problem.belief
    if belief is None:
        return EverywhereAlike(size)
    if isinstance(belief, Known):
        return dataclasses.replace(belief, samples=size)
    points, weights = Measure(under="belief").reference(problem)
    return Known(Bins(points[:, 0].numpy(), weights.numpy()), samples=size)


@dataclass(frozen=True, eq=False)
class Bins:
    """A law on finitely many values, in ascending order, as `Known` reads it."""

    values: np.ndarray
    weights: np.ndarray

    def ppf(self, uniforms: np.ndarray) -> np.ndarray:
        """Return the quantiles."""
        ends = np.cumsum(self.weights)
        return np.asarray(self.values[np.searchsorted(ends, uniforms * ends[-1]).clip(0, len(ends) - 1)])


def _robust(name: str, size: int = CONTEXTS, **options: Any) -> tuple[str, Mapping[str, Any]]:
    """Return a distributionally robust method: all have the same p_t, GP and width."""
    surrogate = {"surrogate": GP()} if name == "drbo-mmd" else {}
    return name, {"context": reference(size), "width": WIDTH, **surrogate, **options}


def _gp_ucb() -> tuple[str, Mapping[str, Any]]:
    return "gp-ucb", {"width": WIDTH, "surrogate": GP()}


def _radii(problems: Settings) -> list[Campaign]:
    """Fixed radii of total variation against the schedule.

    The text does not say of which ball the regret in these figures is. Both the ball of Eq. 6 with the adaptive radius
    and that with the largest radius shown are measured (errata E31).
    """
    fixed = {f"radius {radius:g}": _robust("drbo-tv", radius=radius) for radius in RADII}
    methods = {**fixed, "adaptive": _robust("drbo-tv"), "gp-ucb": _gp_ucb()}
    return [Campaign(problems, methods, SEEDS, RADII_ITERATIONS, measures=_ablation())]


def _ablation() -> tuple[Measure, ...]:
    """The two measures of Fig. 1 and 7."""
    return (_measures()[1], Measure("TV 1", DRO(TotalVariation(max(RADII))), "told"))


def _fig1() -> list[Campaign]:
    """The text does not give the two functions; these have the properties it describes (errata E30)."""
    return _radii(plain("shift-example", "three-hump-camel"))


def _fig7() -> list[Campaign]:
    return _radii(plain("branin", "goldstein-price", "six-hump-camel"))


def _fig3() -> list[Campaign]:
    """Methods with 30 contexts each."""
    methods: Settings = {
        **{name: _robust(name) for name in ("drbo-chi2", "drbo-tv", "drbo-mmd")},
        "stableopt": ("stableopt", {"everywhere": True, "samples": CONTEXTS, "width": WIDTH, "surrogate": GP()}),
        "gp-ucb": _gp_ucb(),
        **plain("random"),
    }
    return [Campaign(plain(*PROBLEMS), methods, SEEDS, ITERATIONS, measures=_measures())]


def _fig4() -> list[Campaign]:
    methods = {f"{name}, {size} contexts": _robust(name, size) for name in ROBUST for size in SIZES}
    return [Campaign(plain("wind"), methods, SEEDS, RADII_ITERATIONS, measures=_measures())]


def _fig5() -> list[Campaign]:
    """KL as in Ex. 15, with the multiplier maximised over and held fixed, and as printed in Eq. 34."""
    fixed = {f"drbo-kl, lambda {each}": _robust("drbo-kl", multiplier=_multiplier(each)) for each in LAMBDAS}
    methods: Settings = {
        **{name: _robust(name) for name in ("drbo-chi2", "drbo-tv", "drbo-kl")},
        **fixed,
        "drbo-kl, Eq. 34": _robust("drbo-kl", printed=True),
    }
    return [Campaign(plain(*PLANAR), methods, SEEDS, ITERATIONS, measures=_measures())]


def _multiplier(number: float) -> FromProblem[float]:
    """Return a multiplier in standard deviations of the function, over a grid of its box."""
    return FromProblem(lambda problem: number * float(problem.values(_LINE, _LINE).std()))


_LINE = torch.linspace(0, 1, 101, dtype=torch.float64)[:, None]
PANEL_RESOLUTION = 101


def draw_panels(results: pd.DataFrame, path: Path) -> Path:
    """Draw one row per problem: f(x, c), the decisions of the first seed by iteration, and regret with bands.

    Args:
        results: of a campaign on problems with one decision and one context, with the column `decision`.
        path: of the file; its folder is created.

    Returns:
        The path.
    """
    import matplotlib.figure

    names = list(dict.fromkeys(results["problem"]))
    drawing = matplotlib.figure.Figure(figsize=(14, 3.8 * len(names)), layout="constrained")
    grid: Any = drawing.subplots(len(names), 3, squeeze=False)
    methods = list(dict.fromkeys(results["method"]))
    colours = dict(zip(methods, PALETTE * 3, strict=False))
    for row, name in zip(grid, names, strict=True):
        block = results[results["problem"] == name]
        _draw_function(row[0], name)
        for label, runs in block.groupby("method", sort=False):
            _draw_decisions(row[1], runs, colours[str(label)])
            _draw_regret(row[2], runs, str(label), colours[str(label)])
        row[1].set(title="decisions, first seed", xlabel="iteration", ylabel="x")
        row[2].set(title=str(block["measure"].iloc[0]), xlabel="iteration", ylabel="cumulative robust regret")
    grid[0, 2].legend(frameon=False, fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=130)
    return path


def _draw_function(axis: Any, name: str) -> None:
    chosen = problem(name)
    line = torch.linspace(0, 1, PANEL_RESOLUTION, dtype=torch.float64)[:, None]
    heights = chosen.values(line, line).numpy()  # decisions by contexts
    x, c = (box.decode(line) for box in (chosen.space.decisions, chosen.space.contexts))
    ends = [float(next(iter(each.values()))) for each in (x[0], x[-1], c[0], c[-1])]
    axis.imshow(heights.T, origin="lower", aspect="auto", extent=ends, cmap="viridis")
    axis.set(title=f"{name}: f(x, c)", xlabel="x", ylabel="c")


def _draw_decisions(axis: Any, runs: pd.DataFrame, colour: str) -> None:
    first = runs[runs["seed"] == runs["seed"].min()].sort_values("step")
    values = [float(next(iter(json.loads(each).values()))) for each in first["decision"]]
    axis.plot(first["step"], values, ".", color=colour, markersize=4)


def _draw_regret(axis: Any, runs: pd.DataFrame, method: str, colour: str) -> None:
    by_step = runs.groupby("step")["cumulative"]
    mean, error = by_step.mean(), np.nan_to_num(by_step.agg(standard_error))
    axis.plot(mean.index, mean, color=colour, label=method)
    axis.fill_between(mean.index, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)


TIMED_INPUTS = (2, 3, 4, 5, 6)
TIMED_OBSERVATIONS = 30
TIMED_ASKS = 5
RADIUS_STEPS = 100
"""Iterations of Fig. 6."""


def run_times(wanted: Wanted) -> tuple[pd.DataFrame, list[Finding]]:
    """Measure CPU seconds of one `ask` with 30 observations of the Ackley function, the last variable its context.

    The number of inputs varies with 30 contexts, and the number of contexts with 2 inputs.

    Args:
        wanted: its seeds are the asks, each with other data, 5 by default; quick is one ask with two and three inputs.

    Returns:
        The table, and the tests of what the paper says of times.
    """
    sizes = [(d, CONTEXTS) for d in TIMED_INPUTS] + [(2, contexts) for contexts in SIZES[1:]]
    runs, quick, methods = [], wanted.quick, wanted.methods
    for seed in range(1 if quick else wanted.seeds or TIMED_ASKS):
        for d, contexts in sizes[: 2 if quick else None]:
            for name in ROBUST:
                if methods is None or name in methods:
                    keys = {"problem": f"{d} inputs, {contexts} contexts", "inputs": d, "contexts": contexts}
                    found = {"method": name, "seed": seed, "step": 1, "seconds": _seconds(name, contexts, d, seed)}
                    runs.append({**keys, **found})
    times = pd.DataFrame(runs)
    table = times.groupby(["method", "inputs", "contexts"], sort=False)["seconds"].agg(
        mean="mean", standard_error=standard_error, asks="count"
    )
    return table.reset_index(), [each for claim in _TIMES for each in claim.findings(times)]


def _seconds(name: str, contexts: int, d: int, seed: int) -> float:
    """Return the CPU seconds of one `ask`."""
    problem = _ackley(d)
    settings = {key: resolved(value, problem) for key, value in _robust(name, contexts)[1].items()}
    study = Study(problem.space, method=method(name, **settings), initial=1, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(TIMED_OBSERVATIONS):
        decision = {each: float(rng.random()) for each in problem.space.decisions}
        context = problem.draw(rng)
        study.add([{**decision, **context, "value": problem.observe(decision, context, rng)}])
    started = time.process_time()
    study.ask()
    return time.process_time() - started


def _ackley(d: int) -> Problem:
    """The Ackley function of d inputs, the last of them the context, uniform."""
    names = {f"x{i + 1}": Real(0, 1) for i in range(d - 1)}
    function = Formula(synthetic.Ackley(d, negate=True), (-32.768,) * d, (32.768,) * d)
    law = Independent((Uniform(),))
    return Problem("ackley", Space(**names, c=Context(0, 1)), function, law.sample, quantile=law.quantile)


def draw_times(table: pd.DataFrame, path: Path) -> Path:
    """Draw seconds against the number of inputs and against the number of contexts.

    Args:
        table: of `run_times`.
        path: of the file.
    """
    import matplotlib.figure

    drawing = matplotlib.figure.Figure(figsize=(10, 3.8), layout="constrained")
    left, right = drawing.subplots(1, 2)
    for axis, varied, fixed, value in ((left, "inputs", "contexts", 30), (right, "contexts", "inputs", 2)):
        for name, block in table[table[fixed] == value].groupby("method", sort=False):
            error = block["standard_error"].fillna(0.0)
            axis.errorbar(block[varied], block["mean"], yerr=error, marker="o", label=str(name), capsize=3)
        axis.set(xlabel=varied, ylabel="CPU seconds per iteration", yscale="log")
    left.legend(frameon=False, fontsize=7)
    drawing.savefig(path, dpi=130)
    return path


def radii(wanted: Wanted) -> tuple[pd.DataFrame, list[Finding]]:
    """Tabulate the adaptive radius of Sec. 4.2 by iteration.

    Args:
        wanted: not used; it has no seeds.

    Returns:
        The table, and whether the radii tend to 0: the power of t with which they fall over the last half.
    """
    names = {"total-variation": "TV", "chi-squared": "chi2", "kl": "KL"}
    rows = [
        {"divergence": label, "step": step, "mean": DivergenceRadius(name)(Progress(step))}
        for name, label in names.items()
        for step in range(1, RADIUS_STEPS + 1)
    ]
    table = pd.DataFrame(rows)
    wide = table.pivot(index="step", columns="divergence", values="mean")
    found = []
    for name in wide:
        values = wide[name].to_numpy()
        exponent = float(np.log(values[-1] / values[RADIUS_STEPS // 2 - 1]) / np.log(2))
        falls = bool((np.diff(values) < 0).all() and exponent < 0)
        said = "the adaptive radius tends to 0"
        found.append(exactly(said, str(name), "power of t", exponent, falls, f"{said} (App. 9.1, Fig. 6)"))
    return table, found


def draw_radii(table: pd.DataFrame, path: Path) -> Path:
    """Draw the radii against the iteration.

    Args:
        table: of `radii`.
        path: of the file.
    """
    import matplotlib.figure

    drawing = matplotlib.figure.Figure(figsize=(5, 3.8), layout="constrained")
    axis = drawing.subplots()
    for name, block in table.groupby("divergence", sort=False):
        axis.plot(block["step"], block["mean"], label=str(name))
    axis.set(xlabel="iteration", ylabel="adaptive radius")
    axis.legend(frameon=False)
    drawing.savefig(path, dpi=130)
    return path


@dataclass(frozen=True)
class Solutions:
    """The stochastic and the robust solution of a problem coincide, or differ.

    Both are found on a grid. They coincide where they are not further apart than `SAME_DISTANCE`. The ball is that of
    the measure, of a schedule at the last iteration.
    """

    same: bool
    where: str

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Compute the regret for every problem and measure of the results."""
        found = []
        for name, measure in results[["problem", "measure"]].drop_duplicates().itertuples(index=False):
            if re.search(self.where, str(name)):
                apart = solution_distance(str(name), next(each for each in _ablation() if each.name == measure))
                text = f"the stochastic and the robust solution {'coincide' if self.same else 'differ'}"
                what = "distance, as a share of the box"
                found.append(exactly(text, f"{name}, {measure}", what, apart, (apart < SAME_DISTANCE) == self.same))
        return found


SAME_DISTANCE = 0.02
"""The paper gives no number."""


def solution_distance(name: str, measure: Measure) -> float:
    """Return how far the decisions with the best mean and with the best worst case are apart, as a share of the box.

    Args:
        name: of a problem with one decision.
        measure: with the ball.
    """
    chosen = problem(name)
    p_t = Measure(under="told").reference(chosen)
    few = Reference(p_t.points[:512], p_t.weights[:512] / p_t.weights[:512].sum())
    grid = torch.linspace(0, 1, 1001, dtype=torch.float64)[:, None]
    values = chosen.values(grid, few.points)
    objective = measure.objective
    assert isinstance(objective, Objective)
    robust = objective.at(Progress(RADII_ITERATIONS))(values, few)
    return float((grid[(values @ few.weights).argmax()] - grid[robust.argmax()]).abs())


_LABELS = tuple(f"radius {radius:g}" for radius in RADII)
_LARGE, _SMALL = ("radius 0.5", "radius 1"), ("radius 0",)
_BESIDES = ("adaptive", "gp-ucb")


def _radii_claims(place: str) -> tuple[Claim, ...]:
    """The claims of Fig. 1, which Fig. 7 repeats."""
    return (
        Sentence("the stochastic and the robust solution differ", place, (Solutions(False, DIFFERENT),)),
        Sentence("they coincide", place, (Solutions(True, SAME),)),
        Sentence(
            "radii of 0.5 and 1 are the best of those shown where the solutions differ",
            place,
            (Least(_LARGE, DIFFERENT, besides=_BESIDES),),
        ),
        Sentence(
            "small radii are the best of those shown where they coincide",
            place,
            (Least(_SMALL, SAME, besides=_BESIDES),),
        ),
        Sentence(
            "the adaptive radius is stable", place, (Relative("adaptive", _LABELS, words="of the radii", slack=CLOSE),)
        ),
        Sentence(
            "BO keeps exploiting near the stochastic solution from iteration 15 on",
            place,
            untested="decisions are drawn, and not stored",
        ),
    )


_PHI = ("drbo-chi2", "drbo-tv")
_FIG3 = (*_PHI, "drbo-mmd", "stableopt", "gp-ucb", "random")
_FIG3_CLAIMS = (
    Sentence("chi2 and TV achieve the best performance across functions", "Fig. 3", (Least(_PHI),)),
    Sentence("random performs the worst", "Sec. 5.3, Fig. 3", tuple(Beats(one, "random") for one in _FIG3[:-1])),
    Sentence(
        "BO is inferior to the robust methods", "Sec. 5.3, Fig. 3", tuple(Beats(one, "gp-ucb") for one in _FIG3[:4])
    ),
    Sentence(
        "StableOpt performs relatively well",
        "Sec. 5.3, Fig. 3",
        (Relative("stableopt", tuple(name for name in _FIG3 if name != "stableopt")),),
    ),
    Sentence("MMD is not as strong as TV and chi2", "Sec. 5.3, Fig. 3", tuple(Beats(one, "drbo-mmd") for one in _PHI)),
)


def _sized(name: str, size: int) -> str:
    return f"{name}, {size} contexts"


_FIG4_CLAIMS = (
    Sentence(
        "chi2, TV and KL improve with more contexts",
        "Sec. 5.3, Fig. 4",
        tuple(Beats(_sized(name, SIZES[1]), _sized(name, SIZES[0])) for name in ROBUST[:3]),
    ),
    Sentence(
        "from 100 to 500 contexts they do not improve further",
        "Sec. 5.3, Fig. 4",
        tuple(CloseToBest(_sized(name, SIZES[1]), (_sized(name, SIZES[2]),)) for name in ROBUST[:3]),
    ),
    Sentence(
        "MMD improves with more contexts",
        "Sec. 5.3, Fig. 4",
        (Beats(_sized("drbo-mmd", SIZES[2]), _sized("drbo-mmd", SIZES[0])),),
    ),
    Sentence("at a cost that is quadratic in their number", "Sec. 5.3, Fig. 4", untested="see the times of phi-fig2"),
    Sentence(
        "chi2, TV and KL perform favourably in regret compared with MMD",
        "Sec. 5.3, Fig. 4",
        tuple(Beats(_sized(name, size), _sized("drbo-mmd", size)) for size in SIZES for name in ROBUST[:3]),
    ),
)
_FIXED = tuple(f"drbo-kl, lambda {each}" for each in LAMBDAS)
_FIG5_CLAIMS = (
    Sentence(
        "TV and chi2 typically obtain better performance than KL",
        "App. 9, Fig. 5",
        (
            InMost(
                "TV and chi2 have less regret than KL with either lambda in more than half of the comparisons",
                tuple(Beats(one, other) for one in _PHI for other in _FIXED),
            ),
        ),
    ),
    Sentence(
        "the best lambda depends on the function",
        "App. 9, Fig. 5",
        untested="two values of lambda in units that the text does not give do not decide it",
    ),
)
_TIMES: tuple[Claim, ...] = (
    Sentence("chi2 and TV take similar time", "Fig. 2", (SimilarTime(*_PHI),)),
    Sentence(
        "they are consistently faster than MMD", "Sec. 5.2, Fig. 2", tuple(Faster(one, "drbo-mmd") for one in _PHI)
    ),
    Sentence(
        "they are five times faster than MMD with five inputs",
        "Sec. 5.2, Fig. 2",
        tuple(Faster(one, "drbo-mmd", 5, "^5 inputs") for one in _PHI),
    ),
    Sentence(
        "they are ten times faster than MMD with six inputs",
        "Sec. 5.2, Fig. 2",
        tuple(Faster(one, "drbo-mmd", 10, "^6 inputs") for one in _PHI),
    ),
)
FIGURES: tuple[Figure | Table, ...] = (
    Figure(
        "phi-fig1",
        "phi, Fig. 1",
        "Large radii are best where the solutions differ, small ones where they coincide; the adaptive one is stable.",
        _fig1,
        _radii_claims("Sec. 5.1, Fig. 1"),
        draw=draw_panels,
        guesses=(f"{RADII_ITERATIONS} iterations", *_COMMON[:2], "the two functions", _BALL),
    ),
    Figure(
        "phi-fig3",
        "phi, Fig. 3",
        "chi2 and TV have the least robust regret.",
        _fig3,
        _FIG3_CLAIMS,
        guesses=(
            f"{ITERATIONS} iterations",
            *_COMMON,
            "all functions but robot pushing, of two inputs, and its goal",
        ),
    ),
    Figure(
        "phi-fig4",
        "phi, Fig. 4",
        "All divergences improve with more contexts, up to 100.",
        _fig4,
        _FIG4_CLAIMS,
        guesses=(f"{RADII_ITERATIONS} iterations", *_COMMON, "p_t, the histogram of earlier years"),
    ),
    Figure(
        "phi-fig5",
        "phi, Fig. 5",
        "TV and chi2 typically obtain better performance than KL.",
        _fig5,
        _FIG5_CLAIMS,
        guesses=(
            f"{ITERATIONS} iterations",
            *_COMMON[:2],
            "the functions",
            "lambda in standard deviations of the function",
        ),
    ),
    Figure(
        "phi-fig7",
        "phi, Fig. 7",
        "As Fig. 1, on Branin, Goldstein-Price (solutions differ) and the six-hump camel function (they coincide).",
        _fig7,
        _radii_claims("App. 9.1, Fig. 7"),
        draw=draw_panels,
        guesses=(f"{RADII_ITERATIONS} iterations", *_COMMON[:2], _BALL),
    ),
    Table(
        "phi-fig2",
        "phi, Fig. 2",
        "chi2 and TV take similar time per iteration, MMD five times as much with five inputs and ten with six.",
        run_times,
        draw_times,
        guesses=("Ackley functions", f"{TIMED_OBSERVATIONS} observations", *_COMMON[::2]),
    ),
    Table("phi-fig6", "phi, Fig. 6", "The adaptive radii tend to 0.", radii, draw_radii),
)
