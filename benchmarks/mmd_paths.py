"""What each way to a worst case within an MMD ball saves: CPU time with one of them switched off, over that with all.

Each is switched off in turn, for 8 to 1024 contexts and three kernels, where worst cases are used: one decision at a
time with its gradient, many decisions at once, inside an `ask`, among listed decisions by Thompson sampling, in robust
satisficing, and in draws of the objective.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any
from unittest.mock import patch

import torch
from rich.table import Table
from torch import Tensor

import allweather as aw
from allweather._utils.matern import Matern
from allweather._utils.timing import threads
from allweather.distances.base import Distance
from allweather.distances.mmd import ball as kernel_ball
from allweather.distances.mmd import interior, mmd, worst_case
from benchmarks.objectives import SPACE, rows
from benchmarks.stored_tables import show
from benchmarks.worst_cases import SQUARE

DECISIONS = 400
SLOWEST = 6
"""A run is stopped at this multiple of what it takes with all ways."""
SHORTEST = 0.06
"""Seconds that a measurement takes at least."""
Task = Callable[[], Tensor]
MATERN = Matern.named("matern52")


def _product(these: Tensor, those: Tensor) -> Tensor:
    """A product of one-dimensional Matern kernels, as the surrogate has between contexts."""
    columns = zip(these.T, those.T, strict=True)
    return torch.stack([MATERN.of_distances((a[:, None] - b).abs() / 0.3) for a, b in columns]).prod(0)


KERNELS: dict[str, dict[str, Any]] = {"rbf .1": {"lengthscale": 0.1}, "rbf median": {}, "matern": {"kernel": _product}}


def _nothing(*_: Any) -> None:
    return None


def _relaxed(search: worst_case._Search) -> None:
    settle = search._settle
    search._settle = _nothing  # type: ignore[method-assign]
    _FULL(search)
    search._settle = settle  # type: ignore[method-assign]


def _dense(ball: kernel_ball.KernelBall, diagonal: Tensor) -> kernel_ball.Solver:
    root = kernel_ball.cholesky(ball.gram + torch.diag_embed(diagonal))
    return lambda *b: list(torch.cholesky_solve(torch.stack(b, -1), root).unbind(-1))


_FULL = worst_case._Search._full_support
OFF: dict[str, Callable[[], list[Any]]] = {
    "closed form of full support": lambda: [patch.object(worst_case._Search, "_full_support", _relaxed)],
    "point mass": lambda: [patch.object(worst_case._Search, "_point_mass", _nothing)],
    "straight line": lambda: [patch.object(worst_case._Search, "_straight_line", _nothing)],
    "similar supports": lambda: [patch.object(worst_case, "MAX_WARM_DECISIONS", -1)],
    "changing supports": lambda: [patch.object(worst_case._Search, "_changing_supports", _nothing)],
    "few contexts": lambda: [patch.object(worst_case, "worth_few", lambda values: False)],
    "support guessed on the way": lambda: [
        patch.object(
            interior.Step,
            "promising",
            lambda step, ball: (step.gap < 1e-10).squeeze(-1).nonzero().squeeze(-1),
        )
    ],
    "Newton step of low rank": lambda: [patch.object(kernel_ball.KernelBall, "factor", _dense)],
    "pairs of columns": lambda: [patch.object(kernel_ball, "MAX_PAIR_ENTRIES", 0)],
    "products of low rank": lambda: [patch.object(kernel_ball.KernelBall, "_root", None)],
    "few axes": lambda: [patch.object(kernel_ball, "_few_axes", _nothing)],
    "inverse on supports": lambda: [
        patch.object(
            kernel_ball.KernelBall,
            "_solve_on",
            lambda ball, support, sides: kernel_ball._Blocks(ball.gram, support).solve(sides),
        )
    ],
    "bounds": lambda: [patch.object(mmd.MMD, "ceiling", Distance.ceiling)],
    "quadratic programs of satisficing": lambda: [
        patch.object(mmd.MMD, "fragility", Distance.fragility),
        patch.object(mmd.MMD, "fragilities", Distance.fragilities),
    ],
}
WHOLE = aw.Space(a=aw.Integer(0, 30), b=aw.Integer(0, 30), u=aw.Context(0, 1), v=aw.Context(0, 1))


def reference(size: int) -> aw.Reference:
    """Contexts around the middle of a square, or a grid of 64, with unequal weights."""
    source = torch.Generator().manual_seed(3)
    points = SQUARE
    if size != len(SQUARE):
        points = (0.5 + 0.15 * torch.randn(size, 2, generator=source, dtype=torch.float64)).clamp(0, 1)
    weights = torch.rand(size, generator=source, dtype=torch.float64)
    return aw.Reference.checked(points.clone(), weights / weights.sum())


def functions(points: Tensor, count: int) -> Tensor:
    """Values (count, n) of a smooth function of decisions and contexts."""
    source = torch.Generator().manual_seed(4)
    x = torch.rand(count, 2, generator=source, dtype=torch.float64)
    apart = torch.stack([(x[:, :1] - points[:, 0]).square(), (x[:, 1:] - points[:, 1]).square()]).sum(0)
    return 0.3 * torch.sin(5 * x[:, :1] * points[:, 1]) - apart


def single(kernel: str, size: int, radius: float) -> Task:
    """One decision at a time, with the gradient."""
    known = reference(size)
    values = functions(known.points, 6)
    distance = aw.MMD(radius, **KERNELS[kernel])

    def run() -> Tensor:
        found = []
        for row in values:
            f = row[None].clone().requires_grad_()
            worst = distance.worst_case(f, known)
            torch.autograd.grad(worst.value.sum(), f)
            found.append(worst.value.detach())
        return torch.cat(found)

    return run


def many(kernel: str, size: int, radius: float) -> Task:
    """All decisions at once."""
    known = reference(size)
    values = functions(known.points, DECISIONS)
    distance = aw.MMD(radius, **KERNELS[kernel])
    return lambda: distance.worst_case(values, known).value


def study(space: aw.Space, size: int, objective: aw.Objective, acquisition: aw.Acquisition | None = None) -> aw.Study:
    """Thirty trials."""
    made = aw.Study(space, context=aw.KDE(size), objective=objective, acquisition=acquisition, seed=1)
    whole = {"a", "b"} if space is WHOLE else set()
    made.add([{name: round(30 * x) if name in whole else x for name, x in row.items()} for row in rows(30)])
    return made


def _distance(kernel: str, radius: float) -> aw.MMD:
    return aw.MMD(radius, **({"kernel": "surrogate"} if kernel == "matern" else KERNELS[kernel]))


def _decision(made: aw.Study) -> Tensor:
    decision = made.ask().decision
    return torch.tensor([float(decision["a"]), float(decision["b"])])


def ask(kernel: str, size: int, radius: float) -> Task:
    """The next trial."""
    return lambda: _decision(study(SPACE, size, aw.DRO(_distance(kernel, radius))))


def listed(kernel: str, size: int, radius: float) -> Task:
    """The next trial among 961 decisions, by Thompson sampling."""
    return lambda: _decision(study(WHOLE, size, aw.General(1.0, 0.5, _distance(kernel, radius)), aw.Thompson()))


def satisficing(kernel: str, size: int, radius: float) -> Task:
    """The next trial of robust satisficing."""
    return lambda: _decision(study(SPACE, size, aw.RobustSatisficing(-0.2, _distance(kernel, radius))))


def draws(kernel: str, size: int, radius: float) -> Task:
    """The objectives of 20 decisions, from 257 draws of each."""
    places = [{"a": (k % 5) / 4, "b": (k // 5) / 3} for k in range(20)]
    view = study(SPACE, size, aw.DRO(_distance(kernel, radius))).outlook()

    def run() -> Tensor:
        view.objectives(places)
        return torch.zeros(1)

    return run


TASKS: dict[str, tuple[Callable[[str, int, float], Task], Sequence[int], Sequence[str], Sequence[float]]] = {
    "single": (single, (8, 64, 256, 1024), [*KERNELS], (0.1, 1.2)),
    "many": (many, (8, 64, 256), [*KERNELS], (0.1, 1.2)),
    "ask": (ask, (8, 64, 256), ["rbf .1", "rbf median", "matern"], (0.1,)),
    "listed": (listed, (8, 64), ["rbf .1", "rbf median"], (0.1,)),
    "satisficing": (satisficing, (64,), ["rbf .1", "rbf median"], (0.1,)),
    "draws": (draws, (1024,), ["rbf median"], (0.1,)),
}
"""What is timed, for which sizes, kernels and radii."""


class Slow(Exception):
    """The run was stopped."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stop what takes more CPU time."""

    def stop(*_: Any) -> None:
        raise Slow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def timed(task: Task, limit: float = 60.0) -> tuple[float, Tensor | None]:
    """CPU seconds, and the result; what is short is repeated, since the clock is coarse."""
    started, runs, found = time.process_time(), 0, None
    try:
        with limited(limit):
            while not runs or time.process_time() - started < SHORTEST:
                mmd._BALLS.clear()
                found = task()
                runs += 1
    except Slow:
        runs = max(runs, 1)
    return (time.process_time() - started) / runs, found


