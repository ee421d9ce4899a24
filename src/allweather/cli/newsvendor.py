"""The story of `demo`: a stall must order before it knows the day's demand, and learns from each day what to order.

A kilolitre costs 5, sells for 9, and what is left over brings 1 (papers kde, Sec. 4.2). Demand follows a Burr law
that the stall does not know: it sees one demand a day, and what it earned. The study learns the law and the profit
together, and looks for the order that still earns well when next month's demand is not quite this month's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.stats
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import allweather as aw
from allweather._utils.installation import install_command

SHIFT, SEED = 0.4, 7
LAW = scipy.stats.burr12(2, 20)
SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "0.55"


def profit(order: np.ndarray | float, demand: np.ndarray | float) -> np.ndarray:
    """Sales at 9, leftovers at 1, purchase at 5."""
    return np.asarray(9 * np.minimum(order, demand) + np.maximum(0, order - demand) - 5 * np.asarray(order))


class Truth:
    """What the stall does not know: its mean profit under the true law, and under the worst shift of it."""

    def __init__(self) -> None:
        self.demand = LAW.ppf((np.arange(4096) + 0.5) / 4096).clip(0, 1)
        self.weights = np.full(4096, 1 / 4096)
        self.orders = np.linspace(0, 0.5, 501)

    def mean(self, order: float) -> float:
        """Mean profit a day."""
        return float(profit(order, self.demand).mean())

    def shifted(self, order: float) -> float:
        """Mean profit a day when demand shifts against the order, by `SHIFT` in total variation."""
        return float(aw.worst_case(profit(order, self.demand), self.weights, aw.TotalVariation(SHIFT)).value)

    def best(self, earns: Callable[[float], float]) -> float:
        """The order that earns most."""
        return float(max(self.orders.tolist(), key=earns))


def run(console: Console, folder: Path, count: int) -> aw.Study:
    """Some days, one order each, written down before each answer: stopped and started again, it goes on.

    Args:
        console: that shows the progress.
        folder: of the database.
        count: how many days.
    """
    folder.mkdir(exist_ok=True, parents=True)
    storage = f"sqlite:///{folder / 'newsvendor.db'}"
    study = aw.Study(SPACE, objective=aw.DRO(aw.TotalVariation(SHIFT)), seed=SEED, storage=storage, name="stall")
    rng = np.random.default_rng(SEED)
    said, left = TextColumn("{task.description}"), TimeRemainingColumn()
    progress = Progress(TextColumn("day"), MofNCompleteColumn(), BarColumn(), said, left, console=console)
    with progress:
        days = progress.add_task("", total=count)
        before = study.trials()
        asked = before["order"].tolist()
        for day in range(count):
            demand, luck = float(np.clip(LAW.rvs(random_state=rng), 0, 1)), rng.standard_normal()
            if day < len(before) and before.loc[day, "state"] == "complete":
                progress.update(days, advance=1, description="known from an earlier run")
                continue
            order = float(asked[day] if day < len(asked) else study.ask().decision["order"])
            earned = float(profit(order, demand)) + 0.02 * luck
            study.tell(day, earned, context={"demand": demand})
            today = f"ordered {order:.3f}, demand {demand:.3f}, earned {earned:+.3f}"
            progress.update(days, advance=1, description=today)
    return study


def tell(console: Console, folder: Path, count: int) -> aw.Recommendation:
    """Run the study, say what it found, and draw it.

    Args:
        console: that the story is printed on.
        folder: for the database, the figure and the report.
        count: how many days.

    Returns:
        What the stall is recommended to order.
    """
    console.print("A stall orders each morning and sees the demand each evening. It does not know the law of demand.")
    started = time.perf_counter()
    study = run(console, folder, count)
    robust = study.recommend()
    nominal = study.recommend(objective=aw.Expectation())
    seconds = time.perf_counter() - started

    truth = Truth()
    order, bold = float(robust.decision["order"]), float(nominal.decision["order"])
    best, steadiest = truth.best(truth.mean), truth.best(truth.shifted)
    console.print(
        f"\nAfter {count} days: order [bold]{order:.3f}[/] kilolitres. It earns [bold]{truth.mean(order):.3f}[/] a day "
        f"on average and still [bold]{truth.shifted(order):.3f}[/] if demand shifts against it on one day in five."
    )
    console.print(
        f"The true optimum under such a shift is {steadiest:.3f}: it earns {truth.mean(steadiest):.3f} a day without "
        f"the shift and {truth.shifted(steadiest):.3f} with it. The best order without a shift is {best:.3f}: it earns "
        f"{truth.mean(best):.3f} without the shift and {truth.shifted(best):.3f} with it."
    )
    console.print(
        f"The stall, which knows nothing but its {count} days, expects {robust.expected:.3f} of it, and "
        f"{robust.value:.3f} after such a shift of what it learned. "
        f"Without robustness it would have ordered {bold:.3f}."
    )
    console.print(f"{count} decisions took {seconds:.1f} s. The study is kept:")
    console.print(f"  allweather dashboard --storage sqlite:///{folder}/newsvendor.db", soft_wrap=True)
    try:
        import jinja2
        import matplotlib
        import plotly
    except ImportError as missing:
        console.print(f"A figure and a report need {missing.name}:\n  {install_command('plots')}", soft_wrap=True)
        return robust
    _ = jinja2, plotly
    matplotlib.use("agg")
    console.print(f"The figure is [bold]{draw(study, robust, truth, folder / 'newsvendor.png')}[/].")
    report = aw.plots.write_report(study, folder / "report.html")
    console.print(f"The report, to open in a browser or to send to a colleague, is [bold]{report}[/].")
    return robust


def draw(study: aw.Study, robust: aw.Recommendation, truth: Truth, path: Path) -> Path:
    """Draw what is believed about demand, how orders fare, and how the recommended one falls as demand shifts.

    Args:
        study: of the stall.
        robust: what it recommends.
        truth: what it does not know.
        path: of the figure.
    """
    import matplotlib.pyplot as plt

    figure, (belief, orders, falling) = plt.subplots(1, 3, figsize=(15, 4.2), layout="constrained")
    trials, order = study.trials(), float(robust.decision["order"])
    grid = np.linspace(0, 0.6, 301)

    edges = np.linspace(0, 0.6, 31)
    worst = robust.worst
    weights = 30 / 0.6 * worst[["believed", "worst"]]
    belief.hist(worst["demand"], edges, weights=weights["believed"], color=BLUE, alpha=0.4, label="learned")
    shifted = "worst within the radius"
    belief.hist(worst["demand"], edges, weights=weights["worst"], histtype="step", color=ORANGE, label=shifted)
    belief.plot(grid, LAW.pdf(grid), color="black", label="true law")
    belief.plot(trials["demand"], np.full(len(trials), -0.15), "|", color=GREY, label="days seen")
    belief.set(
        title="Demand: learned, true, and shifted against the order", xlabel="demand (kilolitres)", ylabel="density"
    )

    orders.plot(grid, [truth.mean(o) for o in grid], color="black", label="true mean")
    orders.plot(
        grid, [truth.shifted(o) for o in grid], color="black", linestyle="--", label="true mean after the shift"
    )
    orders.plot(trials["order"], trials["value"], ".", color=GREY, label="days")
    orders.axvline(order, color=ORANGE, label=f"recommended, {order:.3f}")
    orders.set(
        title="Profit of an order", xlabel="order (kilolitres)", ylabel="profit a day", ylim=(-0.8, 1.0), xlim=(0, 0.6)
    )

    falling.plot(robust.curve["radius"], robust.curve["value"], color=ORANGE, label="recommended, as learned")
    radii = np.linspace(0, 1.2, 25)
    for chosen, colour, label in (
        (order, BLUE, "recommended, true"),
        (truth.best(truth.mean), GREEN, "best without shift, true"),
    ):
        values = profit(chosen, truth.demand)
        curve = [float(aw.worst_case(values, truth.weights, aw.TotalVariation(radius)).value) for radius in radii]
        falling.plot(radii, curve, color=colour, label=label)
    falling.axvline(SHIFT, color=GREY, linestyle=":", label="radius of the study")
    falling.set(
        title="Mean profit when demand shifts by a radius", xlabel="radius (total variation)", ylabel="profit a day"
    )

    for axis in (belief, orders, falling):
        axis.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
    return path
