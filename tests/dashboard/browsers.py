"""A real browser, and a watch on what it asks for and complains about."""

import shutil
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_MILLISECONDS = 30_000
"""Milliseconds that anything may take."""


@contextmanager
def launched():
    """Chromium, if this machine has it."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip(f"no browser here ({', '.join(NAMES)}): `apt install chromium` brings one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def watched(browser, allowed=(), **options):
    """A page of its own; it must have asked this machine only, and have complained of nothing.

    Args:
        browser: that opens it.
        allowed: what it may complain of.
        **options: of the browser's context.
    """
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(TIMEOUT_MILLISECONDS)
    page, asked, complaints = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}") or dialog.dismiss())
    yield page
    context.close()
    elsewhere = [url for url in asked if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))]
    assert not elsewhere
    unexpected = [each for each in complaints if not any(word in each for word in allowed)]
    assert not unexpected, unexpected


def drawn(page, name, times=1):
    """Wait until a figure was drawn so many times; what Plotly shows then."""
    figure = page.locator(f"#figure-{name}")
    figure.scroll_into_view_if_needed()
    page.wait_for_function(
        "([id, times]) => Number(document.getElementById(id).dataset.drawn || 0) >= times",
        arg=[f"figure-{name}", times],
    )
    return figure.locator(".plot").evaluate("plot => JSON.stringify(plot.data)")