def compared(task: Task, off: Sequence[str]) -> dict[str, tuple[float, float]]:
    """How much more time the task takes with each way off, and how much its result changes."""
    task()
    times = [timed(task)[0]]
    expected = timed(task)[1]
    repeats = 2 if times[0] < 0.2 else 1
    found: dict[str, list[float]] = {name: [] for name in off}
    changes = dict.fromkeys(off, 0.0)
    for _ in range(repeats):
        for name in off:
            with_patches = OFF[name]()
            for each in with_patches:
                each.start()
            try:
                seconds, value = timed(task, SLOWEST * max(min(times), SHORTEST) + 0.2)
            finally:
                for each in with_patches:
                    each.stop()
            found[name].append(seconds)
            if value is not None and expected is not None:
                changes[name] = max(changes[name], (value - expected).abs().max().item())
        times.append(timed(task)[0])
    return {name: (min(found[name]) / min(times), changes[name]) for name in off}


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks mmd_paths", description=__doc__)
    parser.add_argument("--sizes", nargs="*", type=int, help="only these of a task's numbers of contexts")
    parser.add_argument("--tasks", nargs="*", default=[*TASKS], choices=[*TASKS])
    parser.add_argument("--paths", nargs="*", default=[*OFF], choices=[*OFF])
    chosen = parser.parse_args(arguments)
    cells: dict[tuple[str, str], list[tuple[float, float, str]]] = {}
    with threads(1):
        for name in chosen.tasks:
            build, sizes, kernels, radii = TASKS[name]
            sizes = [size for size in sizes if chosen.sizes is None or size in chosen.sizes]
            for kernel, size, radius in product(kernels, sizes, radii):
                started = time.process_time()
                off = [path for path in chosen.paths if applies(path, name)]
                for path, (ratio, change) in compared(build(kernel, size, radius), off).items():
                    where = f"{size} contexts, {kernel}, radius {radius:g}"
                    cells.setdefault((path, name), []).append((ratio, change, where))
                    if ratio > 1.1 or ratio < 0.9:
                        print(f"{name:12} {path:32} {where:40} {ratio:6.2f} {change:.1e}", flush=True)
                print(f"-- {name} {kernel} {size} {radius}: {time.process_time() - started:.1f} s", flush=True)
    title = "CPU time with one way switched off, in units of that with all: the largest, and the median"
    table = Table(title=title)
    for column in ("without", *chosen.tasks, "largest for"):
        table.add_column(column, justify="left" if column in ("without", "largest for") else "right")
    for path in chosen.paths:
        of_path = [cells.get((path, name), []) for name in chosen.tasks]
        most = max((cell for each in of_path for cell in each), default=None)
        table.add_row(path, *(_cell(each) for each in of_path), "" if most is None else most[2])
    show("mmd_paths", table, 180)


def applies(path: str, task: str) -> bool:
    """Whether a way can be met with in a task."""
    if path == "bounds":
        return task == "listed"
    if path == "quadratic programs of satisficing":
        return task == "satisficing"
    return True


def _cell(found: list[tuple[float, float, str]]) -> str:
    if not found:
        return ""
    ratios = sorted(each[0] for each in found)
    most = f"above {SLOWEST}x" if ratios[-1] > SLOWEST else f"{ratios[-1]:.1f}x"
    return f"{most}, {ratios[len(ratios) // 2]:.1f}x"
