"""A study of 5,000 trials beside one of 50: its page needs no more work, also while the study computes."""

import re
import time
from contextlib import contextmanager

import httpx
import pytest
from tests.dashboard.browsers import launched, watched
from tests.dashboard.served import fed, serving
from tests.warm import program

from allweather.storage import Journal

LARGE, SMALL = 5000, 50
ROW = {"order": 20, "demand": 30, "value": 80}
PARTS = ("", "/pulse?seen=1", "/pending", "/trials?state=complete&page=2", "/trials/7")
COUNT = "() => document.querySelectorAll('*').length"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('large')}/studies.db"
    fed(url, SMALL, "small")
    fed(url, LARGE, "large")
    return url


@pytest.fixture(scope="module")
def address(url):
    """A server in a process of its own, which takes its computations with it when it ends."""
    with program("-m", "allweather.cli", "dashboard", "--storage", url, "--port", "0", quiet=False) as process:
        yield re.search(r"http://\S+", process.stdout.readline()).group(0).rstrip("/")


@contextmanager
def timed(seconds):
    started = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - started)


def length_of(client, name):
    """Bytes of all parts of a study's page."""
    answers = [client.get(f"/studies/{name}{part}", headers={"hx-request": "true"} if part else {}) for part in PARTS]
    assert all(answer.status_code == 200 for answer in answers)
    return sum(len(answer.content) for answer in answers)


def test_the_page_of_a_large_study_takes_no_more_work_than_that_of_a_small_one(url, monkeypatch, record_property):
    read, original = [], Journal.read

    def counted(journal, after=0, trial=None):
        found = original(journal, after, trial)
        read.extend(found)
        return found

    monkeypatch.setattr(Journal, "read", counted)
    with serving(url) as server, server.client() as client:
        short = length_of(client, "small")
        small = len(read)
        with timed(first := []):
            client.get("/studies/large")
        large = len(read) - small
        with timed(usual := []):
            long = length_of(client, "large")
        again = len(read) - small - large
    record_property(
        "throughput",
        f"page of {LARGE} trials: opened first in {1000 * first[0]:.0f} ms, then all its parts in "
        f"{1000 * usual[0]:.0f} ms, {long / 1000:.0f} kB; of {SMALL} trials {short / 1000:.0f} kB",
    )
    assert long < 1.2 * short
    assert (small, large) == (2 * SMALL, 2 * LARGE)  # each event is read once
    assert again == 0


def test_a_large_study_stays_responsive_in_the_browser_while_it_computes(address, record_property):
    taken, elements = {}, {}
    with launched() as browser:
        for name in ("small", "large"):
            with watched(browser) as page, timed(taken.setdefault(name, [])):
                page.goto(f"{address}/studies/{name}")
                page.locator("#trials tbody tr").first.wait_for()
                elements[name] = page.evaluate(COUNT)
        with watched(browser) as page:
            page.goto(f"{address}/studies/large")
            page.get_by_text("the first recommendation may take more than a minute").wait_for()
            with timed(taken.setdefault("filter", [])):
                page.locator("#filters").get_by_label("Contains").fill("4999")
                page.get_by_text("1 trial", exact=True).wait_for()
            assert page.locator(".computing").is_visible()  # the recommendation is still being computed
            with httpx.Client(base_url=address, timeout=60) as client:
                assert client.post("/api/v1/studies/large/trials", json={"rows": [ROW]}).status_code == 201
            with timed(taken.setdefault("news", [])):
                page.locator("#summary", has_text=f"{LARGE + 1} complete").wait_for()
            assert page.locator(".computing").is_visible()
    said = ", ".join(f"{name} {1000 * each[0]:.0f} ms" for name, each in taken.items())
    record_property("throughput", f"in the browser, while {LARGE} trials are fitted: {said}")
    assert elements["large"] < 1.5 * elements["small"]


def test_small_studies_do_not_wait_for_large_ones(address, record_property):
    here = "/api/v1/studies/large/recommendation"
    with httpx.Client(base_url=address, timeout=60) as client, httpx.Client(base_url=address, timeout=60) as other:
        client.post("/api/v1/studies/large/trials", json={"rows": [ROW]})  # what was fitted before is of no use
        with pytest.raises(httpx.ReadTimeout):  # it computes on, although its client has disconnected
            other.get(here, timeout=0.5)
        with timed(taken := []):
            assert client.get("/api/v1/studies/small/figures/profile").status_code == 200
        with pytest.raises(httpx.ReadTimeout):  # and is still not done
            other.get(here, timeout=0.5)
    record_property("throughput", f"a figure of {SMALL} trials meanwhile: {1000 * taken[0]:.0f} ms")
