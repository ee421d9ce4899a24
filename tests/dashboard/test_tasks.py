"""Who asks, tells or reads never waits for a figure, nor readers for a database that is being written."""

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.dashboard.served import fed, serving

from allweather import plots

ROOT = "/api/v1/studies/kiosk"


class Slow:
    """A figure that is drawn when it is let, and counts how often it was begun."""

    def __init__(self):
        self.begun, self.go, self.times = threading.Event(), threading.Event(), 0

    def __call__(self, study, objective=None):
        self.times += 1
        self.begun.set()
        assert self.go.wait(30)
        return plots.STUDY_FIGURES["progress"](study, objective=objective)


@pytest.fixture
def slow(monkeypatch):
    figure = Slow()
    monkeypatch.setattr(plots, "STUDY_FIGURES", {**plots.STUDY_FIGURES, "profile": figure})
    yield figure
    figure.go.set()


def test_nobody_but_figures_waits_for_a_figure(client, slow):
    with ThreadPoolExecutor(1) as other:
        drawn = other.submit(client.get, f"{ROOT}/figures/profile")
        assert slow.begun.wait(20)
        (trial,) = client.post(f"{ROOT}/ask", json={}).json()["trials"]
        told = client.post(f"{ROOT}/trials/{trial['number']}/tell", json={"values": [3], "context": {"demand": 4}})
        assert told.json()["state"] == "complete"
        assert client.get(f"{ROOT}/recommendation").status_code == 200
        assert not drawn.done()
        slow.go.set()
        assert drawn.result().status_code == 200


def test_a_figure_whose_reader_left_while_waiting_is_never_begun(client, slow):
    with ThreadPoolExecutor(1) as other:
        drawn = other.submit(client.get, f"{ROOT}/figures/profile")
        assert slow.begun.wait(20)
        for level in (0.1, 0.2, 0.3):
            with pytest.raises(httpx.ReadTimeout):
                client.get(f"{ROOT}/figures/profile", params={"objective": "cvar", "level": level}, timeout=0.3)
        slow.go.set()
        assert drawn.result().status_code == 200
    assert client.get(f"{ROOT}/figures/progress").status_code == 200
    assert slow.times == 1


def test_while_the_database_is_locked_everything_can_still_be_read(url, tmp_path):
    fed(url, 5)
    with serving(url) as server, server.client() as client:
        number = client.post(f"{ROOT}/ask", json={}).json()["trials"][0]["number"]
    with serving(url) as server, server.client() as client, ThreadPoolExecutor(1) as other:
        writer = sqlite3.connect(f"{tmp_path}/studies.db", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        assert client.get("/studies/kiosk").status_code == 200  # its first view
        told = {"values": [3], "context": {"demand": 4}}
        telling = other.submit(client.post, f"{ROOT}/trials/{number}/tell", json=told)
        time.sleep(0.3)
        for place in ("/", "/studies/kiosk", "/studies/kiosk/pulse?seen=1"):
            assert client.get(place).status_code == 200
        assert writer.in_transaction  # nobody waited for the lock to be released
        assert not telling.done()
        writer.execute("ROLLBACK")
        writer.close()
        assert telling.result().json()["state"] == "complete"
