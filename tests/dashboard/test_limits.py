"""A page that many ask at once, badly or for too much still answers."""

import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import sqlalchemy as sa
from tests.dashboard.served import fed, serving

from allweather.dashboard import middleware, server, tasks
from allweather.dashboard.errors import TooLarge
from allweather.storage import Database
from allweather.storage.turns import locked

ROOT = "/api/v1/studies/kiosk"


def test_forty_that_wait_to_add_leave_the_page_answering(url, tmp_path):
    fed(url, 5)
    fed(url, 2, "other")
    rows = {"rows": [{"order": 20, "demand": 30, "value": 80}]}

    def add(_):
        with httpx.Client(timeout=60) as client:
            return client.post(f"{running.address}{ROOT}/trials", json=rows)

    with serving(url) as running, ThreadPoolExecutor(40) as many:
        with locked(tmp_path / "studies.db.1.turn"), running.client() as client:
            answers = [many.submit(add, place) for place in range(40)]
            for _ in range(400):
                refused = [each.result() for each in answers if each.done()]
                if len(refused) == 40 - tasks.MAX_WAITING_REQUESTS:
                    break
                time.sleep(0.05)
            assert {(each.status_code, each.headers["retry-after"]) for each in refused} == {(503, "5")}
            for place in ("/", "/studies/other", "/studies/kiosk", "/health"):
                assert client.get(place).status_code == 200
            assert sum(not each.done() for each in answers) == tasks.MAX_WAITING_REQUESTS
        assert sum(each.result().status_code == 201 for each in answers) == tasks.MAX_WAITING_REQUESTS


def test_a_computation_that_needs_too_much_is_refused(url):
    fed(url, 12)
    with serving(url, memory=tasks.memory_needed(11)) as running, running.client() as client:
        answer = client.get(f"{ROOT}/recommendation")
        assert answer.status_code == 503
        assert "12 outcomes" in answer.json()["detail"]
        assert client.get("/studies/kiosk").status_code == 200


def test_computations_wait_until_there_is_memory():
    async def scenario():
        memory, order = tasks.Memory(1.5 * tasks.memory_needed(10)), []

        async def compute(name):
            async with memory.reserved(10):
                order.append(f"{name} begins")
                await asyncio.sleep(0.01)
                order.append(f"{name} ends")

        await asyncio.gather(compute("one"), compute("two"))
        with pytest.raises(TooLarge):
            async with memory.reserved(100_000):
                pass
        return order

    assert asyncio.run(scenario()) == ["one begins", "one ends", "two begins", "two ends"]


@pytest.mark.parametrize("damage", ["'{\"x'", "CAST(x'7B22FF7D' AS TEXT)"])
def test_a_damaged_study_leaves_the_others_alone(url, damage):
    fed(url, 3)
    fed(url, 3, "other")
    with Database(url).writing() as connection:
        connection.execute(sa.text(f"UPDATE events SET payload = {damage} WHERE study = 1 AND number > 2"))
    with serving(url) as running, running.client() as client:
        front = client.get("/")
        assert front.status_code == 200
        assert "(damaged)" in front.text
        assert client.get("/studies/other").status_code == 200
        answer = client.get("/studies/kiosk")
        assert (answer.status_code, "is damaged" in answer.text) == (503, True)


@pytest.mark.parametrize("place", ["/", "/api/v1/studies"])
def test_an_unexpected_error_has_the_security_headers(client, server, monkeypatch, place):
    def fail(limit, offset):
        raise RuntimeError("secret details")

    monkeypatch.setattr(server.app.state.studies, "page", fail)
    answer = client.get(place)
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert {name: answer.headers[name] for name in middleware.HEADERS} == middleware.HEADERS


def half(port, text):
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(text)
    return connection


def test_half_sent_requests_are_closed(url, monkeypatch):
    fed(url, 1)
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.3)
    with serving(url) as running:
        open_ones = [
            half(running.port, text) for text in (b"", b"GET / HT", b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        ]
        body = half(running.port, b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\nab")
        assert body.recv(1000).startswith(b"HTTP/1.1 408")
        assert [each.recv(10) for each in open_ones] == [b"", b"", b""]
        for each in (*open_ones, body):
            each.close()
        with running.client() as client:
            assert client.get("/").status_code == 200


def test_beyond_so_many_connections_requests_are_refused(url, monkeypatch):
    fed(url, 1)
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 4)
    with serving(url) as running:
        open_ones = [half(running.port, b"GET / HT") for _ in range(3)]
        with running.client() as client:
            assert client.get("/").status_code == 503
        for each in open_ones:
            each.close()
        with running.client() as client:
            assert client.get("/").status_code == 200


def test_numbers_in_paths_are_digits(client):
    assert client.get(f"{ROOT}/trials/1_0").status_code == 422
    assert client.get(f"{ROOT}/trials/10").status_code == 200
    told = client.post(
        f"{ROOT}/trials/1/tell", content='{"values": [NaN]}', headers={"content-type": "application/json"}
    )
    assert told.status_code == 422
