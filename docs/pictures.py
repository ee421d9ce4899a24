"""Makes the pictures of the README and of the documentation: `make pictures`.

Needs Chromium for what is seen on a screen.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console

import allweather as aw
from allweather.cli import newsvendor
from allweather.plots import absent_figures

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


def chromium() -> str:
    """The system's browser."""
    found = [path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))]
    if not found:
        sys.exit("no Chromium here: apt-get install chromium")
    return found[0]


def stall() -> aw.Study:
    """The newsvendor of the demo, without its truth."""
    space = aw.Space(order=aw.Real(0, 100), demand=aw.Context(0, 100))
    study = aw.Study(space, objective=aw.DRO(aw.TotalVariation(0.4)), seed=7, name="kiosk")
    rng = np.random.default_rng(7)
    for _ in range(30):
        trial = study.ask()
        order, demand = float(trial.decision["order"]), float(100 * rng.beta(2, 6))
        profit = 9 * min(order, demand) + max(0.0, order - demand) - 5 * order
        study.tell(trial, profit + rng.standard_normal(), context={"demand": demand})
    return study


def farm() -> aw.Study:
    """A greenhouse that can pay to control the light."""
    sets = aw.Control({"ph": 1, "light": 1, ("ph", "light"): 3}, budget=40)
    study = aw.Study(aw.Space(ph=aw.Real(4, 9), light=aw.Real(0, 1)), control=sets, context=aw.Uniform(), seed=3)
    rng = np.random.default_rng(1)
    for _ in range(16):
        trial = study.ask()
        left = {name: float(rng.uniform(4, 9) if name == "ph" else rng.random()) for name in trial.left}
        row = {**trial.decision, **left}
        growth = -abs(float(row["ph"]) - 6) + 4 * float(row["light"]) * (1 - float(row["light"]))
        study.tell(trial, growth, context=left)
    return study


def reactor() -> aw.Study:
    """Batches with a yield, the hours that they take, and a limit on their purity."""
    space = aw.Space(heat=aw.Real(60, 100, unit="C"), time=aw.Real(1, 5, unit="h"), feed=aw.Context(0, 1))
    wanted = {"yield": aw.Maximize(), "hours": aw.Minimize(), "purity": aw.AtLeast(0.9, probability=0.9)}
    study = aw.Study(space, outcomes=wanted, context=aw.KDE(samples=128), seed=4)
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(24):
        heat, time, feed = float(rng.uniform(60, 100)), float(rng.uniform(1, 5)), float(rng.beta(4, 2))
        warm, long = (heat - 60) / 40, (time - 1) / 4
        spoilt = 0.25 * warm**2 * long * (1.5 - feed) + 0.1 * warm
        made = 1 - np.exp(-np.exp(3 * (warm - 0.5)) * (0.7 + 0.6 * feed) * (0.5 + 2 * long))
        gained = {"yield": float(100 * made * (1 - spoilt)), "hours": time + 0.5 * warm, "purity": 1 - spoilt}
        rows.append({"heat": heat, "time": time, "feed": feed, **gained})
    study.add(rows)
    return study


def campaign() -> object:
    """Three methods on the newsvendor, four seeds."""
    from allweather.benchmark import Campaign

    return Campaign(["newsvendor"], ["drbo-kde", "sbo-kde", "random"], range(4), iterations=20).execute(progress=False)


def figures(browser: Browser) -> None:
    """Every figure as it is seen on a screen."""
    study = stall()
    without = absent_figures(study.spec.fields, controlled=False, contexts=True)
    drawn = {name: draw(study) for name, draw in aw.plots.STUDY_FIGURES.items() if name not in without}
    drawn["control_sets"] = aw.plots.control_sets(farm())
    several = reactor()
    drawn |= {name: aw.plots.STUDY_FIGURES[name](several) for name in ("feasibility", "limits", "front")}
    drawn["policy"] = aw.plots.policy(study, [{"demand": demand} for demand in (10, 20, 30, 40, 50)])
    drawn["comparison"] = aw.plots.comparison(campaign())
    with tempfile.TemporaryDirectory() as folder:
        for name, picture in drawn.items():
            page = browser.new_page(viewport={"width": 960, "height": int(picture.plotly().layout.height) + 16})
            page.goto(f"file://{picture.save(Path(folder) / f'{name}.html')}")
            page.wait_for_selector(".main-svg")
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()
        aw.plots.write_report(study, Path(folder) / "report.html")
        for name, width, height in (("report", 960, 1200), ("report-phone", 390, 1800)):
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(f"file://{folder}/report.html")
            page.wait_for_selector(".main-svg")
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()


def demo() -> None:
    """The picture that `allweather demo` draws."""
    with tempfile.TemporaryDirectory() as folder:
        newsvendor.tell(Console(), Path(folder), 40)
        shutil.copy(Path(folder) / "newsvendor.png", IMAGES / "demo.png")


def main() -> None:
    """All of them."""
    torch.set_num_threads(1)
    IMAGES.mkdir(exist_ok=True)
    demo()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        figures(browser)
        browser.close()
    for path in sorted(IMAGES.glob("*.png")):
        print(path.relative_to(ROOT), f"{path.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
