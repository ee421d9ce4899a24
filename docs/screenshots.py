"""Pictures of every page of the dashboard, made again by `python docs/screenshots.py`."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from allweather.dashboard import ServerConfig, create_app
from allweather.study import Spec, Study

PORT = 8097
TOKEN = "only-for-the-pictures-of-the-docs"
KIOSK = """
name = "kiosk"
seed = 7
objective = { name = "dro", distance = { name = "tv", radius = 0.2 } }

[variables]
order = { lower = 0, upper = 100 }
demand = { lower = 0, upper = 100, context = true }
"""
FARM = """
name = "farm"
seed = 3
initial = 6

[control]
sets = [{ variables = ["ph"], cost = 1 }, { variables = ["ph", "light"], cost = 3 }]
budget = 60

[variables]
ph = { lower = 4, upper = 9 }
light = { lower = 0, upper = 1 }
rain = { lower = 0, upper = 1, context = true }
"""
WIDTHS = {"wide": (1280, 900), "phone": (390, 844)}
TIMEOUT_MILLISECONDS = 600_000
"""Milliseconds that a figure may take, on a busy machine."""


def fill(storage: str) -> None:
    """Two studies to look at, with trials that wait for their outcome."""
    chance = random.Random(1)
    kiosk = Study.from_spec(Spec.from_toml(KIOSK), storage)
    for _ in range(28):
        trial, demand = kiosk.ask(), min(max(chance.gauss(45, 14), 0), 100)
        order = trial.decision["order"]
        kiosk.tell(trial, 9 * min(order, demand) - 5 * order + chance.gauss(0, 4), context={"demand": demand})
    kiosk.ask()
    farm = Study.from_spec(Spec.from_toml(FARM), storage)
    for _ in range(14):
        trial = farm.ask()
        row = {"light": chance.random(), "rain": chance.betavariate(2, 3), **trial.decision}
        outcome = 10 - 2 * abs(row["ph"] - 6.2) - 3 * abs(row["light"] - row["rain"]) + chance.gauss(0, 0.2)
        farm.tell(trial, outcome, context={name: row[name] for name in trial.left})


@contextmanager
def serving(storage: str, token: str | None = None) -> Iterator[str]:
    """The dashboard, answering."""
    app = create_app(storage, ServerConfig(port=PORT, token=token))
    server = uvicorn.Server(uvicorn.Config(app, port=PORT, log_level="warning", ws="none", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{PORT}"
    server.should_exit = True
    thread.join()


def pages(folder: str | Path, storage: str) -> list[Path]:
    """A picture of every page, wide and on a phone.

    Args:
        folder: where the pictures go.
        storage: a database with the studies `kiosk` and `farm`.
    """
    made: list[Path] = []
    Path(folder).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, size in WIDTHS.items():
            with serving(storage) as address:
                made += [_taken(browser, size, address, Path(folder), name, each) for each in PAGES]
            with serving(storage, TOKEN) as address:
                made.append(_taken(browser, size, address, Path(folder), name, "login"))
        browser.close()
    return made


def _taken(browser: Browser, size: tuple[int, int], address: str, folder: Path, width: str, which: str) -> Path:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    context.set_default_timeout(TIMEOUT_MILLISECONDS)
    page = context.new_page()
    page.goto(address + PAGES.get(which, "/login"))
    _settled(page, which)
    target = folder / f"dashboard-{which}-{width}.png"
    page.screenshot(path=target, full_page=which != "api")
    context.close()
    _squeezed(target)
    return target


PAGES = {
    "study": "/studies/kiosk",
    "control": "/studies/farm",
    "trials": "/studies/kiosk/trials",
    "trial": "/studies/kiosk/trials/3",
    "recommendation": "/studies/kiosk/recommendation",
    "api": "/api/docs",
    "new": "/new",
    "add": "/studies/kiosk/add",
    "studies": "/",
}
"""The list of studies comes last, when their recommendations have been computed."""


def _settled(page: Page, which: str) -> None:
    """Wait until everything on the page is drawn."""
    if which not in ("study", "control"):
        return
    page.locator(".computed").wait_for()
    for figure in page.locator(".figure").all():
        figure.scroll_into_view_if_needed()
        page.locator(f"#{figure.get_attribute('id')}:is([data-drawn], [data-failed])").wait_for()
    page.evaluate("window.scrollTo(0, 0)")


def _squeezed(path: Path) -> None:
    """A picture of few colours takes a third of the room."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


if __name__ == "__main__":
    images = Path(__file__).resolve().parent / "images"
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)  # the pages show the database's address
        fill("sqlite:///studies.db")
        pages(images, "sqlite:///studies.db")
